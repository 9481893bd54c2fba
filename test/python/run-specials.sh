#!/bin/sh
# Float functions at infinities, NaN and subnormals (test/python/specials.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/specials.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
