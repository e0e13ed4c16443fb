#!/usr/bin/env bash
# Slurm and munge, which policies are driven on for real; nothing if they are there. Needs root.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

for program in slurmctld slurmd sbatch munged; do
  if ! command -v "$program" > /dev/null; then
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends slurm-wlm munge
    exit
  fi
done
