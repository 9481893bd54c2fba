#!/bin/sh
# Warnings: each of hexc/ir/warnings.def where it applies, and none in the examples; -W, --werror, --diag json.
. test/script.sh

# w NAME TEXT [ARGUMENTS...] <PROGRAM: it compiles, and its only diagnostic is warning NAME with TEXT
w() {
	name=$1 text=$2
	shift 2
	cat >"$dir/w.hexc"
	"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" "$@" 2>"$dir/err" || fail "$name: $(cat "$dir/err")"
	grep -F -- "$text" "$dir/err" | grep -qF "[-W no-$name]" || fail "no warning '$text' of $name, but: $(cat "$dir/err")"
	[ "$(grep -c 'warning: ' "$dir/err")" = 1 ] || fail "$name: more than one warning: $(grep 'warning: ' "$dir/err")"
	"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w2.ptx" "$@" -W "no-$name" 2>"$dir/err" || fail "-W no-$name fails"
	[ ! -s "$dir/err" ] || fail "-W no-$name: $(cat "$dir/err")"
	cmp -s "$dir/w.ptx" "$dir/w2.ptx" || fail "-W no-$name changes the PTX"
	"$HEXC" --emit-ptx "$dir/w.hexc" "$@" --werror >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] || fail "$name: --werror has another status"
	grep -qF "error: " "$dir/err" && [ ! -s "$dir/out" ] || fail "$name: --werror is no error"
	seen="$seen $name"
}
seen=
# It has no assumption about N, and computes too much for a second code version for aligned N.
large='fn f(x) { return x * x + x; } fn g(x) { return f(f(f(x))); } fn h(x) { return g(g(g(x))); } kernel k(A: f16[64, N], C: out f32[64, 64]) const WARPS = 1 { grid(1); let a: shared = A[:, 0 :+ 64]; C[:, :] = h(h(dot(a, a.T))); }'

printf '#!/bin/sh\necho "fatal: out of sorts" >&2\nexit 1\n' >"$dir/asm"
chmod +x "$dir/asm"
w assembler 'the assembler rejected solution 0 of kernel k: fatal: out of sorts; solutions are ranked by estimates' \
	--assemble --assembler "$dir/asm" <<'END2'
