#!/usr/bin/env bash
# Compile libdemo.so into the environment ENV: build.sh ENV
set -euo pipefail
cd "$(dirname "$0")"
nvcc -shared -Xcompiler -fPIC -Xcompiler -ffunction-sections \
  -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code='[sm_90,compute_90]' \
  -o "$1/lib/libdemo.so" matmul.cu scalar.cu
