#!/usr/bin/env bash
# Docker's engine and debootstrap, which the tests of images use; nothing if they are there. Then the
# engine is started (scripts/engine.sh). Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

for program in dockerd debootstrap; do
  if ! command -v "$program" > /dev/null; then
    apt-get update
    # Debian would start an engine of its own, which is none of ours.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends docker.io debootstrap
    break
  fi
done
scripts/engine.sh start
