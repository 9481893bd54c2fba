/* test_unread.c - tests that elements which operators and examples must ignore may have any value: rows that
 * no index selects, tokens without a slot, experts without a token, neighbours of groups, steps past a
 * sequence's end.
 *
 * Each runs twice, with finite values there and with NaN and infinities, and must give the same bits. Correct
 * values are checked by the operators' own tests. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .one_process = true);

/* One run: its data, spoiled or not. */
typedef struct Row {
	const char *name; /* of the operator or the example */
	void (*make)(Case *c, bool spoil);
	const char *set[6]; /* of an operator */
	bool example;
	const char *kernel; /* of an example that has several */
} Row;

/* Of rows of n elements of b: row i and `count - 1` behind it are not to be counted. */
static void
unread(Buf *b, bool spoil, int64_t n, int64_t i, int64_t count)
{
	if (spoil)
		buf_spoil(b, i * n, count * n);
}

/* Of rows of n elements of an output: nobody looks at these. */
static void
free_rows(Buf *b, int64_t n, int64_t i, int64_t count)
{
	for (int64_t k = i * n; k < (i + count) * n; k++)
		b->allow[k] = -1;
}

/* ---- operators --------------------------------------------------------------------------------------- */

/* Experts 0, 1 and 4 of 6 have tokens; tokens 3 and 20 have no number. */
static void
mixture(Case *c, bool spoil, const char *type, double most, int groups)
{
	enum { T = 21, E = 6, D = 64, F = 72 };
	static const char *const name[] = { "WG", "WU", "WD" }, *const scale[] = { "SG", "SU", "SD" };
	Buf *x = case_in(c, "X", "f16", -1, 1, T, D, 0), *l = case_in(c, "L", "f32", -4, 4, T, E, 0);

	for (int t = 0; t < T; t++)
		for (int e = 0; e < E; e++)
			if (e == 2 || e == 3 || e == 5)
				buf_set(l, t * E + e, e == 3 ? NAN : -INFINITY);
	for (int k = 0; k < 3; k++) {
		int rows = k == 2 ? D : F, columns = k == 2 ? F : D, of = (columns + 63) / 64;
		Buf *w = case_in(c, name[k], type, -most, most, E, rows, columns, 0), *s = NULL;

		if (groups)
			s = case_in(c, scale[k], "f32", 0.1 / most, 0.5 / most, E, rows, of, 0);
		for (int e = 2; e < E; e += e == 3 ? 2 : 1) {
			unread(w, spoil && w->type->kind == 'f', rows * columns, e, 1);
			if (s)
				unread(s, spoil, rows * of, e, 1);
		}
	}
	for (int t = 3; t < T; t += 17) {
		for (int e = 0; e < E; e++)
			buf_set(l, t * E + e, e % 2 ? NAN : -INFINITY);
		unread(x, spoil, D, t, 1);
	}
	case_out(c, "Y", "f32", T, D, 0);
	case_num(c, "TOPK", 2);
}

static void
moe(Case *c, bool spoil)
{
	mixture(c, spoil, "f16", 0.5, 0);
}

static void
moe_i8(Case *c, bool spoil)
{
	mixture(c, spoil, "i8", 127, 1);
}

static void
moe_e4m3(Case *c, bool spoil)
{
	mixture(c, spoil, "e4m3", 8, 1);
}

/* Tokens 2, 3 and 7 go nowhere. */
static void
append(Case *c, bool spoil, const char *act, const char *kv, bool scales, int d)
{
	enum { T = 9, S = 12, HK = 2 };
	static const char *const name[2][3] = { { "K", "KC", "KS" }, { "V", "VC", "VS" } };
	Buf *slot = case_in(c, "SLOT", "i32", 0, 0, T, 0);

	for (int t = 0; t < T; t++)
		buf_set(slot, t, t == 2 ? -1 : t == 3 ? -INT32_MAX : t == 7 ? S : S - 1 - t);
	for (int i = 0; i < 2; i++) {
		Buf *x = case_in(c, name[i][0], act, -2, 2, T, HK, d, 0);

		unread(x, spoil, (int64_t)HK * d, 2, 2);
		unread(x, spoil, (int64_t)HK * d, 7, 1);
		case_inout(c, name[i][1], kv, -2, 2, S, HK, d, 0);
		if (scales)
			case_inout(c, name[i][2], "f32", 0, 1, S, HK, 0);
	}
}

