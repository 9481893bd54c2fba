"""Functions of the language at zeros, infinities, NaNs, subnormals, the limits of each type and some values
between, compared with MPFR and NumPy, within hexc/LANGUAGE.md's tables of precision. Checks the tile interpreter
and the simulator for some GPUs; `--check` must accept the latter. Arguments: the command, a directory."""

import ctypes
import math
import subprocess
import sys

import numpy as np

np.seterr(all="ignore")
TINY = 2.0**-126
# mantissa bits, exponents of the smallest normal and the largest number
TYPES = {"f16": (10, -14, 15), "bf16": (7, -126, 127), "f32": (23, -126, 127), "f64": (52, -1022, 1023)}

try:
    lib = ctypes.CDLL("libmpfr.so.6")
except OSError as error:
    print(f"no MPFR: {error}")
    sys.exit(77)


class Real:
    """A number of 400 bits; conversions from double are exact."""

    def __init__(self, x: float = 0.0) -> None:
        self.raw = ctypes.create_string_buffer(64)
        lib.mpfr_init2(self.raw, ctypes.c_long(400))
        lib.mpfr_set_d(self.raw, ctypes.c_double(x), 0)

    def __del__(self) -> None:
        lib.mpfr_clear(self.raw)

    def __float__(self) -> float:
        return lib.mpfr_get_d(self.raw, 0)

    def off(self, y: float) -> float:
        """The error of y."""
        return abs(float(call("mpfr_sub", self, Real(y))))


lib.mpfr_get_d.restype = ctypes.c_double


def call(name: str, *x: Real) -> Real:
    y = Real()
    getattr(lib, name)(y.raw, *[a.raw for a in x], 0)
    return y


def of(name: str):
    return lambda *x: call(name, *[Real(a) for a in x])


def chain(*names: str):
    """Composes functions of one number, the first one first."""

    def f(x: float) -> Real:
        y = Real(x)
        for name in names:
            y = call(name, y)
        return y

    return f


def half_ulp(t: str, x: float) -> float:
    man, low, _ = TYPES[t]
    e = math.frexp(x)[1] - 1 if x else low
    return math.ldexp(0.5, max(e, low) - man)


def largest(t: str) -> float:
    man, _, high = TYPES[t]
    return math.ldexp(2 - 2.0**-man, high)


def rsqrt(x: float) -> Real:
    return Real(1 / np.float64(x)) if x == 0 else call("mpfr_rec_sqrt", Real(x))  # MPFR returns inf for -0 too


def sigmoid(x: float) -> Real:
    return call("mpfr_div", Real(1), call("mpfr_add", Real(1), call("mpfr_exp", Real(-x))))


def silu(x: float) -> Real:
    return Real(-0.0) if x == -math.inf else call("mpfr_mul", Real(x), sigmoid(x))


def gelu(x: float) -> Real:
    if x == -math.inf:
        return Real(-0.0)
    tail = call("mpfr_erfc", call("mpfr_div", Real(-x), call("mpfr_sqrt", Real(2))))
    return call("mpfr_mul", Real(x / 2), tail)


def gelu_tanh(x: float) -> Real:
    if x == -math.inf:
        return Real(-0.0)
    pi, cube = Real(), call("mpfr_mul", Real(x), call("mpfr_mul", Real(x), Real(x)))
    lib.mpfr_const_pi(pi.raw, 0)
    part = Real()
    lib.mpfr_set_str(part.raw, b"0.044715", 10, 0)
    inner = call("mpfr_add", Real(x), call("mpfr_mul", part, cube))
    inner = call("mpfr_mul", call("mpfr_sqrt", call("mpfr_div", Real(8), pi)), inner)  # 2 sqrt(2 / pi) (..)
    minus = call("mpfr_exp", call("mpfr_sub", Real(0), inner))
    return call("mpfr_div", Real(x), call("mpfr_add", Real(1), minus))


def power(x: float, y: float) -> Real:
    return call("mpfr_pow", Real(x), Real(y))