kernel k(C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = 1; }
END2
w unused 'warning: unused parameter `B`; remove it or rename it `_B`' <<'END2'
kernel k(_A: f32[N], B: f32[N], C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = 1; }
END2
w unused 'unused value `y`; remove it or rename it `_y`' <<'END2'
kernel k(C: out f32[N]) { grid(ceil(N, 128)); let y = 3, _z = 4; C[block.x * 128 :+ 128] = 1; }
END2
w unused 'unused variable `y`' <<'END2'
kernel k(C: out f32[N]) { grid(ceil(N, 128)); var y = 3; y = 4; C[block.x * 128 :+ 128] = 1; }
END2
w unused 'unused tunable `BM`' <<'END2'
kernel k(C: out f32[N]) tune BM = 16, WARPS = 2 { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = 1; }
END2
w unused 'unused parameter `y`' <<'END2'
fn twice(x, y) { return x + x; }
kernel k(C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = twice(1.0, 2.0); }
END2
w slice 'the slice of `W` is indexed by a value bounded by K in dimension 1, which has K / 2 elements; divide the start by 2' <<'END2'
kernel k(W: u8[64, K / 2], C: out f32[64, K]) assume K % 64 == 0
{
    grid(ceil(K, 64));
    let k = block.x * 64;
    C[0 :+ 64, k :+ 64] = f32(fill(W[0 :+ 64, k :+ 64], 0));
}
END2
w slice 'the slice of `T` ends at 256 in dimension 0, past its extent 128' <<'END2'
kernel k(T: f32[128], C: out f32[256])
{
    grid(2);
    for i in 0..256 step 128 {
        C[i :+ 128] = fill(T[i :+ 128], 0);
    }
}
END2
w leftout 'the store leaves out elements that its value does not have; to store a number for them, write `fill(x, number)`' <<'END2'
kernel k(A: f32[M], C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = A[block.x * 128 :+ 128] + 1; }
END2
w leftout 'the store leaves out elements that its value does not have: `x`; to store' <<'END2'
kernel k(A: f32[M], C: out f32[N]) { grid(ceil(N, 128)); let x = A[block.x * 128 :+ 128]; C[block.x * 128 :+ 128] = x; }
END2
w missing 'this element of `x` may be out of bounds, where it reads 0, and is compared; to say so, fill the tile: `fill(.., 0)`' <<'END2'
kernel k(A: i32[M], C: out i32[1]) { grid(1); let x: shared = A[0 :+ 128]; if x[70] > 3 { C[0] = 1; } else { C[0] = 0; } }
END2
w missing 'this element may be out of bounds, where it reads 0, and is an index' <<'END2'
kernel k(A: i32[M], T: i32[128], C: out i32[1]) { grid(1); let x: register = A[0 :+ 128]; C[0] = T[i64(x[70])]; }
END2
w missing 'this element of `x` may be out of bounds, where it reads 0, and is a loop'"'"'s bound' <<'END2'
kernel k(A: i64[M], C: out i32[1]) { grid(1); let x: shared = A[0 :+ 128]; var n: i32 = 0; for i in 0..x[70] { n += 1; } C[0] = n; }
END2
w missing 'and is compared' <<'END2'
kernel k(A: i32[M], C: out i32[128]) { grid(1); let x: shared = A[0 :+ 128]; C[0 :+ 128] = where(fill(A[0 :+ 128], 0) > x[70], 1, 2); }
END2
w unwritten 'output `C` is not fully written: the last N % 128 elements along dimension 0 are not written; use a grid of ceil(N, 128) blocks, or assume N % 128 == 0' <<'END2'
kernel k(C: out f32[N]) { grid(N / 128); C[block.x * 128 :+ 128] = 1; }
END2
w unwritten 'output `C` is not fully written: of every 128 elements along dimension 0 only 64 are written' <<'END2'
kernel k(C: out f32[N]) tune WARPS = 2 { grid(ceil(N, 128)); C[block.x * 128 :+ 64] = 1; }
END2
w unwritten 'output `C` is not fully written: of the N elements along dimension 0 only the first 128 are written' <<'END2'
kernel k(C: out f32[N]) { grid(1); C[0 :+ 128] = 1; }
END2
w unwritten 'output `_D` is never written; its elements keep their old values' <<'END2'
kernel k(C: out f32[N], _D: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = 1; }
END2
w strides 'output `C` has aliasing elements: strides of dimensions 0 and 1 overlap' <<'END2'
kernel k(C: out f32[N, 4] strides [2, 1]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128, :] = 1; }
END2
# Stores of values computed from loads through the same indices: sums, maxima after a cast, other expressions;
# indices written twice. No warning if the indices are distinct, or if the loads use others.
lost() { # TEXT STATEMENTS
	printf 'kernel k(I: i32[N], X: f32[N], C: inout f32[M], H: inout f16[8, M])\n const WARPS = 2\n{ grid(1);
		let n = block.x * 64, i = I[n :+ 64], x = X[n :+ 64];
		%s\n C[0 :+ 1] = f32(i[0 :+ 1]) + x[0 :+ 1] + f32(H[0 :+ 1, 0]); }\n' "$2" >"$dir/lost.hexc"
	if [ "$1" ]; then
		w lost "$1" <"$dir/lost.hexc"
	else
		"$HEXC" --emit-ptx "$dir/lost.hexc" -o "$dir/w.ptx" 2>"$dir/err" && [ ! -s "$dir/err" ] || fail "$2: $(cat "$dir/err")"
	fi
}
lost 'non-atomic update of `C`: of several updates through equal indices only one takes effect; `atomic_add(C[..], x)` keeps them all' 'C[i] += x;'
lost '`atomic_add(C[..], -x)` keeps them all' 'C[i] -= x;'
lost '`atomic_max(H[..], x)` keeps them all' 'H[0, i] = f16(max(f32(H[0, i]), x));'
lost 'use an atomic such as `atomic_add`' 'C[i] = where(x < 0, C[i] * x, x);'
lost '`atomic_add(C[..], x)` keeps them all' 'C[I[n :+ 64] + 1] = C[I[n :+ 64] + 1] + x;'
lost '`atomic_add(C[..], x)` keeps them all' 'C[iota(0, 64) / 2] += x;'
lost '`atomic_add(C[..], x)` keeps them all' 'C[iota(0, 64) * 6 % 64] += x;'
lost '`atomic_add(C[..], x)` keeps them all' 'C[iota(0, 8, 1) * 7 + iota(1, 8, 8)] += reshape(x, 8, 8);'
lost '`atomic_add(H[..], x)` keeps them all' 'H[iota(0, 64) % 8, iota(0, 64) / 4] += f16(x);'
lost '`atomic_add(C[..], x)` keeps them all' 'C[i32(u8(iota(0, 64) * 8))] += x;'
lost '`atomic_add(C[..], x)` keeps them all' 'C[iota(0, 64) * 134217728] += x;'
lost '`atomic_add(C[..], x)` keeps them all' 'C[i32(f16(iota(0, 64)) * 0.25)] += x;'
lost '' 'C[i32(u8(iota(0, 64) * 4))] += x;'
lost '' 'C[i64(iota(0, 64)) * 2 + n] += x;'
lost '' 'C[63 - iota(0, 64)] += x;'
lost '' 'C[iota(0, 64) * 5 % 64] += x;'
lost '' 'C[iota(0, 8, 1) * 8 + iota(1, 8, 8)] += reshape(x, 8, 8);'
lost '' 'H[iota(0, 64) % 8, iota(0, 64) / 8] += f16(x);'
lost '' 'H[iota(0, 8, 1), iota(1, 8, 8) * 2] += f16(reshape(x, 8, 8));'
lost '' 'C[i] = x;'
lost '' 'C[i] = C[i + 1] + x;'
lost '' 'C[i] = sum(C[i], 0) + x;'
lost '' 'atomic_add(C[i], x);'
# Stores of each block to one location: loop-carried sums, through shared memory. No warning for locations and
# iterations that depend on the block, or for values that are the same in all blocks.
for s in 'Y[0 :+ 1] = sum(x, 0);' 'Y[0 :+ 1] += sum(x, 0);' 'let t: shared = fill(x, 0); Y[0 :+ 64] = t[0 :+ 64];' \
	'var c = 0, d = 0; for n in 0..4 { d = c + 1; c = d + i; } Y[0] = f32(c);' 'if N > 64 { Y[0] = f32(i); }'; do
	echo "kernel k(X: f32[N], Y: inout f32[N]) const WARPS = 4 { grid(ceil(N, 128)); let i = block.x * 128, x = X[i :+ 128]; Y[N - 1] = N; Y[1] = x[0] * 0 + sum(x, 0); $s }" |
		sed 's/ Y\[N - 1\] = N; Y\[1\] = x\[0\] \* 0 + sum(x, 0);/ let _u = x;/' >"$dir/blocks.hexc"
	w lost 'every block writes these elements of `Y` in an undefined order, and only one value remains; select elements by `block.x`, or accumulate with `atomic_add(Y[..], x)`' <"$dir/blocks.hexc"
