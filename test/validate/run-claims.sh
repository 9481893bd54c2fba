#!/bin/sh
# Programs whose passes rely on range, location and thread analyses (claims.hexc): the independent validators agree.
# They also report wrong claims without a run: test/mutants.tsv.
. test/script.sh
for arch in sm_80 sm_90a; do
	for kernel in rows edge found threads narrow; do
		"$HEXC" --emit-ptx "$here/claims.hexc" --kernel $kernel --arch $arch --prove -o /dev/null -W no-unwritten 2>"$dir/said" ||
			fail "$kernel on $arch: $(cat "$dir/said")"
	done
done
for stages in 1 2; do
	"$HEXC" --emit-ptx "$here/claims.hexc" --kernel placed --arch sm_90a -D STAGES=$stages --prove -o /dev/null \
		2>"$dir/said" || fail "placed with $stages stages: $(cat "$dir/said")"
done
exit $bad
