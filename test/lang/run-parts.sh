#!/bin/sh
# Parts of register tiles compared with NumPy (test/lang/parts.py), NIGHTLY (40) random programs.
. test/script.sh
. test/python/package.sh
"$python" test/lang/parts.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
