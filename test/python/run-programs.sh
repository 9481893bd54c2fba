#!/bin/sh
# Programs as the manual teaches them, on the simulator, compared with NumPy (test/python/programs.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/programs.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
