#!/bin/sh
# The libraries that scripts/bench and gpu-day compare hexc with (test/python/peers.py), without a GPU.
. test/script.sh
. test/python/package.sh
"$python" test/python/peers.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
