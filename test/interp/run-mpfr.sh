#!/bin/sh
# Functions at the ends of their types, in the tile interpreter and on the simulator, are what the tables of precision
# in hexc/LANGUAGE.md promise, by MPFR and NumPy (mpfr.py).
. test/script.sh
. test/python.sh
need_python
"$python" test/interp/mpfr.py "$HEXC" "$dir"
