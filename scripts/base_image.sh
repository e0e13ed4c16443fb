#!/usr/bin/env bash
# base_image.sh NAME [SUITE]: makes the smallest Debian (bookworm) the image NAME of the engine that
# scripts/engine.sh started, from the packages of the machine's own mirror and without a registry.
# Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
[ $# -ge 1 ] || { sed -n 2,4p "$0" >&2; exit 2; }
name=$1 suite=${2:-bookworm}

socket=$(scripts/engine.sh start)
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export DPKG_FORCE=unsafe-io  # the folder goes in the end: nothing need reach the disk
debootstrap --variant=minbase "$suite" "$folder/root" ${mirror:+"$mirror"} > "$folder/log" 2>&1 \
  || { tail -n 5 "$folder/log" >&2; exit 1; }
# What the installation left, not the system: removing it later would be no gain of anybody's.
rm -rf "$folder"/root/var/{cache/apt/*,lib/apt/lists/*,log/*.log,log/apt/*,cache/ldconfig/*}
: > "$folder/root/etc/machine-id"
tar --sort=name --numeric-owner --xattrs --one-file-system -C "$folder/root" -c . \
  | docker -H "$socket" import --change 'CMD ["/bin/bash"]' - "$name"
