#!/bin/sh
# Compares elementwise and row kernels of examples/ with handwritten ones, rows.cu: 16-byte accesses without an
# `assume`, and warp instructions executed in the simulator. Moves do not count, since ptxas removes them.
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

# Executed global accesses narrower than 16 bytes.
narrow() { # STATS
	awk -F '[":,\t]+' '$2 == "opcode" && $3 ~ /^(ld|st)\.global/ {
			n = split($3, part, ".")
			vec = part[n - 1] ~ /^v/ ? substr(part[n - 1], 2) : 1
			if (vec * substr(part[n], 2) < 128)
				print $3
		}' "$1"
}

# compare KERNEL GRID "ARGUMENTS BY HAND" NARROW example.hexc ARGUMENTS..: at most 1.2 times the instructions of the
# handwritten kernel, and no global accesses below 16 bytes except NARROW
compare() {
	kernel=$1 grid=$2 below=$4
	# shellcheck disable=SC2086 # words
	given=$(printf -- '--arg %s ' $3)
	shift 4
	# shellcheck disable=SC2086 # words
	"$HEXC" sim "$dir/rows.ptx" --entry "$kernel" --grid "$grid" --block 128 --stats "$dir/hand" $given >"$dir/out" 2>&1 ||
		fail "$kernel by hand: $(tail -3 "$dir/out")"
	"$HEXC" run "$@" --kernel "$kernel" --arch sm_80 --exec=sim --check --stats "$dir/ours" --ptx "$dir/p" >"$dir/out" 2>&1 ||
		fail "$kernel: $(tail -3 "$dir/out")"
	hand=$(executed "$dir/hand") ours=$(executed "$dir/ours")
	echo "$kernel: $ours, by hand $hand"
	[ "$(narrow "$dir/ours")" = "$below" ] || fail "$kernel: narrow accesses:" "$(narrow "$dir/ours")"
	[ "$((ours * 10))" -le "$((hand * 12))" ] || fail "$kernel: more than 1.2 times what is done by hand"
}

n=8192
compare vector_add 8 "zeros:f32:$n zeros:f32:$n zeros:f32:$n s64:$n" "" \
	examples/vector_add.hexc --arg "A=random(1)[$n]" --arg 'B=random(2)'
compare widen 8 "zeros:f16:$n zeros:f32:$n s64:$n" "" examples/convert.hexc --arg "X=random(1)[$n]"
compare narrow 8 "zeros:f32:$n zeros:f16:$n s64:$n" "" examples/convert.hexc --arg "X=random(1)[$n]"
for n in 4096 3000; do
	x=zeros:f16:$((16 * n))
	compare rms_norm 16 "$x zeros:f16:$n $x f32:0.1 s64:16 s64:$n" "" \
		examples/rms_norm.hexc --arg "X=random(1)[16,$n]" --arg 'gain=random(2)' --arg eps=1e-5
done
for n in 1024 1000; do
	x=zeros:f32:$((16 * n)) g=zeros:f32:$n
	compare layer_norm 4 "$x $g $g $x f32:0.1 s64:16 s64:$n" "" \
		examples/layer_norm.hexc --arg "X=random(1)[16,$n]" --arg 'gamma=random(2)' --arg 'beta=random(3)' --arg eps=1e-5
done
x=zeros:f32:16384
compare softmax 4 "$x $x s64:16 s64:1024" "" examples/softmax.hexc --arg 'X=random(1)[16,1024]'
x="zeros:f16:$((32 * 8 * 128))" y="zeros:f16:$((32 * 2 * 128))" g=zeros:f16:128 a=zeros:f32:4096
compare rotary 2,10 "$x $y $g $g zeros:s32:32 $a $a $x $y f32:0.1 s64:32 s64:8 s64:2" ld.global.b32 \
	examples/rotary.hexc --arg 'Q=random(1)[32,8,128]' --arg 'K=random(2)[32,2,128]' --arg 'GQ=random(3)' \
	--arg 'GK=random(4)' --arg 'POS=randint(5,0,64)' --arg 'COS=random(6)[64,64]' --arg 'SIN=random(7)' --arg eps=1e-5

# The main loop of a GEMM also has a version with wide accesses: an `assume` gains nothing.
sed '/^ *tune /s/$/\n    assume K % 8 == 0, N % 8 == 0/' examples/swiglu.hexc >"$dir/told.hexc"
for prog in "$dir/told.hexc" examples/swiglu.hexc; do
	"$HEXC" run "$prog" --arch sm_80 --exec=sim --check --stats "$dir/ours" --arg 'A=random(1)[128,256]' \
		--arg 'G=random(2)[128,256]' --arg 'U=random(3)' >"$dir/out" 2>&1 || fail "swiglu: $(tail -3 "$dir/out")"
	[ -z "$(narrow "$dir/ours")" ] || fail "$prog: narrow accesses:" "$(narrow "$dir/ours")"
	hand=${ours-}
	ours=$(executed "$dir/ours")
done
echo "swiglu: $ours, $hand with an assume"
[ "$((ours * 20))" -le "$((hand * 21))" ] || fail "swiglu: more instructions without an assume"
exit $bad
