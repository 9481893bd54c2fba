#!/bin/sh
# To allow another block per SM, ptxas uses fewer registers and spills. hexc emits .maxnreg if no further block can
# fit, and none if one can.
. test/script.sh

limit() { # PROGRAM OPTIONS
	"$HEXC" --emit-ptx "$@" -o "$dir/p" 2>"$dir/err" || cat "$dir/err"
	sed -n 's/^\.maxnreg //p' "$dir/p"
}

for tile in 'BK=32' 'BN=256 -D BK=64 -D WARPS=8'; do
	# shellcheck disable=SC2086 # words
	got=$(limit examples/gemm_f16.hexc -D $tile)
	[ "$got" = 248 ] || fail "gemm_f16 with $tile: ${got:-as many registers as ptxas likes}, not 248"
done
got=$(limit examples/gemm_wNa16.hexc -D WEIGHT=u6 -D BM=16 -D BN=256)
[ "$got" = 248 ] || fail "6-bit weights: ${got:-as many registers as ptxas likes}, not 248"
if command -v ptxas >/dev/null; then
	ptxas -arch=sm_80 -v "$dir/p" -o "$dir/c" >"$dir/v" 2>&1 || fail "ptxas: $(tail -3 "$dir/v")"
	grep -q ' 0 bytes spill stores' "$dir/v" || fail "6-bit weights: $(grep spill "$dir/v")"
fi
# 8 of 12 warps are consumers: their lanes have 232 registers if producer lanes keep 40. The accumulator, the logits
# and the operand of attention's largest tiles need more, so producers keep 24; elsewhere 40.
shared() { # REGISTERS PROGRAM OPTIONS: the operands of setmaxnreg
	want=$1
	shift
	"$HEXC" --emit-ptx "$@" --arch sm_90a -o "$dir/p" 2>"$dir/err" || cat "$dir/err"
	got=$(sed -n 's/.*setmaxnreg.* \([0-9]*\);/\1/p' "$dir/p" | tr '\n' ' ')
	[ "$got" = "$want " ] || fail "$*: $got handed on, not $want"
	command -v ptxas >/dev/null || return 0
	ptxas -arch=sm_90a -v "$dir/p" -o "$dir/c" >"$dir/v" 2>&1 || fail "ptxas: $(tail -3 "$dir/v")"
	grep -q ' 0 bytes spill stores' "$dir/v" && grep -q 'Used 168 registers' "$dir/v" && ! grep -q C75 "$dir/v" ||
		fail "$*: $(cat "$dir/v")"
}
for weight in u1 i5 i7; do
	shared '40 232' examples/gemm_wNa16.hexc -D BM=128 -D BN=256 -D WARPS=8 -D WEIGHT=$weight
done
shared '40 232' examples/gemm_f16.hexc
shared '24 240' examples/attention.hexc -D D=256 -D BM=128 -D BN=64 -D WARPS=8
shared '24 240' examples/attention.hexc -D D=128 -D BM=128 -D BN=128 -D WARPS=8
for prog in softmax gemm_epilogue attention; do
	got=$(limit "examples/$prog.hexc")
	[ -z "$got" ] || fail "$prog: at most $got registers, where fewer are another block"
done
got=$(limit examples/attention.hexc -D D=256)
[ -z "$got" ] || fail "attention of 256 columns: at most $got registers, where it needs them all"
exit $bad
