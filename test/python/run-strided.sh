#!/bin/sh
# Operators whose tensors have strides, compared with NumPy (test/python/strided.py).
. test/script.sh
. test/python/package.sh
"$python" test/python/strided.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
