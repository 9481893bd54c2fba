#!/bin/sh
# New dimensions in slices compared with NumPy (test/lang/new_dims.py).
. test/script.sh
. test/python/package.sh
"$python" test/lang/new_dims.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
