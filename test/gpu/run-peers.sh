#!/bin/sh
# What scripts/bench and a day on a GPU time beside hexc (test/python/peers.py), without a GPU.
. test/script.sh
. test/python/package.sh
"$python" test/python/peers.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
