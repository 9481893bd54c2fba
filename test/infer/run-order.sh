#!/bin/sh
# Threadblock swizzle (pass rasterize): which kernels have raster groups, BLOCK_GROUP in the program, equal results,
# and the memory traffic that it saves.
set -u
. test/script.sh

# group PROGRAM [ARGUMENTS...]: "GROUP of DIM DIM", or "none", from the manifest
group() {
	"$HEXC" --emit-ptx "$@" -o "$dir/g.ptx" --manifest "$dir/g.json" 2>"$dir/err" || {
		cat "$dir/err"
		return
	}
	tr -d ' \t\n' <"$dir/g.json" | sed 's/.*"order":{"group":\([0-9]*\),"dims":\[\([0-9]\),\([0-9]\)\]}.*/\1 of \2 \3/; t; s/.*/none/'
}
wants() {
	want=$1
	shift
	got=$(group "$@")
	[ "$got" = "$want" ] || fail "$*: $got, not $want"
}

# 108 concurrent blocks read least as 8 rows of 13 (sm_80): the root of 108 is 10.4. For a tile four times as wide,
# 16 columns cost less than 8: 108 b / a, the root of 108 * 4 is 20.8; for one four times as high it is 5.2.
wants '8 of 0 1' examples/gemm_f16.hexc
wants '4 of 0 1' examples/gemm_f16.hexc -D BM=128 -D BN=32
wants '16 of 0 1' examples/gemm_f16.hexc -D BM=32 -D BN=128
# 40 blocks on sm_75: 6.3
wants '4 of 0 1' examples/gemm_f16.hexc --arch sm_75
# x and y of three dimensions: nothing is shared along x; queries are read together with the head of the keys;
# almost all loads depend on both
wants '8 of 0 1' examples/split_k.hexc --kernel partial
wants none examples/attention.hexc
wants none examples/paged_attention.hexc --kernel decode
wants none examples/softmax.hexc

# The dimensions are detected under any name: rows along z, columns along y. Gathered data depends on its index.
cat >"$dir/zy.hexc" <<'END2'
kernel k(A: f16[M, K], B: f16[N, K], C: out f32[P, M, N]) assume K % 32 == 0
{
    grid(P, ceil(N, 64), ceil(M, 64));
    var acc: register f32[64, 64] = 0;
    for k in 0..K step 32 {
        let a: shared = A[block.z * 64 :+ 64, k :+ 32], b: shared = B[block.y * 64 :+ 64, k :+ 32];
        acc += dot(a, b.T);
    }
    C[block.x, block.z * 64 :+ 64, block.y * 64 :+ 64] = acc;
}
END2
wants '8 of 1 2' "$dir/zy.hexc"
cat >"$dir/gather.hexc" <<'END2'
kernel k(A: f16[M, K], T: i32[N], B: f16[N, K], C: out f32[M, N]) assume K % 32 == 0
{
    grid(ceil(M, 64), ceil(N, 64));
    let rows: register = T[block.y * 64 :+ 64];
    var acc: register f32[64, 64] = 0;
    for k in 0..K step 32 {
        let a: register = A[rows, k :+ 32], b: shared = B[block.y * 64 :+ 64, k :+ 32];
        acc += dot(a, b.T);
    }
    C[block.x * 64 :+ 64, block.y * 64 :+ 64] = acc;
}
END2
wants none "$dir/gather.hexc"

# A variable that a loop advances depends on its increment.
cat >"$dir/moved.hexc" <<'END2'
kernel k(A: f16[M, K], B: f16[N, K], C: out f32[M, N]) assume K % 32 == 0
{
    grid(ceil(M, 64), ceil(N, 64));
    var acc: register f32[64, 64] = 0;
    var n = 0;
    for k in 0..K step 32 {
        let a: shared = A[block.x * 64 :+ 64, k :+ 32], b: shared = B[n :+ 64, k :+ 32];
        acc += dot(a, b.T);
        n = n + block.x + block.y;
    }
    C[block.x * 64 :+ 64, block.y * 64 :+ 64] = acc;
}
END2
wants none "$dir/moved.hexc"
sed 's/+ block.x + block.y/+ block.y/' "$dir/moved.hexc" >"$dir/own.hexc"
wants '8 of 0 1' "$dir/own.hexc"

