#!/bin/sh
# Narrow floats compared with the Python package ml_dtypes: the value of every code, and the code of values in range
# (out of range that package has other rules).
. test/script.sh
. test/python.sh
need_python ml_dtypes
cat >"$dir/cast.hexc" <<'END'
kernel widen(X: T[N], Y: out f32[N])
    tune T = e2m1|e2m3|e3m2|e4m3|e5m2|e8m0
{
    grid(ceil(N, 256));
    Y[block.x * 256 :+ 256] = f32(X[block.x * 256 :+ 256]);
}
kernel narrow(X: f32[N], Y: out T[N])
    tune T = e2m1|e2m3|e3m2|e4m3|e5m2|e8m0
    assume N % 8 == 0
{
    grid(ceil(N, 256));
    Y[block.x * 256 :+ 256] = T(X[block.x * 256 :+ 256]);
}
END
cat >"$dir/make.py" <<'END'
import sys, numpy as np, ml_dtypes as ml
types = {"e2m1": "float4_e2m1fn", "e2m3": "float6_e2m3fn", "e3m2": "float6_e3m2fn", "e4m3": "float8_e4m3fn",
         "e5m2": "float8_e5m2", "e8m0": "float8_e8m0fnu"}
name, t = sys.argv[2], getattr(ml, types[sys.argv[2]])
bits = 4 if name == "e2m1" else 6 if name in ("e2m3", "e3m2") else 8
codes = np.arange(1 << bits, dtype=np.uint8)
numbers = codes.view(t).astype(np.float32)
path = sys.argv[3] + "/"
if sys.argv[1] == "make":
    np.save(path + "codes.npy", codes)
    good = np.sort(numbers[np.isfinite(numbers)].astype(np.float64))
    middle = ((good[1:] + good[:-1]) / 2).astype(np.float32)
    x = np.concatenate([good.astype(np.float32), middle, np.nextafter(middle, np.float32(-np.inf)),
                        np.nextafter(middle, np.float32(np.inf)),
                        np.random.default_rng(1).uniform(good[0], good[-1], 4000).astype(np.float32)])
    x = x[(x >= 2.0**-126) | (name != "e8m0")]  # below, among f32's subnormals, that package does not round to nearest
    np.save(path + "x.npy", x[:len(x) // 8 * 8])
else:
    got = np.load(path + "numbers.npy")
    if not np.array_equal(got, numbers, equal_nan=True):
        sys.exit(f"{name}: the numbers of codes {codes[(got != numbers) & ~np.isnan(numbers)]} differ")
    x, got = np.load(path + "x.npy"), np.load(path + "narrow.npy")
    want = x.astype(t).view(np.uint8) & ((1 << bits) - 1)
    if not np.array_equal(got, want):
        i = np.flatnonzero(got != want)[0]
        sys.exit(f"{name}: {x[i]!r} is code {got[i]}, there {want[i]}")
END
for in in e2m1:16 e2m3:64 e3m2:64 e4m3:256 e5m2:256 e8m0:256; do
	t=${in%:*} codes=${in#*:}
	"$python" "$dir/make.py" make $t "$dir" || exit 1
	for exec in tile sim; do
		"$HEXC" run "$dir/cast.hexc" --kernel widen -D T=$t --exec=$exec --arg "X=@$dir/codes.npy" --arg N=$codes \
			--save "Y=$dir/numbers.npy" >"$dir/out" 2>&1 &&
			"$HEXC" run "$dir/cast.hexc" --kernel narrow -D T=$t --exec=$exec --arg "X=@$dir/x.npy" \
				--save "Y=$dir/narrow.npy" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
		"$python" "$dir/make.py" check $t "$dir" || exit 1
	done
done
