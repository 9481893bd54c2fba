#!/bin/sh
# Assignments compared with NumPy (test/python/assignment.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/assignment.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
