#!/bin/sh
# What hosts put into the holes of operators, against NumPy (test/python/holes.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/holes.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
