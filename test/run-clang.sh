#!/bin/sh
# clang reports no warnings for the sources; it warns of narrowing conversions and formats that gcc accepts.
# QUICK=1: skipped, since .ci/run builds all sources with clang.
[ -z "$QUICK" ] || { echo "QUICK=1: .ci/run builds the sources with clang"; exit 77; }
command -v clang >/dev/null || { echo "no clang"; exit 77; }
${MAKE:-make} CC=clang WERROR=1 -k syntax
