#!/bin/sh
# Maxima and minima of tiles with NaNs, compared with NumPy (test/python/extremes.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/extremes.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