static void
kv_append(Case *c, bool spoil)
{
	append(c, spoil, "f16", "i8", true, 128);
}

static void
kv_append_float(Case *c, bool spoil)
{
	append(c, spoil, "bf16", "bf16", false, 64);
}

/* Indices name rows 1, 4, .. of a table of 40, and none. */
static void
embedding_of(Case *c, bool spoil, const char *rows, const char *table, const char *type)
{
	enum { M = 19, V = 40, N = 72 };
	Buf *at = case_in(c, rows, "i32", 0, 0, M, 0), *e = case_in(c, table, type, -1, 1, V, N, 0);

	for (int m = 0; m < M; m++)
		buf_set(at, m, m % 6 == 5 ? (m == 5 ? -1 : V) : m * 6 % (V - 4) + 1);
	for (int v = 0; v < V; v++)
		unread(e, spoil && v % 6 != 1, N, v, 1);
	case_out(c, "Y", type, M, N, 0);
}

static void
embedding(Case *c, bool spoil)
{
	embedding_of(c, spoil, "I", "E", "f16");
}

/* The angles that tokens are turned by, of heads of so many dims: positions name every third row. */
static void
rotations(Case *c, bool spoil, int tokens, int dims)
{
	enum { P = 50 };
	Buf *at = case_in(c, "POS", "i32", 0, 0, tokens, 0);

	for (int t = 0; t < tokens; t++)
		buf_set(at, t, t == 4 ? -1 : t == 9 ? P : t * 3 % (P - 2));
	for (int i = 0; i < 2; i++) {
		Buf *b = case_in(c, i ? "SIN" : "COS", "f32", -1, 1, P, dims / 2, 0);

		for (int p = 0; p < P; p++)
			unread(b, spoil && p % 3, dims / 2, p, 1);
	}
}

/* The heads are wide as ROT is. */
static void
rotary(Case *c, bool spoil)
{
	enum { T = 18, H = 2, D = 128 };

	case_in(c, "X", "f16", -1, 1, T, H, D, 0);
	rotations(c, spoil, T, D);
	case_out(c, "Y", "f16", T, H, D, 0);
}

/* Rows 1 and 6 to 8 have no label. */
static void
labels(Case *c, const char *type, int m, double none)
{
	Buf *label = case_in(c, "LABEL", type, 0, 90, m, 0);

	for (int i = 0; i < m; i++)
		if (i == 1 || (i >= 6 && i < 9))
			buf_set(label, i, none);
}

static void
loss(Case *c, bool spoil)
{
	enum { M = 11, N = 100 };
	Buf *x = case_in(c, "X", "f32", -4, 4, M, N, 0), *lse;

	labels(c, "i32", M, -100);
	unread(x, spoil, N, 1, 1);
	unread(x, spoil, N, 6, 3);
	case_num(c, "ignore", -100);
	case_out(c, "LOSS", "f32", M, 0);
	lse = case_out(c, "LSE", "f32", M, 0);
	free_rows(lse, 1, 1, 1);
	free_rows(lse, 1, 6, 3);
}

static void
loss_grad(Case *c, bool spoil)
{
	enum { M = 11, N = 100 };
	Buf *x = case_in(c, "X", "f32", -4, 4, M, N, 0), *lse, *g;

	labels(c, "i32", M, -100);
	lse = case_in(c, "LSE", "f32", 5, 6, M, 0);
	g = case_in(c, "G", "f32", 0, 1, M, 0);
	for (int k = 0; k < 2; k++) {
		int64_t from = k ? 6 : 1, count = k ? 3 : 1;

		unread(x, spoil, N, from, count);
		unread(lse, spoil, 1, from, count);
		unread(g, spoil, 1, from, count);
	}
	case_num(c, "ignore", -100);
	case_out(c, "DX", "f32", M, N, 0);
}

