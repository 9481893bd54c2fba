#!/bin/sh
# Code quality of warp-specialized kernels: ptxas's instructions in the main loop of each role, per pipeline stage
# (scripts/loops --roles). They are compared with test/quality-roles-llvmN.tsv for this LLVM. MMAs, copies, waits,
# arrivals, barriers and shared accesses must not increase; other instructions by at most 3 %. For an LLVM without a
# table the numbers are only printed. UPDATE=1 rewrites the table, so that a change is visible in review.
set -u
. test/script.sh
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null && command -v python3 >/dev/null || {
	echo "no ptxas, or no python3"
	exit 77
}
llvm=$("$HEXC" --version | sed -n 's/.*LLVM \([0-9]*\).*/\1/p')
table=test/quality-roles-llvm$llvm.tsv

measure() { # name, file and options
	name=$1
	shift
	"$HEXC" --emit-ptx "$@" --arch sm_90a -o "$dir/p" && ptxas -arch=sm_90a "$dir/p" -o "$dir/c" >"$dir/v" 2>&1 &&
		scripts/loops --roles "$dir/c" >"$dir/l" || bad=1
	while read -r _ counts; do
		printf '%s %s\n' "$name" "$counts" | tr ' ' '\t'
	done <"$dir/l" >>"$dir/new"
}

printf 'example role wgmma copies waits arrives barriers shared others\n' | tr ' ' '\t' >"$dir/new"
for warps in 4 8; do
	measure "gemm_roles:64x128x$warps" examples/gemm_roles.hexc -D BM=64 -D WARPS=$warps
done
measure gemm_roles:128x128x8 examples/gemm_roles.hexc
measure gemm_roles:128x256x8 examples/gemm_roles.hexc -D BM=128 -D BN=256
measure gemm_w4_roles examples/gemm_w4_roles.hexc
measure gemm_f16 examples/gemm_f16.hexc
measure gemm_f16:128x256x8 examples/gemm_f16.hexc -D BN=256 -D BK=64 -D STAGES=4 -D WARPS=8
measure gemm_wNa16 examples/gemm_wNa16.hexc
measure gemm_wNa16:u3 examples/gemm_wNa16.hexc -D WEIGHT=u3 -D BN=256
measure gemm_wNa16:128x256x8 examples/gemm_wNa16.hexc -D BM=128 -D BN=256 -D WARPS=8
measure gemm_w4a16 examples/gemm_w4a16.hexc
measure attention examples/attention.hexc
measure attention:128x128x8 examples/attention.hexc -D D=128 -D BM=128 -D BN=128 -D WARPS=8
measure conv examples/conv.hexc
measure moe examples/moe.hexc
measure moe:64x128 examples/moe.hexc -D BM=64 -D BN=128
measure gemm_act_order examples/gemm_act_order.hexc
measure gather:anywhere test/examples/gather.hexc --kernel anywhere
measure gather:table test/examples/gather.hexc --kernel table
measure slabs:tiles test/examples/slabs.hexc --kernel tiles
measure slabs:teams test/examples/slabs.hexc --kernel teams
cat "$dir/new"
if [ "${UPDATE:-0}" = 1 ]; then
	cp "$dir/new" "$table"
	exit $bad
fi
[ -e "$table" ] || exit $bad
awk -F '\t' -v fail=$bad '
	NR == 1 { n = split($0, col); next }
	FNR == NR { for (i = 3; i <= n; i++) old[$1, $2, i] = $i; next }
	FNR > 1 { for (i = 3; i <= n; i++) if ($i > old[$1, $2, i] * (i == n ? 1.03 : 1)) {
		printf "%s, %s: %s grew from %s to %s\n", $1, $2, col[i], old[$1, $2, i], $i; fail = 1
	} }
	END { exit fail }' "$table" "$dir/new"
