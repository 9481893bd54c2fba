#!/bin/sh
# Batched dots: for element types, numbers of leading dimensions, batches distributed over warps or kept in
# registers, partial tiles, and an operand shared by all batches. Every candidate equals the tile interpreter on the
# simulator and passes the validator. The first one uses the instruction of a single dot.
set -u
. test/script.sh
. test/infer/values.sh
ran=0
p=$dir/p.hexc

run() { # want arch what args...
	want=$1 arch=$2 what="$3 $2"
	shift 3
	"$HEXC" candidates "$p" --arch "$arch" -W no-fma -W no-idle >"$dir/c" 2>&1 || { echo "$what:"; cat "$dir/c"; bad=1; return; }
	head -n 1 "$dir/c" | grep -q "$want" || { echo "$what: not $want:"; head -n 1 "$dir/c"; bad=1; }
	n=$(grep -c cycles "$dir/c")
	[ "${FULL:-0}" = 1 ] || [ "$n" -le 3 ] || n=3
	i=0
	while [ $i -lt "$n" ]; do
		"$HEXC" run "$p" --arch "$arch" --exec=sim --check --prove --candidate $i "$@" >"$dir/o" 2>&1 ||
			{ echo "$what candidate $i:"; cat "$dir/o"; bad=1; }
		ran=$((ran + 1))
		i=$((i + 1))
	done
}

# A pipeline over k in shared memory, the right operand plain or transposed.
shared() { # a b acc batch m n k warps turned arch want
	right='k :+ BK, n :+ BN' size='K, N' turn=w data="$7,$6"
	[ "$9" = 0 ] || { right='n :+ BN, k :+ BK' size='N, K' turn='transpose(w, 0, 2, 1)' data="$6,$7"; }
	cat >"$p" <<P
kernel g(A: $1[B, M, K], W: $2[B, $size], C: out $3[B, M, N])
    const BB = $4, BM = $5, BN = $6, BK = $7, WARPS = $8
{
    grid(ceil(B, BB), ceil(M, BM), ceil(N, BN));
    let b = block.x * BB, m = block.y * BM, n = block.z * BN;
    var acc: register $3[BB, BM, BN] = 0;
    pipeline k in 0..K step BK stages 2 {
        let a: shared = A[b :+ BB, m :+ BM, k :+ BK];
        let w: shared = W[b :+ BB, $right];
        acc += dot(a, $turn);
    }
    C[b :+ BB, m :+ BM, n :+ BN] = acc;
}
P
	run "${11}" "${10}" "$1 $2 $3 $4x$5x$6x$7 $8 warps, turned $9" \
		--arg "A=$(values "$1" 1)[$(($4 + 1)),$(($5 + 5)),$7]" --arg "W=$(values "$2" 2)[$(($4 + 1)),$data]"
}

mma=mma_m16n8k16_f32_f16
for w in 1 2 4 8; do # more and fewer batches than warps, and a number with an odd factor
	shared f16 f16 f32 4 16 16 32 $w 0 sm_80 "$mma.* warps"
done
shared f16 f16 f32 4 16 16 32 4 1 sm_90a "$mma.* warps"
shared f16 f16 f32 3 32 16 32 2 1 sm_75 "mma_m16n8k8_f32_f16.* warps"
shared bf16 bf16 f32 6 16 8 16 4 0 sm_80 "mma_m16n8k16_f32_bf16.* warps 2x"
shared i8 u8 i32 4 16 16 64 4 1 sm_80 "mma_m16n8k32_s32_s8_u8.* warps"
shared e4m3 e4m3 f32 2 16 16 64 2 1 sm_90a "mma_m16n8k16_f32_f16.* warps"
shared e4m3 e4m3 f32 2 16 16 64 2 1 sm_89 "mma_m16n8k32_f32_e4m3.* warps"
shared f64 f64 f64 4 16 16 16 4 0 sm_80 "mma_m8n8k4_f64.* warps"
shared f32 f32 f32 8 16 16 16 4 0 sm_80 "fma.* warps"
shared i32 i32 i32 4 16 8 8 4 1 sm_80 "fma.* warps"

# Two leading dimensions, one of them 1 in the left operand only; the right operand without the other.
cat >"$p" <<P
kernel g(A: f16[P, M, K], W: f16[Q, K, N], C: out f32[P, Q, M, N])
    const PP = 2, QQ = 2, M = 16, N = 24, K = 32, WARPS = 2
{
    grid(ceil(P, PP), ceil(Q, QQ));
    let p = block.x * PP, q = block.y * QQ;
    let a = reshape(A[p :+ PP, 0 :+ M, 0 :+ K], PP, 1, M, K);
    C[p :+ PP, q :+ QQ, 0 :+ M, 0 :+ N] = dot(a, W[q :+ QQ, 0 :+ K, 0 :+ N]);
}
P
run "$mma.* warps" sm_80 'two dims' --arg 'A=random(1)[3,16,32]' --arg 'W=random(2)[5,32,24]'

# Heads of attention in one dot: the result of one dot is an operand of the next.
cat >"$p" <<P
kernel g(Q: f16[H, M, D], K: f16[H, N, D], V: f16[H, N, D], O: out f16[H, M, D])
    const HB = 2, BM = 32, BN = 32, WARPS = 4, D = 64
    assume N > 0
{
    grid(ceil(H, HB), ceil(M, BM));
    let h = block.x * HB, m = block.y * BM;
    let q = Q[h :+ HB, m :+ BM, 0 :+ D];
    var acc: register f32[HB, BM, D] = 0;
    var top: register f32[HB, BM, 1] = -inf;
    var total: register f32[HB, BM, 1] = 0;
    pipeline n in 0..N step BN stages 2 {
        let k: shared = K[h :+ HB, n :+ BN, 0 :+ D];
        let v: shared = V[h :+ HB, n :+ BN, 0 :+ D];
        let s = dot(q, transpose(k, 0, 2, 1)) * 0.125;
        let t = max(top, reduce_max(s, 2)), e = exp(s - t), old = exp(top - t);
        total = total * old + sum(e, 2);
        acc = acc * old + dot(f16(e), v);
        top = t;
    }
    O[h :+ HB, m :+ BM, 0 :+ D] = f16(acc / total);
}
P
run "$mma.* warps" sm_80 'heads' --arg 'Q=random(1)[3,40,64]' --arg 'K=random(2)[3,70,64]' --arg 'V=random(3)'
echo "$ran candidates run"
exit $bad