/* ---- examples ---------------------------------------------------------------------------------------- */

/* Rows in front of the first group and behind the last one; the second group is empty, and the third and
 * fourth end inside of a block. */
static void
groups(Case *c, bool spoil)
{
	static const int off[] = { 5, 20, 20, 57, 60 };
	enum { R = 75, N = 64, K = 72, E = 4 };
	Buf *a = case_in(c, "A", "f16", -1, 1, R, K, 0), *w = case_in(c, "W", "f16", -1, 1, E, N, K, 0), *at;
	Buf *y;

	at = case_in(c, "OFF", "i32", 0, 0, E + 1, 0);
	for (int e = 0; e <= E; e++)
		buf_set(at, e, off[e]);
	unread(a, spoil, K, 0, off[0]);
	unread(a, spoil, K, off[E], R - off[E]);
	unread(w, spoil, N * K, 1, 1);
	case_num(c, "MOST", 37);
	y = case_out(c, "C", "f16", R, N, 0);
	free_rows(y, N, 0, off[0]);
	free_rows(y, N, off[E], R - off[E]);
}

/* The neighbours of the group that is looked at, one behind it and one in front of it, are no numbers. */
static void
neighbours(Case *c, bool spoil)
{
	Buf *a, *y;

	groups(c, false);
	a = &c->buf[0];
	y = &c->buf[3];
	unread(a, spoil, a->dim[1], 0, 20);
	unread(a, spoil, a->dim[1], 57, 18);
	free_rows(y, y->dim[1], 0, 20);
	free_rows(y, y->dim[1], 57, 18);
}

/* Padding of blocks, tokens and experts that no block has. */
static void
moe_example(Case *c, bool spoil)
{
	enum { TOKENS = 20, K = 128, N = 96, E = 5, BLOCKS = 3, BM = 16, R = BLOCKS * BM };
	Buf *a = case_in(c, "A", "f16", -1, 1, TOKENS, K, 0), *s, *at, *of;

	case_in(c, "W", "u4", 0, 15, E, N, K, 0);
	s = case_in(c, "S", "f16", 0, 0.1, E, N, K / 64, 0);
	at = case_in(c, "TOK", "i32", 0, 0, R, 0);
	of = case_in(c, "EX", "i32", 0, 0, BLOCKS, 0);
	for (int i = 0; i < R; i++)
		buf_set(at, i, i % 7 == 6 || i > 40 ? -1 : i * 2 % TOKENS);
	for (int b = 0; b < BLOCKS; b++)
		buf_set(of, b, b == 2 ? 4 : b);
	for (int t = 1; t < TOKENS; t += 2)
		unread(a, spoil, K, t, 1);
	unread(s, spoil, N * (K / 64), 2, 2);
	case_def(c, "BM", BM);
	case_out(c, "Y", "f16", R, N, 0);
}

static void
embedding_example(Case *c, bool spoil)
{
	embedding_of(c, spoil, "I", "E", "f16");
}

static void
append_example(Case *c, bool spoil)
{
	append(c, spoil, "f16", "i8", true, 128);
}

static void
rotary_example(Case *c, bool spoil)
{
	enum { T = 18, H = 2, D = 128 };

	case_in(c, "Q", "f16", -1, 1, T, H, D, 0);
	case_in(c, "K", "f16", -1, 1, T, 1, D, 0);
	case_in(c, "GQ", "f16", -1, 1, D, 0);
	case_in(c, "GK", "f16", -1, 1, D, 0);
	rotations(c, spoil, T, D);
	case_out(c, "OQ", "f16", T, H, D, 0);
	case_out(c, "OK", "f16", T, 1, D, 0);
	case_num(c, "eps", 1e-5);
}

static void
loss_example(Case *c, bool spoil)
{
	enum { T = 11, V = 100 };
	Buf *x = case_in(c, "X", "f16", -4, 4, T, V, 0);

	labels(c, "i32", T, -1);
	unread(x, spoil, V, 1, 1);
	unread(x, spoil, V, 6, 3);
	case_num(c, "weight", 0.25);
	case_out(c, "L", "f32", T, 0);
	case_out(c, "DX", "f16", T, V, 0);
}

