#!/bin/sh
# `%` and `mod` compared with NumPy (test/lang/remainders.py).
. test/script.sh
. test/python/package.sh
"$python" test/lang/remainders.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
