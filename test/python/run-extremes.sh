#!/bin/sh
# The largest and smallest elements of tiles with NaNs, against NumPy (test/python/extremes.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/extremes.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
