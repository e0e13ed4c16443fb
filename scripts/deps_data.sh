#!/usr/bin/env bash
# Data sets that packages of Debian carry, for workloads that learn: into build/data, nothing if they
# are there. The packages are unpacked, not installed, so that neither R nor Weka is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

test -f build/data/.whole && exit
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
apt-get update
(cd "$folder" && apt-get download r-cran-kernlab r-cran-mlbench weka)
for package in "$folder"/*.deb; do
  dpkg-deb --extract "$package" "$folder/root"
done
PYTHONPATH=build/data/packages${PYTHONPATH:+:$PYTHONPATH} .venv/bin/python scripts/debian_data.py "$folder/root" build/data
touch build/data/.whole
