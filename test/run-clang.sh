#!/bin/sh
# clang has nothing to say of the sources either: it warns of narrowings and formats that gcc lets pass.
command -v clang >/dev/null || { echo "no clang"; exit 77; }
${MAKE:-make} CC=clang WERROR=1 -k syntax
