#!/bin/sh
# Dots of values with block scales along k, in every spelling of the program. On sm_120a the best candidate uses the
# block-scaled MMA, or no candidate does, as given. The validator reports nothing, and the simulator equals the tile
# interpreter, also for partial tiles. FULL=1 tries more candidates.
set -u
. test/script.sh
ran=0
p=$dir/p.hexc
archs | grep -q sm_120a || { echo "LLVM does not know sm_120a"; exit 77; }

# An operand x[rows, BK] with scales s, rows by blocks: in three dimensions, with the tile of scales unmodified.
blocks='reshape(T(reshape(x, rows, BK / G, G)) * SIGN(T(reshape(s, rows, BK / G, 1))), rows, BK)'
# The same with the scales first, and values that are cast through another type.
turned='reshape(SIGN(T(reshape(s, rows, BK / G, 1))) * T(U(reshape(x, rows, BK / G, G))), rows, BK)'
# Scales as a matrix, repeated before the multiplication.
spread='T(x) * reshape(reshape(SIGN(T(s)), rows, BK / G, 1) + T(0 * reshape(iota(0, rows, BK), rows, BK / G, G)), rows, BK)'
# One block per tile.
whole='T(x) * SIGN(T(s))'

program() { # types of A, B, scales, block, computation type, scaled(), bm bn bk, space of scales, operand B
	fn=$(echo "$6" | sed "s/\bBK\b/cols/g; s/\bG\b/$4/g; s/\bT(/$5(/g; s/\bU(/f32(/g; s/SIGN(/$([ "$3" = e4m3 ] && echo abs)(/g")
	cat >"$p" <<P
fn scaled(x, s, rows, cols) { return $fn; }
kernel g(A: $1[M, K], B: $2[N, K], SA: $3[M, K / $4], SB: $3[N, K / $4], C: out f32[M, N])
    assume K % $9 == 0
    const BM = $7, BN = $8, BK = ${10}, WARPS = 4
{
    grid(ceil(M, BM), ceil(N, BN));
    let m = block.x * BM, n = block.y * BN;
    var acc: register f32[BM, BN] = 0;
    $loop {
        let a: ${11} = A[m :+ BM, k :+ BK], b: ${11} = B[n :+ BN, k :+ BK];
        let sa: ${12} = SA[m :+ BM, k / $4 :+ BK / $4], sb: ${12} = SB[n :+ BN, k / $4 :+ BK / $4];
        acc += dot(scaled(a, sa, BM, BK), ${13}.T);
    }
    C[m :+ BM, n :+ BN] = acc;
}
P
}

both='scaled(b, sb, BN, BK)'
pipe='pipeline k in 0..K step BK stages 2' plain='for k in 0..K step BK'
loop=$pipe

try() { # want, then as program()
	want=$1
	shift
	program "$@"
	what="$* $loop"
	"$HEXC" --emit-ptx "$p" --arch sm_120a --prove -o "$dir/k.ptx" >"$dir/o" 2>&1 || { echo "$what:"; cat "$dir/o"; bad=1; return; }
	case $want in
	no) ! grep -q block_scale "$dir/k.ptx" || fail "$what: scales are applied by products" ;;
	*) grep -q "kind::$want" "$dir/k.ptx" || fail "$what: no $want" ;;
	esac
	k=$((${10} * 2 + $9))
	[ "$9" -lt "${10}" ] || k=$((${10} * 3))
	for i in $([ "${FULL:-0}" = 1 ] && echo 0 3 9 27 || echo 0); do
		"$HEXC" run "$p" --arch sm_120a --exec=sim --check --candidate "$i" --arg "A=random(1)[$(($7 + 6)),$k]" \
			--arg "B=random(2)[$(($8 + 6)),$k]" --arg 'SA=random(3)' --arg 'SB=random(4)' >"$dir/o" 2>&1 &&
			grep -q ': right$' "$dir/o" || { echo "$what candidate $i:"; cat "$dir/o"; bad=1; }
		ran=$((ran + 1))
	done
}