done
for s in 'Y[block.x] = sum(x, 0);' 'if block.x == 0 { Y[0 :+ 1] = sum(x, 0); }' 'Y[0 :+ 1] = sum(X[0 :+ 128], 0);' 'atomic_add(Y[0 :+ 1], sum(x, 0));' \
	'var c = 0, d = 0; for n in 0..4 { d = c + 1; c = d + i; } Y[d] = 2;' 'if atomic_add(T[0], 1) == 3 { Y[0 :+ 1] = sum(x, 0); }' \
	'for n in i..N step 128 { Y[0 :+ 1] = 1; }' 'Y[i64(X[i])] = 1;'; do
	echo "kernel k(X: f32[N], Y: inout f32[N], T: inout i32[1]) const WARPS = 4 { grid(ceil(N, 128)); let i = block.x * 128, _x = X[i :+ 128]; $s _v; }" |
		sed 's/\<x\>/_x/g; s/block\._x/block.x/g; s/ _v;//' >"$dir/blocks.hexc"
	"$HEXC" --emit-ptx "$dir/blocks.hexc" -o "$dir/w.ptx" 2>"$dir/err" && ! grep -q 'each block' "$dir/err" || fail "$s: $(cat "$dir/err")"
done
w fma 'dot of f32 lowered to FMA, not tensor cores: cast both operands, as in `dot(f16(a), f16(b))`, or write `dot(a, b, tf32)`' <<'END2'
kernel k(A: f32[64, 64], B: f32[64, 64], C: out f32[64, 64]) 
{
    grid(1);
    let a: shared = A[:, :], b: shared = B[:, :];
    C[:, :] = dot(a, b);
}
END2
w spill 'kernel k needs about ' <<'END2'
kernel k(A: f32[M, 1024], C: out f32[M, 1024]) tune WARPS = 1
{
    grid(ceil(M, 4));
    let x = A[block.x * 4 :+ 4, :];
    C[block.x * 4 :+ 4, :] = x * exp(x) + cumsum(x, 1) * cumsum(exp(x), 1);
}
END2
w idle 'the largest tile occupies 1 of 3 warps and 32 of 32 lanes; the rest duplicate work: WARPS = 1 is as fast' <<'END2'
kernel k(A: f32[1024], C: out f32[1024]) tune WARPS = 3 { grid(1); C[:] = A[:] + 1; }
END2
w masked 'elements past K are masked here; `assume K % 64 == 0` removes the mask' -W masked <<'END2'
kernel k(A: f16[16, K], W: i8[64, K], C: out f32[16, 64]) assume K % 16 == 0
{
    grid(1);
    var acc: register f32[16, 64] = 0;
    pipeline k in 0..K step 64 stages 2 {
        let a: shared = A[:, k :+ 64], w: shared = W[:, k :+ 64];
        acc += dot(a, (f16(w) - 8).T);
    }
    C[:, :] = acc;
}
END2
w narrow '`A` is accessed with 16-bit instructions; `assume N % 8 == 0` allows 128 bits' -W narrow <<END2
$large
END2

