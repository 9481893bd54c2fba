/* recurrence.c - state space models and linear attention: each head has a state S[e, d], which each token
 * changes. In ggml one tensor has the results and after them the last states. In expressions b is a sequence,
 * t a token, h a head, e a row of a state, d a place in it, and s the state. */
#include "examples/ggml/work.h"
#include <math.h>
#include <string.h>

/* The longest row of a state. */
enum { ROW_MOST = 256 };

/* What an operation says of its states. */
typedef struct States {
	View first;             /* [.., h, e, d], or, with columns, [.., h, d, e] */
	bool columns;
	int64_t sequences, tokens; /* tokens of each sequence */
	int64_t kept;           /* the states after that many of them are results */
} States;

static bool
all_f32(const struct ggml_tensor *op, int n)
{
	for (int i = 0; i < n; i++)
		if (op->src[i]->type != GGML_TYPE_F32)
			return false;
	return op->type == GGML_TYPE_F32;
}

/* Declares a tensor of these dims, such as "B, T, H, E", and sets its strides. */
static void
operand(Work *w, Launch *l, const char *name, const char *dims, const View *v)
{
	bool row = is_row(v);

	declare(w, l, "%s: %s[%s] strides [%s_0, %s_1, %s_2, %s]", name, type_name(v->type), dims, name, name,
	        name, row ? "1" : text(w, "%s_3", name));
	arg_pointer(w, l, name, v->data);
	for (int i = 0; i < RANK - row; i++)
		arg_int(w, l, text(w, "%s_%d", name, i), v->stride[i]);
}

/* Starts the launch; NULL if it has no kernel. */
static Launch *
start(Work *w, const struct ggml_tensor *op, const States *s)
{
	const int64_t *size = s->first.size;
	int64_t rows = size[s->columns ? 3 : 2], row = size[s->columns ? 2 : 3], state = rows * row;
	View y = { .data = op->data, .size = { s->sequences, s->tokens, size[1], rows } };
	Launch *l;

	if (row > ROW_MOST || s->kept < 1)
		return NULL;
	view_pack(&y);
	l = work_launch(w, "recurrence");
	set(w, l, "D", "%d", (int)row);
	if (s->columns)
		set(w, l, "columns", "1");
	arg_int(w, l, "B", y.size[0]);
	arg_int(w, l, "T", y.size[1]);
	arg_int(w, l, "H", y.size[2]);
	arg_int(w, l, "E", y.size[3]);
	arg_rows(w, l, "Y", "ybth", &y);
	arg_int(w, l, "BS", size[0]);
	arg_rows(w, l, "FIRST", s->columns ? "sbhd" : "sbhe", &s->first);
	arg_pointer(w, l, "LAST", (float *)op->data + view_count(&y));
	arg_int(w, l, "K", s->kept);
	arg_int(w, l, "lk", s->sequences * size[1] * state);
	arg_int(w, l, "lb", size[1] * state);
	arg_int(w, l, "lh", state);
	arg_int(w, l, s->columns ? "ld" : "le", size[3]);
	return l;
}

/* ---- SSM_SCAN ------------------------------------------------------------------------------------ */

/* Splits dim i of v into `parts`; dim i + 1, of size 1, becomes the number in a part. */
static void
split_dim(View *v, int i, int64_t parts)
{
	v->stride[i + 1] = v->stride[i];
	v->size[i + 1] = v->size[i] / parts;
	v->stride[i] *= v->size[i + 1];
	v->size[i] = parts;
}

/* A tensor of three dims, with a fourth behind them. */
static bool
view_of_three(View *v, const struct ggml_tensor *t)
{
	if (!view_of(v, t) || v->size[0] != 1)
		return false;
	for (int i = 0; i < RANK - 1; i++) {
		v->size[i] = v->size[i + 1];
		v->stride[i] = v->stride[i + 1];
	}
	v->size[RANK - 1] = 1;
	return true;
}

/* S = S exp(dt A) + dt x B and y = S C, where dt is softplus(speed). Heads of one row, those of Mamba 1, are
 * the rows of one head for each group. */
typedef struct Scan {
	States states;
	View x, speed, decay, in, out; /* decay[.., h, e, d] */
	bool single, by_place;  /* heads of one row; a decay for each place */
} Scan;