# name: reference, error of a result y for x in f32 relative to y; results below 2^this may be 0 (None: never).
# Errors as in hexc/LANGUAGE.md; `wide`: f64 too, with the error that is last.
UNARY = {
    "exp(x)": (of("mpfr_exp"), lambda x: 2.0**-21 + abs(x) * 2.0**-23, -126, 2.0**-52),
    "exp2(x)": (of("mpfr_exp2"), lambda x: 2.0**-21, -126, None),
    "log(x)": (of("mpfr_log"), lambda x: 2.0**-21, None, 2.0**-52),
    "sqrt(x)": (of("mpfr_sqrt"), lambda x: 2.0**-22, None, 0.0),
    "rsqrt(x)": (rsqrt, lambda x: 2.0**-21, None, 2.0**-52),
    "tanh(x)": (of("mpfr_tanh"), lambda x: 2.0**-20, None, None),
    "exact(exp(x))": (of("mpfr_exp"), lambda x: 2.0**-21 + abs(x) * 2.0**-23, None, 2.0**-52),
    "exact(exp2(x))": (of("mpfr_exp2"), lambda x: 2.0**-21, None, None),
    "exact(sqrt(x))": (of("mpfr_sqrt"), lambda x: 0.0, None, 0.0),
    "sin(x)": (of("mpfr_sin"), lambda x: 2.0**-22, None, None),
    "cos(x)": (of("mpfr_cos"), lambda x: 2.0**-22, None, None),
    "erf(x)": (of("mpfr_erf"), lambda x: 2.0**-23, None, None),
    "erfc(x)": (of("mpfr_erfc"), lambda x: 2.0**-21, None, None),
    "log2(x)": (of("mpfr_log2"), lambda x: 2.0**-22, None, None),
    "log1p(x)": (of("mpfr_log1p"), lambda x: 2.0**-23, None, None),
    "expm1(x)": (of("mpfr_expm1"), lambda x: 2.0**-22, None, None),
    "sigmoid(x)": (sigmoid, lambda x: 2.0**-19 + abs(x) * 2.0**-23, -126, None),
    "silu(x)": (silu, lambda x: 2.0**-19 + abs(x) * 2.0**-23, -119, None),
    "gelu(x)": (gelu, None, None, None),
    "gelu_tanh(x)": (gelu_tanh, None, -126, None),
}
OF_X = {"gelu(x)": 2.0**-22, "gelu_tanh(x)": 2.0**-19}
PRELUDE = set(list(UNARY)[9:])

# Exact or correctly rounded operations: NumPy's, computed wider and rounded. For f32 products and divisions, f64
# has enough digits that the second rounding has no effect (S. A. Figueroa, 1995).
EXACT = {
    "floor(x)": np.floor,
    "ceil(x)": np.ceil,
    "round(x)": np.rint,
    "trunc(x)": np.trunc,
    "abs(x)": np.abs,
    "-x": np.negative,
    "clamp(x, -2, 3)": lambda x: np.where(np.isnan(x), x, np.minimum(np.maximum(x, -2), 3)),
    "isnan(x)": np.isnan,
    "isinf(x)": np.isinf,
}


def larger(a, b):
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def smaller(a, b):
    return -larger(-a, -b)


EXACT2 = {
    "x + y": np.add,
    "x - y": np.subtract,
    "x * y": np.multiply,
    "exact(x / y)": np.divide,
    "max(x, y)": larger,
    "min(x, y)": smaller,
    "maximum(x, y)": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, larger(a, b)),
    "minimum(x, y)": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, smaller(a, b)),
    "x < y": np.less,
    "x == y": np.equal,
}


def to_bf16(x: np.ndarray) -> np.ndarray:
    """Doubles rounded once to bf16, as doubles."""
    wide = x.astype(np.float64)
    m, e = np.frexp(wide)
    step = np.ldexp(1.0, np.maximum(e - 1, -126) - 7)
    y = np.rint(wide / step) * step
    y = np.where(np.abs(y) > largest("bf16"), np.copysign(np.inf, y), y)
    return np.where(np.isfinite(wide), y, wide)


def rounded(t: str, x: np.ndarray) -> np.ndarray:
    if t == "bf16":
        return to_bf16(x)
    return x.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[t]).astype(np.float64)


