#!/bin/sh
# Programs whose errors grow until no bound is known are judged by runs of the tile interpreter with other roundings:
# right by estimate; and where they cannot be judged, the value that lost its bound is named.
. test/script.sh
. test/python.sh
need_python
"$python" - "$dir" <<'END' || exit 1
import sys
import numpy as np
r, d = np.random.default_rng(35), sys.argv[1]
square = r.standard_normal((16, 16))
for name, x in (("square", square), ("positive", square @ square.T + np.eye(16)), ("vector", r.standard_normal((16, 1))),
                ("wide", r.standard_normal((32, 32))), ("left", 0.2 * r.standard_normal((32, 32))),
                ("right", 0.2 * r.standard_normal((32, 32))), ("steps", r.standard_normal((20, 32)))):
    np.save(f"{d}/{name}.npy", x.astype(np.float32))
END
judged() { # PROGRAM ARGUMENTS...: on the simulator, right, for two targets
	p=$here/judged/$1.hexc
	shift
	for arch in sm_80 sm_90a; do
		says 0 ': right' run "$p" --exec=sim --check --arch $arch "$@"
	done
}
judged lu --arg "A=@$dir/square.npy"
judged qr --arg "A=@$dir/square.npy"
judged cg --arg "A=@$dir/positive.npy" --arg "B=@$dir/vector.npy"
judged sinkhorn --arg "A=@$dir/wide.npy"
judged newton_schulz --arg "A=@$dir/wide.npy"
judged power_iteration --arg "A=@$dir/wide.npy"
judged gru --arg "X=@$dir/steps.npy" --arg "W=@$dir/left.npy" --arg "U=@$dir/right.npy"
says 0 'right by estimate' run "$here/judged/cg.hexc" --exec=sim --check --arg "A=@$dir/positive.npy" --arg "B=@$dir/vector.npy"

# A choice by the last bit of a sum: no bound, and the estimate is of nothing either.
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
says 5 'nothing is known of it where an operand is rounded' run "$dir/place.hexc" --exec=sim --check \
	--arg 'A=random(1)[100000]'
exit $bad
