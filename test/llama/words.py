"""Byte-level BPE vocabularies, with the models' patterns and the loop of GPT-2's encoder.py:
the reference for words.c.

usage: words.py make DIR            vocabularies learned from the README: files DIR/gpt-2, DIR/llama-bpe,
                                    DIR/qwen2 and DIR/pieces (SentencePiece)
       words.py keyed DIR NAME KEY VALUE    DIR/keyed: one of them with this key
       words.py texts               texts, in hexadecimal, one per line
       words.py expect NAME         their tokens, and the decoded texts
       words.py same NAME           checks that the package tokenizers gives the same
       words.py expect_pieces       tokens of SentencePiece; same_pieces: by the package sentencepiece
       words.py letters FILE        checks that its classes are those of Python's unicodedata
"""
import collections
import math
import pathlib
import random
import re
import struct
import sys
import unicodedata

from reference import BLANK, write_gguf

SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
LATER = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERN = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-bpe": LATER.replace("DIGITS", r"\p{N}{1,3}"),
    "qwen2": LATER.replace("DIGITS", r"\p{N}"),
}
FIRST, MERGES, ADDED = "<|first|>", 700, "caf\xe9 cr\xe8me"
LEARNED = """ Der Fluß überquert die Brücke; naïve café résumé. Привет, мир! Как дела? 東京は日本の首都です。 中文中文 123 4567 89
don't we'll they've I'm he'd it's   a  b   c\n\n\n  \t\tif (x) { return 1; }\r\n\r\n 👍👍 नमस्ते नमस्ते """


def ranges(kind):
    """The characters of a general category, as a character class of `re`."""
    out = []
    for c in range(sys.maxunicode + 1):
        if unicodedata.category(chr(c))[0] == kind:
            if out and out[-1][1] == c - 1:
                out[-1][1] = c
            else:
                out.append([c, c])
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in out)


def pattern(name):
    """`re` lacks \\p, and its \\s and \\S include control characters that Unicode's White_Space lacks."""
    classes = {r"\p{L}": ranges("L"), r"\p{N}": ranges("N"), r"\s": SPACE}
    text = PATTERN[name].replace(r"\S", f"[^{SPACE}]")
    out, inside = "", False
    for part in re.split(r"(\\p\{L\}|\\p\{N\}|\\s|\[\^?|\])", text):
        if part in classes:
            out += classes[part] if inside else f"[{classes[part]}]"
            continue
        inside = True if part.startswith("[") and part.strip("[^") == "" and part else False if part == "]" else inside
        out += part
    return re.compile(out)


def characters():
    """bytes_to_unicode of encoder.py."""
    bs = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    cs, n = bs[:], 0
    for b in range(256):
        if b not in bs:
            bs.append(b)
            cs.append(256 + n)
            n += 1
    return dict(zip(bs, map(chr, cs)))


CHARACTER = characters()


def learn():
    """Merges, the most frequent pair of all words first."""
    text = pathlib.Path("README.md").read_text() + LEARNED * 20
    words = collections.Counter(tuple(CHARACTER[b] for b in w.encode()) for w in pattern("gpt-2").findall(text))
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for w, n in words.items():
            for pair in zip(w, w[1:]):
                pairs[pair] += n
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        words = {join(w, best): n for w, n in words.items()}
    return merges


def join(word, pair):
    out, i = [], 0
    while i < len(word):
        two = tuple(word[i : i + 2]) == pair
        out.append(word[i] + word[i + 1] if two else word[i])
        i += 1 + two
    return tuple(out)


def vocabulary(name, merges):
    """Tokens and types. For Llama also some words that no merges produce: they are tokens too."""
    tokens = [*CHARACTER.values()] + [a + b for a, b in merges] + ["Ġindivisible", "zyzzyva", ADDED, FIRST]
    return tokens, [1] * (len(tokens) - 2) + [4, 3]


