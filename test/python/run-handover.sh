#!/bin/sh
# Programs whose blocks hand data to each other in one launch, compared with NumPy (test/python/handover.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/handover.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
