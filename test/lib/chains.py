"""Values that can be reached in exponentially many ways.

`x = x * x + x`, repeated, reaches the first x in 3^n ways. A walk over operands that does not note what it has
met never ends on such a program; here chains of scalars, conditions, index tiles and data stand in every place
that some analysis looks at, and each program has to compile, validated, within seconds of processor time.
Everything takes milliseconds otherwise, so the limit only ends what hangs."""
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

STEPS = 40
LIMIT = 60  # seconds of processor time for a program
SQUARE, DOUBLE = "{0} = {0} * {0} + {0};", "{0} = {0} + {0};"
LEAST, MOST = "{0} = min({0}, {0} + block.x);", "{0} = max({0}, {0} + block.x);"
AND, OR, NOT = "{0} = ({0} && d) && {0};", "{0} = ({0} || d) || {0};", "{0} = !({0} && d) || {0};"

# A program is its parameters, and its body, where `name <- kind` stands for the chain.
GRID = "grid(ceil(M, 16)); let m = block.x * 16;\n"
ROWS = "A: f32[M, 64], Y: out f32[M, 64], q: i64"
PIPE = "A: {a}[M, K], B: {b}[64, K], Y: out f32[M, 64], q: i64, I: i64[K]"


def pipe(body, a="f16", b="f16", before="", to="0..K"):
    """A loop over k that adds to s, with stages a and b."""
    loads = "" if "let a" in body else "let a: shared = A[m :+ 64, n :+ 64], b: shared = B[:, n :+ 64];\n"
    return (PIPE.format(a=a, b=b), "grid(ceil(M, 64)); let m = block.x * 64;\n" + before +
            "var s: register f32[64, 64] = 0;\npipeline n in " + to + " step 64 stages 3 {\n" + loads + body +
            "}\nY[m :+ 64, :] = s;\n")


def rows(body):
    return ROWS, GRID + body