def numbers(t: str) -> np.ndarray:
    man, low, high = TYPES[t]
    least, normal = math.ldexp(1, low - man), math.ldexp(1, low)
    half = [0, least, 3 * least, normal - least, normal, normal * 1.5, largest(t), largest(t) / 2, math.inf, 1, 0.5, 2, 3,
            1 + 2.0**-man, 1 - 2.0 ** -(man + 1), 1.5, 2.5, 0.1, 10, 80, 87.5, 88.7, 88.8, 103.9, 104, 126, 127, 128, 149, 150,
            2.0**-60, 2.0**60 if high > 60 else 2.0**12, math.pi, 1e-3, 0.49, 16.6]  # fmt: skip
    r = np.random.default_rng(17)
    some = np.ldexp(r.uniform(1, 2, 90), r.integers(max(low - man, -200), min(high, 200), 90))
    near = r.uniform(0, 12, 90)
    x = rounded(t, np.concatenate([half, some, near]).astype(np.float64))
    return np.concatenate([x, -x, [math.nan]])


def saved(t: str, x: np.ndarray) -> np.ndarray:
    if t == "bf16":  # its bits
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[t])


def loaded(t: str, x: np.ndarray) -> np.ndarray:
    if t == "bf16":
        return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return x.astype(np.float64)


bad = 0
told: set[str] = set()


def wrong(what: str) -> None:
    """Prints one line per function, type and executor."""
    global bad
    bad += 1
    first = what.split(": ")[0]
    if first not in told:
        print(what)
    told.add(first)


def same(a: float, b: float) -> bool:
    return a == b and math.copysign(1, a) == math.copysign(1, b) or (math.isnan(a) and math.isnan(b))


def within(t: str, y: float, want: Real, e: float, may_be_0: float | None, limit: bool = False) -> bool:
    """Is y a result of type t for the exact value `want`, with an error of e before it is
    rounded to a type below f32?"""
    w = float(want)
    if math.isnan(w) or math.isinf(w) or lib.mpfr_zero_p(want.raw):
        return same(w, y) or (limit and w == y)
    if y == 0 and may_be_0 is not None and abs(w) < may_be_0:
        return True
    e += half_ulp(t, abs(w) + e)
    if math.isinf(y):
        return abs(w) + e >= largest(t) and (w > 0) == (y > 0)
    return want.off(y) <= e and (y == 0 or (w > 0) == (y > 0) or abs(w) < e)


def quotient(t: str, x: float, y: float, q: float) -> bool:
    """Division of f32 and narrower types, where subnormals may be flushed to 0."""
    flushed = lambda v: {v, math.copysign(0, v)} if 0 < abs(v) < TINY else {v}
    for a in flushed(x):
        for b in flushed(y):
            if b == 0 or math.isinf(a) or math.isinf(b) or math.isnan(a) or math.isnan(b):
                if same(q, float(np.float64(a) / np.float64(b))):
                    return True
                continue
            want = call("mpfr_div", Real(a), Real(b))
            if within(t, q, want, abs(float(want)) * 2.0**-20, TINY):
                return True
    return False


