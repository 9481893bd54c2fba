#!/bin/sh
# Programs compared with NumPy: dense linear algebra (linear.py), and lengths, windows, pages and masks (ragged.py),
# in the tile interpreter and on the simulator; QUICK=1: fewer sizes, one architecture; FULL=1: more sizes.
. test/script.sh
. test/python/package.sh
for programs in linear ragged; do
	"$python" "$here/$programs.py" >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
	echo "$programs: $(tail -n 1 "$dir/log")"
done
exit $bad
