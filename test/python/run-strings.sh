#!/bin/sh
# The Python package: a string with a NUL is refused wherever it crosses into C, and so is an integer that the type there
# does not hold; none is cut there (test/python/strings.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/strings.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
tail -1 "$dir/log"
exit $bad
