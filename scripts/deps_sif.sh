#!/usr/bin/env bash
# The programs that read and write squashfs, which images of Apptainer have; nothing if they are
# there. Needs root.
set -euo pipefail

for program in sqfs2tar tar2sqfs rdsquashfs; do
  if ! command -v "$program" > /dev/null; then
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends squashfs-tools-ng
    exit
  fi
done
