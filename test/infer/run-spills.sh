#!/bin/sh
# Solutions that need more registers per lane than available are ranked after the others. If all do, .maxnreg allows
# ptxas all registers, and the warning states the bytes spilled.
. test/script.sh

compiled() { # PROGRAM OPTIONS: writes $dir/p, $dir/err
	"$HEXC" --emit-ptx "$@" -o "$dir/p" 2>"$dir/err" || cat "$dir/err"
}
spilled() { # ARCH: bytes, or nothing without ptxas
	command -v ptxas >/dev/null && ptxas -arch="$1" -v "$dir/p" -o "$dir/c" 2>&1 | sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p'
}

# A row of which 4 warps hold more than two tiles: 11 warps suffice.
cat >"$dir/row.hexc" <<'END'
kernel row(X: f16[M, 11008], DY: f16[M, 11008], G: f32[11008], DX: out f16[M, 11008], DG: inout f32[11008])
{
    grid(M);
    let m = block.x;
    let x = f32(X[m, :]), dy = f32(DY[m, :]), g: register = G[:];
    let mu = mean(x, 0);
    let d = x - mu, r = rsqrt(mean(d * d, 0) + 1e-5);
    let h = d * r, w = dy * g;
    DX[m, :] = f16(r * (w - mean(w, 0) - h * mean(w * h, 0)));
    atomic_add(DG[:], dy * h);
}
END
for arch in sm_80 sm_90a; do
	compiled "$dir/row.hexc" --arch $arch
	[ ! -s "$dir/err" ] || fail "row on $arch: $(cat "$dir/err")"
	got=$(spilled $arch)
	[ "${got:-0}" = 0 ] || fail "row on $arch spills $got bytes"
done

# 344 elements per lane: by itself ptxas allocates 32 registers for them and spills 4140 bytes.
cat >"$dir/compact.hexc" <<'END'
kernel compact(X: f32[M, 11008], Y: out f32[M, 11008])
    const WARPS = 2
{
    grid(M);
    let x: register = X[block.x, :];
    let keep = x > 0;
    Y[block.x, where(keep, cumsum(where(keep, 1, 0), 0) - 1, -1)] = x;
}
END
compiled "$dir/compact.hexc" --arch sm_80
grep -q '^\.maxnreg 255' "$dir/p" || fail "compact: not told to take 255 registers"
told=$(sed -n 's/.* at least \([0-9]*\) bytes .*/\1/p' "$dir/err")
[ "${told:-0}" -gt 0 ] || fail "compact: not warned of: $(cat "$dir/err")"
got=$(spilled sm_80)
[ "${got:-$told}" -ge "$told" ] && [ "${got:-$told}" -le $((3 * told)) ] || fail "compact spills $got bytes, at least $told told"

# Far more than available: ptxas spills less in its own instruction order.
grep -q 'bar\.warp\.sync' "$dir/p" || fail "compact: no barriers between the pieces"
grep -q '@p trap' "$dir/p" && fail "compact: pieces kept apart that do not fit"

# With 16 warps a lane has 128 registers.
cat >"$dir/long.hexc" <<'END'
kernel long(X: f32[65536], Y: out f32[65536])
{
    grid(1);
    Y[:] = cumsum(X[:], 0);
}
END
compiled "$dir/long.hexc" --arch sm_80
grep -q '^\.maxnreg 128' "$dir/p" || fail "long: not told to take 128 registers"
grep -q 'no-spill' "$dir/err" || fail "long: not warned of"

# A loop-carried state and a tile computed from it: slightly too much, and reported.
cat >"$dir/state.hexc" <<'END'
kernel state(Q: f16[T, 128], K: f16[T, 128], V: f16[T, 128], D: f32[128], Y: out f16[T, 128])
    const WARPS = 4
    assume T % 64 == 0
{
    grid(1);
    var s: register f32[128, 128] = 0;
    let d: register = reshape(D[:], 128, 1);
    for t in 0..T step 64 {
        let q: shared = Q[t :+ 64, :], k: shared = K[t :+ 64, :], v: shared = V[t :+ 64, :];
        let h: register = f16(s);
        Y[t :+ 64, :] = f16(dot(q, h));
        s = s * d + dot(k.T, v);
    }
}
END
compiled "$dir/state.hexc" --arch sm_80
grep -q 'no-spill' "$dir/err" || fail "state: not warned of"
got=$(spilled sm_80)
[ "${got:-1}" -gt 0 ] || fail "state is warned of, and does not spill"
# Through shared memory it fits, if the other operand is not loaded before the barrier: that cost 8628 bytes.
sed 's/let h: register/let h/' "$dir/state.hexc" >"$dir/shared.hexc"
compiled "$dir/shared.hexc" --arch sm_80
[ ! -s "$dir/err" ] || fail "state by way of shared memory: $(cat "$dir/err")"
got=$(spilled sm_80)
[ "${got:-0}" -le 128 ] || fail "state by way of shared memory spills $got bytes"

# The same without dots: a loop-carried value that is also read after the loop has one register.
cat >"$dir/gated.hexc" <<'END'
kernel gated(Q: f32[T, 128], K: f32[T, 128], V: f32[T, 128], G: f32[T, 128], Y: out f32[T, 128], E: out f32[128, 128])
    const WARPS = 4
{
    grid(1);
    var s: register f32[128, 128] = 0;
    for t in 0..T {
        let g = exp(reshape(G[t, :], 128, 1)), k = reshape(K[t, :], 128, 1), v = reshape(V[t, :], 1, 128);
        s = s * g + k * v;
        Y[t, :] = reshape(sum(s * reshape(Q[t, :], 128, 1), 0), 128);
    }
    E[:, :] = s;
}
END
compiled "$dir/gated.hexc" --arch sm_80
[ ! -s "$dir/err" ] || fail "gated: $(cat "$dir/err")"
got=$(spilled sm_80)
[ "${got:-0}" = 0 ] || fail "gated spills $got bytes"

