#!/usr/bin/env bash
# PostgreSQL, which the test of journals in it starts; nothing if it is there. Needs root.
set -euo pipefail

if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' > /dev/null && ! command -v initdb > /dev/null; then
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql
fi
