#!/bin/sh
# Programs that use nearly all shared memory (fits/*.hexc). Each listed candidate compiles. If every alternative
# exceeds the capacity, the program is rejected before any is listed, with the bytes of the smallest alternative. By
# default every 7th candidate; FULL=1: all.
set -u
. test/script.sh
step=7
[ "${FULL:-0}" = 1 ] && step=1
ran=0
for f in "$here"/fits/*.hexc; do
	for arch in $(sed -n '1s|^// arch: ||p' "$f"); do
		"$HEXC" candidates "$f" --arch "$arch" >"$dir/list" 2>"$dir/err" ||
			fail "$f $arch: $(head -n 2 "$dir/err")"
		n=$(grep -c cycles "$dir/list")
		[ "$n" -gt 1 ] || fail "$f $arch: $n candidates"
		i=0
		while [ "$i" -lt "$n" ]; do
			"$HEXC" --emit-ptx "$f" --arch "$arch" --candidate "$i" -o "$dir/ptx" 2>"$dir/err" ||
				grep -q 'needs LLVM' "$dir/err" || # an older LLVM, which lists them but cannot emit
				fail "$f $arch candidate $i: $(head -n 1 "$dir/err")"
			ran=$((ran + 1))
			i=$((i + step))
		done
	done
done
sed -e 's/stages 4/stages 9/' "$here/fits/loops.hexc" >"$dir/much.hexc"
says 1 'needs 147456 bytes of shared memory, a block has 101376 on sm_120a' candidates "$dir/much.hexc" --arch sm_120a
grep -q '147456 bytes: b: shared bf16\[9, 64, 128\]' "$dir/out" || fail "which tile takes it: $(cat "$dir/out")"
echo "$ran candidates compiled"
[ $bad = 0 ]