# ptxas spills unpacked 8-bit floats on targets without an mma.sync for them; there hexc
# converts them to f16 beforehand.
cat >"$dir/fp8.hexc" <<'END'
kernel fp8(A: e4m3[M, K], B: e5m2[N, K], S: f32[M, K / 128], C: out bf16[M, N])
    const BM = 64, BN = 128, WARPS = 4
    assume K % 128 == 0, N % 128 == 0
{
    grid(ceil(M, BM), ceil(N, BN));
    let m = block.x * BM, n = block.y * BN;
    var acc: register f32[BM, BN] = 0;
    pipeline k in 0..K step 128 stages 3 {
        let a: shared = A[m :+ BM, k :+ 128], b: shared = B[n :+ BN, k :+ 128];
        let s: register = S[m :+ BM, k / 128 :+ 1];
        acc += dot(a, b.T) * s;
    }
    C[m :+ BM, n :+ BN] = bf16(acc);
}
END
for arch in $(archs | tr ' ' '\n' | grep -E '^sm_(89|90a|100a|120a)$'); do
	compiled "$dir/fp8.hexc" --arch $arch --schedule groups
	[ ! -s "$dir/err" ] || fail "fp8 on $arch: $(cat "$dir/err")"
	case $arch in
	sm_90a | sm_100a) grep -q 'mma\.sync.*e4m3' "$dir/p" && fail "fp8 on $arch: mma.sync of 8-bit floats" ;;
	*) grep -q 'mma\.sync.*e4m3' "$dir/p" || fail "fp8 on $arch: no mma.sync of 8-bit floats" ;;
	esac
	got=$(spilled $arch)
	[ "${got:-0}" = 0 ] || fail "fp8 on $arch spills $got bytes"
done
compiled "$dir/fp8.hexc" --arch sm_90a --schedule roles
grep -q 'wgmma.*e4m3' "$dir/p" || fail "fp8 on sm_90a by roles: no wgmma of 8-bit floats"

# An epilogue of 128 accumulators per lane: unconstrained, ptxas starts all elements before it ends
# any, and spills 412 bytes.
epilogue() { # NAME OPS
	cat >"$dir/$1.hexc" <<END
kernel epilogue(A: bf16[M, K], B: bf16[N, K], bias: bf16[N], _R: bf16[M, N], C: out bf16[M, N], _S: inout f32[M], _seed: i64)
    const BM = 128, BN = 128, WARPS = 4
    assume K % 8 == 0, N % 8 == 0
{
    grid(ceil(M, BM), ceil(N, BN));
    let m = block.x * BM, n = block.y * BN;
    var acc: register f32[BM, BN] = 0;
    for k in 0..K step 64 {
        let a: shared = A[m :+ BM, k :+ 64], b: shared = B[n :+ BN, k :+ 64];
        acc += dot(a, b.T);
    }
    let y = acc + f32(reshape(bias[n :+ BN], 1, BN));
$2
}
END
	for arch in $(archs | tr ' ' '\n' | grep -E '^sm_(80|90a|120a)$'); do
		compiled "$dir/$1.hexc" --arch $arch
		pieces=$(grep -c '@p trap' "$dir/p")
		[ "$pieces" -ge 3 ] || grep -q '^\.maxnreg' "$dir/p" ||
			fail "$1 on $arch: $pieces places that nothing is moved across"
		got=$(spilled $arch)
		[ "${got:-0}" -le "${3:-0}" ] || fail "$1 on $arch spills $got bytes"
	done
}
residual='f32(_R[m :+ BM, n :+ BN])'
total='atomic_add(_S[m :+ BM], reshape(sum(where(n + i64(iota(1, BM, BN)) < N, z * z, 0), 1), BM));'
epilogue gelu "    C[m :+ BM, n :+ BN] = bf16(gelu(y) + $residual);"
epilogue silu "    let z = silu(y); C[m :+ BM, n :+ BN] = bf16(z); $total"
epilogue tanh "    let z = gelu_tanh(y) * 2 + $residual; C[m :+ BM, n :+ BN] = bf16(z); $total"
epilogue sum "    let z = silu(y) + $residual; $total C[m :+ BM, n :+ BN] = bf16(z);" 96 # instead of 344
epilogue softmax "    let e = exp(gelu_tanh(y) + $residual - max(gelu_tanh(y), 1)); C[m :+ BM, n :+ BN] = bf16(e / sum(e, 1));"
epilogue dropout "    let at = (m + i64(iota(0, BM, BN))) * N + n + i64(iota(1, BM, BN));
    let z = where(random(_seed, at) >> 31 == 0, y * 2, 0) + $residual; C[m :+ BM, n :+ BN] = bf16(z); $total" 64
# Producer warps whose copies begin at pages that are read: an address for each copy of an iteration.
for options in '--kernel prefill -D BM=128 -D SM=120' '--kernel prefill -D BM=64 -D SM=120' '--kernel split -D BM=64'; do
	# shellcheck disable=SC2086 # words
	compiled lib/ops/paged.hexc $options --arch sm_120a
	keep=$(sed -n 's/.*setmaxnreg\.dec.* \([0-9]*\);/\1/p' "$dir/p")
	[ "${keep:-0}" -ge 48 ] || fail "paged $options: producer warps keep ${keep:-no} registers"
	got=$(spilled sm_120a)
	[ "${got:-0}" = 0 ] || fail "paged $options spills $got bytes"
done
exit $bad
