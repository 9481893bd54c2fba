#!/bin/sh
# Assignments compared with NumPy (test/lang/assignment.py).
. test/script.sh
. test/python/package.sh
"$python" test/lang/assignment.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
