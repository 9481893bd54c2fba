#!/bin/sh
# The Python package: bundles, families, operators, weights, caches, background compilation, devices; compared with
# NumPy; nothing leaks (test/python/families.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/families.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
