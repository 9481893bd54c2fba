#!/bin/sh
# Arrays of tiles compared with NumPy (test/lang/arrays.py).
. test/script.sh
. test/python/package.sh
"$python" test/lang/arrays.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
