"""The work items of a gpu-day: every kernel of examples/, every entry of every operator's table, and the GEMMs
and operators of models with the most important times.

All users share one list: kit.py compiles it, day.py runs it, reference.py computes correct results, and peers.py
times other libraries. test/gpu/run-day.sh checks that nothing of examples/ and lib/ops is missing here.

An :class:`Item` has sizes and describes the contents of its tensors; the compiled kernel provides names, shapes
and element types of tensors (hexc.Param). data.py generates data from a seed, the same on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hexc_tune import expr, ops

ROOT = Path(__file__).resolve().parents[3]

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Shape:
    """name: `small`, which the tile interpreter computes too, or `model`, one of a real model. sizes has all
    sizes of the kernels, including those that an entry computes. misaligned: addresses are not multiples of 16
    bytes, for entries with ALIGN=1."""

    name: str
    sizes: Sizes
    misaligned: bool = False


@dataclass(frozen=True)
class Item:
    """kind: example, operator or headline. kernel: of an example's file; "" for an operator. line: the index of
    the operator's table entry, from 0, and its text. constants: `-D` of an example, settings of an operator
    (hexc_op_set). data: tensor -> contents, if not the default of its type (data.py). scalars: name -> value.
    needs: the only arch that it is for. peer and roof: of a headline, the names for peers.py and the report;
    flops and bytes likewise."""

    key: str
    kind: str
    program: str
    kernel: str = ""
    line: int = -1
    text: str = ""
    constants: Mapping[str, int | str] = field(default_factory=dict)
    shapes: tuple[Shape, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    needs: str = ""
    peer: tuple[object, ...] = ()
    roof: str = ""
    flops: float = 0
    bytes: float = 0
    group: str = ""

    @property
    def operator(self) -> str:
        """The name in lib/ops; "" for an example."""
        return Path(self.program).stem if self.program.startswith("lib/ops/") else ""


# ---- examples ----------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Kernel:
    """small and model: sizes, and constants of that shape with names that are constants of the kernel."""

    small: Sizes
    model: Sizes
    data: Mapping[str, str] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)


def _product(**more: str) -> Kernel:
    return Kernel({"M": 72, "N": 160, "K": 256}, {"M": 2048, "N": 6144, "K": 4096}, more)


_GRADIENT = {"B": 1, "M": 2048, "N": 2048, "H": 16}
_PAGES = {"T": "distinct NP", "L": "int N1 N"}
EXAMPLES: dict[str, Kernel] = {
    "adamw": Kernel({"N": 1003}, {"N": 1 << 24}, {"V": "positive"},
                    {"rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "decay": 0.01, "unbias1": 10.0, "unbias2": 1000.0}),
    "argmax_locked": Kernel({"N": 5003}, {"N": 1 << 24}, {"VALUE": "zeros", "INDEX": "zeros", "LOCK": "zeros"}),
    "attention": Kernel({"B": 1, "M": 72, "N": 72, "H": 2, "HK": 1}, {"B": 1, "M": 4096, "N": 4096, "H": 32, "HK": 8}, {},
                        {"scale": 0.125}),
    "attention_backward/rows": Kernel({"B": 1, "M": 72, "H": 2}, _GRADIENT),
    "attention_backward/keys": Kernel({"B": 1, "M": 72, "N": 72, "H": 2}, _GRADIENT, {"L": "log N"}, {"scale": 0.125}),
    "attention_backward/queries": Kernel({"B": 1, "M": 72, "N": 72, "H": 2}, _GRADIENT, {"L": "log N"}, {"scale": 0.125}),
    "causal_conv": Kernel({"B": 2, "L": 37, "D": 72}, {"B": 1, "L": 4096, "D": 5376}),
    "complex_gemm": Kernel({"M": 72, "N": 40, "K": 48}, {"M": 2048, "N": 2048, "K": 2048}),
    "conv": Kernel({"B": 1, "H": 9, "W": 10, "C": 16, "O": 24, "R": 3, "S": 3, "P": 5, "Q": 5},
                   {"B": 16, "H": 56, "W": 56, "C": 128, "O": 256, "R": 3, "S": 3, "P": 28, "Q": 28}),
    "conv2d": Kernel({"B": 1, "H": 9, "W": 10, "C": 32, "O": 24, "P": 9, "Q": 10},
                     {"B": 16, "H": 56, "W": 56, "C": 128, "O": 128, "P": 56, "Q": 56}),
    "convert/widen": Kernel({"N": 5003}, {"N": 1 << 26}),
    "convert/narrow": Kernel({"N": 5003}, {"N": 1 << 26}),
    "cross_entropy": Kernel({"T": 5, "V": 1003}, {"T": 2048, "V": 128256}, {"LABEL": "int 0 V-1"}, {"weight": 0.5}),
    "decode_wNa16/decode": Kernel({"M": 3, "N": 136, "K": 256, "PARTS": 2}, {"M": 1, "N": 14336, "K": 4096, "PARTS": 8}),
    "decode_wNa16/join": Kernel({"M": 3, "N": 136, "PARTS": 2}, {"M": 1, "N": 14336, "PARTS": 8}),
    "delta_rule": Kernel({"B": 1, "T": 9, "H": 2, "E": 24}, {"B": 1, "T": 1024, "H": 16, "E": 64},
                         {"K": "unit", "BETA": "share"}),
    "embedding": Kernel({"T": 37, "V": 50, "D": 72}, {"T": 4096, "V": 128256, "D": 4096}, {"I": "int 0 V-1"}),
    "gemm_act_order": _product(PERM="permutation"),
    "gemm_epilogue": _product(),
    "gemm_f16": _product(),
    "gemm_fp8": Kernel({"M": 72, "N": 256, "K": 256}, {"M": 2048, "N": 6144, "K": 4096}),
    "gemm_int8": _product(),
    "gemm_mxfp": _product(),
    "gemm_mxfp4": _product(),
    "gemm_nvfp4": Kernel({"M": 72, "N": 160, "K": 256}, {"M": 2048, "N": 6144, "K": 4096}, {}, {"scale": 0.5}),
    "gemm_q4k": _product(),
    "gemm_roles": _product(),
    "gemm_schemes/gemm_scale": Kernel({"M": 72, "N": 160, "K": 256}, {"M": 2048, "N": 6144, "K": 4096}, {}, {"factor": 0.5}),
    "gemm_schemes/gemm_zero": _product(),
    "gemm_schemes/gemm_ordered": Kernel({"M": 72, "N": 160, "K": 256, "GROUPS": 2}, {"M": 2048, "N": 6144, "K": 4096, "GROUPS": 32},
                                        {"I": "rising GROUPS"}),
    "gemm_schemes/gemm_any_group": _product(),
    "gemm_schemes/gemm_offset": _product(),
    "gemm_schemes/gemm_two_level": _product(),
    "gemm_schemes/gemm_table": _product(),
    "gemm_schemes/gemm_table_two_level": _product(S2="small"),  # sums stay in the range of f16
    "gemm_schemes/gemm_two_level_offset": _product(),
    "gemm_sparse": _product(P="pairs of 4"),
    "gemm_w4_roles": _product(),
    "gemm_w4a16": _product(),
    "gemm_w4a16_sym": _product(),
    "gemm_wNa16": _product(),
    "gemm_wNa16_natural": _product(),
    "gemm_wNa8": _product(),
    "grouped_gemm": Kernel({"R": 100, "N": 72, "K": 64, "E": 3, "MOST": 100}, {"R": 4096, "N": 2048, "K": 4096, "E": 8, "MOST": 4096},
                           {"OFF": "offsets R"}),
    "histogram": Kernel({"N": 5003}, {"N": 1 << 24}, {"H": "zeros"}, {"low": -4.0, "scale": 32.0}),
    "kv_append": Kernel({"T": 9, "H": 2, "S": 32}, {"T": 4096, "H": 8, "S": 65536}, {"SLOT": "distinct S", "KS": "positive", "VS": "positive"}),
    "layer_norm": Kernel({"M": 9, "N": 200}, {"M": 16384, "N": 1024}, {}, {"eps": 1e-5}),
    "layer_norm_backward": Kernel({"M": 9, "N": 200}, {"M": 4096, "N": 1024}, {"Dgamma": "zeros", "Dbeta": "zeros"}, {"eps": 1e-5}),
    "lora": Kernel({"M": 72, "N": 160, "K": 256}, {"M": 2048, "N": 6144, "K": 4096}, {}, {"scale": 0.5}),
    "mamba2": Kernel({"B": 1, "T": 40, "H": 2, "G": 1}, {"B": 1, "T": 2048, "H": 80, "G": 1},
                     {"DT": "share", "A": "negative", "LEN": "int T-3 T+1"}),
    "max_pool": Kernel({"B": 1, "H": 9, "W": 10, "C": 40, "P": 5, "Q": 5}, {"B": 16, "H": 112, "W": 112, "C": 64, "P": 56, "Q": 56}),
    "mla_decode": Kernel({"B": 2, "H": 20, "NP": 12, "P": 5, "S": 2}, {"B": 16, "H": 128, "NP": 1100, "P": 64, "S": 16},
                         {"T": "distinct NP", "L": "int PAGE P*PAGE"}, {"scale": 0.0721}),
    "moe": Kernel({"TOKENS": 20, "N": 72, "K": 128, "E": 3, "R": 48, "BLOCKS": 3}, {"TOKENS": 256, "N": 768, "K": 2048, "E": 128, "R": 4096, "BLOCKS": 256},
                  {"TOK": "int -1 TOKENS-1", "EX": "rising E"}),
    "paged_attention/decode": Kernel({"B": 2, "H": 16, "HK": 2, "NP": 12, "P": 5, "S": 2}, {"B": 16, "H": 32, "HK": 4, "NP": 1100, "P": 64, "S": 16},
                                     {"T": "distinct NP", "L": "int PAGE P*PAGE"}, {"scale": 0.0884}),
    "paged_attention/combine": Kernel({"B": 2, "H": 16, "S": 3}, {"B": 16, "H": 32, "S": 16}, {"W": "positive"}),
    "prefix_sum": Kernel({"N": 5003, "G": 3}, {"N": 1 << 24, "G": 1 << 13},
                         {"X": "int 0 99", "SUM": "zeros", "FLAG": "zeros", "COUNT": "zeros"}),
    "quantize/token_int8": Kernel({"M": 9, "K": 1003}, {"M": 4096, "K": 4096}),
    "quantize/block_fp8": Kernel({"M": 128, "K": 256}, {"M": 4096, "K": 4096}),
    "rms_norm": Kernel({"M": 9, "N": 200}, {"M": 8192, "N": 4096}, {}, {"eps": 1e-5}),
    "rotary": Kernel({"T": 9, "HQ": 3, "HK": 2, "P": 50}, {"T": 4096, "HQ": 32, "HK": 8, "P": 8192}, {"POS": "int 0 P-1"}, {"eps": 1e-5}),
    "router": Kernel({"T": 37, "E": 64}, {"T": 4096, "E": 64}),
    "selective_scan": Kernel({"B": 1, "T": 20, "C": 24}, {"B": 1, "T": 2048, "C": 5120}, {"DT": "small", "A": "negative"}),
    "softmax": Kernel({"M": 9, "N": 1003}, {"M": 4096, "N": 4096}),
    "softmax_grid": Kernel({"N": 5003, "G": 3}, {"N": 1 << 20, "G": 128}, {"S": "zeros"}),
    "softmax_long": Kernel({"M": 3, "N": 5003}, {"M": 512, "N": 128256}),
    "sort": Kernel({"M": 37}, {"M": 65536}),
    "split_k/partial": Kernel({"M": 20, "N": 72, "K": 256, "S": 3}, {"M": 16, "N": 4096, "K": 14336, "S": 8}),
    "split_k/join": Kernel({"M": 20, "N": 72, "S": 3}, {"M": 16, "N": 4096, "S": 8}),
    "sum_one_launch": Kernel({"N": 5003, "G": 3}, {"N": 1 << 26, "G": 256}, {"T": "zeros"}),
    "swiglu": Kernel({"M": 72, "N": 104, "K": 128}, {"M": 2048, "N": 14336, "K": 4096}),
    "top_k": Kernel({"M": 9, "N": 300}, {"M": 65536, "N": 256}),
    "vector_add": Kernel({"N": 5003}, {"N": 1 << 26}),
}
# constants that select another kernel of the same program, used by models: key -> constants, added to the defaults
VARIANTS: dict[str, tuple[dict[str, int | str], ...]] = {
    "attention": ({"D": 128, "CAUSAL": 1, "BM": 128},),
    "gemm_wNa16": tuple({"WEIGHT": w} for w in ("u1", "u2", "u3", "u5", "u6", "u8", "nf4", "e2m1", "e4m3")),
    "decode_wNa16/decode": ({"WEIGHT": "u3"}, {"WEIGHT": "u8"}),
    "gemm_wNa8": ({"ACT": "e4m3", "WEIGHT": "e4m3"},),
    "quantize/block_fp8": ({"ROWS": 128},),
}


def kernels_of(path: Path) -> list[str]:
    """The names of a program's kernels, in order."""
    return re.findall(r"^kernel (\w+)", path.read_text(encoding="utf-8"), re.M)


