#!/bin/sh
# Scalars and tiles of any integer type are indices, and a slice of a shared tile is loaded where it
# is used; checked by NumPy.
. test/script.sh
python3 -c 'import numpy' 2>/dev/null || { echo "no NumPy here"; exit 77; }
cat >"$dir/p.hexc" <<'END'
kernel indices(A: f32[M, 64], B: u8[N], W: i16[N], U: u32[N], C: out f32[R, 64], n: i32, b: u8)
{
    grid(1);
    let w: register = W[0 :+ 16], u: register = U[0 :+ 16], t: register = B[0 :+ 16];
    let s: shared = A[0 :+ 16, :];
    let row = s[3], part = s[2, 4 :+ 8];
    s[3] = 0;
    for i in n..16 {
        C[i, 0 :+ 64] = A[b, :] + A[t[3], :] + row;
    }
    C[b :+ 16, :] = A[w, 0 :+ 64] + A[u, 0 :+ 64] + s[3];
    C[0, 0 :+ 8] = part;
}
END
python3 - "$dir" <<'END'
import sys
import numpy as np
r = np.random.default_rng(1)
A = r.standard_normal((300, 64)).astype('f')
B = r.integers(0, 256, 16).astype('u1')
W = r.integers(-3, 300, 16).astype('i2')  # negative and past the end: 0
U = r.integers(0, 400, 16).astype('u4')
B[3] = 250
C = np.zeros((220, 64), 'f')


def at(i):
    return np.where(((i >= 0) & (i < 300))[:, None], A[np.clip(i, 0, 299)], 0)


C[5:16] = A[200] + A[250] + A[3]
C[200:216] = at(W.astype(int)) + at(U.astype(int))
C[0, :8] = A[2, 4:12]
for name, x in dict(A=A, B=B, W=W, U=U, C=C).items():
    np.save('%s/%s.npy' % (sys.argv[1], name), x)
END
for exec in tile sim; do
	"$HEXC" run "$dir/p.hexc" -W no-idle --exec=$exec --arg A=@"$dir/A.npy" --arg B=@"$dir/B.npy" --arg W=@"$dir/W.npy" --arg U=@"$dir/U.npy" \
		--arg n=5 --arg b=200 --arg 'C=zeros[220,64]' --expect C=@"$dir/C.npy" >"$dir/out" 2>&1 || fail "$exec: $(tail -1 "$dir/out")"
done
exit $bad
