#!/bin/sh
# Integer functions at all signs, compared with Python's own (test/python/integers.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/integers.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
