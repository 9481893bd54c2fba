#!/bin/sh
# Operators at arbitrary sizes, compared with NumPy (test/python/sizes.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/sizes.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
