/* test_growth.c - tests that compile cost grows linearly, for programs of each kind, 1, 2, 4 and 8 times as
 * long, and that cancel() is polled throughout. Counts bytes of memory and polls, one per fixed amount of
 * work; no times. */
#include "taskmap/support/support.h"
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <stdio.h>
#include <stdlib.h>

TEST_PROGRAM(.timeout = 120);

/* ---- programs
 * ------------------------------------------------------------------------------------------- */

typedef struct Source {
	char *s;
	size_t n, cap;
} Source;

/* Text in which # is the number of this piece, @ and $ those of the two before. */
static void
add(Source *p, const char *text, int number)
{
	for (; *text; text++) {
		int n, before = *text == '#' ? 0 : *text == '@' ? 1 : *text == '$' ? 2 : -1;

		if (p->cap - p->n < 16) {
			p->cap = 2 * p->cap + 4000;
			p->s = realloc(p->s, p->cap);
			ck_assert_ptr_nonnull(p->s);
		}
		n = before < 0 ? snprintf(p->s + p->n, 16, "%c", *text)
		               : snprintf(p->s + p->n, 16, "%d", number - before);
		p->n += (size_t)n;
	}
}

typedef struct Kind {
	const char *name, *head, *each, *inside, *end;
	int base; /* pieces of the shortest one */
	const char *arch;
	double most; /* times what half of it takes; 0: 2.3 */
	bool nested; /* a bracket for each piece */
	bool emit;   /* PTX too: polls while LLVM runs are by time, and not compared */
} Kind;

#define BLOCK "{\n    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
#define ROWS "kernel k(A: f32[M, N], C: out f32[M, N])\n" BLOCK
#define READ ROWS "    var x: register f32[16, 16] = A[m :+ 16, 0 :+ 16];\n"
#define WRITE "    C[m :+ 16, 0 :+ 16] = x;\n}\n"
#define HALVES \
	"kernel k(A: f16[M, K], B: f16[N, K], C: out f16[M, N])\n    assume K % 64 == 0\n{\n" \
	"    grid(ceil(M, 64), ceil(N, 64));\n    let m = block.x * 64, n = block.y * 64;\n" \
	"    var acc: register f32[64, 64] = 0;\n"
#define PIPELINE \
	"    pipeline k in 0..K step 64 stages 3 {\n        let a: shared = A[m :+ 64, k :+ 64];\n" \
	"        let b: shared = B[n :+ 64, k :+ 64];\n        acc += dot(a, b.T);\n    }\n"
#define WRITE_HALVES "    C[m :+ 64, n :+ 64] = f16(acc);\n}\n"

