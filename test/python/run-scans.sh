#!/bin/sh
# Scans of tiles that extend past the end of their tensors, compared with numpy.ma (test/python/scans.py), with
# NIGHTLY (0) random cases.
. test/script.sh
. test/python/package.sh
"$python" test/python/scans.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
