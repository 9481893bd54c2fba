#!/bin/sh
# `%` and `mod` compared with NumPy (test/python/remainders.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/remainders.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
