#!/bin/sh
# Slices with bounds of their own compared with NumPy (test/lang/bounds.py).
. test/script.sh
. test/python/package.sh
"$python" test/lang/bounds.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