/* Groups that no input is of. */
static void
ordered(Case *c, bool spoil)
{
	enum { M = 17, N = 64, K = 104, GROUPS = 6 };
	Buf *s, *at;

	case_in(c, "A", "f16", -1, 1, M, K, 0);
	case_in(c, "W", "u4", 0, 15, N, K, 0);
	s = case_in(c, "S", "f16", 0, 0.1, GROUPS, N, 0);
	case_in(c, "Z", "u4", 0, 15, GROUPS, N, 0);
	at = case_in(c, "I", "i32", 0, 0, K, 0);
	for (int k = 0; k < K; k++)
		buf_set(at, k, 1 + k % 2 * 3);
	unread(s, spoil, N, 0, 1);
	unread(s, spoil, N, 2, 2);
	unread(s, spoil, N, 5, 1);
	case_out(c, "C", "f16", M, N, 0);
}

/* Groups that no input is of, behind a whole number of inputs and a rest. */
static void
gathered(Case *c, bool spoil)
{
	enum { M = 5, N = 72, K = 200, GROUPS = 7 };
	Buf *s, *z, *at;

	case_in(c, "A", "f16", -1, 1, M, K, 0);
	case_in(c, "W", "u4", 0, 15, N, K, 0);
	at = case_in(c, "I", "i32", 0, 0, K, 0);
	s = case_in(c, "S", "f16", 0, 0.1, GROUPS, N, 0);
	z = case_in(c, "Z", "f16", 0, 15, GROUPS, N, 0);
	for (int k = 0; k < K; k++)
		buf_set(at, k, 1 + k * 7 % 3);
	for (int i = 0; i < 2; i++) {
		unread(i ? z : s, spoil, N, 0, 1);
		unread(i ? z : s, spoil, N, 4, 3);
	}
	case_out(c, "C", "f16", M, N, 0);
}

/* Columns of A that no input is: every other one. */
static void
act_order(Case *c, bool spoil)
{
	enum { M = 17, N = 64, K = 256 };
	Buf *a = case_in(c, "A", "f16", -1, 1, M, K, 0), *perm = case_in(c, "PERM", "i32", 0, 0, K, 0);

	case_in(c, "W", "u4", 0, 15, N, K, 0);
	case_in(c, "S", "f16", 0, 0.1, K / 128, N, 0);
	for (int k = 0; k < K; k++)
		buf_set(perm, k, k / 2 * 2);
	for (int i = 1; i < M * K; i += 2)
		unread(a, spoil, 1, i, 1);
	case_out(c, "C", "f16", M, N, 0);
}

/* What is between the tensors of a list, and in those without elements. */
static void
list(Case *c, bool spoil)
{
	static const int start[] = { 0, 3, 300, 300, 301 }, length[] = { 17, 2100, 0, 8, 1 };
	enum { LISTS = 5, ALL = 2448, UNIT = 8 };
	Buf *from = case_in(c, "START", "i64", 0, 1, LISTS, 0);
	Buf *many = case_in(c, "LENGTH", "i64", 0, 1, LISTS, 0);
	Buf *x = case_in(c, "X", "f32", -1, 1, ALL, 0), *y = case_inout(c, "Y", "f32", -1, 1, ALL, 0);
	bool there[ALL] = { false };

	for (int l = 0; l < LISTS; l++) {
		buf_set(from, l, start[l]);
		buf_set(many, l, length[l]);
		for (int i = 0; i < length[l]; i++)
			there[start[l] * UNIT + i] = true;
	}
	for (int i = 0; i < ALL; i++) {
		unread(x, spoil && !there[i], 1, i, 1);
		if (there[i])
			y->allow[i] = 0;
	}
	case_num(c, "longest", 2100);
}

/* Sequences of T steps, of which 0 .. len - 1 count. */
enum { SEQUENCES = 3, T = 53 };
static const int len[SEQUENCES] = { 21, 53, 37 };

