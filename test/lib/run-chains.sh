#!/bin/sh
# Programs whose values can be reached in exponentially many ways compile (test/lib/chains.py).
. test/script.sh
. test/python/package.sh
"$python" test/lib/chains.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
