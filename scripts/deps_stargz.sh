#!/usr/bin/env bash
# Debian's sources and client of eStargz, and Go, which makes the snapshotter of them; nothing if they
# are there. Needs root.
set -euo pipefail

packages=(stargz-snapshotter golang-github-containerd-stargz-snapshotter-dev golang-go)
if ! dpkg -s "${packages[@]}" > /dev/null 2>&1; then
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
fi
