/* util_pass.c - programs run by the tests of passes. */
#include "test/pass/util_pass.h"
#include "hexc/ir/verify/verify.h"
#include "test/check.h"
#include <stdio.h>
#include <string.h>

static const char gemm[] =
	"kernel gemm(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
	"    tune BK = 16|32, STAGES = 1..5\n"
	"{\n"
	"    grid(ceil(M, 16), ceil(N, 32));\n"
	"    let m = block.x * 16, n = block.y * 32;\n"
	"    var acc: register f32[16, 32] = 0;\n"
	"    pipeline k in 0..K step BK stages STAGES {\n"
	"        let a: shared = A[m :+ 16, k :+ BK];\n"
	"        let b: shared = B[n :+ 32, k :+ BK];\n"
	"        acc += dot(a, b.T);\n"
	"    }\n"
	"    C[m :+ 16, n :+ 32] = acc;\n"
	"}\n";

static const char w4a16[] =
	"kernel w4(A: f16[M, K], W: u4[N, K], S: f16[ceil(K, 32), N], C: out f32[M, N])\n"
	"    assume K % 2 == 0\n"
	"    tune STAGES = 1..5\n"
	"{\n"
	"    grid(ceil(M, 16), ceil(N, 16));\n"
	"    let m = block.x * 16, n = block.y * 16;\n"
	"    var acc: register f32[16, 16] = 0;\n"
	"    pipeline k in 0..K step 32 stages STAGES {\n"
	"        let a: shared = A[m :+ 16, k :+ 32];\n"
	"        let w: shared = W[n :+ 16, k :+ 32];\n"
	"        let s: register = S[k / 32 :+ 1, n :+ 16];\n"
	"        acc += dot(a, (f16(w.T) - 8) * s);\n"
	"    }\n"
	"    C[m :+ 16, n :+ 16] = acc;\n"
	"}\n";

/* registers only: loads are made ahead */
static const char registers[] =
	"kernel r(A: f16[M, K], B: f16[K, N], C: out f32[M, N])\n"
	"    tune STAGES = 1..5\n"
	"{\n"
	"    grid(ceil(M, 16), ceil(N, 16));\n"
	"    let m = block.x * 16, n = block.y * 16;\n"
	"    var acc: register f32[16, 16] = 0;\n"
	"    pipeline k in 0..K step 16 stages STAGES {\n"
	"        let a: register = A[m :+ 16, k :+ 16];\n"
	"        acc += dot(a, B[k :+ 16, n :+ 16]) + f32(k);\n"
	"    }\n"
	"    C[m :+ 16, n :+ 16] = acc;\n"
	"}\n";

/* a pipeline inside a loop: the second prologue overwrites what the first loop read last */
static const char nested[] =
	"kernel n(A: f16[L, M, K], B: f16[L, K, M], C: out f32[L, M, M])\n"
	"    tune STAGES = 1..5\n"
	"{\n"
	"    grid(ceil(M, 16));\n"
	"    let m = block.x * 16;\n"
	"    for l in 0..L {\n"
	"        for n in 0..M step 16 {\n"
	"            var acc: register f32[16, 16] = 0;\n"
	"            pipeline k in 0..K step 16 stages STAGES {\n"
	"                let a: shared = A[l, m :+ 16, k :+ 16];\n"
	"                let b: shared = B[l, k :+ 16, n :+ 16];\n"
	"                acc += dot(a, b);\n"
	"            }\n"
	"            C[l, m :+ 16, n :+ 16] = acc;\n"
	"        }\n"
	"    }\n"
	"}\n";

/* two pipelines one after the other share memory; a tile made before them is read after */
static const char sequence[] =
	"kernel s(A: f16[M, K], B: f16[M, K], D: f32[M], C: out f32[M, 1])\n"
	"    tune STAGES = 1..5\n"
	"{\n"
	"    grid(ceil(M, 16));\n"
	"    let m = block.x * 16;\n"
	"    let d: shared = D[m :+ 16];\n"
	"    var x: register f32[16, 1] = 0, y: register f32[16, 1] = 0;\n"
	"    pipeline k in 0..K step 64 stages STAGES {\n"
	"        let a: shared = A[m :+ 16, k :+ 64];\n"
	"        x += sum(f32(a), 1);\n"
	"    }\n"
	"    pipeline k in 0..K step 32 stages 2 {\n"
	"        let b: shared = B[m :+ 16, k :+ 32];\n"
	"        y = max(y, reduce_max(f32(b) - x, 1));\n"
	"    }\n"
	"    let t: shared f32[16];\n"
	"    t[:] = d + 1;\n"
	"    C[m :+ 16, 0 :+ 1] = x * y;\n"
	"    for i in 0..1 { C[m :+ 16, 0 :+ 1] = x * y + f32(i) + sum(t, 0); }\n"
	"}\n";

/* attention: a tile outside the loop, two in it, ragged keys, carried maximum and sum */
static const char attention[] =
	"kernel a(Q: f16[M, 16], K: f16[N, 16], V: f16[N, 16], O: out f16[M, 16])\n"
	"    tune STAGES = 1..5\n"
	"{\n"
	"    grid(ceil(M, 16));\n"
	"    let m = block.x * 16;\n"
	"    let q: shared = Q[m :+ 16, :];\n"
	"    var o: register f32[16, 16] = 0;\n"
	"    var top: register f32[16, 1] = -inf, total: register f32[16, 1] = 0;\n"
	"    pipeline n in 0..N step 32 stages STAGES {\n"
	"        let k: shared = K[n :+ 32, :];\n"
	"        let v: shared = V[n :+ 32, :];\n"
	"        let s = dot(q, k.T);\n"
	"        let t = max(top, reduce_max(s, 1));\n"
	"        let p = exp(s - t);\n"
	"        total = total * exp(top - t) + sum(p, 1);\n"
	"        o = o * exp(top - t) + dot(f16(p), v);\n"
	"        top = t;\n"
	"    }\n"
	"    O[m :+ 16, :] = f16(o / total);\n"
	"}\n";

