"""A Llama decoder in double, from the formulas: the reference for examples/llama, within derived bounds.

usage: reference.py make DIR FORMAT..                  random models, F16, Q8_0, Q4_K, Q6_K; values in .npz
       reference.py same FILE..                        files, read and written by the package gguf
       reference.py logits FILE LOGITS OUT PROMPT..    logits of prompts and steps; tokens OUT are the most likely
       reference.py logits_bf16 ..                     the same for --act bf16; logits_i8, logits_e4m3 for such a cache
       reference.py draws LOGITS OUT T K P SEED PROMPT..    tokens OUT are those sampled with SEED
       reference.py tokens TEXT                        encodes TEXT by the vocabulary of all models but that of Q8_0
       reference.py text TOKENS                        decodes tokens

Bounds: each f16 rounding has an independent error, uniform over half a unit, with variance (u x)^2 / 3, u =
2^-11. `Value` propagates variances through the derivatives of each operation. If the errors of two terms
may be correlated (x + f(x), a row and its norm), standard deviations are added. The bound of a logit is
SIGMAS standard deviations.
"""
import math
import pathlib
import struct
import sys

import numpy as np

SIGMAS, HALF, SUM = 6, 2.0**-11, 2.0**-24
U, KV = HALF, None
HIDDEN, INNER, HEADS, GROUPS, LAYERS, VOCAB = 256, 256, 4, 2, 2, 192
WIDTH, EPS, BASE = HIDDEN // HEADS, 1e-5, 10000.0
BLANK = "\u2581"
# seeds of models whose most likely tokens are clearly separated, compared with the bounds
SEED = {"F16": 7, "Q8_0": 29, "Q4_K": 2, "Q6_K": 7}
TYPES = {"F32": 0, "F16": 1, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14}


# ---- a model: values are drawn as codes and scales, so that blocks represent them exactly


def half(x):
    return np.asarray(x).astype(np.float16)


def draw_f16(rng, n, k):
    w = half(rng.normal(0, 1 / math.sqrt(k), (n, k)))
    return w.tobytes(), w.astype(float), np.zeros((n, k))