# Blocks with the most work first: 4 to 7 of the wave's blocks are of one group. "3" stands for ascending, "4" for
# descending indices.
wants '16 of 4 0' examples/attention.hexc -D CAUSAL=1
wants '32 of 4 0' examples/attention.hexc -D CAUSAL=1 --arch sm_90a
cat >"$dir/work.hexc" <<'END2'
kernel k(A: f32[N, 16], L: i32[H], C: out f32[H, M, 16])
{
    grid(H, M);
    let h = block.x, m = block.y, len = i64(L[h]);
    var acc: register f32[16] = 0;
    for k in BOUNDS { acc += sum(A[k :+ 32, :], 0)[0, :]; }
    C[h, m, :] = acc;
}
END2
work() { # GROUP BOUNDS: of a loop
	sed "s/BOUNDS/$2/" "$dir/work.hexc" >"$dir/bounds.hexc"
	wants "$1" "$dir/bounds.hexc"
}
work '16 of 4 1' '0..min(N, m * 32 + 32) step 32'
work '16 of 3 1' 'm * 32..N step 32'
work '16 of 4 1' '(M - m) * 32..N step 32'
work '16 of 3 1' '0..N - m * 2 step 32'
work '16 of 4 1' '0..min(len, m * 32 + 32) step 32' # other dimensions may do as they like
work '16 of 4 1' '0..max(m - 3, 0) \/ 2 * 64 step 32'
work none '0..min(N, len) step 32'
work none 'max(0, m * 32 - 64)..m * 32 + 64 step 32' # a window: the same for all
work none 'm * 32..N step 32 * M' # dealt out
work none '0..m % 7 * 32 step 32'
work none '0..(m + h) * 32 step 32'
sed 's/BOUNDS/0..m * 32 step 32/; s/^{/    const BLOCK_GROUP = 0\n{/' "$dir/work.hexc" >"$dir/bounds.hexc"
wants none "$dir/bounds.hexc"
# One that waits for another block relies on the hardware's order.
sed 's/BOUNDS/0..m * 32 step 32/; s/    C\[/    while acc[0] < 0 { acc += 1; }\n&/' "$dir/work.hexc" >"$dir/bounds.hexc"
wants none "$dir/bounds.hexc"
"$HEXC" --emit-ptx examples/attention.hexc -D CAUSAL=1 --dump rasterize --stop rasterize 2>&1 >/dev/null |
	sed -n '/^kernel/,/^}/p' >"$dir/order.ir"
grep -q '^  group 16 of others, 0 descending$' "$dir/order.ir" || fail 'the order in IR'
"$HEXC" ir "$dir/order.ir" | cmp - "$dir/order.ir" || fail 'the order in IR, read and printed'
python3 test/infer/order.py "$HEXC" "$dir" || fail 'order of blocks'

# BLOCK_GROUP in the program takes precedence.
say() {
	sed "s/    tune STAGES/    $1 BLOCK_GROUP = $2\n    tune STAGES/" examples/gemm_f16.hexc >"$dir/say.hexc"
}
say const 0
wants none "$dir/say.hexc" --werror
say tune '0|3|16'
wants '3 of 0 1' "$dir/say.hexc" -D BLOCK_GROUP=3
say const 1025
says 1 'BLOCK_GROUP is 1025; expected 1 to 1024, or 0 to disable' --emit-ptx "$dir/say.hexc"

# Results with groups of 3 and 4 of 10 rows, whose last groups have 4 and 6; partial tiles in both dimensions.
say tune "0|1|3|4|8"
for g in 0 1 3 4; do
	"$HEXC" run "$dir/say.hexc" --exec=sim --check --prove -D "BLOCK_GROUP=$g" -D BM=16 -D BN=16 -D BK=16 -D WARPS=1 \
		--arg 'A=random(1)[155,40]' --arg 'B=random(2)[75,40]' >"$dir/out" 2>&1 || fail "group $g: $(cat "$dir/out")"
done

# 32 x 32 blocks, each with a tile of 2 KB of each operand. The 108 concurrent blocks read 32 + 4 or 5 tiles in the
# device's order, and 8 + 14 or 15 in groups; 64 KB hold 32 tiles.
for g in 0 8; do
	"$HEXC" run "$dir/say.hexc" --exec=sim -D "BLOCK_GROUP=$g" -D BM=16 -D BN=16 -D BK=16 -D WARPS=1 --l2 65536,108 \
		--arg 'A=random(1)[512,64]' --arg 'B=random(2)[512,64]' >"$dir/out" 2>&1 || fail "l2: $(cat "$dir/out")"
	sed -n 's/.* sectors read, \([0-9]*\) of them from memory.*/\1/p' "$dir/out" >"$dir/l2.$g"
done
[ $(($(cat "$dir/l2.8") * 4)) -lt $(($(cat "$dir/l2.0") * 3)) ] ||
	fail "through L2: $(cat "$dir/l2.0") sectors, in groups $(cat "$dir/l2.8")"
says 2 "--l2: expected BYTES[,BLOCKS], at least a sector of 32 bytes, got '31'" run "$dir/say.hexc" --exec=sim --l2 31 \
	--arg 'A=random(1)[16,16]' --arg 'B=random(2)[16,16]'
exit $bad