f8=mxf8f6f4.block_scale.scale_vec::1X.f32 f4=mxf4nvf4.block_scale.scale_vec::2X.f32 n4=mxf4nvf4.block_scale.scale_vec::4X.f32
f8=$(echo $f8 | sed 's/\.f32$//') f4=$(echo $f4 | sed 's/\.f32$//') n4=$(echo $n4 | sed 's/\.f32$//')
#   want a    b    scale blk T    scaled  bm bn kmult bk space
try $f8 e4m3 e4m3 e8m0 32 bf16 "$blocks" 32 32 32 128 shared shared "$both"
try $f8 e5m2 e4m3 e8m0 32 f32 "$turned" 16 24 32 64 shared register "$both"
try $f8 e3m2 e2m1 e8m0 32 f16 "$blocks" 64 32 32 96 shared shared "$both"
try $f8 e2m3 e5m2 e8m0 64 bf16 "$blocks" 32 64 64 128 shared shared "$both"
try $f8 e4m1 e2m2 e8m0 32 bf16 "$blocks" 32 32 32 256 shared shared "$both"
try $f8 e4m3 e4m3 e8m0 32 bf16 "$whole" 32 32 32 32 shared register "$both"
try $f8 e2m1 e2m1 e8m0 32 bf16 "$whole" 32 32 32 32 shared register "$both"
try $f4 e2m1 e2m1 e8m0 32 bf16 "$blocks" 32 32 32 128 shared shared "$both"
try $f4 e2m1 e2m1 e8m0 64 f32 "$blocks" 8 64 64 64 shared shared "$both"
try $n4 e2m1 e2m1 e4m3 16 f16 "$blocks" 64 32 64 128 shared shared "$both"
try $n4 e2m1 e2m1 e4m3 16 bf16 "$turned" 16 32 64 192 shared register "$both"
try $n4 e2m1 e2m1 e4m3 32 f16 "$blocks" 32 16 64 512 shared shared "$both"
# a scale for one operand only
try $f8 e4m3 e2m1 e8m0 32 bf16 "$blocks" 32 32 32 128 shared shared 'bf16(b)'
try $n4 e2m1 e2m1 e4m3 16 f16 "$blocks" 32 32 64 128 shared shared 'f16(b)'
# from global memory
loop=$plain
try $f8 e4m3 e5m2 e8m0 32 bf16 "$blocks" 32 32 32 64 register register "$both"
try $f4 e2m1 e2m1 e8m0 32 bf16 "$blocks" 32 32 64 128 register register "$both"
loop=$pipe
# unsupported by instructions: blocks too short, significant signs, scales of another type, two scales, lost digits
try no e4m3 e4m3 e8m0 16 bf16 "$blocks" 32 32 32 64 shared shared "$both"
try no e2m1 e2m1 e4m3 16 f16 "$(echo "$blocks" | sed 's/SIGN//')" 32 32 64 64 shared shared "$both"
try no e4m3 e4m3 e4m3 32 f16 "$blocks" 32 32 32 64 shared shared "$both"
try no e4m3 e4m3 e5m2 32 f32 "$blocks" 32 32 32 64 shared shared "$both"
try no e4m3 e4m3 e8m0 32 bf16 "($blocks) * bf16(2)" 32 32 32 64 shared shared "$both"
try no e4m3 e4m3 e8m0 32 bf16 "$spread" 32 32 32 64 shared shared "$both"
# unsupported by other targets
program e4m3 e4m3 e8m0 32 bf16 "$blocks" 32 32 32 64 shared shared "$both"
for arch in sm_80 sm_90a sm_100a; do
	"$HEXC" --emit-ptx "$p" --arch $arch --prove >"$dir/k.ptx" 2>"$dir/o" || { cat "$dir/o"; bad=1; }
	! grep -q block_scale "$dir/k.ptx" || fail "$arch has no scales of blocks"
done
"$HEXC" explain examples/gemm_mxfp.hexc --arch sm_120a >"$dir/e"
grep -q '^  applied by products; alternative before (candidate' "$dir/e" || fail "gemm_mxfp does not say who applies its scales"
echo "$ran candidates run"
exit $bad