static const Kind kinds[] = {
	/* edges of tiles that were read through others */
	{ "ragged tiles", ROWS "    let t1: shared = A[m :+ 16, 0 :+ 16], t2: shared = t1 * 2.0;\n",
	  "    let t#: shared = t@ + t$ * A[m :+ 16, 0 :+ 16];\n", NULL,
	  "    C[m :+ 16, 0 :+ 16] = t@;\n}\n", .base = 40 },
	/* all of which have another edge: the last one has as many as there are tiles */
	{ "edges", ROWS "    let t1: shared = A[m :+ 16, 0 :+ 16], t2: shared = t1 * 2.0;\n",
	  "    let t#: shared = t@ + t$ * A[m + # :+ 16, 0 :+ 16];\n", NULL,
	  "    C[m :+ 16, 0 :+ 16] = t@;\n}\n", .base = 20 },
	{ "pipelines", HALVES, PIPELINE, NULL, WRITE_HALVES, .base = 10 },
	/* the stages of all pipelines are live at once: each is placed among the others */
	{ "pipelines of roles", HALVES, PIPELINE, NULL, WRITE_HALVES, .base = 40, .arch = "sm_90a",
	  .most = 2.5 },
	{ "PTX of pipelines", HALVES, PIPELINE, NULL, WRITE_HALVES, .base = 5, .emit = true },
	{ "PTX of pipelines of roles", HALVES, PIPELINE, NULL, WRITE_HALVES, .base = 5, .arch = "sm_90a",
	  .emit = true },
	{ "PTX of statements", READ, "    x = exp(x) - #.0;\n", NULL, WRITE, .base = 10, .emit = true },
	{ "pipelines without products", READ,
	  "    pipeline k in 0..N step 16 stages 3 {\n        let a: shared = A[m :+ 16, k :+ 16];\n"
	  "        x += a;\n    }\n",
	  NULL, WRITE, .base = 20 },
	{ "loads ahead", READ,
	  "    pipeline k in 0..N step 16 stages 2 { x += A[m :+ 16, k :+ 16]; }\n", NULL, WRITE,
	  .base = 20 },
	/* a tile of each piece is read by the last statement */
	{ "live tiles", READ "    let s2 = x, t2 = x;\n", "    let t# = exp(x) + #, s# = s@ + t#;\n", NULL,
	  "    C[m :+ 16, 0 :+ 16] = s@;\n}\n", .base = 25 },
	{ "statements", READ, "    x = exp(x) - #.0;\n", NULL, WRITE, .base = 50 },
	{ "a tile rewritten", READ "    let s: shared f32[16, 16];\n",
	  "    s[:, :] = x + #;\n    x += s.T;\n", NULL, WRITE, .base = 50 },
	{ "conditions", READ, "    if N > # { x += #.5; }\n", NULL, WRITE, .base = 50 },
	{ "loops", READ, "    for j in 0..N { x += A[m :+ 16, j * 16 :+ 16]; }\n", NULL, WRITE, .base = 20 },
	{ "reductions", READ, "    x = x - sum(x, 1) * #;\n", NULL, WRITE, .base = 40 },
	{ "scans", READ, "    x = cumsum(x, 1) * #.5;\n", NULL, WRITE, .base = 20 },
	{ "transposes", READ, "    x = x.T + #;\n", NULL, WRITE, .base = 40 },
	{ "accesses", READ, "    C[m :+ 16, # * 16 :+ 16] = A[m :+ 16, # * 16 :+ 16] + x;\n", NULL,
	  WRITE, .base = 20 },
	{ "updates",
	  "kernel k(A: f32[M, N], C: inout f32[M, N])\n{\n    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
	  "    let x: register = A[m :+ 16, 0 :+ 16];\n",
	  "    atomic_add(C[m :+ 16, # * 16 :+ 16], x);\n", NULL, "}\n", .base = 40 },
	{ "updates in ifs",
	  "kernel k(A: f32[M, N], C: inout f32[M, N])\n{\n    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
	  "    let x: register = A[m :+ 16, 0 :+ 16];\n",
	  "    if N > # { atomic_add(C[m :+ 16, # * 16 :+ 16], x); }\n", NULL, "}\n", .base = 40 },
	{ "rows read and written",
	  "kernel k(A: f32[M, N], C: inout f32[M, N])\n{\n    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
	  "    let x: register = A[m :+ 16, 0 :+ 16];\n",
	  "    C[m :+ 16, # * 16 :+ 16] += x;\n", NULL, "}\n", .base = 40 },
	/* All have another edge: x has as many as there are slices, and is joined with each. */
	{ "slices at what is read",
	  "kernel k(A: f32[M, N], I: i64[N], C: out f32[M, N])\n{\n    grid(ceil(M, 16));\n"
	  "    let m = block.x * 16;\n    var x: register f32[16, 16] = A[m :+ 16, 0 :+ 16];\n",
	  "    x += A[m :+ 16, I[#] :+ 16];\n", NULL, WRITE, .base = 40, .most = 3.6 },
	/* each of the one before, of a shared tile */
	{ "slices of slices",
	  ROWS "    let t2: shared = A[m :+ 16, 0 :+ 512];\n    var x: register f32[16, 16] = 0;\n",
	  "    let t# = t@[0 :+ 16, 1 :+ 512 - # + 2];\n    x += t#[0 :+ 16, 0 :+ 16];\n", NULL, WRITE,
	  .base = 20 },
	{ "products", HALVES "    let a: shared = A[m :+ 64, 0 :+ 64];\n",
	  "    let b#: shared = B[n :+ 64, # * 64 :+ 64];\n    acc += dot(a, b#.T);\n", NULL,
	  WRITE_HALVES, .base = 10 },
	{ "indices", ROWS "    var j = m;\n", "    j = (j * 3 + #) / 2 % N;\n",
	  NULL, "    C[m :+ 16, j :+ 16] = A[m :+ 16, j :+ 16];\n}\n", .base = 50 },
	/* Each level looks at what is inside of it, of 40 at the most: by the square of the levels, not
	 * as their power. */
	{ "loops in loops", READ "    let s: shared f32[16, 16];\n",
	  "for i_# in 0..N { s[:, :] = x + 1; x += s;\n", NULL, WRITE,
	  4, .most = 7, .nested = true },
	{ "loops around a pipeline", HALVES, "for i_# in 0..K {\n", PIPELINE, WRITE_HALVES, 4,
	  .most = 3.3, .nested = true },
};

