#!/usr/bin/env bash
# The headers of OpenSSL, which the task programs encrypt with; nothing if they are there. Needs root.
set -euo pipefail

if ! gcc -E -include openssl/evp.h -x c /dev/null > /dev/null 2>&1; then
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libssl-dev
fi
