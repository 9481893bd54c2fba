#!/bin/sh
# Blocks that wait for each other: the tile interpreter switches to other blocks. Its results equal NumPy's, and
# those of the simulator. In a deadlock it reports which block polls which element, and its value.
. test/script.sh
. test/python.sh
need_python

# Each block adds its squared index; all read the sum of the round when all have arrived.
cat >"$dir/barrier.hexc" <<'END'
kernel rounds(BAR: inout i32[T], S: inout i32[T], Y: out i32[T, B])
{
    grid(B);
    for t in 0..T {
        let _s = atomic_add(S[t], i32((block.x + t) * block.x));
        let _n = atomic_add(BAR[t], 1);
        while i64(atomic_add(BAR[t], 0)) < B { }
        Y[t, block.x] = atomic_add(S[t], 0);
    }
}
END
# All-reduce and RMS norm over four devices, which are a grid dimension.
cat >"$dir/reduce.hexc" <<'END'
kernel reduce(X: inout f16[D, M, N], S: inout i32[D, B], G: f16[N], Y: out f16[D, M, N], P: f16[D, M, N])
    const BM = 4, BN = 64, RANKS = 4
    assume N == 64, D == RANKS
{
    grid(ceil(M, BM), D);
    let m = block.x * BM, d = block.y;
    X[d, m :+ BM, 0 :+ BN] = P[d, m :+ BM, 0 :+ BN];
    for p in 0..RANKS { let _o = atomic_add(S[p, block.x], 1); }
    while atomic_add(S[d, block.x], 0) < RANKS { }
    var acc: register f32[BM, BN] = 0;
    for p in 0..RANKS { acc += f32(X[p, m :+ BM, 0 :+ BN]); }
    let g: register = G[0 :+ BN];
    Y[d, m :+ BM, 0 :+ BN] = f16(acc * rsqrt(mean(acc * acc, 1) + 1e-5) * f32(g));
}
END
# Sums of all preceding (BACK = 0) or following blocks: F is 1 when a block's sum is available,
# 2 when the prefix sum is.
cat >"$dir/scan.hexc" <<'END'
kernel scan(X: i32[B, N], F: inout i32[B], A: inout i32[B], E: inout i32[B], Y: out i32[B])
    const BN = 32, BACK = 0
    assume N == 32
{
    grid(B);
    let b = block.x;
    let own = sum(X[b, 0 :+ BN], 0);
    let _a = atomic_swap(A[b], own);
    let _f = atomic_max(F[b], 1);
    var total = i32(0);
    var i = where(BACK == 1, b + 1, b - 1);
    while i >= 0 && i < B {
        let f = atomic_max(F[i], 0);
        if f == 2 {
            total += atomic_add(E[i], 0);
            break;
        }
        if f == 1 {
            total += atomic_add(A[i], 0);
            if BACK == 1 { i += 1; } else { i -= 1; }
        }
    }
    let _e = atomic_swap(E[b], own + total);
    let _g = atomic_max(F[b], 2);
    Y[b] = own + total;
}
END
# A compare-and-swap lock around a plain sum in memory, and the order in which the blocks held it.
cat >"$dir/lock.hexc" <<'END'
kernel lock(L: inout i32[1], S: inout i32[2], Y: out i32[B])
{
    grid(B);
    while atomic_cas(L[0], 1, 0) != 0 { }
    let s = S[0];
    S[0] = s + i32(block.x) + 1;
    let _u = atomic_swap(L[0], 0);
    Y[block.x] = i32(block.x) * 2;
}
END
"$python" - "$dir" <<'END'
import sys
import numpy as np
d = sys.argv[1] + "/"
r = np.random.default_rng(1)
T, B = 2, 20
b, t = np.arange(B), np.arange(T)[:, None]
sums = ((b + t) * b).sum(1, keepdims=True)
np.save(d + "barrier.npy", np.broadcast_to(sums, (T, B)).astype(np.int32))
P, G = r.standard_normal((4, 8, 64)).astype(np.float16), r.standard_normal(64).astype(np.float16)
np.save(d + "P.npy", P), np.save(d + "G.npy", G)
s = P.astype(float).sum(0)
y = s / np.sqrt((s * s).mean(1, keepdims=True) + 1e-5) * G
np.save(d + "reduce.npy", np.broadcast_to(y, P.shape).astype(np.float64))
X = r.integers(-99, 100, (50, 32)).astype(np.int32)
np.save(d + "X.npy", X)
np.save(d + "scan0.npy", X.sum(1).cumsum().astype(np.int32))
np.save(d + "scan1.npy", X.sum(1)[::-1].cumsum()[::-1].astype(np.int32))
np.save(d + "lock.npy", np.array([30 * 31 // 2, 0], np.int32))
END
# same FILE WANT TOLERANCE: relative to the largest; 0 for integers
same() {
	"$python" - "$1" "$2" "$3" <<'END' || fail "$1 is not $2"
import sys
import numpy as np
a, b = (np.load(f).astype(float) for f in sys.argv[1:3])
sys.exit(a.shape != b.shape or not (abs(a - b) <= float(sys.argv[3]) * abs(b).max()).all())
END
}
# right NAME WANT TOLERANCE TENSOR ARGUMENTS...
right() {
	name=$1 want=$2 tolerance=$3 tensor=$4
	shift 4
	for exec in tile sim; do
		[ $exec = tile ] || set -- "$@" --check
		rm -f "$dir/got.npy"
		timeout 60 "$HEXC" run "$dir/$name.hexc" --exec=$exec "$@" --save "$tensor=$dir/got.npy" >"$dir/out" 2>&1 ||
			fail "$name by $exec: $(cat "$dir/out")"
		same "$dir/got.npy" "$dir/$want.npy" "$tolerance"
	done
}
right barrier barrier 0 Y --arg 'BAR=zeros[2]' --arg 'S=zeros[2]' --arg 'Y=zeros[2,20]'
# The result is rounded to f16 once, by 2^-11 of itself; the f32 error before is below 2^-16.
right reduce reduce 0.00051 Y --arg "P=@$dir/P.npy" --arg "G=@$dir/G.npy" --arg 'X=zeros[4,8,64]' --arg 'S=zeros[4,2]'
for back in 0 1; do
	right scan "scan$back" 0 Y -D BACK=$back --arg "X=@$dir/X.npy" --arg F=zeros --arg A=zeros --arg E=zeros
done
right lock lock 0 S --arg L=zeros --arg S=zeros --arg 'Y=zeros[30]'

# wrong TEXT PROGRAM ARGUMENTS...: status and message of the tile interpreter
wrong() {
	text=$1
	printf '%s\n' "$2" >"$dir/k.hexc"
	shift 2
	timeout 60 "$HEXC" run "$dir/k.hexc" --exec=tile "$@" >"$dir/out" 2>&1 && fail "no fault: $text"
	grep -qF -- "$text" "$dir/out" || fail "no '$text' in $(cat "$dir/out")"
}
wrong 'k.hexc:3:5: deadlock: block 0,0,0 polls `S[2]`, which is 1, in line 3 while 1 < 7; block 1,0,0 polls `S[2]`, which is 1, in line 3 while 1 < 7; 2 more wait, and no remaining block changes it' \
'kernel k(S: inout i32[4], Y: out i32[4]) {
    grid(4); if block.x == 2 { let _o = atomic_add(S[2], 1); }
    while atomic_add(S[2], 0) < 7 { }
    Y[block.x] = 1;
}' --arg S=zeros
# Stores of an unchanged value change nothing; neither does polling two locations alternately.
wrong 'deadlock: block 1,0,0 polls `L[0]`, which is 1, in line 2' \
'kernel k(L: inout i32[1], Y: out i32[2]) {
    grid(2); while atomic_swap(L[0], 1) != 0 { }
    Y[block.x] = 1;
}' --arg L=zeros
wrong 'deadlock: block 0,0,0 polls `S[' \
'kernel k(S: inout i32[2], Y: out i32[1]) {
    grid(1); var p = i64(0);
    while atomic_add(S[p], 0) == 0 { p = 1 - p; Y[0] = 3; }
    Y[0] = 1;
}' --arg S=zeros
# A loop with a counter ends.
printf '%s\n' 'kernel k(S: inout i32[2], Y: out i32[2]) {
    grid(2); var n = 0;
    while atomic_add(S[0], 0) < 1 && n < 1000 { n += 1; }
    print("{} turns", n);
    Y[block.x] = i32(n);
}' >"$dir/k.hexc"
says 0 '1000 turns' run "$dir/k.hexc" --exec=tile --arg S=zeros
# prints of a waiting block precede those of the block that it waits for
printf '%s\n' 'kernel k(S: inout i32[3], Y: out i32[3]) {
    grid(3);
    print("a {}", block.x);
    while block.x < 2 && atomic_add(S[block.x + 1], 0) < 1 { }
    let _o = atomic_add(S[block.x], 1);
    print("b {}", block.x);
    Y[block.x] = 1;
}' >"$dir/k.hexc"
says 0 '' run "$dir/k.hexc" --exec=tile --arg S=zeros
[ "$(tr '\n' , <"$dir/out")" = 'a 0,b 0,a 1,b 1,a 2,b 2,' ] || fail "printed: $(cat "$dir/out")"
exit $bad