/* what cannot be made ahead: an address that is carried, a tensor that the loop writes */
static const char stubborn[] =
	"kernel c(A: f32[M, 32], X: inout f32[M, 32], Y: out f32[M, 32])\n"
	"    tune STAGES = 1..5\n"
	"{\n"
	"    grid(1);\n"
	"    var at = 0;\n"
	"    pipeline i in 0..M - 1 step 1 stages STAGES {\n"
	"        let a: shared = fill(A[at :+ 1, :], 0);\n"
	"        let x: shared = X[i :+ 1, :];\n"
	"        let b: shared = A[i :+ 1, :];\n"
	"        X[i + 1 :+ 1, :] = a + x * 2 + b;\n"
	"        Y[i :+ 1, :] = X[i :+ 1, :];\n"
	"        at = (at * 3 + 1) % M;\n"
	"    }\n"
	"}\n";

/* the explicit form: buffers, groups and waits by hand */
static const char explicit_form[] =
	"kernel e(A: f16[M, K], C: out f32[M, 1])\n"
	"    tune STAGES = 3\n"
	"{\n"
	"    grid(ceil(M, 16));\n"
	"    let m = block.x * 16;\n"
	"    let buf: shared f16[2, 16, 32];\n"
	"    var x: register f32[16, 1] = 0;\n"
	"    async copy(A[m :+ 16, 0 :+ 32], buf[0, :, :]);\n"
	"    commit;\n"
	"    for k in 0..K step 32 {\n"
	"        let s = k / 32 % 2;\n"
	"        barrier;\n"
	"        async copy(A[m :+ 16, k + 32 :+ 32], buf[1 - s, :, :]);\n"
	"        commit;\n"
	"        wait 1;\n"
	"        barrier;\n"
	"        x += sum(f32(buf[s, :, :]), 1);\n"
	"    }\n"
	"    wait 0;\n"
	"    C[m :+ 16, 0 :+ 1] = x;\n"
	"}\n";

/* no barrier anywhere: shared tiles in loops and ifs */
static const char bare[] =
	"kernel b(A: f32[M, 32], C: out f32[M, 32], T: i64)\n"
	"    tune STAGES = 3\n"
	"{\n"
	"    grid(ceil(M, 8));\n"
	"    let m = block.x * 8;\n"
	"    let buf: shared f32[2, 8, 32];\n"
	"    var x: register f32[8, 32] = 0;\n"
	"    buf[0, :, :] = A[m :+ 8, :];\n"
	"    buf[1, :, :] = A[m :+ 8, :] * 2;\n"
	"    for i in 0..T {\n"
	"        x += buf[i % 2, :, :] + buf[1, :, :] * f32(i);\n"
	"        if i % 3 == 1 {\n"
	"            buf[0, :, :] = x;\n"
	"        } else {\n"
	"            let t: shared f32[8, 32];\n"
	"            t[:, :] = x + 1;\n"
	"            x = x - t;\n"
	"        }\n"
	"    }\n"
	"    C[m :+ 8, :] = x + buf[0, :, :];\n"
	"}\n";

const Program pass_program[] = {
	{ "gemm", gemm, { "M=32 N=64 K=128", "M=19 N=40 K=72", "M=16 N=32 K=0", "M=16 N=32 K=7" } },
	{ "w4a16", w4a16, { "M=32 N=32 K=128", "M=5 N=20 K=90", "M=16 N=16 K=32", "M=3 N=3 K=2" } },
	{ "registers", registers, { "M=32 N=32 K=64", "M=5 N=20 K=90", "M=16 N=16 K=16", "M=3 N=3 K=0" } },
	{ "nested", nested, { "L=2 M=32 K=64", "L=3 M=20 K=40", "L=1 M=16 K=16", "L=2 M=5 K=0" } },
	{ "sequence", sequence, { "M=32 K=160", "M=17 K=100", "M=16 K=64", "M=4 K=0" } },
	{ "attention", attention, { "M=32 N=64", "M=17 N=75", "M=3 N=5", "M=16 N=32" } },
	{ "stubborn", stubborn, { "M=32", "M=9", "M=2", "M=1" } },
	{ "explicit", explicit_form, { "M=32 K=128", "M=17 K=100", "M=16 K=32", "M=4 K=0" } },
	{ "bare", bare, { "M=32 T=8", "M=9 T=4", "M=8 T=1", "M=1 T=0" } },
	{ NULL, NULL, { NULL } },
};

int
pass_program_count(void)
{
	int n = 0;

	while (pass_program[n].name)
		n++;
	return n;
}

Kernel *
pass_source(Unit *u, const Program *p, int stages)
{
	char defines[32] = "";

	if (strstr(p->src, "1..5"))
		snprintf(defines, sizeof defines, "STAGES=%d", stages);
	return run_source(u, p->src, defines);
}

void
pass_apply(Kernel *k, const char *name, bool (*run)(Kernel *))
{
	run(k);
	ck_assert_msg(kernel_verify(k, name) && k->unit->diag->nerror == 0, "%s: %.1000s\n%.2500s", name,
	              ir_diags(k->unit), ir_text(k->unit, k));
}

Op *
pass_find(Kernel *k, OpCode code, int n)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == code && n-- == 0)
			return o;
	return NULL;
}