def draw_q8_0(rng, n, k):
    d = half(rng.uniform(0.5, 1.5, (n, k // 32)) / 73 / math.sqrt(k))
    q = rng.integers(-127, 128, (n, k // 32, 32)).astype(np.int8)
    w = d.astype(float)[:, :, None] * q
    raw = np.concatenate([d[:, :, None].view(np.uint8), q.view(np.uint8)], 2)
    return raw.tobytes(), w.reshape(n, k), rounding(w).reshape(n, k)


def draw_q4_k(rng, n, k):
    """256 weights: two f16, 8 scales and 8 offsets of 6 bits, codes of 4 bits: 32 low halves, 32 high ones, .."""
    d = half(rng.uniform(0.5, 1.5, (n, k // 256)) / 32 / 4.6 / math.sqrt(k))
    least = half(7.5 * d)
    s, m = (rng.integers(20, 64, (n, k // 256, 8)) for _ in "sm")
    q = rng.integers(0, 16, (n, k // 256, 8, 32))
    scale, offset = d.astype(float)[:, :, None] * s, -least.astype(float)[:, :, None] * m
    first, second = scale[..., None] * q, np.repeat(offset[..., None], 32, 3)
    low = lambda x: (x[..., :4] & 63) | (x[..., 4:] >> 4) << 6
    packed = [low(s), low(m), (s[..., 4:] & 15) | (m[..., 4:] & 15) << 4]
    raw = [x.astype(np.uint8) for x in packed] + [(q[:, :, 0::2] | q[:, :, 1::2] << 4).astype(np.uint8).reshape(n, k // 256, 128)]
    raw = np.concatenate([d[..., None].view(np.uint8), least[..., None].view(np.uint8)] + raw, 2)
    error = rounding(first) + rounding(second) + rounding(first + second)
    return raw.tobytes(), (first + second).reshape(n, k), error.reshape(n, k)


def draw_q6_k(rng, n, k):
    """256 weights: low halves of codes, their upper 2 bits, 16 scales of 8 bits, an f16."""
    d = half(rng.uniform(0.5, 1.5, (n, k // 256)) / 18.5 / 75 / math.sqrt(k))
    s = rng.integers(-127, 128, (n, k // 256, 16)).astype(np.int8)
    q = rng.integers(0, 64, (n, k // 256, 2, 4, 32))
    w = d.astype(float)[:, :, None, None] * s[..., None] * (q.reshape(n, k // 256, 16, 16) - 32)
    low = (q[:, :, :, :2] & 15) | (q[:, :, :, 2:] & 15) << 4
    high = sum((q[:, :, :, i] >> 4) << 2 * i for i in range(4))
    parts = [low.astype(np.uint8), high.astype(np.uint8), s.view(np.uint8), d[..., None].view(np.uint8)]
    raw = np.concatenate([x.reshape(n, k // 256, -1) for x in parts], 2)
    return raw.tobytes(), w.reshape(n, k), 2 * rounding(w).reshape(n, k)


DRAW = {"F16": draw_f16, "Q8_0": draw_q8_0, "Q4_K": draw_q4_k, "Q6_K": draw_q6_k}


def string(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def scalar(x):
    """A value of GGUF's metadata, with its type: a string, a bool, an f32, a u32."""
    if isinstance(x, str):
        return 8, string(x)
    if isinstance(x, bool):
        return 7, bytes([x])
    return (6, struct.pack("<f", x)) if isinstance(x, float) else (4, struct.pack("<I", x))


def entry(key, value):
    """An entry of the metadata; integers in lists are i32."""
    if isinstance(value, list):
        kind = {8: 8, 6: 6, 4: 5}[scalar(value[0])[0]] if value else 0
        return string(key) + struct.pack("<IIQ", 9, kind, len(value)) + b"".join(scalar(x)[1] for x in value)
    kind, raw = scalar(value)
    return string(key) + struct.pack("<I", kind) + raw


def pad(x):
    return x + b"\0" * (-len(x) % 32)


def write_gguf(path, meta, tensors):
    """tensors: name, type, shape (row-major), bytes."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta)) + b"".join(entry(*m) for m in meta.items())
    at, data = 0, []
    for name, kind, shape, raw in tensors:
        dims = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += string(name) + dims + struct.pack("<IQ", TYPES[kind], at)
        data.append(pad(raw))
        at += len(data[-1])
    pathlib.Path(path).write_bytes(b"".join([pad(head), *data]))


def vocabulary():
    """Pieces, their scores and types: unknown, start, end, bytes of some characters, letters, merged pieces."""
    rng, letters = np.random.default_rng(7), [BLANK, *"abcdefghijklmnopqrstuvwxyz.,"]
    pieces = ["<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "<0x0A>"] + letters
    for word in "the tile compiler compiles tiles in a cafe and then the other".split():
        for i in range(2, len(word) + 2):
            part = (BLANK + word)[:i] if i % 3 else word[: i - 1]
            pieces += [part] if part not in pieces else []
    pieces += [f"<extra {i}>" for i in range(VOCAB - len(pieces))]
    types = [2, 3, 3, 6, 6, 6] + [1] * (VOCAB - 6)
    return pieces, [float(np.float32(x)) for x in rng.uniform(-9, 0, VOCAB)], types


def cut(text):
    """Repeatedly merges the adjacent pair with the highest score, the first of equal ones; characters
    without a piece become bytes."""
    pieces, score, _ = vocabulary()
    parts = list(BLANK + text.replace(" ", BLANK))
    while True:
        joined = [(-score[pieces.index(a + b)], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in pieces]
        if not joined:
            break
        i = min(joined)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    out = [1]
    for part in parts:
        names = [part] if part in pieces else [f"<0x{x:02X}>" for x in part.encode()]
        out += [pieces.index(x) if x in pieces else 0 for x in names]
    return out


def tokens(words):
    print(*cut(words), sep=",")


def text(ids):
    pieces, _, types = vocabulary()
    raw = [(pieces[i], types[i]) for i in map(int, ids.split(","))]
    out = [bytes([int(p[3:5], 16)]) if kind == 6 else p.replace(BLANK, " ").encode() for p, kind in raw if kind != 3]
    sys.stdout.buffer.write(b"".join(out) + b"\n")


def joined_bytes():
    """A vocabulary as of Llama 3: printable characters, pairs of them, and the first token."""
    letters = [chr(c) for c in range(33, 127)] + ["\u0120", "\u010a"]
    merges = ["t h", "th e", "\u0120 the", "\u0120 t", "i l", "il e", "\u0120t ile", "c o", "m p", "co mp", "\u0120 comp"]
    tokens = letters + [m.replace(" ", "") for m in merges]
    tokens += [f"<extra {i}>" for i in range(VOCAB - 1 - len(tokens))] + ["<|first|>"]
    return tokens, [1] * (VOCAB - 1) + [3], merges


def meta_of(form):
    p, (pieces, scores, types) = "llama.", vocabulary()
    meta = {"general.architecture": "llama", p + "block_count": LAYERS, p + "context_length": 128}
    meta |= {p + "embedding_length": HIDDEN, p + "feed_forward_length": INNER, p + "rope.freq_base": BASE}
    meta |= {p + "attention.head_count": HEADS, p + "attention.head_count_kv": GROUPS}
    meta |= {p + "attention.layer_norm_rms_epsilon": EPS, p + "rope.dimension_count": WIDTH}
    p = "tokenizer.ggml."
    if form == "Q8_0":
        pieces, types, merges = joined_bytes()
        meta |= {p + "model": "gpt2", p + "pre": "llama-bpe", p + "tokens": pieces, p + "token_type": types}
        return meta | {p + "merges": merges, p + "bos_token_id": VOCAB - 1}
    meta |= {p + "model": "llama", p + "tokens": pieces, p + "scores": scores, p + "token_type": types}
    return meta | {p + "bos_token_id": 1, p + "unknown_token_id": 0}


def keyed(path, *words):
    """A file with metadata only: those of a model, and KEY VALUE .., where a value is a number,
    true, false or a string."""

    def value(text):
        if text in ("true", "false"):
            return text == "true"
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return text

    write_gguf(path, meta_of("F16") | {k: value(v) for k, v in zip(words[::2], words[1::2])}, [])


def keyed_each(folder, *keys):
    for key in keys:
        keyed(f"{folder}/{key}", key, "3")


def make(folder, *forms):
    for form in forms:
        make_one(f"{folder}/{form}", form)


def make_one(path, form):
    """Weights with the statistics of trained ones. Q8_0 ties its output to the embedding, and has scaled rotary
    angles and byte-level BPE, as Llama 3."""
    rng, tensors, numbers = np.random.default_rng(SEED[form]), [], {}

    def matrix(name, n, k):
        raw, w, error = DRAW[form](rng, n, k)
        tensors.append((name + ".weight", form, (n, k), raw))
        numbers[name], numbers[name + " error"] = w, error

    def vector(name, x):
        numbers[name] = x.astype(np.float32)
        tensors.append((name + ".weight", "F32", x.shape, numbers[name].tobytes()))

    matrix("token_embd", VOCAB, HIDDEN)
    for i in range(LAYERS):
        b = f"blk.{i}."
        vector(b + "attn_norm", rng.normal(1, 0.1, HIDDEN))
        matrix(b + "attn_q", HIDDEN, HIDDEN)
        matrix(b + "attn_k", GROUPS * WIDTH, HIDDEN)
        matrix(b + "attn_v", GROUPS * WIDTH, HIDDEN)
        matrix(b + "attn_output", HIDDEN, HIDDEN)
        vector(b + "ffn_norm", rng.normal(1, 0.1, HIDDEN))
        matrix(b + "ffn_gate", INNER, HIDDEN)
        matrix(b + "ffn_up", INNER, HIDDEN)
        matrix(b + "ffn_down", HIDDEN, INNER)
    vector("output_norm", rng.normal(2, 0.2, HIDDEN))
    if form == "Q8_0":
        vector("rope_freqs", np.linspace(1, 4, WIDTH // 2))
    else:
        matrix("output", VOCAB, HIDDEN)
    write_gguf(path, meta_of(form), tensors)
    np.savez(path + ".npz", **numbers)


def same(*paths):
    for path in paths:
        same_one(path)


def same_one(path):
    import gguf

    numbers, reader = np.load(path + ".npz"), gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(path + ".again", "llama")
    for key, value in list(meta_of(pathlib.Path(path).name).items())[1:]:
        add = {float: writer.add_float32, int: writer.add_uint32, str: writer.add_string, list: writer.add_array}
        add[type(value)](key, value)
    for t in reader.tensors:
        w = gguf.dequantize(t.data, t.tensor_type).reshape(numbers[t.name[:-7]].shape)
        assert np.allclose(w, numbers[t.name[:-7]], rtol=1e-6, atol=1e-8), t.name
        writer.add_tensor(t.name, t.data, raw_dtype=t.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ours, again = (pathlib.Path(p).read_bytes() for p in (path, path + ".again"))
    assert ours == again, f"{path}: {len(ours)} bytes, of gguf {len(again)}"


# ---- the decoder, with its errors


def rounding(x):
    return (U * np.maximum(np.abs(x), 2.0**-14)) ** 2 / 3


class Value:
    """Values, and the variance of the device's rounding errors."""

    def __init__(self, x, var=0.0):
        self.x, self.var = x, np.broadcast_to(np.asarray(var, float), x.shape)

    def rounded(self):
        return Value(self.x, self.var + rounding(self.x))

    def cached(self):
        """A head's values, divided by a scale that maps the largest to the cache type's maximum. For i8 all are
        off by up to half a step; for e4m3, with 3 mantissa bits, by half a step of each, at least 2^-6."""
        if KV is None:
            return self
        scale = np.abs(self.x).max(-1, keepdims=True) / {"i8": 127, "e4m3": 448}[KV]
        step = 1.0 if KV == "i8" else 2.0 ** (np.floor(np.log2(np.maximum(np.abs(self.x / scale), 2.0**-6))) - 3)
        return Value(self.x, self.var + (step * scale / 2) ** 2 / 3)

    def plus(self, other):
        return Value(self.x + other.x, (np.sqrt(self.var) + np.sqrt(other.var)) ** 2)

    def rows(self, shape):
        return Value(self.x.reshape(shape), self.var.reshape(shape))

    def times(self, t, name):
        w, error = t[name], t[name + " error"]
        sums = w.shape[1] * SUM**2  # a sum of K f32 terms
        return Value(self.x @ w.T, self.var @ (w * w).T + self.x**2 @ (error + sums * w * w).T)


def norm(v, gain):
    n, r = v.x.shape[-1], 1 / np.sqrt((v.x**2).mean(-1, keepdims=True) + EPS)
    row = np.sqrt((v.x**2 * v.var).sum(-1, keepdims=True)) / n
    deviation = np.abs(gain) * r * (np.sqrt(v.var) + np.abs(v.x) * r * r * row)
    return Value(v.x * r * gain, deviation**2)


def from_pairs(v):
    """GGUF stores the rows of a head's q and k in the order 0, D/2, 1, D/2 + 1, ..: reorders them to
    halves, as in the formulas."""
    shape = v.x.shape[:-1]
    back = lambda x: x.reshape(*shape, WIDTH // 2, 2).swapaxes(-1, -2).reshape(*shape, WIDTH)
    return Value(back(v.x), back(v.var))


def turn(v, slower):
    """Rotary embedding of v[tokens, heads, width], token t at position t: the halves of a head are
    real and imaginary parts."""
    v = from_pairs(v)
    angle = np.arange(len(v.x))[:, None, None] * BASE ** (-np.arange(0, WIDTH, 2) / WIDTH) / slower
    c, s = np.cos(angle), np.sin(angle)
    a, b = np.split(v.x, 2, -1)
    va, vb = np.split(v.var, 2, -1)
    var = np.concatenate([va * c * c + vb * s * s, vb * c * c + va * s * s], -1)
    return Value(np.concatenate([a * c - b * s, b * c + a * s], -1), var)


def attention(q, k, v):
    """Causal; heads share groups. The errors of q affect an output through all of its scores together."""
    n, scale = len(q.x), 1 / math.sqrt(WIDTH)
    out, var = np.zeros_like(q.x), np.zeros_like(q.x)
    for h in range(HEADS):
        g = h // (HEADS // GROUPS)
        for i in range(n):
            kk, vv, to = k.x[: i + 1, g], v.x[: i + 1, g], slice(0, i + 1)
            s = kk @ q.x[i, h] * scale
            p = np.exp(s - s.max())
            p /= p.sum()
            o = p @ vv
            away = p[:, None] * (vv - o)
            by_q = (away.T @ kk * scale) ** 2 @ q.var[i, h]
            by_k = (away**2).T @ (k.var[to, g] @ q.x[i, h] ** 2) * scale**2
            by_p = (p**2) @ (v.var[to, g] + U * U / 3 * vv**2)
            out[i, h], var[i, h] = o, by_q + by_k + by_p
    return Value(out, var)


def forward(t, ids):
    """Logits of all tokens of a sequence."""
    rows = t["token_embd"][ids]
    x = Value(rows, t["token_embd error"].any() * rounding(rows))
    slower = t["rope_freqs"].astype(float) if "rope_freqs" in t else 1.0
    for i in range(LAYERS):
        b = f"blk.{i}."
        h = norm(x, t[b + "attn_norm"].astype(float)).rounded()
        q, k, v = (h.times(t, b + "attn_" + c).rounded().rows((len(ids), -1, WIDTH)) for c in "qkv")
        o = attention(turn(q, slower).rounded(), turn(k, slower).rounded().cached(), v.cached()).rounded().rows((len(ids), -1))
        x = x.plus(o.times(t, b + "attn_output").rounded())
        h = norm(x, t[b + "ffn_norm"].astype(float)).rounded()
        up, a = h.times(t, b + "ffn_up").rounded(), h.times(t, b + "ffn_gate")
        e = 1 / (1 + np.exp(-a.x))
        slope = e * (1 + a.x * (1 - e))
        g = Value(a.x * e * up.x, (slope * up.x) ** 2 * a.var + (a.x * e) ** 2 * up.var).rounded()
        x = x.plus(g.times(t, b + "ffn_down").rounded())
    h = norm(x, t["output_norm"].astype(float)).rounded()
    return h.times(t, "output" if "output" in t else "token_embd")


# ---- comparison with the device


def read(logits, out, prompts):
    """For each sequence its tokens, the length of its prompt, and its logits."""
    made = [[int(x) for x in line.split(",")] for line in pathlib.Path(out).read_text().split()]
    prompts = [[int(x) for x in p.split(",")] for p in prompts]
    rows, at, each = np.fromfile(logits, np.float32).astype(float).reshape(-1, VOCAB), 0, []
    for p in prompts:
        each.append(list(rows[at : at + len(p)]))
        at += len(p)
    for step in range(len(made[0]) - 1):
        for s in each:
            s.append(rows[at])
            at += 1
    assert at == len(rows) and len(made) == len(prompts), f"{len(rows)} rows of logits, not {at}"
    return [(p + m, len(p), np.array(e)) for p, m, e in zip(prompts, made, each)]


def logits_bf16(path, logits_path, out, *prompts):
    """The same for --act bf16, with an f16 model, whose weights are then rounded."""
    global U
    U = 2.0**-8
    logits(path, logits_path, out, *prompts)


def logits_i8(path, logits_path, out, *prompts, cache="i8"):
    global KV
    KV = cache
    logits(path, logits_path, out, *prompts)


def logits_e4m3(*args):
    logits_i8(*args, cache="e4m3")


def logits(path, logits, out, *prompts):
    t, sequences = dict(np.load(path + ".npz")), read(logits, out, prompts)
    for name in [x for x in t if U != HALF and x.endswith(" error")]:
        t[name] = rounding(t[name[:-6]])
    worst, same, clear = 0, 0, 0
    for ids, n, have in sequences:
        want = forward(t, ids[:-1])
        bound = SIGMAS * np.sqrt(want.var)
        worst = max(worst, (np.abs(have - want.x) / bound).max())
        assert worst <= 1, f"a logit is off by {worst:.4g} of its bound"
        for i in range(n - 1, len(ids) - 1):
            best, second = np.argsort(-want.x[i])[:2]
            decided = want.x[i, best] - want.x[i, second] > bound[i, best] + bound[i, second]
            assert ids[i + 1] == have[i].argmax(), f"token {i}: {ids[i + 1]} is not the likeliest"
            assert ids[i + 1] == best or not decided, f"token {i}: {ids[i + 1]}, not {best}"
            same, clear = same + (ids[i + 1] == best), clear + decided
    steps = sum(len(ids) - n for ids, n, _ in sequences)
    assert U != HALF or KV or (same == steps and clear > steps / 2), f"{same} of {steps} tokens are the same, {clear} by their bounds"
    middle = f"{np.median(bound):.2g} of {want.x.std():.2g}"
    print(f"at most {worst:.3f} of the bounds, in the middle {middle}; {clear} of {steps} clear")


def uniform(seed, step, sequence):
    mask, x = 2**64 - 1, seed + 0x9E3779B97F4A7C15 * (step * 16 + sequence + 1)
    x &= mask
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return ((x ^ x >> 31) >> 40) / 2**24


def draws(logits, out, temperature, k, p, seed, *prompts):
    """Sums of f32 are off by less than 1e-5 in total: a random number that close to a boundary
    may fall on either side."""
    sequences = read(logits, out, prompts)
    k, p, other = int(k) or VOCAB, float(p) if int(k) else 1.0, 0
    for s, (ids, n, rows) in enumerate(sequences):
        for i in range(n - 1, len(ids) - 1):
            order = np.argsort(-rows[i], kind="stable")[:k] if k < VOCAB else np.arange(VOCAB)
            w = np.exp((rows[i][order] - rows[i].max()) / float(temperature))
            before = np.cumsum(w) - w
            for keep in (before < (p - 1e-5) * w.sum(), before < (p + 1e-5) * w.sum()):
                keep[0] = True
                edge, part = np.cumsum(w) / w[keep].sum(), uniform(int(seed), i - n + 1, s)
                may = {order[np.searchsorted(edge, part + d)] for d in (-1e-5, 0, 1e-5) if part + d < 1}
                if ids[i + 1] in may:
                    break
            else:
                raise AssertionError(f"sequence {s}, token {i}: {ids[i + 1]}, not {may}")
            other += ids[i + 1] != rows[i].argmax()
    assert other, "nothing but the likeliest was drawn"


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