def run(how: list[str], t: str, names: list[str], args: dict[str, np.ndarray]) -> np.ndarray:
    hexc, folder = sys.argv[1:]
    out = t if t == "f64" else "f32"
    n = len(next(iter(args.values())))
    lines = [f"    O[{i}, n :+ 128] = {out}({e});" for i, e in enumerate(names)]
    lets = [f"    let {a}: register = {a.upper()}[n :+ 128];" for a in args]
    params = ", ".join(f"{a.upper()}: {t}[N]" for a in args)
    with open(f"{folder}/p.hexc", "w") as f:
        f.write(f"kernel k({params}, O: out {out}[F, N])\n{{\n    grid(ceil(N, 128));\n    let n = block.x * 128;\n")
        f.write("\n".join(lets + lines) + "\n}\n")
    command = [hexc, "run", f"{folder}/p.hexc", "--arg", f"O=zeros[{len(names)},{n}]", "--save", f"O={folder}/o.npy", *how]
    for a, x in args.items():
        np.save(f"{folder}/{a}.npy", saved(t, x))
        command += ["--arg", f"{a.upper()}=@{folder}/{a}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and not (done.returncode == 5 and "x / y" in names):  # no bound if a divisor may be flushed to 0
        wrong(f"{t} {' '.join(how)}: {done.returncode}: {(done.stdout + done.stderr)[:400]}")
        return np.full((len(names), n), math.nan)
    return np.load(f"{folder}/o.npy").astype(np.float64)


def check_unary(how: list[str], t: str) -> None:
    x = numbers(t)
    names = [e for e, row in UNARY.items() if t != "f64" or row[3] is not None]
    exact = [e for e in EXACT if t != "f64" or e not in ()]
    got = run(how, t, names + exact, {"x": x})
    for i, e in enumerate(names):
        ref, rel, floor, wide = UNARY[e]
        for v, y in zip(x.tolist(), got[i].tolist()):
            want = ref(v)
            w = abs(float(want)) if math.isfinite(float(want)) else 0.0
            if t == "f64":
                off = w * wide + (2.0**-1074 if e.startswith(("exp", "exact(exp", "log")) else 0)
            elif e in OF_X:
                off = abs(v) * OF_X[e] + 2.0**-149 if math.isfinite(v) else 0.0
            else:
                off = (max(w, 1) if e == "log(x)" and w else w) * (rel(v) if math.isfinite(v) else 0)
                off += 2.0**-149 if e in PRELUDE and w else 0
                if e == "tanh(x)" and t != "f32":
                    off = w * 2.0**-10
            if not within(t, y, want, off, None if floor is None or t == "f64" else 2.0**floor, v != 0 and "lu" in e):
                wrong(f"{t} {e} {' '.join(how)}: of {v!r} ({v.hex()}) is {y!r}, not {float(want)!r} within {off:.3g}")
    for i, e in enumerate(exact):
        want = EXACT[e](x).astype(np.float64)
        for v, y, w in zip(x.tolist(), got[len(names) + i].tolist(), want.tolist()):
            if not same(y, w):
                wrong(f"{t} {e} {' '.join(how)}: of {v!r} is {y!r}, not {w!r}")


def check_binary(how: list[str], t: str) -> None:
    few = np.concatenate([numbers(t)[:37], -numbers(t)[:12], [math.nan]])
    x, y = (a.ravel() for a in np.meshgrid(few, few))
    names = [*EXACT2, "fma(x, y, x)"] + (["pow(x, y)"] if t != "f64" else [])
    if t == "f64":
        names = [n for n in names if not n.startswith(("maximum", "minimum"))]
    got = [*run(how, t, names, {"x": x, "y": y}), *run(how, t, ["x / y"], {"x": x, "y": y})]
    names += ["x / y"]
    for i, e in enumerate(names):
        if e in EXACT2:
            wide = np.float64
            want = rounded(t, EXACT2[e](x.astype(wide), y.astype(wide)).astype(np.float64)).tolist()
        for j, (a, b, z) in enumerate(zip(x.tolist(), y.tolist(), got[i].tolist())):
            if e == "x / y" and t != "f64":
                good = quotient(t, a, b, z)
            elif e == "x / y":
                good = same(z, float(np.float64(a) / np.float64(b)))
            elif e.startswith("fma"):
                w = call("mpfr_fma", Real(a), Real(b), Real(a))
                good = within(t, z, w, 0, None)
            elif e.startswith("pow"):
                w = power(a, b)
                size = abs(float(w)) if math.isfinite(float(w)) else 0.0
                good = within(t, z, w, size * 2.0**-21 + (2.0**-149 if size else 0), None)
            else:
                good = same(z, want[j])
            if not good:
                wrong(f"{t} {e} {' '.join(how)}: of {a!r}, {b!r} is {z!r}" + (f", not {want[j]!r}" if e in EXACT2 else ""))


WAYS = [["--exec=tile"]] + [["--exec=sim", "--check", "--arch", a] for a in ("sm_80", "sm_90a")]
for way in WAYS:
    for kind in TYPES:
        check_unary(way, kind)
        check_binary(way, kind)
if bad:
    print(f"{bad} are wrong")
sys.exit(bad > 0)