# quiet NAME [ARGUMENTS...] <PROGRAM: the corrected program, for which NAME reports nothing
quiet() {
	name=$1
	shift
	cat >"$dir/q.hexc"
	"$HEXC" --emit-ptx "$dir/q.hexc" -o "$dir/q.ptx" -W "$name" "$@" 2>"$dir/err" || fail "$name: $(cat "$dir/err")"
	grep -qF "[-W no-$name]" "$dir/err" && fail "$name, where nothing is missing: $(grep -F "[-W no-$name]" "$dir/err")"
}

w width '`A` is accessed with 16-bit instead of 128-bit instructions: no dimension is known to be contiguous' -W width <<'END2'
kernel k(A: f16[64, N] strides [N * 2, 2], C: out f32[64, 64]) { grid(1); C[:, :] = f32(fill(A[:, 0 :+ 64], 0)) + 1; }
END2
w width '`A` is accessed with 16-bit instead of 128-bit instructions: rows are not known to be aligned to 8 elements' -W width <<'END2'
kernel k(A: f16[M], C: out f32[N]) { grid(ceil(N, 1024)); C[block.x * 1024 :+ 1024] = f32(fill(A[block.x * 1023 :+ 1024], 0)) + 1; }
END2
w width "\`C\` is accessed with 64-bit instead of 128-bit instructions: the tile's layout gives each thread no more contiguous elements" -W width <<'END2'
kernel k(A: f16[64, 64], C: out f32[64, 64]) { grid(1); let a: shared = A[:, :]; C[:, :] = dot(a, a.T); }
END2
quiet strides <<'END2' # a dim of one element has the stride of the preceding dim
kernel k(C: out f32[N, 1, K]) { grid(ceil(N, 4), ceil(K, 32)); C[block.x * 4 :+ 4, :, block.y * 32 :+ 32] = 1; }
END2
quiet width <<'END2'
kernel k(A: f16[M], C: out f16[N]) assume M % 8 == 0
{
    grid(ceil(N, 1024));
    C[block.x * 1024 :+ 1024] = fill(A[block.x * 1024 :+ 1024], 0) + 1;
}
END2
quiet missing <<'END2' # in bounds; said; nothing is decided
kernel k(A: i32[M], C: out i32[M]) { grid(1); let x: shared = A[0 :+ 128]; for i in 0..M { if x[i] > 3 { C[i] = 1; } else { C[i] = 0; } } }
END2
quiet missing <<'END2'
kernel k(A: i32[M], C: out i32[1]) { grid(1); let x: shared = fill(A[0 :+ 128], 0); if x[70] > 3 { C[0] = 1; } else { C[0] = 0; } }
END2
quiet missing <<'END2'
kernel k(A: i32[M], C: out i32[1]) { grid(1); let x: shared = A[0 :+ 128]; C[0] = x[70] * 2; }
END2
quiet missing <<'END2'
kernel k(A: i32[M], C: out i32[1]) assume M >= 71 { grid(1); let x: shared = A[0 :+ 128]; if x[70] > 3 { C[0] = 1; } else { C[0] = 0; } }
END2
quiet leftout <<'END2' # a number for the elements; or as many elements
kernel k(A: f32[M], C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = fill(A[block.x * 128 :+ 128], 0) + 1; }
END2
quiet leftout <<'END2'
kernel k(A: f32[N], C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = A[block.x * 128 :+ 128] + 1; }
END2
w async '`A` is copied to shared memory through registers instead of cp.async: cp.async needs 4 bytes; only 16 bits are known to be contiguous and in bounds' -W async <<END2
$large
END2
quiet async <<'END2'
kernel k(A: f16[64, N], C: out f32[64, 64]) assume N % 2 == 0
{
    grid(1);
    let a: shared = A[:, 0 :+ 64];
    C[:, :] = dot(a, a.T);
}
END2
w async '`A` is copied to shared memory through registers instead of cp.async: sm_75 has no cp.async' -W async --arch sm_75 <"$dir/q.hexc"
w async '`A` is copied to shared memory through registers instead of cp.async: its elements are converted on the way' -W async <<'END2'
kernel k(A: f32[64, 64], C: out f32[64, 64]) { grid(1); let a: shared = f16(A[:, :]); C[:, :] = dot(a, a.T); }
END2
w product 'dot lowered to FMA: its shape 64x64x4 is not a multiple of the smallest MMA, 16x8x8' -W product <<'END2'
kernel k(A: f16[64, 4], C: out f32[64, 64]) { grid(1); let a: shared = A[:, :]; C[:, :] = dot(a, a.T); }
END2
quiet product <<'END2'
kernel k(A: f16[64, 16], C: out f32[64, 64]) { grid(1); let a: shared = A[:, :]; C[:, :] = dot(a, a.T); }
END2
w product 'dot lowered to FMA: sm_75 has no MMA for f64 x f64 with f64 accumulation' -W product --arch sm_75 <<'END2'
kernel k(A: f64[64, 64], C: out f64[64, 64]) { grid(1); let a: shared = A[:, :]; C[:, :] = dot(a, a.T); }
END2
quiet product <"$dir/w.hexc" # sm_80 has one
w split 'loop evaluates its masks in every iteration (not split: small trip count)' -W split <<'END2'
kernel k(A: f16[64, 100], C: out f32[64, 64])
{
    grid(1);
    var acc: register f32[64, 64] = 0;
    for k in 0..100 step 64 {
        let a: shared = A[:, k :+ 64];
        acc += dot(a, a.T);
    }
    C[:, :] = acc;
}
END2
cp "$dir/w.hexc" "$dir/loop.hexc"
sed 's/100/K/' "$dir/loop.hexc" >"$dir/split.hexc"
quiet split <"$dir/split.hexc"
sed 's/100/128/' "$dir/loop.hexc" >"$dir/whole.hexc" # no masks
quiet split <"$dir/whole.hexc"
w ahead "fragments of this loop's first MMA are not prefetched: it does not start with a wait for prefetched copies" -W ahead <"$dir/loop.hexc"
quiet ahead <<'END2'
kernel k(A: f16[64, K], C: out f32[64, 64]) assume K % 8 == 0
{
    grid(1);
    var acc: register f32[64, 64] = 0;
    pipeline k in 0..K step 64 stages 3 {
        let a: shared = A[:, k :+ 64];
        acc += dot(a, a.T);
    }
    C[:, :] = acc;
}
END2
w overlap "the last MMA of an iteration does not run beside the next iteration's first: that takes 3 stages or more (now 2)" \
	-W overlap --arch sm_90a --schedule roles <<'END2'
