#!/bin/sh
# Missing elements: random programs on tiles that reach past the ends of their tensors, compared with numpy.ma by
# test/masks/oracle.py: 200 (QUICK=1: 40) in the tile interpreter, a tenth of them on the simulator. FIRST (1) is the
# first seed, NIGHTLY another number of programs, FEATURES what the programs have. Before that judge.py judges the
# oracle: a second evaluation agrees, programs cover law.def, and (FULL=1) each of its rules turned around is noticed.
. test/script.sh
. test/python/package.sh
first=${FIRST:-1}
count=${NIGHTLY:-$([ -z "${QUICK:-}" ] && echo 200 || echo 40)}
features=${FEATURES:-all}
"$python" "$here/judge.py" table hexc/LANGUAGE.md >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
"$python" "$here/judge.py" "$([ -z "${QUICK:-}" ] && echo 300 || echo 60)" ${FULL:+rules} >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
"$python" "$here/oracle.py" "$count" --first "$first" --features "$features" --shrink 1 >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
tail -n 1 "$dir/log"
for arch in sm_80 sm_90a; do
	! archs | grep -qx "$arch" || "$python" "$here/oracle.py" $((count / 10)) --first "$first" --features "$features" --exec sim \
		--arch "$arch" --candidates 3 --prove --shrink 1 >"$dir/log" 2>&1 || fail "$arch: $(cat "$dir/log")"
done
exit $bad
