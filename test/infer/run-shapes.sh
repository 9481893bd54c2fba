#!/bin/sh
# GEMMs with unusual sizes and tile shapes: correct, or rejected with a reason. By default every 37th combination of
# tile sizes, stages and warps; FULL=1: all (some minutes).
set -u
. test/script.sh
step=37
[ "${FULL:-0}" = 1 ] && step=1
ok=0 refused=0

# what arguments...: expects a correct result, or status 1 and a reason
try() {
	"$HEXC" run "$@" --exec="${EXEC:-sim}" --check >"$dir/out" 2>&1
	rc=$?
	if [ $rc = 0 ]; then
		ok=$((ok + 1))
	elif [ $rc = 1 ] && grep -Eq 'error: .*(registers/thread|shared memory|do not satisfy|divide)' "$dir/out"; then
		refused=$((refused + 1))
	else
		echo "status $rc: $*"
		cat "$dir/out"
		bad=1
	fi
}

for mnk in '128 128 128' '64 256 512' '100 136 200' '1 64 64' '257 129 72'; do
	set -- $mnk
	try examples/gemm_f16.hexc --arg "A=random(1)[$1,$3]" --arg "B=random(2)[$2,$3]"
done
[ $ok = 5 ] || fail "the five shapes must all be right"
for mnk in '128 128 128' '64 256 512' '100 160 256' '1 64 128' '257 96 384'; do
	set -- $mnk
	for g in 32 64 128; do
		for f in gemm_w4a16 gemm_w4a16_sym; do
			z=
			[ $f = gemm_w4a16 ] && z='--arg Z=randint(4,0,15)'
			try examples/$f.hexc -D G=$g --arg "A=random(1)[$1,$3]" --arg "W=randint(2,0,15)[$2,$3]" \
				--arg 'S=random(3)' $z
		done
	done
done
[ $ok = 35 ] || fail "the shapes with 4-bit weights must all be right"

i=0
for bm in 16 32 64 128; do for bn in 16 32 64 128; do for bk in 16 32 64; do
for st in 1 2 3 4; do for w in 1 2 4 8; do
	i=$((i + 1))
	[ $((i % step)) = 0 ] || continue
	try examples/gemm_f16.hexc -D BM=$bm -D BN=$bn -D BK=$bk -D STAGES=$st -D WARPS=$w \
		--arg 'A=random(1)[100,136]' --arg 'B=random(2)[129,136]'
done; done; done; done; done
i=0
for bm in 16 32 64 128; do for bn in 16 32 64 128 256; do for bk in 32 64 128; do
for st in 1 2 3 4; do for w in 1 2 4 8; do
	i=$((i + 1))
	[ $((i % step)) = 0 ] || continue
	try examples/gemm_w4a16.hexc -D BM=$bm -D BN=$bn -D BK=$bk -D STAGES=$st -D WARPS=$w \
		--arg 'A=random(1)[50,256]' --arg 'W=randint(2,0,15)[160,256]' --arg 'S=random(3)' \
		--arg 'Z=randint(4,0,15)'
done; done; done; done; done
echo "$ok right, $refused refused with a reason"
exit $bad