def meta_of(name, merges):
    p = "tokenizer.ggml."
    if name == "pieces":
        tokens, scores, types = pieces()
        meta = {"general.architecture": "llama", p + "model": "llama", p + "tokens": tokens, p + "scores": scores}
        return meta | {p + "token_type": types, p + "bos_token_id": 1, p + "unknown_token_id": 0}
    tokens, types = vocabulary(name, merges)
    meta = {"general.architecture": "llama", p + "model": "gpt2", p + "pre": name, p + "tokens": tokens}
    meta |= {p + "token_type": types, p + "merges": [" ".join(m) for m in merges]}
    return meta | {p + "bos_token_id": len(tokens) - 1}


def make(folder):
    merges = learn()
    for name in [*PATTERN, "pieces"]:
        write_gguf(f"{folder}/{name}", meta_of(name, merges), [])


def keyed(folder, name, key, value):
    """A file as of `make`, folder/keyed, with one more key, or another value of it: as Python writes it; None: without."""
    meta = meta_of(name, from_file(f"{folder}/qwen2"))
    meta |= {key: eval(value, {}, meta)}
    write_gguf(f"{folder}/keyed", {k: v for k, v in meta.items() if v is not None}, [])


def pieces():
    """A vocabulary as of SentencePiece, with many equal scores, and with all intermediate results
    of its merges as tokens.

    A model of the package has a score for each rank of a merge, so that it never compares equal scores of
    different positions; here they are drawn from few values."""
    rng = random.Random(11)
    text = (pathlib.Path("README.md").read_text()[:4000] + LEARNED * 3 + "aaaaaaaa").replace("\0", "").replace(" ", BLANK)
    letters = sorted({*text} - {*"xyz"})  # the bytes of these are tokens
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    # <s joins to <s>, which no text is, and <0x4 to a byte's token
    found, made = dict.fromkeys([*letters, *{*"<>0"} - {*letters}], 0.0), {"aa": -1.0, "aaaa": -1.0, "aaa": -2.0, "<s": -1.0}
    made |= {"<0": -1.0, "41": -1.0, "41>": -1.0, "<0x": -1.0}
    for _ in range(700):
        at, n = rng.randrange(len(text) - 8), rng.randrange(2, 8)
        for k in range(2, n + 1):
            made.setdefault(text[at : at + k], -float(rng.randrange(1, 60)))
    scores = [0.0] * len(tokens) + [-100.0] * len(found) + [*made.values()]
    types = [2, 3, 3] + [6] * 256 + [1] * (len(found) + len(made))
    return tokens + [*found] + [*made], scores, types


def expect_pieces():
    """Repeatedly merges, among adjacent pairs that form a token, the one with the highest score,
    the first of equal ones."""
    tokens, scores, types = pieces()
    number = {t: i for i, t in enumerate(tokens) if types[i] in (1, 6)}
    joined = {t: i for t, i in number.items() if types[i] == 1}
    for t in drawn():
        parts = list((BLANK + t if t else t).replace(" ", BLANK))
        while True:
            best, at = -math.inf, -1
            for i, (a, b) in enumerate(zip(parts, parts[1:])):
                if a + b in joined and scores[joined[a + b]] > best:
                    best, at = scores[joined[a + b]], i
            if at < 0:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        out = [1]
        for p in parts:
            out += [joined[p]] if p in joined else [number[f"<0x{b:02X}>"] for b in p.encode()]
        print(",".join(map(str, out)), (" " + t if t else t).encode().hex())


def same_pieces():
    """A model for the package: its fields are encoded by hand, with the numbers of sentencepiece_model.proto."""
    from sentencepiece import SentencePieceProcessor

    def varint(x):
        return bytes([x & 127 | 128]) + varint(x >> 7) if x > 127 else bytes([x])

    def field(number, kind, raw):
        return varint(number << 3 | kind) + (varint(len(raw)) + raw if kind == 2 else raw)

    model = b""
    for piece, score, kind in zip(*pieces()):
        one = field(1, 2, piece.encode()) + field(2, 5, struct.pack("<f", score)) + field(3, 0, varint(kind))
        model += field(1, 2, one)
    trainer = field(3, 0, varint(2)) + field(35, 0, varint(1))  # BPE, byte_fallback
    normalizer = field(1, 2, b"identity") + field(3, 0, varint(1)) + field(4, 0, varint(0)) + field(5, 0, varint(1))
    model += field(2, 2, trainer) + field(3, 2, normalizer)
    it = SentencePieceProcessor(model_proto=model)
    for t in drawn():
        print(",".join(map(str, [1] + it.encode(t))), (" " + t if t else t).encode().hex())


