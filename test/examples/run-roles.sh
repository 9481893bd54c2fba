#!/bin/sh
# Programs with warp roles, simulated: correct and without faults at exact and partial tile sizes, with
# one stage and with more stages than iterations. Layouts and copies are validated. ptxas, if available,
# gives no warnings about MMAs.
. test/script.sh
PATH=$PATH:/usr/local/cuda/bin
arch=sm_90a
run() { # file, M, N, K, B's dims, other options
	file=$1 m=$2 n=$3 k=$4 b=$5
	shift 5
	"$HEXC" run "$file" --arch $arch --werror --prove --exec=sim --check --ptx "$dir/k.ptx" "$@" \
		--arg "A=random(1)[$m,$k]" --arg "B=random(2)[$b]" >"$dir/out" 2>&1 ||
		fail "$file $* at $m, $n, $k: $(head -4 "$dir/out")"
	grep -q ': right$' "$dir/out" || fail "$file $*: $(cat "$dir/out")"
	[ $arch != sm_90a ] || grep -q wgmma "$dir/k.ptx" || fail "$file $*: no wgmma"
	if command -v ptxas >/dev/null; then
		ptxas -arch=$arch -v "$dir/k.ptx" -o /dev/null >"$dir/log" 2>&1 || fail "$file $*: $(head -3 "$dir/log")"
		! grep -E 'C75[0-9][0-9]|[1-9][0-9]* bytes spill' "$dir/log" || fail "$file $*: spills or a warning"
	fi
}
# `stored`: lanes of one role fill stages that lanes of the other read; the validator reports that
# it cannot check that ring.
for warps in 4 8; do
	run examples/gemm_roles.hexc 128 128 256 128,256 -D WARPS=$warps -D STAGES=2
	run examples/gemm_roles.hexc 200 72 136 72,136 -D WARPS=$warps -D STAGES=4 -D BN=64
	run examples/gemm_roles.hexc 8 8 8 8,8 -D WARPS=$warps -D BM=64 -D BN=64
done
for stages in 1 3; do
	run test/examples/roles.hexc 200 136 72 136,72 --kernel teams -D STAGES=$stages
	run test/examples/roles.hexc 200 136 136 136,136 --kernel twice -D STAGES=$stages
	run test/examples/roles.hexc 200 136 136 136,136 --kernel apart -D STAGES=$stages
	run test/examples/roles.hexc 72 80 336 80,336 --kernel stored -D STAGES=$stages -W no-unjudged
	run test/examples/roles.hexc 200 80 136 80,136 --kernel handed_back -D STAGES=$stages
	run test/examples/roles.hexc 72 72 200 72,200 --kernel moved -D STAGES=$stages
	run test/examples/roles.hexc 72 80 336 80,336 --kernel doubled -D STAGES=$((stages + 1))
done
for arch in $(archs | grep 'sm_1[0-9][0-9]'); do
	run test/examples/roles.hexc 72 80 336 80,336 --kernel stored -W no-unjudged
	run examples/gemm_f16.hexc 200 136 72 136,72 --schedule roles -D BM=64 -D BN=64 -D WARPS=8 -D STAGES=4
	[ $arch = sm_120a ] || run examples/gemm_f16.hexc 200 136 72 136,72 --cluster 2x1 -D BM=64 -D BN=64
done
# All solutions of MMAs in two branches with a common wait after both: none converts an
# accumulator's layout before it.
arch=sm_90a
for c in $("$HEXC" candidates test/examples/roles.hexc --kernel moved --arch $arch | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p'); do
	run test/examples/roles.hexc 72 72 200 72,200 --kernel moved --candidate "$c"
done
# All solutions of two dots, including those that transpose the accumulator of one between them.
for c in $("$HEXC" candidates examples/swiglu.hexc --arch sm_90a --schedule roles | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p'); do
	"$HEXC" run examples/swiglu.hexc --arch sm_90a --schedule roles --candidate "$c" --prove --exec=sim --check \
		--arg 'A=random(1)[72,104]' --arg 'G=random(2)[72,104]' --arg 'U=random(3)[72,104]' >"$dir/out" 2>&1 ||
		fail "swiglu, candidate $c: $(head -4 "$dir/out")"
done
exit $bad