/* b is [SEQUENCES, T, n]. */
static void
unread_steps(Buf *b, bool spoil, int64_t n)
{
	for (int s = 0; s < SEQUENCES; s++)
		unread(b, spoil, n, (int64_t)s * T + len[s], T - len[s]);
}

static void
free_steps(Buf *b, int64_t n)
{
	for (int s = 0; s < SEQUENCES; s++)
		free_rows(b, n, (int64_t)s * T + len[s], T - len[s]);
}

static void
causal_conv(Case *c, bool spoil)
{
	enum { D = 72 };

	unread_steps(case_in(c, "X", "f16", -1, 1, SEQUENCES, T, D, 0), spoil, D);
	case_in(c, "W", "f16", -1, 1, 4, D, 0);
	case_in(c, "bias", "f16", -1, 1, D, 0);
	free_steps(case_out(c, "Y", "f16", SEQUENCES, T, D, 0), D);
}

static void
selective_scan(Case *c, bool spoil)
{
	enum { C = 40, N = 16 };
	static const char *const name[] = { "X", "DT", "Z" }, *const states[] = { "BM", "CM" };

	for (int i = 0; i < 3; i++)
		unread_steps(case_in(c, name[i], "f16", -1, 1, SEQUENCES, T, C, 0), spoil, C);
	for (int i = 0; i < 2; i++)
		unread_steps(case_in(c, states[i], "f16", -1, 1, SEQUENCES, T, N, 0), spoil, N);
	case_in(c, "A", "f32", -2, -0.1, C, N, 0);
	case_in(c, "SKIP", "f32", -1, 1, C, 0);
	case_in(c, "BIAS", "f32", -1, 1, C, 0);
	free_steps(case_out(c, "Y", "f16", SEQUENCES, T, C, 0), C);
	free_rows(case_out(c, "LAST", "f32", SEQUENCES, C, N, 0), C * N, 0, SEQUENCES);
}

static void
delta_rule(Case *c, bool spoil)
{
	enum { H = 2, D = 64, E = 24 };

	unread_steps(case_in(c, "Q", "f32", -1, 1, SEQUENCES, T, H, D, 0), spoil, H * D);
	unread_steps(case_in(c, "K", "f32", -0.2, 0.2, SEQUENCES, T, H, D, 0), spoil, H * D);
	unread_steps(case_in(c, "V", "f32", -1, 1, SEQUENCES, T, H, E, 0), spoil, H * E);
	unread_steps(case_in(c, "BETA", "f32", 0, 1, SEQUENCES, T, H, 0), spoil, H);
	free_steps(case_out(c, "O", "f32", SEQUENCES, T, H, E, 0), H * E);
	free_rows(case_out(c, "LAST", "f32", SEQUENCES, H, E, D, 0), H * E * D, 0, SEQUENCES);
}

static void
mamba2(Case *c, bool spoil)
{
	enum { H = 2, P = 64, N = 32 };
	Buf *at;

	unread_steps(case_in(c, "X", "f16", -1, 1, SEQUENCES, T, H, P, 0), spoil, H * P);
	unread_steps(case_in(c, "DT", "f32", 0, 1, SEQUENCES, T, H, 0), spoil, H);
	unread_steps(case_in(c, "BM", "f16", -1, 1, SEQUENCES, T, 1, N, 0), spoil, N);
	unread_steps(case_in(c, "CM", "f16", -1, 1, SEQUENCES, T, 1, N, 0), spoil, N);
	case_in(c, "A", "f32", -2, -0.1, H, 0);
	case_in(c, "D", "f32", -1, 1, H, 0);
	at = case_in(c, "LEN", "i32", 0, 0, SEQUENCES, 0);
	for (int s = 0; s < SEQUENCES; s++)
		buf_set(at, s, len[s]);
	free_steps(case_out(c, "Y", "f16", SEQUENCES, T, H, P, 0), H * P);
	case_out(c, "LAST", "f32", SEQUENCES, H, P, N, 0);
}

