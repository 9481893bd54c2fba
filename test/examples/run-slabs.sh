#!/bin/sh
# Output tiles of consumer warps: stored by epilogue subtiles and TMA where possible, otherwise by normal stores.
# Correct and without faults at exact and partial tile sizes; layouts and copies are validated.
. test/script.sh
PATH=$PATH:/usr/local/cuda/bin
run() { # number of TMA stores, M, N, K, options
	stores=$1 m=$2 n=$3 k=$4
	shift 4
	"$HEXC" run test/examples/slabs.hexc --arch sm_90a --werror --prove --exec=sim --check --ptx "$dir/k.ptx" \
		--arg "A=random(1)[$m,$k]" --arg "B=random(2)[$n,$k]" "$@" >"$dir/out" 2>&1 ||
		fail "$* at $m, $n, $k: $(head -4 "$dir/out")"
	! grep -v ': right$' "$dir/out" || fail "$* at $m, $n, $k: not right"
	found=$(grep -c 'cp.async.bulk.tensor.*bulk_group' "$dir/k.ptx")
	[ "$found" = "$stores" ] || fail "$*: $found stores of boxes, not $stores"
	if command -v ptxas >/dev/null; then
		ptxas -arch=sm_90a -v "$dir/k.ptx" -o /dev/null >"$dir/log" 2>&1 || fail "$*: $(head -3 "$dir/log")"
		! grep -E 'C75[0-9][0-9]|[1-9][0-9]* bytes spill' "$dir/log" || fail "$*: spills or a warning"
	fi
}
cast() { # stores, M, N, K, type, what N is a multiple of, options
	stores=$1 m=$2 n=$3 k=$4 type=$5 grain=$6
	shift 6
	run "$stores" "$m" "$n" "$k" --kernel cast -D "OUT=$type" -D "GRAIN=$grain" "$@"
}
cast 2 256 256 128 f16 8
cast 2 200 136 136 bf16 8 -D WARPS=4
cast 4 256 256 128 f32 4 -D WARPS=4
cast 8 200 264 136 f32 4 -D BN=256
cast 1 200 272 136 e4m3 16
cast 2 200 272 136 e5m2 16 -D BN=256
cast 1 200 144 136 i8 16 -D BM=64 -D WARPS=4
cast 4 200 144 136 i32 4
cast 2 8 8 8 f16 8 -D BM=64 -D WARPS=8 # subtiles that the warpgroups share, box by box
cast 4 200 520 72 f16 8 -D BM=64 -D BN=256 -D WARPS=4
# Rows that may not be 16-byte aligned: TMA stores in the version for sizes where all are.
cast 2 200 132 136 f16 4
cast 2 200 136 136 f16 4
for warps in 4 8; do
	run 6 200 136 136 --kernel epilogue -D WARPS=$warps --arg 'BIAS=random(3)' --arg 'R=random(4)'
	run 2 200 136 136 --kernel turned -D WARPS=$warps -D BN=128
	run 0 200 136 136 --kernel direct -D WARPS=$warps -D BM=64 --arg 'C=random(3)'
	run 2 264 264 136 --kernel tiles -D WARPS=$warps
done
run 4 264 520 136 --kernel tiles -D BN=256 -D BLOCKS=3
run 2 8 8 136 --kernel tiles -D BLOCKS=3
run 2 200 264 136 --kernel teams
run 4 200 264 136 --kernel teams -D BN=256
exit $bad
