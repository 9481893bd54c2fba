#!/bin/sh
# clang reports no warnings for the sources; it warns of narrowing conversions and formats that gcc accepts.
command -v clang >/dev/null || { echo "no clang"; exit 77; }
${MAKE:-make} CC=clang WERROR=1 -k syntax
