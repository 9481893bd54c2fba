#!/bin/sh
# Scans of tiles that reach past the ends of their tensors, against numpy.ma (test/python/scans.py), NIGHTLY (0) random
# cases among them.
. test/script.sh
. test/python/package.sh
"$python" test/python/scans.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
