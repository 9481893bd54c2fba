#!/bin/sh
# Rows of a few elements in memory, pairs and pixels (pass collapse_dims). Accesses are as wide as the contiguous
# elements over several dimensions. Every candidate equals the tile interpreter, which does not collapse dimensions,
# and passes the validator.
set -u
. test/script.sh
ran=0
p=$dir/p.hexc

run() { # what wanted-in-the-first-candidate args...
	what=$1 want=$2
	shift 2
	for arch in sm_80 sm_90a; do
		"$HEXC" candidates "$p" --arch $arch >"$dir/c" 2>&1 || { echo "$what:"; cat "$dir/c"; bad=1; return; }
		head -n 1 "$dir/c" | grep -q "$want" || { echo "$what on $arch: not $want:"; head -n 1 "$dir/c"; bad=1; }
		for i in 0 1 2; do
			[ $i -lt "$(grep -c cycles "$dir/c")" ] || break
			"$HEXC" run "$p" --arch $arch --exec=sim --check --prove --candidate $i "$@" >"$dir/o" 2>&1 ||
				{ echo "$what on $arch, candidate $i:"; cat "$dir/o"; bad=1; }
			ran=$((ran + 1))
		done
	done
}

cat >"$p" <<'P'
kernel g(A: f16[M, K, 2], C: out f16[M, K, 2])
    const BM = 16, BK = 64, WARPS = 4
    assume K % 4 == 0
{
    grid(ceil(M, BM), ceil(K, BK));
    let m = block.x * BM, k = block.y * BK;
    C[m :+ BM, k :+ BK, :] = A[m :+ BM, k :+ BK, :] * 2;
}
P
run 'pairs' 'A ld_global_128; to C st_global_128' --arg 'A=random(1)[20,100,2]'

# K has an unknown divisor, so accesses are no wider than a pair; and a slice without one of the dimensions.
sed -e '/assume/d' -e 's/m :+ BM/m/g; s/const BM = 16/const BM = 1/; s/WARPS = 4/WARPS = 2/' "$p" >"$dir/q" && mv "$dir/q" "$p"
run 'rows of pairs' 'A ld_global_32' --arg 'A=random(1)[5,101,2]'

cat >"$p" <<'P'
kernel g(A: f32[M, K, 2], B: f32[M, K, 2], C: out f32[M, K, 2], S: out f32[M])
    const BM = 8, BK = 64, WARPS = 4
    assume K % 2 == 0
{
    grid(ceil(M, BM));
    let m = block.x * BM;
    var s: register f32[BM, 1] = 0;
    pipeline k in 0..K step BK stages 2 {
        let a: shared = A[m :+ BM, k :+ BK, :];
        let b = B[m :+ BM, k :+ BK, :];
        let x = reshape(a[:, :, 0], BM, BK), y = reshape(a[:, :, 1], BM, BK);
        let u = reshape(b[:, :, 0], BM, BK), v = reshape(b[:, :, 1], BM, BK);
        let re = x * u - y * v, im = x * v + y * u;
        C[m :+ BM, k :+ BK, :] = concat(2, reshape(re, BM, BK, 1), reshape(im, BM, BK, 1));
        s += sum(re * re + im * im, 1);
    }
    S[m :+ BM] = reshape(s, BM);
}
P
run 'complex numbers' 'to a cp_async_16; B ld_global_128.*to C st_global_128' --arg 'A=random(1)[20,130,2]' \
	--arg 'B=random(2)[20,130,2]'

cat >"$p" <<'P'
kernel g(I: u8[H, W, 3], O: out u8[H, W, 3], G: out f32[H, W])
    const BH = 4, BW = 64, WARPS = 4
    assume W % 16 == 0
{
    grid(ceil(H, BH), ceil(W, BW));
    let h = block.x * BH, w = block.y * BW;
    let p: shared = I[h :+ BH, w :+ BW, :];
    O[h :+ BH, w :+ BW, :] = 255 - p;
    G[h :+ BH, w :+ BW] = reshape(sum(f32(p), 2), BH, BW) / 3;
}
P
run 'pixels' 'to p cp_async_16' --arg 'I=randint(1,0,255)[9,160,3]'

# Two short dimensions, both collapsed; and a shared tile of computed values.
cat >"$p" <<'P'
kernel g(A: f16[N, 2, 2], C: out f16[N, 2, 2])
    const BN = 256, WARPS = 2
    assume N % 2 == 0
{
    grid(ceil(N, BN));
    let n = block.x * BN;
    let s: shared = A[n :+ BN, :, :] + 1;
    C[n :+ BN, :, :] = s;
}
P
run 'two dims' 'A ld_global_128;.*to C st_global_128' --arg 'A=random(1)[514,2,2]'

# All extents but one are constants, and the tensor has more elements than the slice.
cat >"$p" <<'P'
kernel g(A: f32[8, N, 6, 2], C: out f32[8, N, 6, 2])
    const BN = 32, WARPS = 1
{
    grid(ceil(N, BN), 8, 3);
    let n = block.x * BN, b = block.y, h = block.z * 2;
    C[b, n :+ BN, h :+ 2, :] = A[b, n :+ BN, h :+ 2, :] * 3;
}
P
run 'numbers' 'A ld_global_128; to C st_global_128' --arg 'A=random(1)[8,37,6,2]'

