#!/bin/sh
# Elementwise and row kernels of examples/ beside the same by hand, rows.cu: 16-byte accesses without an `assume`, and
# warp instructions executed in the simulator, moves not counted, which ptxas does away with.
. test/script.sh
command -v nvcc >/dev/null || {
	echo "no nvcc"
	exit 77
}
nvcc -std=c++17 -Wno-deprecated-gpu-targets -arch=sm_80 -ptx -o "$dir/rows.ptx" test/examples/rows.cu || exit 1

executed() { # STATS
	awk -F '[":,\t]+' '$2 == "opcode" { move = $3 ~ /^(mov|cvta)/ }
		$2 == "warp_instructions" { n = $3 } $2 == "warps" && move { n -= $3 } END { print n }' "$1"
}

# compare KERNEL GRID "ARGUMENTS BY HAND" example.hexc ARGUMENTS..: no more than 1.2 times the instructions by hand
compare() {
	kernel=$1 grid=$2
	# shellcheck disable=SC2086 # words
	given=$(printf -- '--arg %s ' $3)
	shift 3
	# shellcheck disable=SC2086 # words
	"$HEXC" sim "$dir/rows.ptx" --entry "$kernel" --grid "$grid" --block 128 --stats "$dir/hand" $given >"$dir/out" 2>&1 ||
		fail "$kernel by hand: $(tail -3 "$dir/out")"
	"$HEXC" run "$@" --kernel "$kernel" --arch sm_80 --exec=sim --check --stats "$dir/ours" --ptx "$dir/p" >"$dir/out" 2>&1 ||
		fail "$kernel: $(tail -3 "$dir/out")"
	hand=$(executed "$dir/hand") ours=$(executed "$dir/ours")
	echo "$kernel: $ours, by hand $hand"
	[ "$((ours * 10))" -le "$((hand * 12))" ] || fail "$kernel: more than 1.2 times what is done by hand"
}

n=8192
compare vector_add 8 "zeros:f32:$n zeros:f32:$n zeros:f32:$n s64:$n" \
	examples/vector_add.hexc --arg "A=random(1)[$n]" --arg 'B=random(2)'
compare widen 8 "zeros:f16:$n zeros:f32:$n s64:$n" examples/convert.hexc --arg "X=random(1)[$n]"
compare narrow 8 "zeros:f32:$n zeros:f16:$n s64:$n" examples/convert.hexc --arg "X=random(1)[$n]"
for n in 4096 3000; do
	x=zeros:f16:$((16 * n))
	compare rms_norm 16 "$x zeros:f16:$n $x f32:0.1 s64:16 s64:$n" \
		examples/rms_norm.hexc --arg "X=random(1)[16,$n]" --arg 'gain=random(2)' --arg eps=1e-5
done
for n in 1024 1000; do
	x=zeros:f32:$((16 * n)) g=zeros:f32:$n
	compare layer_norm 4 "$x $g $g $x f32:0.1 s64:16 s64:$n" \
		examples/layer_norm.hexc --arg "X=random(1)[16,$n]" --arg 'gamma=random(2)' --arg 'beta=random(3)' --arg eps=1e-5
done
x=zeros:f32:16384
compare softmax 4 "$x $x s64:16 s64:1024" examples/softmax.hexc --arg 'X=random(1)[16,1024]'
exit $bad
