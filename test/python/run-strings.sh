#!/bin/sh
# The Python package rejects a string with a NUL at every C call, and an integer out of the C type's range; none is
# truncated (test/python/strings.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/strings.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
tail -1 "$dir/log"
exit $bad
