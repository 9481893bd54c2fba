#!/bin/sh
# What a day on a GPU holds results against (scripts/python/hexc_bench/reference.py), with NumPy and beside the simulator: a sample of
# all kernels of examples/ and of all lines of operators' tables, the same each time; WHOLE=1: all.  Values and bounds are those of
# `hexc run --check` (test/python/reference.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/reference.py ${WHOLE:+whole} >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