def only_arch(path: Path) -> str:
    """The GPU of a program for one GPU, from its first line: "(sm_90a)"; "": any."""
    with open(path, encoding="utf-8") as f:
        found = re.search(r"\((sm_\w+)\)$", f.readline().rstrip())
    return found.group(1) if found else ""


def example_names() -> Iterator[tuple[str, Path, str]]:
    """(name in EXAMPLES, file, kernel) of all existing kernels."""
    for path in sorted((ROOT / "examples").glob("*.hexc")):
        names = kernels_of(path)
        for kernel in names:
            yield (path.stem if len(names) == 1 else f"{path.stem}/{kernel}"), path, kernel


def examples() -> list[Item]:
    """An item for each kernel of examples/ and each variant; KeyError names one missing in EXAMPLES."""
    found = []
    for name, path, kernel in example_names():
        k = EXAMPLES[name]
        for constants in ({}, *VARIANTS.get(name, ())):
            tail = "".join(f" {n}={v}" for n, v in constants.items())
            found.append(Item(f"example {name}{tail}", "example", f"examples/{path.name}", kernel, constants=constants,
                              shapes=(Shape("small", k.small), Shape("model", k.model)), data=k.data, scalars=k.scalars,
                              needs=only_arch(path)))
    return found


# ---- operators ---------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Op:
    """base: sizes of both shapes; small and model: their differences. lines: for each entry of the table the
    additional sizes that make it the first valid one, for both shapes or as (small, model). choose: the names
    among these that are settings, which leave the operator other entries."""

    base: Sizes
    small: Sizes
    model: Sizes
    lines: tuple[Sizes | tuple[Sizes, Sizes], ...]
    settings: Mapping[str, int | str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    choose: tuple[str, ...] = ()


def _wide(*n: int) -> tuple[Sizes, ...]:
    return tuple({"N": x} for x in n)


_QUERIES: dict[str, int | str] = {"ACT": "f16", "D": 128}
def _slices(name: str, q: int, m: int, n: int, rows: str = "m") -> dict[str, int]:
    """The strides of adjacent elements of NAME[p, q, rows, n], with those that an operator has of it."""
    return {f"{name}p": q * m * n, f"{name}q": m * n, f"{name}{rows}": n}


def _multiplied(p: int, q: int, pb: int, qb: int, m: int, n: int, k: int) -> Sizes:
    """The sizes of products of slices whose elements are adjacent."""
    return {"P": p, "Q": q, "PB": pb, "QB": qb, "M": m, "N": n, "K": k,
            **_slices("a", q, m, k), **_slices("b", qb, n, k, "n"), **_slices("c", q, m, n)}


def _grouped(p: int, q: int, qb: int, n: int, k: int) -> Sizes:
    """The same of rows that choose one of QB slices."""
    return {**_multiplied(p, q, 1, qb, 1, n, k), "ip": q, "iq": 1}


def _found(p: int, m: int, h: int, n: int, d: int = 128) -> Sizes:
    """The sizes of an indexer whose elements are adjacent."""
    return {"P": p, "M": m, "H": h, "N": n, "qp": m * h * d, "qm": h * d, "qh": d, "wp": m * h, "wm": h,
            "kp": n * d, "kn": d, "yp": m * n, "ym": n}


def _solved(p: int, q: int, n: int, k: int) -> Sizes:
    """The sizes of triangular systems whose elements are adjacent."""
    return {"P": p, "Q": q, "N": n, "K": k, **_slices("a", q, n, n, "n"), **_slices("b", q, n, k, "n"), **_slices("x", q, n, k, "n")}


def _elements(p: int, q: int, m: int, n: int) -> Sizes:
    return {"P": p, "Q": q, "M": m, "N": n, **_slices("y", q, m, n), "yn": 1}


def _sums(p: int, q: int, m: int, n: int) -> Sizes:
    return {"P": p, "Q": q, "M": m, "N": n, **_slices("x", q, m, n), "yp": q * m, "yq": m, "ym": 1}


def _stores(v: int, p: int, q: int, m: int, n: int) -> Sizes:
    return {"V": v, "PI": 1, "QI": 1, "P": p, "Q": q, "M": m, "N": n, "ip": 0, "iq": 0, "im": 1,
            **_slices("x", q, m, n), **_slices("y", q, v, n)}


def _encoded(p: int, q: int, m: int, blocks: int, gap: int = 0) -> Sizes:
    """Q5_1: blocks of 24 bytes."""
    return {"V": m, "P": p, "Q": q, "M": m, "NB": blocks, "xg": 32, "xn": 1, **_slices("x", q, m, 32 * blocks + gap),
            **_slices("y", q, m, 24 * blocks + gap)}


def _states(b: int, t: int, h: int, e: int, d: int, kept: int = 1) -> Sizes:
    return {"B": b, "BS": b, "T": t, "H": h, "E": e, "K": kept, "sb": h * e * d, "sh": e * d, "se": d, "yb": t * h * e, "yt": h * e, "yh": e,
            "lk": b * h * e * d, "lb": h * e * d, "lh": e * d, "le": d}


_DELTA: dict[str, int | str] = {
    "D": 128, "tensors": "q: f32[B, T, H, D], k: f32[B, T, H, D], v: f32[B, T, H, E], g: f32[B, T, H], beta: f32[B, T, H]",
    "probe": "s * exp(g[b, t, h :+ 1]) * k[b, t, h, d]", "read": "s * q[b, t, h, d]",
    "next": "s * exp(g[b, t, h :+ 1]) + (v[b, t, h, e] - x) * beta[b, t, h :+ 1] * k[b, t, h, d]"}

# Lines of matmul, and of matmul_packed.
_OF_MATMUL = ((_multiplied(2, 4, 1, 2, 7, 136, 320), _multiplied(1, 1, 1, 1, 1, 4096, 4096)),
              (_multiplied(2, 4, 1, 2, 9, 136, 256), _multiplied(1, 1, 1, 1, 16, 4096, 4096)),
              (_multiplied(2, 4, 1, 2, 40, 136, 64), _multiplied(1, 1, 1, 1, 256, 4096, 4096)),
              (_multiplied(1, 2, 1, 1, 264, 1032, 64), _multiplied(1, 1, 1, 1, 2048, 4096, 4096)),
              (_multiplied(2, 4, 1, 2, 7, 135, 277), _multiplied(1, 1, 1, 1, 1, 4095, 4095)),
              (_multiplied(2, 4, 1, 2, 9, 135, 77), _multiplied(1, 1, 1, 1, 16, 4095, 4095)),
              (_multiplied(2, 4, 1, 2, 40, 135, 77), _multiplied(1, 1, 1, 1, 512, 4095, 4095)))
_OF_PACKED = ((_multiplied(2, 4, 1, 2, 7, 144, 320), _multiplied(1, 1, 1, 1, 1, 4096, 4096)),
              (_multiplied(1, 1, 1, 1, 2, 8256, 64), _multiplied(1, 1, 1, 1, 1, 14336, 4096)),
              (_multiplied(2, 4, 1, 2, 9, 144, 256), _multiplied(1, 1, 1, 1, 16, 4096, 4096)),
              (_multiplied(2, 4, 1, 2, 40, 144, 64), _multiplied(1, 1, 1, 1, 256, 4096, 4096)),
              (_multiplied(1, 2, 1, 1, 264, 1040, 64), _multiplied(1, 1, 1, 1, 2048, 4096, 4096)),
              (_multiplied(2, 4, 1, 2, 7, 135, 300), _multiplied(1, 1, 1, 1, 1, 4095, 4080)),
              (_multiplied(2, 4, 1, 2, 9, 135, 77), _multiplied(1, 1, 1, 1, 16, 4095, 4080)),
              (_multiplied(2, 4, 1, 2, 40, 135, 77), _multiplied(1, 1, 1, 1, 512, 4095, 4080)))

OPS: dict[str, Op] = {
    "argsort": Op({"xm": 4100, "im": 64}, {"M": 9, "K": 5}, {"M": 4096, "K": 8},
                  (*_wide(64, 256, 1024, 4096), {"N": 1024}, {"N": 4096}), {"DESC": 1}),
    "attention": Op({"B": 1}, {"H": 2, "HK": 1}, {"H": 32, "HK": 8},
                    ({"M": 16, "N": 80}, {"M": 32, "N": 80}, *2 * (({"M": 1025, "N": 32}, {"M": 4096, "N": 4096}),),
                     *5 * (({"M": 72, "N": 72}, {"M": 512, "N": 512}),)), _QUERIES, {}, {"scale": 0.0884}),
    "compute": Op({}, {}, {}, ((_elements(2, 3, 9, 264), _elements(2, 8, 4096, 4096)), (_elements(2, 3, 20, 72), _elements(2, 8, 65536, 64)),
                               ({**_elements(2, 3, 20, 36), "yn": 20, "ym": 1}, {**_elements(2, 8, 1024, 1024), "yn": 1024, "ym": 1}),
                               ({**_elements(2, 3, 20, 36), "yn": 20, "ym": 1}, {**_elements(2, 8, 1024, 1024), "yn": 1024, "ym": 1})),
                  {"tensors": "a: f32[P, Q, M, N]", "value": "a[p, q, m, n / 2] + where(n % 2 == 0, 1, -1)"}),
    "conv2d": Op({}, {"B": 1, "C": 16}, {"B": 16, "C": 128},
                 (({"H": 8, "W": 8, "P": 8, "Q": 8, "O": 72}, {"H": 7, "W": 7, "P": 7, "Q": 7, "O": 512}),
                  ({"H": 9, "W": 10, "P": 9, "Q": 10, "O": 40}, {"H": 56, "W": 56, "P": 56, "Q": 56, "O": 64}),
                  ({"H": 9, "W": 10, "P": 9, "Q": 10, "O": 72}, {"H": 56, "W": 56, "P": 56, "Q": 56, "O": 128}),
                  ({"H": 9, "W": 10, "P": 9, "Q": 10, "O": 72}, {"H": 28, "W": 28, "P": 28, "Q": 28, "O": 128}))),
    "copy": Op({"P": 1}, {"Q": 2}, {"Q": 8},
               (({"M": 9, "N": 264, "xp": 4752, "xq": 2376, "xm": 264, "xn": 1, "yp": 4752, "yq": 2376, "ym": 264, "yn": 1},
                 {"M": 4096, "N": 4096, "xp": 1 << 27, "xq": 1 << 24, "xm": 4096, "xn": 1, "yp": 1 << 27, "yq": 1 << 24, "ym": 4096, "yn": 1}),
                ({"M": 20, "N": 64, "xp": 2560, "xq": 1280, "xm": 64, "xn": 1, "yp": 2560, "yq": 1280, "ym": 64, "yn": 1},
                 {"M": 65536, "N": 64, "xp": 1 << 25, "xq": 1 << 22, "xm": 64, "xn": 1, "yp": 1 << 25, "yq": 1 << 22, "ym": 64, "yn": 1}),
                ({"M": 20, "N": 64, "xp": 2560, "xq": 1280, "xm": 1, "xn": 20, "yp": 2560, "yq": 1280, "ym": 64, "yn": 1},
                 {"M": 1024, "N": 1024, "xp": 1 << 23, "xq": 1 << 20, "xm": 1, "xn": 1024, "yp": 1 << 23, "yq": 1 << 20, "ym": 1024, "yn": 1}),
                ({"M": 20, "N": 64, "xp": 2560, "xq": 1280, "xm": 1, "xn": 20, "yp": 2560, "yq": 1280, "ym": 64, "yn": 1},
                 {"M": 1024, "N": 1024, "xp": 1 << 23, "xq": 1 << 20, "xm": 1, "xn": 1024, "yp": 1 << 23, "yq": 1 << 20, "ym": 1024, "yn": 1}))),
    "cross_entropy": Op({}, {"M": 9}, {"M": 2048}, (*_wide(128, 512, 2048), ({"N": 4104}, {"N": 128256}), ({"N": 4103}, {"N": 128255})), {},
                        {"LABEL": "int 0 N-1"}, {"ignore": -100}),
    "cross_entropy_grad": Op({}, {"M": 9}, {"M": 2048}, (*_wide(128, 512), ({"N": 1032}, {"N": 128256}), ({"N": 1031}, {"N": 128255})), {},
                             {"LABEL": "int 0 N-1", "LSE": "log N"}, {"ignore": -100}),
    "decode": Op({"D": 128}, {"B": 2, "N": 300}, {"B": 16, "N": 4096},
                 (({"M": 1, "H": 8, "HK": 2}, {"M": 1, "H": 32, "HK": 8}), ({"M": 6, "H": 8, "HK": 2}, {"M": 8, "H": 32, "HK": 8}),
                  ({"M": 12, "H": 8, "HK": 2}, {"M": 16, "H": 32, "HK": 8}),
                  *4 * (({"M": 3, "H": 16, "HK": 1, "D": 512}, {"M": 1, "H": 128, "HK": 1, "D": 512}),)),
                 {"ACT": "f16"}, {}, {"scale": 0.0884}, ("D",)),
    "embedding": Op({}, {"V": 50}, {"V": 128256},
                    (({"M": 9, "N": 264}, {"M": 64, "N": 4096}), ({"M": 72, "N": 64}, {"M": 4096, "N": 64}), ({"M": 72, "N": 264}, {"M": 4096, "N": 4096}),
                     ({"M": 72, "N": 265}, {"M": 4096, "N": 4095})), {}, {"I": "int 0 V-1"}),
    "encode": Op({}, {}, {}, ((_encoded(2, 3, 9, 4), _encoded(1, 8, 4096, 4)), (_encoded(2, 3, 9, 33), _encoded(1, 1, 4096, 128)),
                              (_encoded(2, 3, 9, 4, 1), _encoded(1, 8, 4096, 4, 1)), (_encoded(2, 3, 9, 33, 1), _encoded(1, 1, 4096, 128, 1))),
                 {"BITS": 5, "OFFSET": 1}),
    "gemm": Op({}, {"N": 136}, {"N": 4096, "K": 4096},
               (({"M": 16, "K": 1024}, {"M": 16, "K": 14336}), ({"M": 16, "K": 200}, {"M": 16, "K": 1016}), ({"M": 40, "K": 200}, {"M": 64}), ({"M": 72, "K": 200}, {"M": 256}),
                ({"M": 264, "N": 1032, "K": 72}, {"M": 2048}), ({"M": 72, "K": 75}, {"M": 512, "K": 4095}))),
    "gemm_block": Op({}, {"N": 136}, {"N": 4096, "K": 4096},
                     (({"M": 16, "K": 2048}, {"M": 16, "K": 7168}), ({"M": 16, "K": 272}, {"M": 16, "K": 2032}), ({"M": 40, "K": 272}, {"M": 64}), ({"M": 72, "K": 272}, {"M": 256}),
                      ({"M": 264, "N": 1032, "K": 144}, {"M": 2048}), ({"M": 72, "K": 275}, {"M": 512, "K": 4095})), {}, {"SA": "positive", "SB": "positive"}),
    "gemm_q": Op({}, {"N": 136}, {"N": 4096, "K": 4096},
                 (({"M": 16, "K": 2048}, {"M": 16, "K": 7168}), ({"M": 16, "K": 272}, {"M": 16, "K": 2032}), ({"M": 40, "K": 272}, {"M": 64}), ({"M": 72, "K": 272}, {"M": 256}),
                  ({"M": 264, "N": 1032, "K": 144}, {"M": 2048}), ({"M": 72, "K": 275}, {"M": 512, "K": 4095})), {"OUT": "f32"}),
    "group_rows": Op({}, {}, {}, (({"P": 70, "Q": 3, "QB": 5, "ip": 3, "iq": 1}, {"P": 4096, "Q": 8, "QB": 128, "ip": 8, "iq": 1}),) * 2,
                     {}, {"ids": "int 0 QB-1"}),
    "indexer": Op({}, {}, {}, ((_found(2, 3, 40, 130), _found(1, 1, 64, 65536)), (_found(2, 70, 5, 130), _found(1, 1024, 64, 8192)),
                               (_found(2, 3, 40, 131), _found(1, 1, 64, 65535)), (_found(2, 70, 5, 131), _found(1, 1024, 64, 8191))),
                  {"IN": "f16", "OUT": "f32"}),
    "kv_append": Op({}, {"HK": 2, "S": 128}, {"HK": 8, "S": 65536},
                    (({"T": 9}, {"T": 64}), ({"T": 72}, {"T": 4096}), ({"T": 72}, {"T": 4096})), {}, {"SLOT": "distinct S"}),
    "linear": Op({}, {"N": 136}, {"N": 14336, "K": 4096},
                 (({"M": 8, "K": 1024}, {"M": 1}), ({"M": 16, "K": 256}, {"M": 16}), ({"M": 40, "K": 256}, {"M": 64}), ({"M": 72, "K": 256}, {"M": 256}),
                  ({"M": 264, "N": 1032, "K": 128}, {"M": 2048}), ({"M": 72, "K": 256}, {"M": 512})),
                 {"scale": "f16", "G": 128, "BIAS": 8}, {"S": "positive"}),
    "linear_gather": Op({}, {"N": 136, "K": 264}, {"N": 14336, "K": 4096},
                        ({"M": 16}, ({"M": 72}, {"M": 2048}), ({"M": 72}, {"M": 512})),
                        {"scale": "f16", "index": "i32", "G": 128, "BIAS": 8}, {"S": "positive", "I": "permuted K/128"}),
    "map": Op({}, {"M": 9}, {"M": 4096}, (({"M": 1, "N": 5000}, {"M": 1, "N": 1 << 26}), {"N": 64}, ({"N": 520}, {"N": 14336}), ({"N": 519}, {"N": 14335})),
              {"value": "x / (1 + exp(-x))"}),
    "map_list": Op({}, {"L": 3, "T": 4096, "longest": 1000}, {"L": 64, "T": 1 << 25, "longest": 500000},
                   ({}, {}), {"value": "x * 0.5", "IN": "f32"}, {"START": "places", "LENGTH": "int 1 longest"}),
    "matmul": Op({}, {}, {}, _OF_MATMUL),
    "matmul rounded": Op({}, {}, {}, _OF_MATMUL, {"rounded": 1, "IN": "f32"}),
    "matmul_packed": Op({}, {}, {}, _OF_PACKED, {"scale": "f16", "BIAS": 8}, {"S": "positive"}),
    "matmul_packed rounded": Op({}, {}, {}, _OF_PACKED, {"rounded": 1, "IN": "f32", "scale": "f16", "BIAS": 8}, {"S": "positive"}),
    "matmul grouped": Op({}, {}, {},
                         ((_grouped(9, 4, 5, 136, 264), _grouped(16, 8, 128, 768, 2048)), (_grouped(16, 3, 5, 72, 136), _grouped(64, 4, 32, 2880, 2880)),
                          (_grouped(40, 4, 3, 136, 64), _grouped(512, 8, 128, 768, 2048)), (_grouped(65, 2, 1, 1032, 64), _grouped(2048, 2, 8, 14336, 4096)),
                          (_grouped(7, 2, 5, 67, 290), _grouped(16, 8, 128, 767, 2047)), (_grouped(25, 4, 3, 70, 67), _grouped(512, 8, 128, 767, 2047))),
                         {"grouped": 1}, {"ids": "int 0 QB-1"}),
    "matmul_packed grouped": Op({}, {}, {},
                                ((_grouped(9, 4, 5, 144, 256), _grouped(16, 8, 128, 768, 2048)), (_grouped(16, 3, 5, 80, 128), _grouped(64, 4, 32, 2880, 2880)),
                                 (_grouped(40, 4, 3, 144, 64), _grouped(512, 8, 128, 768, 2048)),
                                 (_grouped(65, 2, 1, 1040, 64), _grouped(2048, 2, 8, 14336, 4096)),
                                 (_grouped(7, 2, 5, 67, 290), _grouped(16, 8, 128, 767, 2032)), (_grouped(25, 4, 3, 70, 67), _grouped(512, 8, 128, 767, 2032))),
                                {"grouped": 1, "scale": "f16", "BIAS": 8}, {"S": "positive", "ids": "int 0 QB-1"}),
    "merge_runs": Op({}, {"M": 2, "N": 2500, "L": 600, "KEEP": 2500, "C": 2500, "ym": 2500},
                     {"M": 1, "N": 1 << 20, "L": 1 << 18, "KEEP": 1 << 20, "C": 1 << 20, "ym": 1 << 20}, ({}, {}), {}, {"X": "rising M*N", "Y": "zeros"}),
    "moe": Op({}, {"TOPK": 2, "D": 72, "F": 40}, {"TOPK": 8, "D": 2048, "F": 768},
              (({"T": 9, "E": 8}, {"T": 16, "E": 64}), ({"T": 140, "E": 8}, {"T": 1024, "E": 64}), ({"T": 9, "E": 72}, {"T": 256, "E": 128}),
               ({"T": 1200, "E": 72, "D": 24, "F": 16}, {"T": 4096, "E": 128}), ({"T": 9, "E": 72}, {"T": 256, "E": 128})),
              {}, {"WG": "weights D", "WU": "weights D", "WD": "weights F"}),
    "norm": Op({}, {"M": 9}, {"M": 4096}, (*_wide(128, 512, 1024, 4096, 8192), ({"N": 8200}, {"N": 16384}), ({"N": 8199}, {"N": 16383})), {}, {}, {"eps": 1e-5}),
    "paged": Op({}, {"B": 2, "NP": 50, "P": 20}, {"B": 16, "NP": 4200, "P": 256},
                (({"M": 1, "H": 8, "HK": 2}, {"M": 1, "H": 32, "HK": 8}), ({"M": 12, "H": 8, "HK": 2}, {"M": 8, "H": 32, "HK": 8}),
                 ({"B": 1, "M": 1032, "H": 1, "HK": 1, "P": 3}, {"B": 1, "M": 4096, "H": 32, "HK": 8}), ({"M": 72, "H": 4, "HK": 2}, {"B": 1, "M": 512, "H": 32, "HK": 8}),
                 ({"M": 72, "H": 4, "HK": 2}, {"B": 1, "M": 512, "H": 32, "HK": 8})),
                {**_QUERIES, "PAGE": 16}, {"T": "distinct NP", "L": "int 16 P*16"}, {"scale": 0.0884}),
    "quantize": Op({"COLS": 0}, {"M": 9}, {"M": 4096},
                   (*_wide(128, 512, 1024, 4096, 8192), ({"N": 8200}, {"N": 16384}), ({"N": 264, "COLS": 128}, {"N": 4096, "COLS": 128}),
                    ({"N": 8199}, {"N": 16383}), ({"N": 263, "COLS": 128}, {"N": 4095, "COLS": 128})), choose=("COLS",)),
    "recurrence": Op({}, {}, {}, ((_states(2, 9, 3, 20, 128, 2), _states(1, 512, 32, 128, 128)), (_states(2, 9, 3, 20, 128, 2), _states(64, 1, 32, 128, 128))),
                     _DELTA, {"k": "unit", "beta": "share", "g": "negative"}),
    "reduce": Op({}, {}, {}, ((_sums(2, 3, 20, 60), _sums(2, 8, 65536, 64)), (_sums(2, 3, 9, 200), _sums(2, 8, 4096, 256)),
                              (_sums(2, 3, 9, 1032), _sums(2, 8, 256, 16384)), (_sums(2, 3, 9, 1031), _sums(2, 8, 256, 16383)))),
    "round_rows": Op({}, {}, {}, (({"P": 2, "Q": 3, "M": 20, "K": 264, **_slices("a", 3, 20, 264)},
                                   {"P": 1, "Q": 1, "M": 4096, "K": 4096, **_slices("a", 1, 4096, 4096)}),) * 2, {"IN": "f32"}),
    "rotary": Op({"P": 4096}, {"H": 3}, {"H": 32}, ({"T": 8}, ({"T": 37}, {"T": 4096}), ({"T": 37}, {"T": 4096})), {},
                 {"POS": "int 0 P-1"}),
    "sample": Op({"K": 8}, {"M": 9}, {"M": 64},
                 (({"N": 1000, "K": 0}, {"N": 128256, "K": 0}), {"N": 1000}, {"N": 4096}, ({"N": 5000}, {"N": 128256}), ({"N": 1003, "K": 0}, {"N": 128255, "K": 0}),
                  ({"N": 5003}, {"N": 128255})), {}, {"U": "share"}, {"temperature": 0.8, "k": 5, "top_p": 0.9},
                 ("K",)),
    "scan": Op({}, {"M": 9}, {"M": 4096}, (*_wide(128, 1024), ({"M": 2, "N": 20000}, {"M": 64, "N": 1 << 18}), ({"N": 4100}, {"N": 4096}), ({"N": 1031}, {"N": 4095}))),
    "set_rows": Op({}, {}, {}, ((_stores(100, 2, 3, 9, 264), _stores(65536, 1, 8, 64, 1024)), (_stores(100, 2, 3, 72, 64), _stores(65536, 1, 8, 4096, 64)),
                                (_stores(100, 2, 3, 72, 264), _stores(65536, 1, 8, 4096, 1024)), (_stores(100, 2, 3, 72, 265), _stores(65536, 1, 8, 4096, 1023))),
                   {"OUT": "f16", "INDEX": "i64"}, {"I": "distinct V"}),
    "softmax": Op({}, {"M": 9}, {"M": 4096}, (*_wide(128, 512, 1024, 4096, 8192), ({"N": 8200}, {"N": 128256}), ({"N": 8199}, {"N": 128255}))),
    "sinkhorn": Op({"xr": 4, "yr": 4}, {"M": 70, "xm": 16, "ym": 16, "STEPS": 4}, {"M": 65536, "xm": 24, "ym": 16, "STEPS": 20}, ({}, {}), {"IN": "f32"}, {},
                   {"eps": 1e-6}),
    "solve_lower": Op({}, {}, {}, ((_solved(2, 3, 33, 40), _solved(16, 32, 64, 128)),) * 2, {}, {"A": "positive"}),
    "sort_runs": Op({}, {"M": 2, "N": 5000, "xm": 5000}, {"M": 1, "N": 1 << 20, "xm": 1 << 20}, ({}, {}), {"IN": "f32"}),
    "top_k": Op({}, {"M": 9}, {"M": 4096}, (*_wide(1024, 4096), ({"N": 8200}, {"N": 128256}), ({"N": 8203}, {"N": 128255}))),
    "transpose": Op({}, {"P": 2}, {"P": 8}, (({"M": 8, "N": 200}, {"M": 8, "N": 65536}), ({"M": 200, "N": 8}, {"M": 65536, "N": 8}), ({"M": 72, "N": 200}, {"M": 4096, "N": 4096}),
                                             ({"M": 73, "N": 201}, {"M": 4095, "N": 4095}))),
}


def table(name: str, holes: Container[str] = ()) -> list[str]:
    """All entries of an operator's table for a host that sets these holes, the text after `take`."""
    text = (ROOT / "lib/ops" / f"{name}.hexc").read_text(encoding="utf-8")
    lines = ops.directives(text, "take", holes)
    kernel = re.findall(r"^kernel (\w+)", text, re.M)
    return lines or [f"{kernel[0]} when 1"]


def operator_names() -> list[str]:
    return sorted(p.stem for p in (ROOT / "lib/ops").glob("*.hexc"))


def _shape(op: Op, i: int, name: str, line: ops.Line) -> tuple[Shape, dict[str, int]]:
    """The shape for entry i, with the sizes that it computes; and the settings that select it."""
    own = op.lines[i]
    sizes = {**op.base, **(op.small if name == "small" else op.model), **(own[name == "model"] if isinstance(own, tuple) else own)}
    misaligned = any("ALIGN=1" in stage.define.split() for stage in line.stages)
    settings = {n: sizes.pop(n) for n in op.choose}
    constants = {n: int(v) for s in line.stages for n, v in (d.split("=") for d in s.define.split()) if v.isdigit()}
    said = {n: v for n, v in op.settings.items() if isinstance(v, int)}
    made = {n: expr.evaluate(t, {**said, **constants, **sizes}) for n, t in line.sizes}
    return Shape(name, {**sizes, **{n: v for n, v in made.items() if v is not None}}, misaligned), settings


def operators() -> list[Item]:
    """An item for each entry of each operator's table, and of those that it has with some hole ("matmul grouped"); KeyError
    names an operator missing in OPS, IndexError an entry."""
    found = []
    for form in sorted([*operator_names(), *(f for f in OPS if " " in f)]):
        name, op = form.split()[0], OPS[form]
        lines = table(name, op.settings)
        if len(op.lines) != len(lines):
            raise IndexError(f"lib/ops/{name}.hexc has {len(lines)} lines for {form}, hexc_bench/items.py {len(op.lines)}")
        for i, text in enumerate(lines):
            line = ops.line_of(text, name)
            (small, settings), (model, _) = (_shape(op, i, which, line) for which in ("small", "model"))
            found.append(Item(f"operator {form} line {i + 1}", "operator", f"lib/ops/{name}.hexc", line=i, text=text,
                              constants={**op.settings, **settings}, shapes=(small, model), data=op.data, scalars=op.scalars))
    return found


# ---- headlines ---------------------------------------------------------------------------------------------------------

def _timed(group: str, words: str, program: str, kernel: str, constants: Mapping[str, int | str], sizes: Sizes, flops: float, moved: float,
           peer: tuple[object, ...], roof: str = "f16", scalars: Mapping[str, float] | None = None, data: Mapping[str, str] | None = None) -> Item:
    return Item(f"headline {group} {words}", "headline", program, kernel, constants=constants, shapes=(Shape("model", sizes),), flops=flops,
                bytes=moved, peer=peer, roof=roof, scalars=scalars or {}, data=data or {}, group=group)


LLM = ((16, 4096, 14336), (64, 28672, 4096), (512, 6144, 4096), (2048, 6144, 4096), (2048, 28672, 4096), (2048, 4096, 14336))


def _products() -> Iterator[Item]:
    for kind in ("f16", "bf16"):
        for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), *LLM):
            yield _timed(f"gemm {kind}", f"{m} x {n} x {k}", "lib/ops/gemm.hexc", "", {"ACT": kind}, {"M": m, "N": n, "K": k}, 2 * m * n * k,
                         2 * (m * k + n * k + m * n), ("matmul", kind, m, n, k))