static bool
read_scan(Scan *s, const struct ggml_tensor *op)
{
	const int64_t *ne = op->src[1]->ne, groups = op->src[4]->ne[1];
	View *decay = &s->decay;

	*s = (Scan){ .single = ne[0] == 1, .by_place = op->src[3]->ne[0] != 1 };
	if (!all_f32(op, 6) || op->src[6]->type != GGML_TYPE_I32 || !view_of(&s->states.first, op->src[0]) ||
	    !view_of(&s->x, op->src[1]) || !view_of_three(&s->speed, op->src[2]) ||
	    !view_of(decay, op->src[3]) || !view_of(&s->in, op->src[4]) || !view_of(&s->out, op->src[5]))
		return false;
	s->states.sequences = ne[3];
	s->states.tokens = ne[2];
	s->states.kept = op->op_params[0];
	decay->size[1] = decay->size[2];
	decay->stride[1] = decay->stride[2];
	decay->size[2] = 1;
	if (s->single) {
		split_dim(&s->states.first, 1, groups);
		split_dim(&s->x, 2, groups);
		split_dim(&s->speed, 2, groups);
		split_dim(decay, 1, groups);
	}
	return true;
}

bool
ssm_scan(Work *w, const struct ggml_tensor *op)
{
	const char *dt, *head;
	Scan s;
	Launch *l;

	if (!read_scan(&s, op) || !(l = start(w, op, &s.states)))
		return false;
	arg_int(w, l, "G", op->src[4]->ne[1]);
	operand(w, l, "v", "B, T, H, E", &s.x);
	operand(w, l, "speed", s.single ? "B, T, H, E" : "B, T, H, 1", &s.speed);
	operand(w, l, "a", text(w, "1, H, %s, %s", s.single ? "E" : "1", s.by_place ? "D" : "1"), &s.decay);
	operand(w, l, "k", "B, T, G, D", &s.in);
	operand(w, l, "q", "B, T, G, D", &s.out);
	declare(w, l, "ids: i32[B]");
	arg_pointer(w, l, "ids", op->src[6]->data);
	set(w, l, "chosen", "ids[b]");
	dt = s.single ? "speed[b, t, h, e]" : "speed[b, t, h :+ 1, 0]";
	dt = text(w, "where(%s > 20, %s, log1p(exp(%s)))", dt, dt, dt);
	head = s.single ? "h, e" : s.by_place ? "h, 0" : "h :+ 1, 0";
	set(w, l, "next", "s * exp(%s * a[0, %s, %s]) + %s * v[b, t, h, e] * k[b, t, h / (H / G), d]", dt,
	    head, s.by_place ? "d" : "0", dt);
	set(w, l, "read", "s * q[b, t, h / (H / G), d]");
	return true;
}

/* ---- linear attention ---------------------------------------------------------------------------- */

/* States of op->src[n], of which each is rows of `row` numbers and as many of them. */
static States
square_states(const struct ggml_tensor *op, int n, int64_t heads, int64_t row)
{
	const struct ggml_tensor *state = op->src[n];
	States s = {
		.first = {
			.type = state->type,
			.data = state->data,
			.size = { ggml_nelements(state) / (heads * row * row), heads, row, row },
		},
	};

	view_pack(&s.first);
	s.sequences = s.first.size[0];
	return s;
}

/* Starts an operation whose states are src[n]. The tensors before it are contiguous, with numbers of the
 * tokens of one sequence after another. They get the letters of `names`: v is of rows, and u is left to the
 * caller. */
static Launch *
attend(Work *w, const struct ggml_tensor *op, const char *names, int n, bool columns)
{
	const int64_t *ne = op->src[0]->ne;
	States s = square_states(op, n, ne[1], ne[0]);
	Launch *l;

	s.columns = columns;
	s.kept = 1;
	s.tokens = ne[2] / s.sequences;
	if (!all_f32(op, n + 1) || ne[2] % s.sequences)
		return NULL;
	l = start(w, op, &s);
	for (int i = 0; l && i < n; i++) {
		View v = { .type = GGML_TYPE_F32, .data = op->src[i]->data };

		memcpy(v.size, (int64_t[]){ s.sequences, s.tokens, ne[1], ne[0] }, sizeof v.size);
		view_pack(&v);
		if (names[i] != 'u')
			operand(w, l, text(w, "%c", names[i]), names[i] == 'v' ? "B, T, H, E" : "B, T, H, D",
			        &v);
	}
	return l;
}

