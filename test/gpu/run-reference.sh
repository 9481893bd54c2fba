#!/bin/sh
# The reference of gpu-day (scripts/python/hexc_bench/reference.py), computed with NumPy and compared with the
# simulator: a fixed sample of all kernels of examples/ and of all entries of operators' tables; WHOLE=1: all.
# Values and bounds are those of `hexc run --check` (test/python/reference.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/reference.py ${WHOLE:+whole} >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
