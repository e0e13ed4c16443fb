#!/usr/bin/env bash
# bare.sh COMMAND...: run a command where it finds no program that trimtab can do without.
set -euo pipefail
optional=(
  chromium debootstrap docker dockerd java nvcc nvidia-smi strace
  sqfs2tar tar2sqfs rdsquashfs
  munged sbatch scancel scontrol sinfo slurmctld slurmd squeue
)

links=$(mktemp -d)
chmod a+rx "$links"  # tests run programs as another user, too
trap 'rm -rf "$links"' EXIT
IFS=: read -ra places <<< "$PATH"
for number in "${!places[@]}"; do
  place=${places[number]}
  for program in "${optional[@]}"; do
    if [ -e "$place/$program" ]; then  # a folder of links to all its other programs stands in
      mkdir "$links/$number"
      ln -s "$(realpath "$place")"/* "$links/$number"
      rm -f "${optional[@]/#/$links/$number/}"
      places[number]=$links/$number
      break
    fi
  done
done
path=$(IFS=:; echo "${places[*]}")
env -u JAVA_HOME PATH="$path" "$@"
