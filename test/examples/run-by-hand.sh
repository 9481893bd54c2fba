#!/bin/sh
# Compares examples/gemm_roles.hexc and the warp-specialized code of examples/gemm_f16.hexc with the same kernels in
# CUDA C, roles.cu: warp instructions executed in the simulator, and wavefronts of shared memory.
. test/script.sh
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || {
	echo "no nvcc"
	exit 77
}
m=256 n=512 k=512
map() { # NAME, COLUMNS, ROWS, BOX COLUMNS, BOX ROWS, FILE OR OTHER DATA
	cat >"$dir/$1.json" <<-END
	{"tensorDataType": "FLOAT16", "tensorRank": 2, "globalAddress": "$6", "globalDim": [$2, $3],
	 "globalStrides": [$(($2 * 2))], "boxDim": [$4, $5], "swizzle": "128B"}
	END
}
count() { # NAME FILE: the first number of that name in the statistics
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" "$2" | head -n 1
}
# HEXC'S PROGRAM, ENTRY, ITS GRID, ITS_LAST_ARGUMENTS: runs both on the simulator
beside() {
	program=$1 entry=$2 grid=$3
	shift 3
	"$HEXC" sim "$dir/hand.ptx" --entry "$entry" --grid "$grid" --block 384 --smem 229440 \
		--stats "$dir/hand" --arg "tmap:$dir/a.json" --arg "tmap:$dir/b.json" --arg "tmap:$dir/c.json" "$@" \
		>"$dir/out" 2>&1 || fail "by hand: $(tail -3 "$dir/out")"
	"$HEXC" run "$program" --arch sm_90a --schedule roles --cluster 1x1 -D BM=128 -D BN=256 -D BK=64 -D STAGES=4 \
		-D WARPS=8 --exec=sim --check \
		--stats "$dir/ours" --arg "A=random(1)[$m,$k]" --arg "B=random(2)[$n,$k]" >"$dir/out" 2>&1 ||
		fail "$program: $(tail -3 "$dir/out")"
	hand=$(count warp_instructions "$dir/hand") ours=$(count warp_instructions "$dir/ours")
	waves=$(count shared_wavefronts "$dir/hand")
	echo "$entry: $ours warp instructions, by hand $hand"
	[ "$((ours * 100))" -le "$((hand * 105))" ] || fail "more than 1.05 times what is done by hand"
	[ "$(count shared_wavefronts "$dir/ours")" = "$waves" ] ||
		fail "$(count shared_wavefronts "$dir/ours") wavefronts, by hand $waves"
}
map a $k $m 64 128 zeros:f16:$((m * k))
map b $k $n 64 256 zeros:f16:$((n * k))
map c $n $m 64 64 zeros:f16:$((m * n))
nvcc -std=c++17 -Wno-deprecated-gpu-targets -arch=sm_90a -ptx -o "$dir/hand.ptx" test/examples/roles.cu || exit 1
beside examples/gemm_roles.hexc gemm_roles $((m / 128)),$((n / 256)) --arg s32:$k
beside examples/gemm_f16.hexc gemm_tiles $((m / 128 * n / 256)) --arg s32:$m --arg s32:$n --arg s32:$k
exit $bad
