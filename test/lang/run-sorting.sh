#!/bin/sh
# sort, argsort and topk compared with NumPy (test/lang/sorting.py).
. test/script.sh
. test/python/package.sh
"$python" test/lang/sorting.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