kernel k(A: f16[64, 64], B: f16[N, 64], C: out f32[64, 64]) assume N % 64 == 0
{
    grid(1);
    let a: shared = A[:, :];
    var acc: register f32[64, 64] = 0;
    pipeline n in 0..N step 64 stages 2 {
        let b: shared = B[n :+ 64, :];
        acc += dot(f16(dot(a, b.T)), b);
    }
    C[:, :] = acc;
}
END2
cp "$dir/w.hexc" "$dir/two.hexc"
sed 's/stages 2/stages 3/' "$dir/two.hexc" >"$dir/three.hexc"
quiet overlap --arch sm_90a --schedule roles <"$dir/three.hexc"
w unjudged 'the pipeline stages that it and other accesses use are not known' --prove --arch sm_90a --kernel stored <test/examples/roles.hexc
# 16 x 64 per iteration is too little work for a consumer warpgroup; and one with a single stage.
w roles 'loop is not warp-specialized: candidate ' -W roles --arch sm_90a <<'END2'
kernel k(A: f16[64, K], C: out f32[64, 64]) assume K % 8 == 0
{
    grid(1);
    var acc: register f32[64, 64] = 0;
    pipeline k in 0..K step 16 stages 2 {
        let a: shared = A[:, k :+ 16];
        acc += dot(a, a.T);
    }
    C[:, :] = acc;
}
END2
sed 's/stages 2/stages 1/' "$dir/w.hexc" >"$dir/loop.hexc"
w roles 'loop is not warp-specialized: a pipeline loop has one stage: nothing can be prefetched' -W roles --arch sm_90a <"$dir/loop.hexc"
quiet roles <"$dir/loop.hexc"