def _weights() -> Iterator[Item]:
    for n, k in ((14336, 4096), (4096, 14336)):
        for m in (1, 16, 64, 256, 4096):
            yield _timed("w4a16", f"{m} x {n} x {k}", "lib/ops/linear.hexc", "", {"CODE": "u4", "scale": "f16", "G": 128, "BIAS": 8},
                         {"M": m, "N": n, "K": k}, 2 * m * n * k, n * k / 2 + 2 * (m * k + n * k // 128 + m * n), ("int4", m, n, k, 128),
                         data={"S": "positive"})


def _narrow() -> Iterator[Item]:
    for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (2048, 4096, 7168), (128, 18432, 7168)):
        yield _timed("fp8", f"{m} x {n} x {k}", "lib/ops/gemm_q.hexc", "", {"LEFT": "e4m3", "SUM": "f32", "OUT": "bf16"}, {"M": m, "N": n, "K": k},
                     2 * m * n * k, m * k + n * k + 2 * m * n, ("scaled_mm", m, n, k), "f8")
        yield _timed("fp8 blocks", f"{m} x {n} x {k}", "lib/ops/gemm_block.hexc", "", {"LEFT": "e4m3", "OUT": "bf16", "SUM": "f32"},
                     {"M": m, "N": n, "K": k}, 2 * m * n * k, m * k + n * k + 2 * m * n, ("scaled_mm_blocks", m, n, k), "f8",
                     data={"SA": "positive", "SB": "positive"})