def from_file(name):
    """The merges from a file that `make` wrote."""
    raw = pathlib.Path(name).read_bytes()
    at = raw.index(b"tokenizer.ggml.merges") + len("tokenizer.ggml.merges") + 8
    n, at, out = int.from_bytes(raw[at : at + 8], "little"), at + 8, []
    for _ in range(n):
        size = int.from_bytes(raw[at : at + 8], "little")
        out.append(tuple(raw[at + 8 : at + 8 + size].decode().split(" ")))
        at += 8 + size
    return out


def drawn():
    rng = random.Random(3)
    parts = "'s|'S|'\u017f|'t|'re|'RE|'Ve|'ll|'lL|'d|'D|'m|'|''|\u2019s| |  |   |\t|\n|\n\n|\r\n|\r|\x0b|\x1c|\x85|\xa0|\u2009|\u3000"
    parts += "|a|Z|the| tile|compiler|\xe9|e\u0301|\u0301|\u4e2d\u6587|\u0436|\u01c5|\u02b0|\u216b|\xbd|\u0663|1|12|1234|3.14|,|...|(|{|!?"
    parts += "|\U0001f44d|\u200d|\xad|\ufffd|\x7f|\x01|\u0928\u092e\u0938\u094d\u0924\u0947| indivisible|indivisible|zyzzyva|" + FIRST
    parts = parts.split("|")[:-1] + [FIRST, "|", ADDED]
    fixed = [ADDED, f"a  {ADDED} {ADDED}{ADDED}b \n{ADDED}", "<s> a</s><unk><s", "<0x41>", "", " ", "  ", "\n", "a", " a", "a ", "a  ", "don't", "DON'T WE'LL", LEARNED, "x" * 300, "=" * 1000, "7" * 100, " \n \n a"]
    return fixed + ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 14))) for _ in range(4000)]


def texts():
    for t in drawn():
        print(t.encode().hex())


def expect(path):
    name = pathlib.Path(path).name
    merges, words = from_file(path), pattern(name)
    rank = {m: i for i, m in enumerate(merges)}
    number = {t: i for i, t in enumerate(vocabulary(name, merges)[0])}
    known = {}

    def cut(word):
        parts = tuple(CHARACTER[b] for b in word.encode())
        if name == "llama-bpe" and "".join(parts) in number:
            return ["".join(parts)]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda p: rank.get(p, MERGES))
            if best not in rank:
                break
            parts = join(parts, best)
        return parts

    for t in drawn():
        out = [number[FIRST]] if name == "llama-bpe" else []
        for part in re.split(f"({ADDED})", t):  # an added token is cut out first
            for w in [part] if part == ADDED else words.findall(part):
                known[w] = known.get(w) or [number[p] for p in ([w] if w == ADDED else cut(w))]
                out += known[w]
        print(",".join(map(str, out)), t.encode().hex())


def same(path):
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

    name = pathlib.Path(path).name
    merges = from_file(path)
    number = {t: i for i, t in enumerate(vocabulary(name, merges)[0])}
    it = Tokenizer(models.BPE(vocab=number, merges=merges, ignore_merges=name == "llama-bpe"))
    of_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=name == "gpt-2")
    split = pre_tokenizers.Split(Regex(PATTERN[name]), "isolated")
    it.pre_tokenizer = of_bytes if name == "gpt-2" else pre_tokenizers.Sequence([split, of_bytes])
    it.add_tokens([AddedToken(ADDED, normalized=False)])
    first = [number[FIRST]] if name == "llama-bpe" else []
    for t in drawn():
        print(",".join(map(str, first + it.encode(t).ids)), t.encode().hex())


def letters(path):
    kinds = {}
    for kind, first, last in re.findall(r"([LN])\((\w+), (\w+)\)", pathlib.Path(path).read_text()):
        kinds |= dict.fromkeys(range(int(first, 16), int(last, 16) + 1), kind)
    for c in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(c))
        assert kind == "Cn" or kinds.get(c, kind[0]) == kind[0] and (kind[0] in "LN") == (c in kinds), hex(c)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
