#!/bin/sh
# Random programs that store parts of a shared tile in loops and branches (test/masks/shared.py), compared with NumPy:
# NIGHTLY (100, QUICK=1: 25) programs from seed FIRST (1) on, in the tile interpreter and on the simulator.
. test/script.sh
. test/python/package.sh
count=${NIGHTLY:-$([ -z "${QUICK:-}" ] && echo 100 || echo 25)}
"$python" "$here/shared.py" "$count" "${FIRST:-1}" >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
tail -n 1 "$dir/log"
exit $bad