# --remarks reports exactly the warnings that are off by default. A requested one is a warning, a disabled one is
# not reported. A remark is no error under --werror and does not change the code.
cat >"$dir/w.hexc" <<END2
$large
END2
told() { sed -n 's/.* \(remark\|warning\): .* \[-W no-\([a-z]*\)\]$/\1 \2/p' "$dir/err" | tr '\n' ','; }
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" 2>"$dir/err" && [ ! -s "$dir/err" ] || fail "remarks unasked: $(cat "$dir/err")"
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w2.ptx" --remarks --werror 2>"$dir/err" || fail "--remarks --werror: $(cat "$dir/err")"
[ "$(told)" = "remark narrow,remark async,remark width," ] || fail "--remarks: $(told)"
cmp -s "$dir/w.ptx" "$dir/w2.ptx" || fail "--remarks changes the PTX"
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w2.ptx" --remarks -W narrow -W no-width 2>"$dir/err"
[ "$(told)" = "warning narrow,remark async," ] || fail "--remarks -W narrow -W no-width: $(told)"
"$HEXC" explain "$dir/w.hexc" --remarks --diag json 2>&1 >/dev/null | grep -qF '{"severity":"remark","warning":"narrow","file"' ||
	fail "--remarks --diag json"

# Off by default; the last option wins.
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" 2>"$dir/err" && [ ! -s "$dir/err" ] || fail "narrow is on: $(cat "$dir/err")"
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" -W no-narrow -W narrow 2>"$dir/err"
grep -qF "[-W no-narrow]" "$dir/err" || fail "-W no-narrow -W narrow: the last does not hold"

# Every warning occurred above; the examples have none that are on by default.
for name in $(sed -n 's/^WARNING(\([a-z]*\),.*/\1/p' hexc/ir/warnings.def); do
	case "$seen " in *" $name "*) ;; *) fail "nothing here warns of $name" ;; esac
done
for e in examples/*.hexc; do
	"$HEXC" --emit-ptx "$e" --arch "$(only_arch "$e" | grep . || echo sm_80)" --werror -o "$dir/e.ptx" 2>"$dir/err" || fail "$e: $(grep -m 1 error: "$dir/err")"
done

# JSON, one object per line; errors have no `warning`.
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" -W narrow --diag=json 2>"$dir/err"
want='{"severity":"warning","warning":"narrow","file":"'$dir'/w.hexc","line":1,"col":'
grep -qF "$want" "$dir/err" || fail "--diag json: $(cat "$dir/err")"
printf 'kernel k(C: out f32[N]) { grid(1); C[0 :+ 8] = nosuch; }' >"$dir/w.hexc"
"$HEXC" --emit-ptx "$dir/w.hexc" --diag=json 2>"$dir/err"
[ "$(cat "$dir/err")" = '{"severity":"error","file":"'"$dir"'/w.hexc","line":1,"col":48,"len":6,"text":"unknown name `nosuch`"}' ] ||
	fail "--diag json: $(cat "$dir/err")"
says 2 "-W: expected NAME or no-NAME, got 'nosuch'; the warnings are unused, slice" --emit-ptx "$dir/w.hexc" -W nosuch
says 2 "--diag: expected text or json, got 'xml'" --emit-ptx "$dir/w.hexc" --diag xml
exit $bad
