#!/bin/sh
# The Python package: doctests, kernels on NumPy arrays against NumPy, errors, ownership, threads
# (test/python/package.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/package.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
