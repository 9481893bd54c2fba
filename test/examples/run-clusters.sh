#!/bin/sh
# Clusters requested on the command line: results are correct along either grid dimension and for any raster order.
# The PTX and the manifest name the cluster, and ptxas accepts it with the planned registers. A kernel without
# clusters reports the reason.
. test/script.sh
PATH=$PATH:/usr/local/cuda/bin
hopper="--arch sm_90a"

# BLOCK_GROUP: groups of 2 or 3 rows of blocks, the device's order, or the order that inference selects.
run() { # CLUSTER GROUP
	sed "s/^    assume/    const BLOCK_GROUP = $2\n    assume/" examples/gemm_f16.hexc >"$dir/gemm.hexc"
	# shellcheck disable=SC2086 # words
	"$HEXC" run "$dir/gemm.hexc" $hopper --schedule roles --cluster "$1" -D BM=64 -D BN=64 --prove --exec=sim --check \
		--ptx "$dir/p" --arg 'A=randint(1,-3,3)[600,72]' --arg 'B=randint(2,-3,3)[460,72]' >"$dir/out" 2>&1 &&
		grep -q 'largest absolute error 0,' "$dir/out" || fail "$1, groups of $2: $(tail -3 "$dir/out")"
	[ "$1" = 1x1 ] || grep -q "^\.reqnctapercluster $(echo "$1" | tr x ,)" "$dir/p" ||
		grep -q "^\.reqnctapercluster $(echo "$1" | sed 's/x/, /'), 1" "$dir/p" || fail "$1: not in the PTX"
	[ "$1" = 1x1 ] || grep -q 'multicast::cluster' "$dir/p" || fail "$1: nothing is fetched together"
	if command -v ptxas >/dev/null; then
		ptxas -arch=sm_90a -v "$dir/p" -o /dev/null >"$dir/log" 2>&1 || fail "$1: $(head -3 "$dir/log")"
		! grep -E 'C75[0-9][0-9]|[1-9][0-9]* bytes spill' "$dir/log" || fail "$1: spills or a warning"
		grep -q "Used $(sed -n 's/^\.maxnreg \([0-9]*\).*/\1/p' "$dir/p") registers" "$dir/log" || fail "$1: other registers"
	fi
}
for cluster in 1x1 2x1 1x2 4x1; do
	for group in 0 1 2 3; do
		run "$cluster" "$group"
	done
done

"$HEXC" --emit-ptx examples/gemm_f16.hexc $hopper --cluster 1x2 --manifest "$dir/json" -o "$dir/p" &&
	tr -d ' \n\t' <"$dir/json" | grep -q '"cluster":\[1,2,1\]' || fail "not in the manifest"
"$HEXC" --emit-ptx examples/gemm_f16.hexc $hopper --cluster 2x1 -o "$dir/p" &&
	"$HEXC" --emit-ptx examples/gemm_f16.hexc $hopper --cluster 2x1 --paranoid -o "$dir/q" && cmp -s "$dir/p" "$dir/q" ||
	fail "other PTX by way of the IR's text"

refused() { # WHY FILE OPTIONS
	why=$1
	shift
	"$HEXC" --emit-ptx "$@" -o "$dir/p" 2>"$dir/err"
	[ $? = 1 ] || fail "$*: not an error of the program"
	grep -q "error: .*$why" "$dir/err" || fail "$*: $(cat "$dir/err")"
}
refused 'cannot have clusters of 2x1x1: the kernel is not a persistent warp-specialized kernel' examples/gemm_roles.hexc $hopper --cluster 2x1
refused 'the target has no mbarrier transaction counts (sm_90 or later)' examples/gemm_f16.hexc --cluster 2x1
refused 'share no operand' examples/moe.hexc $hopper --cluster 2x1
for wrong in 2 2x2 0x1 9x1 2x1x1 x; do
	"$HEXC" --emit-ptx examples/gemm_f16.hexc $hopper --cluster $wrong -o "$dir/p" 2>"$dir/err"
	[ $? = 2 ] || fail "--cluster $wrong"
done
exit $bad