INDEX = "let j = n + i64(iota(1, 64, 64)), d = j > 3; var c = j < q;\n"
PROGRAMS = {
    # data
    "store": rows("var x: register = A[m :+ 16, :];\nx <- SQUARE\nY[m :+ 16, :] = x;\n"),
    "reduce": rows("var x: register = A[m :+ 16, 0 :+ 48];\nx <- SQUARE\nY[m :+ 16, 0 :+ 1] = sum(x, 1);\n"),
    "select": rows("var x: register = A[m :+ 16, :];\nx <- {0} = where({0} > 0, {0} * 2, {0});\nY[m :+ 16, :] = x;\n"),
    "softmax": rows("var x: register = A[m :+ 16, :];\nx <- {0} = {0} - reduce_max({0}, 1);\nY[m :+ 16, :] = x;\n"),
    "exponent": rows("let x: register = A[m :+ 16, :]; var c = reduce_max(x, 1);\nc <- SQUARE\n"
                     "Y[m :+ 16, :] = exp(x - c);\n"),
    "if": rows("var x: register = A[m :+ 16, :]; var i = q;\n"
               "x <- if i > 3 {{ {0} = {0} * {0} + {0}; i = i + i; }}\nY[m :+ 16, :] = x;\n"),
    "moves": ("A: f32[64, 64], Y: out f32[64, 64]", "grid(1); var x: register = A[:, :];\n"
              "x <- {0} = {0} + {0}.T + reshape(reshape({0}, 4096), 64, 64) + {0}[:, 0 :+ 1];\nY[:, :] = x;\n"),
    "dot": ("A: f16[64, 64], B: f16[64, 64], Y: out f32[64, 64]", "grid(1); let a: shared = A[:, :]; var x = f32(a);\n"
            "x <- SQUARE\nY[:, :] = dot(f16(x), B[:, :]);\n"),
    "dot f32": ("A: f32[32, 32], B: f32[32, 32], Y: out f32[32, 32]", "grid(1); var x: register = A[:, :];\n"
                "x <- SQUARE\nY[:, :] = dot(x, B[:, :]);\n"),
    "operand": pipe("var x: register = a;\nx <- SQUARE\ns += dot(x, b.T);\n"),
    "operand u4": pipe("var x = f16(b);\nx <- SQUARE\ns += dot(a, x.T);\n", b="u4"),
    "operand e4m3": pipe("var x = f16(b);\nx <- SQUARE\ns += dot(a, x.T);\n", b="e4m3"),
    "product": pipe("var x = dot(a, b.T);\nx <- SQUARE\ns += dot(f16(x), b);\n"),
    "carried": pipe("s += dot(a, b.T);\ns <- SQUARE\n"),
    # a conversion of layouts at the end of a long chain, which is emitted at once
    "converted": ("X: f32[R, C], Y: out i32[32, 1]", "grid(1); let x: register = X[0 :+ 32, 0 :+ 64];\n"
                  "let (_v, at) = topk(x, 3, 1);\n"
                  "Y[:, :] = reduce_max(concat(1, at, iota(1, 32, 3)), 1);\n"),
    # missing elements
    "mask": ("A: f32[M, N], Y: out f32[16, 64]", "grid(1); var x: register = A[0 :+ 16, 0 :+ 64];\n"
             "let y: register = A[0 :+ 16, 64 :+ 64];\nx <- {0} = where({0} > y, y, {0}) * y + {0};\n"
             "Y[:, :] = fill(x, 3);\n"),
    "mask of scan": ("A: f32[M, N], Y: out f32[16, 64]", "grid(1); var x: register = A[0 :+ 16, 0 :+ 64];\n"
                     "x <- {0} = cumsum({0}, 1) + {0};\nY[:, :] = fill(x, 3);\n"),
    "mask of parts": ("A: f32[M, N], Y: out f32[16, 64]", "grid(1); var x: register = A[0 :+ 16, 0 :+ 64];\n"
                      "x <- {0} = concat(1, {0}[:, 0 :+ 32], {0}[:, 32 :+ 32]);\nY[:, :] = fill(x, 3);\n"),
    "inside": rows("let x: register = A[m :+ 16, :], d = x > 0; var c = inside(x);\nc <- AND\n"
                   "Y[m :+ 16, :] = where(c, x, 1);\n"),
    "outside": rows("let x: register = A[m :+ 16, :], d = x > 0; var c = !inside(x);\nc <- OR\n"
                    "Y[m :+ 16, :] = where(c, 1, x);\n"),
    "below": rows("var i = q;\ni <- {kind}\nY[i :+ 16 below i + 9, :] = A[m :+ 16 below i, :];\n"),
    "below in a pipeline": pipe("let a: shared = A[m :+ 64, n :+ 64 below i], b: shared = B[:, n :+ 64 below i];\n"
                                "s += dot(a, b.T);\n", before="var i = q;\ni <- {kind}\n", to="0..i"),
    # scalars
    "start": rows("var i = q + block.x;\ni <- {kind}\nY[i :+ 16, :] = A[i :+ 16, :];\n"),
    "divided": rows("var i = q + block.x;\ni <- {0} = ({0} / 3) * 3 + {0} % 3;\nY[i :+ 16, :] = A[i :+ 16, :];\n"),
    "end of a loop": rows("var i = q;\ni <- {kind}\nfor n in 0..i step 16 { Y[n :+ 16, :] = A[n :+ 16, :]; }\n"),
    "start of a loop": rows("var i = q;\ni <- {kind}\nfor n in i..M step 16 { Y[n :+ 16, :] = A[n :+ 16, :]; }\n"),
    "in a loop": rows("var s: register f32[16, 64] = 0;\nfor n in 0..M / 16 {\nvar i = n;\ni <- {kind}\n"
                      "s += where(i * 16 + i64(iota(0, 16, 64)) < M, A[i * 16 :+ 16, :], 0);\n}\nY[m :+ 16, :] = s;\n"),
    "carried scalar": rows("var i = q;\ni <- SQUARE\nwhile i > 3 { i = i / 2 + i / 3; }\n"
                           "Y[m :+ 16, :] = A[m :+ 16 below i, :];\n"),
    "start of stages": pipe("var i = n;\ni <- {kind}\nlet a: shared = A[m :+ 64, i :+ 64], b: shared = B[:, i :+ 64];\n"
                            "s += dot(a, b.T);\n"),
    "loaded start": pipe("var i = I[n];\ni <- SQUARE\nlet a: shared = A[m :+ 64, i :+ 64], "
                         "b: shared = B[:, i :+ 64];\ns += dot(a, b.T);\n"),
    "f32 scalar": ("A: f32[M, 64], Y: out f32[M, 64], q: f32", GRID + "var c = q;\nc <- SQUARE\n"
                   "Y[m :+ 16, :] = A[m :+ 16, :] * c;\n"),
    "stores": ("Y: inout i32[M], q: i64", "grid(64); var i = block.x;\ni <- {kind}\nY[i] = 1;\nY[i + 1] = 2;\n"),
    "ticket": ("Y: inout i32[M], T: inout i32[4]", "grid(64); var i = atomic_add(T[0], 1);\ni <- SQUARE\nY[i] = 1;\n"
               "if i == 7 { T[1] = Y[i]; }\n"),
    "shared": rows("let a: shared = A[m :+ 16, :]; var i = q;\ni <- SQUARE\nfor n in 0..q {\n"
                   "a[(n + i) % 16 :+ 1, :] = a[(n + i + 1) % 16 :+ 1, :] * 2;\n}\nY[m :+ 16, :] = a;\n"),
    # index tiles
    "gather": ("I: i32[M], A: f32[M, 64], Y: out f32[16, 64]", "grid(1); var i: register = I[0 :+ 16];\ni <- SQUARE\n"
               "Y[:, :] = A[i, :];\n"),
    "counted gather": ("A: f32[M, 64], Y: out f32[16, 64]", "grid(1); var i = i64(iota(0, 16));\ni <- {kind}\n"
                       "Y[:, :] = A[i, :];\n"),
    "gathered stages": pipe("var i: register = I[n :+ 64];\ni <- SQUARE\nlet a: shared = A[m :+ 64, n :+ 64], "
                            "b: shared = B[i, n :+ 64];\ns += dot(a, b.T);\n"),
    "compared": ("A: f32[M, 64], Y: out f32[16, 64]", "grid(1); var i = i64(iota(1, 16, 64));\ni <- {kind}\n"
                 "Y[:, :] = where(i < 3, A[0 :+ 16, :], 0);\n"),
    # conditions
    "scalar condition": rows("let d = q > m; var c = q > m + 15;\nc <- {cond}\nif c { Y[m :+ 16, :] = A[m + q :+ 16, :]; }\n"
                             "if !c { Y[m :+ 16, :] = A[m :+ 16, :]; }\n"),
    "condition in a loop": rows("var s: register f32[16, 64] = 0;\nfor n in 0..M step 16 {\nlet d = q > n + m;\n"
                                "var c = q > n + 15;\nc <- {cond}\nif c { s += A[n :+ 16, :]; }\n}\nY[m :+ 16, :] = s;\n"),
    "masked product": pipe(INDEX + "c <- {cond}\ns += where(c, dot(a, b.T), 0);\n"),
    "limit": pipe("s += where(n + i64(iota(1, 64, 64)) < i, dot(a, b.T), 0);\n", before="var i = q;\ni <- {kind}\n"),
    "limits of rows": pipe("var i = n + i64(iota(0, 64, 64));\ni <- {kind}\ns += where(i < q, dot(a, b.T), 0);\n"),
}
KINDS = {"{kind}": ["SQUARE", "DOUBLE", "LEAST", "MOST"], "{cond}": ["AND", "OR", "NOT"]}


