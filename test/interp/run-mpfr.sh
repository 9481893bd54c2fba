#!/bin/sh
# Functions at the limits of their types, in the tile interpreter and on the simulator, satisfy the error bounds of
# hexc/LANGUAGE.md, compared with MPFR and NumPy (mpfr.py).
. test/script.sh
. test/python.sh
need_python
"$python" test/interp/mpfr.py "$HEXC" "$dir"