# Single elements of rows, and rows with gaps between them: unchanged.
cat >"$p" <<'P'
kernel g(A: f16[N, 2], B: f16[N, 4], E: f16[N, 2] strides [4, 1], C: out f16[N, 1], D: out f16[N, 2])
    const BN = 256, WARPS = 2
{
    grid(ceil(N, BN));
    let n = block.x * BN;
    C[n :+ BN, :] = A[n :+ BN, 1 :+ 1];
    D[n :+ BN, :] = B[n :+ BN, 1 :+ 2] + E[n :+ BN, :];
}
P
run 'parts of rows' 'A ld_global_16' --arg 'A=random(1)[300,2]' --arg 'B=random(2)[300,4]' --arg 'E=random(3)[300,2]'

# Elements of pairs accessed one by one, in tensors and in a shared tile: one access per pair, loads and stores.
cat >"$p" <<'P'
kernel g(A: f16[M, K, 2], B: f16[M, K, 2], C: out f16[M, K, 2])
    const BM = 16, BK = 64, WARPS = 4
    assume K % 4 == 0
{
    grid(ceil(M, BM), ceil(K, BK));
    let m = block.x * BM, k = block.y * BK;
    let b: shared = B[m :+ BM, k :+ BK, :];
    let u = A[m :+ BM, k :+ BK, 0], v = A[m :+ BM, k :+ BK, 1];
    let x: register = b[:, :, 0], y: register = b[:, :, 1];
    C[m :+ BM, k :+ BK, 1] = u * y + v * x;
    C[m :+ BM, k :+ BK, 0] = u * x - v * y;
}
P
run 'elements of pairs' 'A ld_global_128; b ld_shared_128.*to C st_global_128' --arg 'A=random(1)[20,100,2]' --arg 'B=random(2)'

cp examples/complex_gemm.hexc "$p"
run 'a product' 'to a \(cp_async_16\|tma_load\)' --arg 'A=random(1)[70,100,2]' --arg 'B=random(2)[66,100,2]'

# Rows of four elements through index tiles, one element twice, with one more dimension. Loads after a store are not
# merged with those before it. Repeated stores to an element, and three of four elements, stay separate.
cat >"$p" <<'P'
kernel g(I: i32[N], A: f32[P, 4], C: inout f32[N, 2], D: out f32[N, 4], E: out f32[N, 2])
    const BN = 64, WARPS = 2
{
    grid(ceil(N, BN));
    let n = block.x * BN, i = I[n :+ BN];
    let x = A[i, 0], y = A[i, 1], z = A[i, 2 :+ 1], w = A[i, 3], v = A[i, 0];
    let p = C[n :+ BN, 0], q = C[n :+ BN, 1];
    C[n :+ BN, 0] = q + 1;
    let r = C[n :+ BN, 0], s = C[n :+ BN, 1];
    C[n :+ BN, 1] = p + r * s;
    C[n :+ BN, 1] = C[n :+ BN, 1] + 1;
    D[n :+ BN, 0] = x + v;
    D[n :+ BN, 3] = y;
    D[n :+ BN, 1] = w + reshape(z, BN);
    D[n :+ BN, 2 :+ 1] = z;
    E[n :+ BN, 1] = x;
    E[n :+ BN, 1] = y;
    E[n :+ BN, 0] = w;
}
P
run 'elements of fours' 'A ld_global_128' --arg 'I=randint(3,-2,40)[150]' --arg 'A=random(1)[37,4]' --arg 'C=random(2)[150,2]'

# Rows that few lanes can share as one dimension, 50 * 6 = 4 * 75 and 1000 * 2 = 16 * 125, are not collapsed but
# padded. The limit is the number of instructions per element of such a replicated tile.
each() { # what instructions-an-element-at-most elements args...
	what=$1 most=$2 n=$3
	shift 3
	"$HEXC" run "$p" --exec=sim --check --prove --stats "$dir/s" "$@" >"$dir/o" 2>&1 ||
		fail "$what: $(cat "$dir/o")"
	i=$(sed -n 's/^[[:space:]]*"warp_instructions":[[:space:]]*\([0-9]*\).*/\1/p' "$dir/s")
	[ "${i:-0}" -gt 0 ] && [ $((i * 32)) -le $((most * n)) ] || fail "$what: $i instructions of warps for $n"
	ran=$((ran + 1))
}

cat >"$p" <<'P'
kernel g(X: f32[7, 50, 6], Y: out f32[7, 50, 6])
{
    grid(1);
    let t: register = X;
    Y[:, :, :] = t / reduce_max(t, 1) + sum(t, 0);
}
P
each 'three short dims' 40 2100 --arg 'X=random(1)'

cat >"$p" <<'P'
kernel g(A: f16[M, K, 2], C: out f16[M, K, 2])
    const K = 1000
{
    grid(M);
    let a: register = A[block.x :+ 1, :, :];
    C[block.x :+ 1, :, :] = concat(2, -a[:, :, 1 :+ 1], a[:, :, 0 :+ 1]);
}
P
each 'a row of pairs' 12 8000 --arg 'A=random(1)[4,1000,2]'

# A tensor without a slice is the slice of all of it.
cat >"$p" <<'P'
kernel g(X: f32[33, 9], Y: out f32[33, 9])
{
    grid(1);
    let t: register = X;
    Y[:, :] = t - sum(t, 1);
}
P
each 'a tensor as a whole' 60 297 --arg 'X=random(1)'
cat >"$p" <<'P'
kernel g(X: f32[25, 33, 3], Y: out i32[25, 33, 1])
{
    grid(1);
    let t: shared = X;
    Y[:] = argmax(t, 2);
}
P
each 'a tensor as a whole, copied' 25 2475 --arg 'X=random(1)'
echo "$ran candidates run"
exit $bad
