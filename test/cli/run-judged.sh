#!/bin/sh
# Programs with unbounded error estimates are checked by runs of the tile interpreter with other roundings: `right
# by estimate`. If that fails too, the message names the value that has no bound.
. test/script.sh
. test/python.sh
need_python
"$python" - "$dir" <<'END' || exit 1
import sys
import numpy as np
r, d = np.random.default_rng(35), sys.argv[1]
square = r.standard_normal((16, 16))
small = np.random.default_rng(36).standard_normal((8, 8))
for name, x in (("square", square), ("positive", square @ square.T + np.eye(16)), ("vector", r.standard_normal((16, 1))),
                ("wide", r.standard_normal((32, 32))), ("left", 0.2 * r.standard_normal((32, 32))),
                ("right", 0.2 * r.standard_normal((32, 32))), ("steps", r.standard_normal((20, 32))),
                ("small", small + small.T), ("turn", 0.9 * np.linalg.qr(r.standard_normal((8, 8)))[0]),
                ("seen", r.standard_normal((30, 8))), ("found", r.standard_normal((30, 1)))):
    np.save(f"{d}/{name}.npy", x.astype(np.float32))
END
judged() { # PROGRAM FROM TO ARGUMENTS...: correct on the simulator for two targets, wrong with TO instead of FROM
	p=$here/judged/$1.hexc
	sed "s|$2|$3|" "$p" >"$dir/wrong.hexc"
	! cmp -s "$p" "$dir/wrong.hexc" || fail "$p: no '$2'"
	shift 3
	for arch in sm_80 sm_90a; do
		says 0 ': right' run "$p" --exec=sim --check --arch $arch "$@"
	done
	says 0 '' build "$dir/wrong.hexc" --arch sm_80 -o "$dir/wrong.hxb"
	says 3 ': WRONG' run "$p" --from "$dir/wrong.hxb" --exec=sim --check "$@"
}
judged lu 'a - column \* row, a' 'a - column * row * 1.001, a' --arg "A=@$dir/square.npy"
judged qr 'sum(q \* u, 0)' 'sum(q * u, 0) * 0.999' --arg "A=@$dir/square.npy"
judged cg 'next / rr' 'next / rr * 1.01' --arg "A=@$dir/positive.npy" --arg "B=@$dir/vector.npy"
judged sinkhorn 'sum(x, 0)' '(sum(x, 0) + 0.001)' --arg "A=@$dir/wide.npy"
judged newton_schulz '1.5 \*' '15 *' --arg "A=@$dir/wide.npy"
judged power_iteration 'sum(w \* w, 0)' '(sum(w * w, 0) * 1.001)' --arg "A=@$dir/wide.npy"
judged gru '(1 - z)' '(1.001 - z)' --arg "X=@$dir/steps.npy" --arg "W=@$dir/left.npy" --arg "U=@$dir/right.npy"
judged lstm 'tanh(a + b)' 'tanh(a + b + 0.001)' --arg "X=@$dir/steps.npy" --arg "W=@$dir/left.npy" --arg "U=@$dir/right.npy"
judged householder 'where(i == n, x, 0)' 'where(i == n + 1, x, 0)' --arg "A=@$dir/square.npy" --arg "B=@$dir/positive.npy"
judged attention_grad 'p \* d' 'p * (d + 0.001)' --arg "Q=@$dir/wide.npy" --arg "K=@$dir/left.npy" --arg "V=@$dir/right.npy" \
	--arg "G=@$dir/wide.npy"
judged jacobi 's \* left + c' '0.999 * s * left + c' --arg "A=@$dir/small.npy"
judged kalman 'u - gain' 'u - 1.001 * gain' --arg "F=@$dir/turn.npy" --arg "H=@$dir/seen.npy" --arg "Z=@$dir/found.npy"
says 0 'right by estimate' run "$here/judged/cg.hexc" --exec=sim --check --arg "A=@$dir/positive.npy" --arg "B=@$dir/vector.npy"

# A choice by the last bit of a sum has no bound, and no estimate either.
cat >"$dir/place.hexc" <<'END'
kernel place(A: f32[N], I: out i32[1])
{
    grid(1);
    var total: register f32[1] = 0;
    for n in 0..N step 256 { total += sum(A[n :+ 256] / 3, 0); }
    let near = total * 1e6;
    I[0 :+ 1] = i32(near) % 1000;
}
END
says 5 'place.hexc:7:' run "$dir/place.hexc" --exec=sim --check --arg 'A=random(1)[100000]'
says 5 'no bound is known for a rounded operand' run "$dir/place.hexc" --exec=sim --check \
	--arg 'A=random(1)[100000]'
exit $bad
