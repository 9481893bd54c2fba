#!/bin/sh
# Operands of FMA dots, operands shared by several dots, and operands too large for a lane's share of registers
# (factors/*.hexc). Every program compiles without spills, according to ptxas if available. The first candidates
# equal the tile interpreter on the simulator. A state, a weight and a row are compared with NumPy.
set -u
. test/script.sh
ran=0

spills() { # bytes spilled for $dir/ptx, by ptxas
	command -v ptxas >/dev/null || { echo 0; return; }
	ptxas -v -arch="$1" "$dir/ptx" -o "$dir/cubin" 2>&1 | sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p'
}

for f in "$here"/factors/*.hexc; do
	args=
	for a in $(sed -n '1s|^// run: ||p' "$f"); do
		args="$args --arg $a"
	done
	for arch in $(archs | tr ' ' '\n' | grep -E '^sm_(80|90a|120a)$'); do
		"$HEXC" --emit-ptx "$f" --arch "$arch" -W no-fma -o "$dir/ptx" 2>"$dir/err" || fail "$f $arch: $(head -2 "$dir/err")"
		# the estimate from the PTX is slightly high here
		case $f in */delta.hexc) ;; *) [ ! -s "$dir/err" ] || fail "$f $arch: $(head -1 "$dir/err")" ;; esac
		got=$(spills "$arch")
		[ "${got:-0}" = 0 ] || fail "$f $arch spills $got bytes"
	done
	case $f in */delta.hexc) which='0 1' arch=sm_80 ;; *) which='0 1 2 3' arch=sm_90a ;; esac
	for i in $which; do
		# shellcheck disable=SC2086
		"$HEXC" run "$f" --arch $arch --exec=sim --check --prove --candidate "$i" -W no-fma -W no-spill $args \
			>"$dir/out" 2>&1 || fail "$f $arch candidate $i: $(tail -2 "$dir/out")"
		ran=$((ran + 1))
	done
done

# ---- memory spaces in the program -------------------------------------------------------------------------------

# A pinned operand is read from a copy in shared memory only if registers do not suffice.
"$HEXC" candidates "$here/factors/weight.hexc" -W no-fma >"$dir/list" 2>&1
grep -q 's registers' "$dir/list" && fail "weight: s is in registers, all of k: $(grep -m 1 's registers' "$dir/list")"
grep -q 's shared' "$dir/list" || fail "weight: $(head -1 "$dir/list")"
sed 's/64/32/g; s/let s: register = S\[:, :\]/let s: register = S[:, :] * 2/' "$here/factors/weight.hexc" >"$dir/small.hexc"
"$HEXC" candidates "$dir/small.hexc" -W no-fma >"$dir/list" 2>&1 || fail "small: $(head -2 "$dir/list")"
grep -q 's shared' "$dir/list" && fail "small: s is not kept: $(grep -m 1 's shared' "$dir/list")"

# A shared operand is tried in shared memory as a last resort, and never if its space is declared.
cat >"$dir/shared.hexc" <<'END'
kernel several(Q: bf16[T, 128], K: bf16[T, 128], V: bf16[T, 128], O: out bf16[T, 128], S: out f32[128, 128])
    const C = 128, WARPS = 4
{
    grid(1);
    var s: register f32[128, 128] = 0;
    for t in 0..T step C {
        let q: shared = Q[t :+ C, :], k: shared = K[t :+ C, :], v: shared = V[t :+ C, :];
        let u = bf16(dot(k, v.T) * 0.125);
        O[t :+ C, :] = bf16(dot(u, q) + dot(u, k));
        s += dot(u, v);
    }
    S[:, :] = s;
}
END
"$HEXC" candidates "$dir/shared.hexc" -W no-spill >"$dir/list" 2>&1
grep -q 'u shared' "$dir/list" || fail "shared: u is not tried: $(head -1 "$dir/list")"
sed 's/let u = /let u: register = /' "$dir/shared.hexc" >"$dir/kept.hexc"
"$HEXC" candidates "$dir/kept.hexc" -W no-spill >"$dir/list" 2>&1
grep -Eq 'u (shared|registers)' "$dir/list" && fail "shared: u is declared: $(head -1 "$dir/list")"

# ---- loads after barriers ---------------------------------------------------------------------------------------

# q must not be loaded before the barrier of k and v, with all of it in registers there.
"$HEXC" --emit-ptx "$here/factors/attention.hexc" -W no-fma --dump insert_barriers -o "$dir/ptx" >"$dir/ir" 2>&1
awk '/= load %[0-9]+\.q/ { q = NR } /^ *barrier/ { b = NR } / = dot / && q && !done { done = 1; exit !(q > b) }' "$dir/ir" ||
	fail "attention: q is loaded in front of a barrier"

# ---- compared with NumPy ----------------------------------------------------------------------------------------------

python3 -c 'import numpy' 2>/dev/null || { echo "$ran candidates run; no NumPy"; exit $bad; }
cat >"$dir/make.py" <<'END'
import sys, numpy as np
d, r = sys.argv[1], np.random.default_rng(7)
for name, shape in [('K', (70, 64)), ('U', (70, 64)), ('S', (64, 64)), ('X', (2, 2880)), ('R', (2, 2880)), ('W', (2880,)), ('G', (32, 2880)), ('B', (32,))]:
    x = r.uniform(-1, 1, shape).astype(np.float32)
    if name in 'XRG': # a bf16 value as float32
        x = (x.view(np.uint32) & 0xffff0000).view(np.float32)
    np.save(f'{d}/{name}.npy', x)
END
cat >"$dir/look.py" <<'END'
import sys, numpy as np
d, what = sys.argv[1:3]
g = lambda n: np.load(f'{d}/{n}.npy').astype(np.float64)
o = g('O')
if what == 'state':
    s, want, size = np.zeros((64, 64)), [], []
    for t in range(0, 70, 32):
        k, u = g('K')[t:t + 32], g('U')[t:t + 32]
        want.append(k @ s), size.append(abs(k) @ abs(s))
        s = s + k.T @ u
    want, size = np.vstack(want), np.vstack(size)
else:
    want, size = g('K') @ g('S'), abs(g('K')) @ abs(g('S'))
# 64 products and up to 70 additions before them, each with an error of one f32 ulp
e = np.max(abs(o - want) - 140 * 2.0 ** -24 * (size + 64))
sys.exit(0 if e <= 0 else f'{what}: off by {e}')
END
python3 "$dir/make.py" "$dir"
"$HEXC" run "$here/factors/state.hexc" --exec=sim -W no-fma --arg "K=@$dir/K.npy" --arg "U=@$dir/U.npy" --save "O=$dir/O.npy" >"$dir/out" 2>&1 &&
	python3 "$dir/look.py" "$dir" state || fail "state: $(tail -2 "$dir/out")"
"$HEXC" run "$here/factors/weight.hexc" --exec=sim -W no-fma --arg "K=@$dir/K.npy" --arg "S=@$dir/S.npy" --save "O=$dir/O.npy" >"$dir/out" 2>&1 &&
	python3 "$dir/look.py" "$dir" weight || fail "weight: $(tail -2 "$dir/out")"
echo "$ran candidates run"
exit $bad
