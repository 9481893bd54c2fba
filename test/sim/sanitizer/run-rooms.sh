#!/bin/sh
# Exchange buffers of an all-reduce that are reused within one launch, with one device far behind the others. A
# buffer that is written while another device still reads it, or read before it is complete, is reported, however
# far apart in time the accesses are. With two sets of counters that order them, nothing is reported.
. test/script.sh
. test/python.sh
need_python

# In iteration t each of 4 devices writes its part to buffer t % ROOMS of every device, counts it there in set t %
# SETS, waits until its own set is complete, and adds up.
cat >"$dir/k.hexc" <<'END'
kernel turns(X: f16[D, T, M, N], S: inout i32[D, 2, B], IN: inout f16[D, R, P, M, N], Y: out f16[D, T, M, N])
    const BM = 4, BN = 64, RANKS = 4, ROOMS = 2, SETS = 2
    assume D == RANKS, P == RANKS, R == ROOMS, N == 64
{
    grid(ceil(M, BM), D);
    let m = block.x * BM, d = block.y;
    for t in 0..T {
        for i in 0..RANKS {
            let p = (d + i) % RANKS;
            if d == 1 && i == 3 { for z in 0..6000 { let _z = atomic_add(S[d, 1, block.x], 0); } }
            IN[p, t % ROOMS, d, m :+ BM, 0 :+ BN] = X[d, t, m :+ BM, 0 :+ BN];
            let _o = atomic_add(S[p, t % SETS, block.x], 1);
        }
        while i64(atomic_add(S[d, t % SETS, block.x], 0)) < RANKS * (t / SETS + 1) { }
        var s: register f32[BM, BN] = 0;
        for p in 0..RANKS { s += f32(IN[d, t % ROOMS, p, m :+ BM, 0 :+ BN]); }
        Y[d, t, m :+ BM, 0 :+ BN] = f16(s);
    }
}
END
"$python" - "$dir" <<'END'
import sys
import numpy as np
d = sys.argv[1] + "/"
X = np.random.default_rng(3).integers(-8, 9, (4, 3, 4, 64)).astype(np.float16)
np.save(d + "X.npy", X)
np.save(d + "Y.npy", np.broadcast_to(X.astype(int).sum(0), X.shape).astype(np.float16))
END
go() {
	"$HEXC" run "$dir/k.hexc" --exec=sim --arch "$arch" -D ROOMS="$1" -D SETS="$2" --arg "X=@$dir/X.npy" \
		--arg 'S=zeros[4,2,1]' --arg "IN=zeros[4,$1,4,4,64]" --save "Y=$dir/got.npy" >"$dir/out" 2>&1
}
for arch in sm_80 sm_90a sm_120a; do
	"$HEXC" --emit-ptx examples/vector_add.hexc --arch $arch -o /dev/null 2>/dev/null || continue
	go 2 2 || fail "$arch, two rooms and sets: $(cat "$dir/out")"
	cmp -s "$dir/got.npy" "$dir/Y.npy" || fail "$arch, two rooms and sets: wrong sums"
	for case in '1 2' '1 1' '2 1'; do
		go $case && fail "$arch, rooms and sets $case: nothing is told"
		grep -q 'race-global' "$dir/out" || fail "$arch, rooms and sets $case: $(cat "$dir/out")"
	done
done
exit $bad
