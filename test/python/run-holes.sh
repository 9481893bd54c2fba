#!/bin/sh
# Host code in the placeholders of operators, compared with NumPy (test/python/holes.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/holes.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
