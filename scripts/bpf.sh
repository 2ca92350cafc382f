#!/usr/bin/env bash
# Compiles a BPF program: bpf.sh SOURCE OBJECT. The object has types, for the loader, and
# neither paths nor the version of the compiler.
# -mcpu=v3 needs Linux 5.1. The objects are little-endian: no big-endian machine is
# supported.
set -euo pipefail

clang -O2 -mcpu=v3 -Wall -Werror -target bpfel -fno-ident -fdebug-compilation-dir . -g -c "$1" -o "$2"
llvm-strip -g "$2"
