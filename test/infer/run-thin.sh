#!/bin/sh
# Skinny dots (few rows or columns): every lowering that the search tries equals the tile interpreter on the
# simulator and passes the validator. For one row of 4096, instructions and sectors per weight are compared
# with a handwritten kernel.
set -u
. test/script.sh
. test/infer/values.sh
ran=0
p=$dir/p.hexc

program() { # a b acc m n k
	cat >"$p" <<P
kernel g(X: $1[M, K], W: $2[N, K], Y: out $3[M, N])
    const BM = $4, BN = $5, BK = $6, WARPS = 4
    assume K % 8 == 0
{
    grid(ceil(N, BN), ceil(M, BM));
    let n = block.x * BN, m = block.y * BM;
    var acc: register $3[BM, BN] = 0;
    for k in 0..K step BK {
        acc += dot(X[m :+ BM, k :+ BK], W[n :+ BN, k :+ BK].T);
    }
    Y[m :+ BM, n :+ BN] = acc;
}
P
}

# The best candidate of each lowering.
try() { # want arch a b acc m n k
	want=$1 arch=$2
	shift 2
	program "$@"
	what="$* $arch"
	"$HEXC" candidates "$p" --arch "$arch" -W no-fma -W no-idle >"$dir/c" 2>&1 || { echo "$what:"; cat "$dir/c"; bad=1; return; }
	head -n 1 "$dir/c" | grep -q "cycles  .*$want" || { echo "$what: not $want:"; head -n 1 "$dir/c"; bad=1; }
	grep cycles "$dir/c" | awk '{ way = /as sums/ ? 1 : /padded/ ? 2 : 0 } !seen[way]++ { print $1 }' >"$dir/n"
	while read -r i; do
		"$HEXC" run "$p" --arch "$arch" --exec=sim --check --prove --candidate "$i" -W no-idle -W no-fma \
			--arg "X=$(values "$1" 1)[$(($4 + 1)),$(($6 + 40))]" \
			--arg "W=$(values "$2" 2)[$(($5 + 3)),$(($6 + 40))]" >"$dir/o" 2>&1 ||
			{ echo "$what candidate $i:"; cat "$dir/o"; bad=1; }
		ran=$((ran + 1))
	done <"$dir/n"
}

sums='skinny dots: multiply-reduce' padded='skinny dots: padded MMA; mma'
for m in 1 2 4; do
	try "$padded" sm_80 f16 f16 f32 $m 64 64
	try "$sums" sm_80 f32 f32 f32 $m 16 64
	try "$sums" sm_80 f16 f16 f32 $m 4 256
done
try "$padded" sm_90a i8 i8 i32 1 64 128
try "$sums" sm_80 i8 u8 i32 2 4 256
try "$padded" sm_80 e4m3 e4m3 f32 1 64 128
try "$padded" sm_75 f16 f16 f32 1 64 64
# both sides are small: instances have 16 of one
try "$padded" sm_80 f16 f16 f32 8 8 256
try "$padded" sm_90a bf16 bf16 f32 4 8 256
try "$padded" sm_75 f16 f16 f32 8 4 256
try mma_m16n8k16_f32_bf16 sm_80 bf16 bf16 f32 3 64 64
try "$sums" sm_80 f64 f64 f64 1 4 64
try "$sums" sm_80 f32 f32 f32 8 16 64
try "$sums" sm_80 i16 i16 i32 1 8 128

# Few columns, and an accumulator that is used outside the loop.
cat >"$p" <<P
kernel g(A: f16[M, K], X: f16[K, N], Y: out f32[M, N])
    const BM = 32, BN = 2, BK = 64, WARPS = 2
{
    grid(ceil(M, BM), ceil(N, BN));
    let m = block.x * BM, n = block.y * BN;
    var acc: register f32[BM, BN] = 1;
    for k in 0..K step BK {
        acc = acc * 0.5 + dot(A[m :+ BM, k :+ BK], X[k :+ BK, n :+ BN]);
    }
    Y[m :+ BM, n :+ BN] = acc + dot(A[m :+ BM, 0 :+ BK], X[0 :+ BK, n :+ BN]);
}
P
for i in 0 1 2 3; do
	"$HEXC" run "$p" --exec=sim --check --prove --candidate $i --arg 'A=random(1)[40,150]' --arg 'X=random(2)[150,3]' \
		>"$dir/o" 2>&1 || { echo "columns, candidate $i:"; cat "$dir/o"; bad=1; }
done

# y = W x with 4096 by 4096 f16. By hand: blocks of R rows, a warp for a few of them, 16-byte loads. Each weight
# takes a conversion and an fma; the conversion of x is shared by R / 4 rows, R = 8: 2 + 1 / 2 float instructions,
# 1/8 + 1/16 loads. A move unpacks two f16 (one instruction with the conversion in machine code): 1/2 + 1/4. Sectors
# of W are read once, those of x once per block, from L1. LLVM 19 unpacks words with 16-bit conversions, which do
# not exist in machine code: 1/2 + 1/4 more here.
halves=0
"$HEXC" --version | grep -q 'LLVM 19' && halves=0.75
program f16 f16 f32 1 8 1024
"$HEXC" run "$p" --exec=sim --check --arg 'X=random(1)[1,4096]' --arg 'W=random(2)[4096,4096]' --stats "$dir/s.json" \
	>"$dir/o" 2>&1 || { cat "$dir/o"; bad=1; }
awk -F '[:,{}]' -v w=16777216 -v halves=$halves '
	{ gsub(/[" \t]/, ""); for (i = 1; i < NF; i++) if ($(i + 1) ~ /^[0-9]/) v[$i] = $(i + 1) }
	END {
		float = (v["f32"] + v["cvt"]) * 32 / w
		loads = v["ld_global"] * 32 / w
		sectors = v["global_sectors_read_min"] * 32 / (2 * w)
		printf "a weight: %.2f float instructions, %.3f loads, %.3f of its sectors\n", float, loads, sectors
		exit !(float <= 1.15 * (2.5 + halves) && loads <= 1.15 * 3 / 16 && sectors <= 1 + 1 / 8 + 0.01)
	}' "$dir/s.json" || { echo "more than by hand"; bad=1; }
echo "$ran candidates run"
exit $bad