def _attention() -> Iterator[Item]:
    for d in (128, 64):
        for causal in (1, 0):
            for n in (2048, 4096, 8192, 16384, 32768):
                b, h = max(1, 16384 // n), 2048 // d
                yield _timed("attention", f"D {d}{' causal' if causal else ''} {b} x {n}", "lib/ops/attention.hexc", "",
                             {"D": d, "CAUSAL": causal}, {"B": b, "M": n, "N": n, "H": h, "HK": h},
                             4 * b * h * n * n * d / (1 + causal), 8 * b * n * h * d, ("attention", b, n, h, h, d, causal),
                             scalars={"scale": d ** -0.5})


def _caches() -> Iterator[Item]:
    for b, n in ((1, 4096), (16, 4096), (64, 4096), (1, 32768), (16, 32768)):
        sizes = {"B": b, "M": 1, "N": n, "H": 32, "HK": 8}
        yield _timed("decode", f"{b} x {n}", "lib/ops/decode.hexc", "", {"D": 128}, sizes, 4 * b * 32 * n * 128, 4 * b * n * 8 * 128,
                     ("decode", b, n, 32, 8, 128), "copy", {"scale": 0.0884})
        paged = {"B": b, "M": 1, "NP": b * n // 16, "P": n // 16, "H": 32, "HK": 8}
        yield _timed("paged", f"{b} x {n}", "lib/ops/paged.hexc", "", {"D": 128, "PAGE": 16}, paged, 4 * b * 32 * n * 128, 4 * b * n * 8 * 128,
                     ("paged", b, n, 32, 8, 128, 16), "copy", {"scale": 0.0884}, {"T": "distinct NP", "L": "const P*16"})


def _experts() -> Iterator[Item]:
    for t in (16, 256, 4096):
        e, top, d, f = 128, 8, 2048, 768
        used = min(e, t * top)
        yield _timed("moe", f"{t} tokens, {top} of {e}, {d} x {f}", "lib/ops/moe.hexc", "", {"ACT": "bf16"},
                     {"T": t, "E": e, "TOPK": top, "D": d, "F": f}, 6 * t * top * d * f, 6 * used * d * f + 4 * t * d, ("moe", t, e, top, d, f),
                     data={"WG": "weights D", "WU": "weights D", "WD": "weights F"})
    for r, e in ((4096, 8), (8192, 64)):
        n, k = 4096, 2048
        yield _timed("grouped", f"{r} rows of {e}, {n} x {k}", "examples/grouped_gemm.hexc", "grouped_gemm", {"BM": 128, "BN": 128},
                     {"R": r, "N": n, "K": k, "E": e, "MOST": 2 * r // e}, 2 * r * n * k, 2 * (r * k + e * n * k + r * n), ("grouped", r, n, k, e),
                     data={"OFF": "even R"})


def _rows() -> Iterator[Item]:
    for m, n in ((4096, 4096), (16384, 8192)):
        yield _timed("rms norm", f"{m} x {n}", "lib/ops/norm.hexc", "", {"IN": "f16", "tensors": "gain: f16[N]", "epilogue": "x * gain[n]"},
                     {"M": m, "N": n}, 0, 4 * m * n, ("rms_norm", m, n), "copy", {"eps": 1e-5})
        yield _timed("layer norm", f"{m} x {n}", "lib/ops/norm.hexc", "",
                     {"IN": "f16", "CENTER": 1, "tensors": "gain: f16[N], bias: f16[N]", "epilogue": "x * gain[n] + bias[n]"},
                     {"M": m, "N": n}, 0, 4 * m * n, ("layer_norm", m, n), "copy", {"eps": 1e-5})
        yield _timed("softmax", f"{m} x {n}", "lib/ops/softmax.hexc", "", {"IN": "f16"}, {"M": m, "N": n}, 0, 4 * m * n, ("softmax", m, n), "copy")
    for t in (16, 4096):
        yield _timed("rotary", f"{t} x 32 x 128", "lib/ops/rotary.hexc", "", {"D": 128}, {"T": t, "H": 32, "P": 8192}, 0, 4 * t * 32 * 128 + 512 * t,
                     ("rotary", t, 32, 128), "copy", data={"POS": "int 0 P-1"})
    for m in (512, 4096):
        n = 128256
        yield _timed("cross entropy", f"{m} x {n}", "lib/ops/cross_entropy.hexc", "", {"IN": "bf16", "INDEX": "i64"}, {"M": m, "N": n}, 0, 2 * m * n,
                     ("cross_entropy", m, n), "copy", {"ignore": -100}, {"LABEL": "int 0 N-1"})
    t, c = 2048, 5120
    yield _timed("selective scan", f"{t} x {c}", "examples/selective_scan.hexc", "selective_scan", {}, {"B": 1, "T": t, "C": c}, 0,
                 2 * t * (4 * c + 32), ("selective_scan", t, c, 16), "copy", data={"DT": "small", "A": "negative"})


def headlines() -> list[Item]:
    """By value: the first of each group, then the second, ...: a time limit omits the last of all groups."""
    groups: dict[str, list[Item]] = {}
    for made in (_products, _weights, _narrow, _attention, _caches, _experts, _rows):
        for item in made():
            groups.setdefault(item.group, []).append(item)
    found = []
    for i in range(max(len(g) for g in groups.values())):
        found += [g[i] for g in groups.values() if i < len(g)]
    return found


def everything() -> list[Item]:
    """The complete list, with unique keys."""
    return [*examples(), *operators(), *headlines()]