bool
gated_linear_attention(Work *w, const struct ggml_tensor *op)
{
	Launch *l = attend(w, op, "kvqg", 4, true);

	if (!l)
		return false;
	declare(w, l, "scale: f32");
	arg_float(w, l, "scale", (double)param(op, 0));
	set(w, l, "next", "s * g[b, t, h, d] + v[b, t, h, e] * k[b, t, h, d]");
	set(w, l, "read", "s * q[b, t, h, d] * scale");
	return true;
}

/* A token reads the state before it, and its own key with weight u. */
bool
rwkv_6(Work *w, const struct ggml_tensor *op)
{
	Launch *l = attend(w, op, "kvqug", 5, true);

	if (!l)
		return false;
	declare(w, l, "u: f32[H, D]");
	arg_pointer(w, l, "u", op->src[3]->data);
	set(w, l, "next", "s * g[b, t, h, d] + v[b, t, h, e] * k[b, t, h, d]");
	set(w, l, "read", "(old + u[h, d] * v[b, t, h, e] * k[b, t, h, d]) * q[b, t, h, d]");
	return true;
}

/* What key m finds in the state is stored under key n. */
bool
rwkv_7(Work *w, const struct ggml_tensor *op)
{
	Launch *l = attend(w, op, "qgkvmn", 6, false);

	if (!l)
		return false;
	set(w, l, "probe", "s * m[b, t, h, d]");
	set(w, l, "next", "s * g[b, t, h, d] + v[b, t, h, e] * k[b, t, h, d] + x * n[b, t, h, d]");
	set(w, l, "read", "s * q[b, t, h, d]");
	return true;
}

/* The delta rule: what the key finds is replaced by v, as far as beta says. Head h has the key and the query
 * of h % KH and h % QH; adjacent sequences share them. */
bool
gated_delta(Work *w, const struct ggml_tensor *op)
{
	const int64_t *ne = op->src[2]->ne;
	States s = square_states(op, 5, ne[1], ne[0]);
	bool by_place = op->src[3]->ne[0] != 1;
	View q, k, v, g, beta;
	const char *gate = by_place ? "exp(g[b, t, h, d])" : "exp(g[b, t, h :+ 1, 0])";
	const char *key = "k[b / (B / KB), t, h % KH, d]";
	Launch *l;

	if (!all_f32(op, 6) || !view_of(&q, op->src[0]) || !view_of(&k, op->src[1]) ||
	    !view_of(&v, op->src[2]) || !view_of(&g, op->src[3]) || !view_of(&beta, op->src[4]) ||
	    !is_row(&q) || !is_row(&k) || !is_row(&v) || ne[3] % q.size[0] || ne[3] % k.size[0])
		return false;
	s.kept = op->op_params[0];
	s.tokens = ne[2];
	l = start(w, op, &s);
	if (!l)
		return false;
	operand(w, l, "q", "QB, T, QH, D", &q);
	operand(w, l, "k", "KB, T, KH, D", &k);
	operand(w, l, "v", "B, T, H, E", &v);
	operand(w, l, "g", by_place ? "B, T, H, D" : "B, T, H, 1", &g);
	operand(w, l, "beta", "B, T, H, 1", &beta);
	arg_int(w, l, "QB", q.size[0]);
	arg_int(w, l, "QH", q.size[2]);
	arg_int(w, l, "KB", k.size[0]);
	arg_int(w, l, "KH", k.size[2]);
	declare(w, l, "scale: f32");
	arg_float(w, l, "scale", 1 / sqrt((double)ne[0]));
	set(w, l, "probe", "s * %s * %s", gate, key);
	set(w, l, "next", "s * %s + (v[b, t, h, e] - x) * beta[b, t, h :+ 1, 0] * %s", gate, key);
	set(w, l, "read", "s * q[b / (B / QB), t, h %% QH, d] * scale");
	return true;
}
