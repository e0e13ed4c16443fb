#!/usr/bin/env bash
# Debian's registry of images, which tests push to; nothing if it is there. Needs root.
set -euo pipefail

if ! command -v docker-registry > /dev/null; then
  apt-get update
  # Debian would start a registry of its own, which is none of ours.
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends docker-registry
fi
