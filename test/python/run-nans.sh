#!/bin/sh
# NaNs, infinities and rows without a number, in examples and operators, compared with NumPy (test/python/nans.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/nans.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