static char *
source_of(const Kind *k, int n)
{
	enum { FIRST = 3 }; /* numbers of pieces: i2 is a word */
	Source p = { NULL, 0, 0 };

	add(&p, k->head, 0);
	for (int i = 0; i < n; i++)
		add(&p, k->each, FIRST + i);
	if (k->inside)
		add(&p, k->inside, 0);
	for (int i = 0; i < n && k->nested; i++)
		add(&p, "}\n", 0);
	add(&p, k->end, FIRST + n);
	return p.s;
}

/* ---- what they take
 * --------------------------------------------------------------------------------------- */

typedef struct Meter {
	size_t bytes;  /* taken */
	size_t silent; /* of them the most from one question to the next */
	size_t asked;  /* bytes at the last question */
	long polls;
} Meter;

static void
quiet(Meter *m)
{
	if (m->bytes - m->asked > m->silent)
		m->silent = m->bytes - m->asked;
	m->asked = m->bytes;
}

static int
poll(void *user)
{
	Meter *m = user;

	m->polls++;
	quiet(m);
	return 0;
}

static void *
take(void *user, void *p, size_t n)
{
	Meter *m = user;

	m->bytes += n;
	if (n)
		return realloc(p, n);
	free(p);
	return NULL;
}

static Meter
compile(const Kind *k, int n)
{
	Meter m = { 0, 0, 0, 0 };
	hexc_opts o = HEXC_OPTS_INIT;
	char *src = source_of(k, n), why[400];
	hexc_module *got;
	int code;

	o.arch = k->arch;
	o.flags = k->emit ? 0 : HEXC_NO_EMIT;
	o.realloc = take;
	o.cancel = poll;
	o.user = &m;
	got = lib_compile(src, &o, &code, why, sizeof why);
	ck_assert_msg(got != NULL, "%s, %d: %s", k->name, n, why);
	hexc_module_free(got);
	quiet(&m);
	free(src);
	return m;
}

enum { KINDS = sizeof kinds / sizeof *kinds };

TEST_EACH(in_proportion, KINDS)
{
	const Kind *k = &kinds[_i];
	double most = k->most > 0 ? k->most : 2.3;
	Meter m[4];

	for (int i = 0; i < 4; i++) {
		m[i] = compile(k, k->base << i);
		if (getenv("SHOW"))
			printf("%-26s %4d %9zu KB %6ld polls, %5zu KB silent\n", k->name, k->base << i,
			       m[i].bytes / 1024, m[i].polls, m[i].silent / 1024);
	}
	for (int i = 1; i < 4; i++) {
		ck_assert_msg((double)m[i].bytes <= most * (double)m[i - 1].bytes,
		              "%s: %zu bytes for %d, %zu for half of them", k->name, m[i].bytes,
		              k->base << i, m[i - 1].bytes);
		ck_assert_msg(k->emit || (double)m[i].polls <= most * (double)m[i - 1].polls,
		              "%s: %ld polls for %d, %ld for half of them", k->name, m[i].polls,
		              k->base << i, m[i - 1].polls);
	}
	/* a question is asked for each 4 MB, or sooner for each piece of work without memory */
	ck_assert_msg(m[3].silent < 16 << 20, "%s: %zu bytes without a question", k->name, m[3].silent);
}
