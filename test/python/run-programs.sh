#!/bin/sh
# Programs as the manual has users write them, on the simulator against NumPy (test/python/programs.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/programs.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