static const Row row[] = {
	{ .name = "moe", .make = moe, .set = { "OUT=f32" } },
	{ .name = "moe",
	  .make = moe_i8,
	  .set = { "OUT=f32", "scales=1", "WEIGHT=i8", "ROWS=1", "GROUP=64" } },
	{ .name = "moe",
	  .make = moe_e4m3,
	  .set = { "OUT=f32", "scales=1", "WEIGHT=e4m3", "ROWS=1", "GROUP=64" } },
	{ .name = "kv_append", .make = kv_append, .set = { "KV=i8", "scales=1" } },
	{ .name = "kv_append", .make = kv_append_float, .set = { "ACT=bf16", "D=64" } },
	{ .name = "embedding", .make = embedding },
	{ .name = "rotary", .make = rotary },
	{ .name = "cross_entropy", .make = loss, .set = { "IN=f32" } },
	{ .name = "cross_entropy_grad", .make = loss_grad, .set = { "IN=f32" } },
	{ .name = "linear_gather",
	  .make = gathered,
	  .set = { "index=i32", "scale=f16", "zero=f16" } },
	{ .name = "map_list", .make = list, .set = { "IN=f32", "value=x * 2" } },
	{ .name = "gemm_act_order", .make = act_order, .example = true },
	{ .name = "grouped_gemm", .make = groups, .example = true },
	{ .name = "grouped_gemm", .make = neighbours, .example = true },
	{ .name = "moe", .make = moe_example, .example = true },
	{ .name = "embedding", .make = embedding_example, .example = true },
	{ .name = "kv_append", .make = append_example, .example = true },
	{ .name = "rotary", .make = rotary_example, .example = true },
	{ .name = "cross_entropy", .make = loss_example, .example = true },
	{ .name = "gemm_schemes", .kernel = "gemm_ordered", .make = ordered, .example = true },
	{ .name = "causal_conv", .make = causal_conv, .example = true },
	{ .name = "selective_scan", .make = selective_scan, .example = true },
	{ .name = "delta_rule", .make = delta_rule, .example = true },
	{ .name = "mamba2", .make = mamba2, .example = true },
};

static void
run(Case *c, const Row *r, const char *arch)
{
	if (r->example)
		case_run(c, r->name, r->kernel, arch, 0);
	else
		op_run(c, arch, r->name, r->set);
}

/* What the first run gave is right of the second one, to the bit. */
static void
expect(Case *c, const Case *first)
{
	for (int i = 0; i < c->nbuf; i++) {
		Buf *b = &c->buf[i];
		bool some = false;

		for (int64_t k = 0; b->out && k < b->n; k++) {
			b->v[k] = hexc_get(b->type, first->buf[i].mem, (uint64_t)k);
			some = some || (b->allow[k] >= 0 && fabs(b->v[k]) > 0);
			ck_assert_msg(b->allow[k] < 0 || isfinite(b->v[k]), "%s[%d] is %g", b->name, (int)k,
			              b->v[k]);
		}
		for (int64_t k = 0; b->out && !some && k < b->n; k++)
			ck_assert_msg(b->allow[k] < 0, "%s is 0", b->name);
	}
}

TEST_EACH(rows, COUNT_OF(row))
{
	const Row *r = &row[_i];
	const char *arch = _i % 2 ? "sm_90a" : "sm_80";
	Case c[2];

	for (int spoil = 0; spoil < 2; spoil++) {
		case_start(&c[spoil], 11);
		r->make(&c[spoil], spoil);
		if (spoil)
			expect(&c[1], &c[0]);
		for (int i = 0; !spoil && i < c[0].nbuf; i++)
			for (int64_t k = 0; c[0].buf[i].out && k < c[0].buf[i].n; k++)
				c[0].buf[i].allow[k] = -1;
		printf("%s%s\n", r->name, r->example ? ", the example" : "");
		run(&c[spoil], r, arch);
		if (!spoil && !r->example) /* the first time an operator runs at odd addresses behind that */
			run(&c[spoil], r, arch);
	}
	case_end(&c[0]);
	case_end(&c[1]);
}