def sources():
    for name, (parameters, body) in PROGRAMS.items():
        hole = next((h for h in KINDS if h in body), None)
        for kind in KINDS.get(hole, [""]):
            lines = []
            for line in body.replace(hole or "\0", kind).splitlines():
                v, chain, step = line.partition(" <- ")
                lines += [globals().get(step, step).format(v)] * STEPS if chain else [line]
            yield f"{name} {kind}".strip(), f"kernel k({parameters})\n{{\n" + "\n".join(lines) + "\n}\n"


def failure(job):
    """Returns what went wrong, None if the program compiles."""
    name, path, arch = job
    done = subprocess.run([os.environ["HEXC"], "--emit-ptx", path, "--arch", arch, "--prove"], capture_output=True,
                          text=True, check=False)
    if done.returncode == 0:
        return None
    return f"{name}, {arch}: exit status {done.returncode}\n{done.stderr[:400]}"


resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))  # of each process on its own; children inherit it
with tempfile.TemporaryDirectory() as folder:
    jobs = []
    for number, (name, text) in enumerate(sources()):
        path = os.path.join(folder, f"{number}.hexc")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        jobs += [(name, path, arch) for arch in ("sm_80", "sm_90a")]
    with ThreadPoolExecutor(2) as pool:
        failures = [f for f in pool.map(failure, jobs) if f]
print("\n".join(failures))
print(f"{len(jobs)} compilations, {len(failures)} failed")
sys.exit(len(failures) != 0)
