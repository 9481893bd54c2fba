/* fuse.c - finds which operations of a graph can be computed by the launch of an earlier one: chains of
 * operations of elements, a second product of the same factor, a store of rows; what they read, nothing else
 * reads. The launch runs in the place of the first node: its operands must be there, and what the nodes
 * between read and write must not be touched by it. Of two products or ropes alike the later product is
 * moved to the earlier one, and the earlier rope waits for the later one. */
#include "examples/ggml/fuse.h"
#include <ggml-impl.h>
#include <string.h>

/* How far behind a node its reader is looked for. */
enum { AHEAD = 128 };

bool
is_idle(const struct ggml_tensor *t)
{
	return ggml_op_is_empty(t->op) || ggml_is_empty(t) || !(t->flags & GGML_TENSOR_FLAG_COMPUTE);
}

static bool
overlaps(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	const char *x = a->data, *y = b->data;

	return x < y + ggml_nbytes(b) && y < x + ggml_nbytes(a);
}

/* Does operation t write to the memory of y? An optimizer's step writes its moments, too. */
static bool
writes(const struct ggml_tensor *t, const struct ggml_tensor *y)
{
	return overlaps(t, y) ||
	       (t->op == GGML_OP_OPT_STEP_ADAMW && (overlaps(t->src[2], y) || overlaps(t->src[3], y)));
}

/* Are elements of equal indices at equal addresses? */
static bool
same_place(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	bool same = a->data == b->data && a->type == b->type && ggml_are_same_shape(a, b);

	for (int i = 0; i < GGML_MAX_DIMS; i++)
		same = same && a->nb[i] == b->nb[i];
	return same;
}

/* The node that reads node i, if it is the only one. -1 otherwise. */
static int
reader(const struct ggml_cgraph *g, int i)
{
	const struct ggml_tensor *t = g->nodes[i];

	if (ggml_node_get_use_count(g, i) != 1 || (t->flags & GGML_TENSOR_FLAG_OUTPUT))
		return -1;
	for (int j = i + 1; j < g->n_nodes && j < i + AHEAD; j++)
		for (int k = 0; k < GGML_MAX_SRC; k++)
			if (g->nodes[j]->src[k] == t)
				return j;
	return -1;
}

/* The same, if the value is seen through no other tensor. */
static int
only_reader(const struct ggml_cgraph *g, int i)
{
	return g->nodes[i]->view_src ? -1 : reader(g, i);
}

/* Is node j, whose operand `before` comes from the launch, an operation of elements of the same shape? */
static bool
continues(const struct ggml_tensor *t, const struct ggml_tensor *before)
{
	Pointwise e;

	return !is_idle(t) && (t->src[0] == before || t->src[1] == before) &&
	       ggml_are_same_shape(t, before) && pointwise_of(&e, t);
}

/* Is node k computed by the launch, whose tail has n nodes? */
static bool
is_member(const Chosen *c, int n, int k)
{
	for (int m = 0; m < n; m++)
		if (c->at[m] == k)
			return true;
	return k == c->second || k == c->rows || k == c->also;
}

/* Does y, which a launch of t writes, leave t's operands as they are? One that is in the same place may be
 * overwritten by an operation that computes `in_place`. */
static bool
keeps(const struct ggml_tensor *t, const struct ggml_tensor *y, bool in_place)
{
	for (int k = 0; k < GGML_MAX_SRC; k++)
		if (t->src[k] && overlaps(t->src[k], y) && !(in_place && same_place(t->src[k], y)))
			return false;
	return true;
}

/* Are its operand's elements, or rows, read by the block that writes them? */
static bool
is_in_place(const struct ggml_tensor *t)
{
	Pointwise e;

	return t->op == GGML_OP_NORM || t->op == GGML_OP_RMS_NORM || t->op == GGML_OP_SOFT_MAX ||
	       pointwise_of(&e, t);
}

/* Is operand t the same in the place of node i as in that of node j? */
static bool
is_there(const struct ggml_cgraph *g, int i, int j, const struct ggml_tensor *t)
{
	for (int k = i + 1; k < j; k++)
		if (!is_idle(g->nodes[k]) && writes(g->nodes[k], t))
			return false;
	return true;
}

/* May y be written in the place of node i instead of that of node j? */
static bool
may_write(const struct ggml_cgraph *g, int i, int j, const Chosen *c, int n, const struct ggml_tensor *y)
{
	for (int k = i + 1; k < j; k++)
		if (!is_idle(g->nodes[k]) && !is_member(c, n, k) &&
		    (overlaps(g->nodes[k], y) || !keeps(g->nodes[k], y, false)))
			return false;
	return true;
}

/* May the launch, in the place of node i, store y, the result of node j, with n nodes of the tail? */
static bool
is_safe(const struct ggml_cgraph *g, int i, const Chosen *c, int n, int j)
{
	const struct ggml_tensor *head = g->nodes[i], *before = head, *second = c->tail.second;
	const struct ggml_tensor *y = g->nodes[j];
	bool to_rows = y->op == GGML_OP_SET_ROWS; /* which are not the rows that a block reads */

	if (!keeps(head, y, !to_rows && is_in_place(head)) || (second && !keeps(second, y, false)))
		return false;
	for (int k = 0; second && k < GGML_MAX_SRC; k++)
		if (second->src[k] && !is_there(g, i, c->second, second->src[k]))
			return false;
	for (int m = 0; m < n; m++) {
		const struct ggml_tensor *t = c->tail.node[m], *other = t->src[t->src[0] == before];

		if (other && other != second &&
		    (!is_there(g, i, c->at[m], other) ||
		     (overlaps(other, y) && (to_rows || !same_place(other, y)))))
			return false;
		before = t;
	}
	return may_write(g, i, j, c, n, y);
}

/* The product that is the other operand of node j, which reads product i, if both can be one launch. */
static void
find_second(const struct ggml_cgraph *g, int i, int j, Chosen *c)
{
	const struct ggml_tensor *a = g->nodes[i], *t = g->nodes[j], *b = t->src[t->src[0] == a];
	int k = i + 1;

	if ((a->op != GGML_OP_MUL_MAT && a->op != GGML_OP_MUL_MAT_ID) || !b || b->op != a->op ||
	    b->src[1] != a->src[1] || b->src[2] != a->src[2] || !products_are_one(a->src[0], b->src[0]) ||
	    !ggml_are_same_shape(b->src[0], a->src[0]))
		return;
	while (k < j && g->nodes[k] != b)
		k++;
	if (k == j || only_reader(g, k) != j)
		return;
	c->tail.second = b;
	c->second = k;
}

/* The SET_ROWS that stores the value of node i, through views of all of it. */
static int
find_rows(const struct ggml_cgraph *g, int i)
{
	int j = only_reader(g, i);

	while (j >= 0 && (g->nodes[j]->op == GGML_OP_RESHAPE || g->nodes[j]->op == GGML_OP_VIEW)) {
		const struct ggml_tensor *t = g->nodes[j];

		if (!ggml_is_contiguous(t) || ggml_nelements(t) != ggml_nelements(g->nodes[i]) ||
		    t->data != g->nodes[i]->data)
			return -1;
		j = reader(g, j);
	}
	return j >= 0 && g->nodes[j]->op == GGML_OP_SET_ROWS && !is_idle(g->nodes[j]) &&
	                       ggml_is_contiguous(g->nodes[i])
	               ? j
	               : -1;
}

/* Shortens the tail to the longest safe one of at most `nodes`. */
static bool
shorten(Chosen *c, int nodes)
{
	while (nodes > 0 && !c->safe[nodes - 1])
		nodes--;
	c->tail.nodes = nodes;
	return nodes > 0;
}

static bool
find_tail(const struct ggml_cgraph *g, int i, Chosen *c)
{
	int at = i, rows;

	*c = (Chosen){ .also = -1 };
	while (c->tail.nodes < TAIL_MOST) {
		int j = only_reader(g, at), n = c->tail.nodes;

		if (j < 0 || !continues(g->nodes[j], g->nodes[at]))
			break;
		if (n == 0)
			find_second(g, i, j, c);
		c->tail.node[n] = g->nodes[j];
		c->at[n] = at = j;
		c->tail.nodes++;
		c->safe[n] = is_safe(g, i, c, n + 1, j);
	}
	rows = find_rows(g, at);
	if (rows >= 0 && is_there(g, i, rows, g->nodes[rows]->src[1]) &&
	    is_safe(g, i, c, c->tail.nodes, rows)) {
		c->tail.rows = g->nodes[rows];
		c->rows = rows;
		return true;
	}
	return shorten(c, c->tail.nodes);
}

/* ---- two operations alike -------------------------------------------------------------------------- */

/* Are they the same operation with the same src[1], on tensors that differ at most in the number of heads? */
static bool
is_like(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	const struct ggml_tensor *x = a->src[0], *y = b->src[0];

	if (a->op != b->op || a->src[1] != b->src[1] || a->src[2] != b->src[2] || a->type != b->type ||
	    memcmp(a->op_params, b->op_params, sizeof a->op_params))
		return false;
	if (a->op == GGML_OP_MUL_MAT)
		return ggml_are_same_shape(x, y) && ggml_are_same_shape(a, b) && products_are_one(x, y);
	return a->op == GGML_OP_ROPE && x->type == y->type && x->ne[0] == y->ne[0] && x->ne[2] == y->ne[2] &&
	       x->ne[3] == y->ne[3];
}

/* Does the launch of u, with what it stores in `to`, leave what t reads and writes? */
static bool
spares(const struct ggml_tensor *u, const struct ggml_tensor *to, const struct ggml_tensor *t)
{
	return keeps(u, t, false) && !writes(to, t) && !writes(t, to) && keeps(t, to, false);
}

/* A launch stores the last result of its tail, and no other. */
bool
fuse_disturbs(const struct ggml_cgraph *g, int waiting, int i, const Chosen *c)
{
	const struct ggml_tensor *t = g->nodes[waiting], *to = g->nodes[i];
	const Tail *tail = c ? &c->tail : &(const Tail){ 0 };
	bool all;

	if (tail->rows || tail->nodes)
		to = tail->rows ? tail->rows : tail->node[tail->nodes - 1];
	all = spares(g->nodes[i], to, t);
	for (int m = 0; m < tail->nodes; m++)
		all = all && spares(tail->node[m], to, t);
	if (tail->second)
		all = all && spares(tail->second, to, t);
	if (tail->rows)
		all = all && spares(tail->rows, to, t);
	if (tail->also && c->also != waiting)
		all = all && spares(tail->also, tail->also, t);
	return !all;
}

/* May node j be computed in the place of node i, with its tail? */
static bool
may_move(const struct ggml_cgraph *g, int i, int j, const Chosen *c)
{
	const struct ggml_tensor *t = g->nodes[j];

	for (int k = 0; k < GGML_MAX_SRC; k++)
		if (t->src[k] && !is_there(g, i, j, t->src[k]))
			return false;
	return may_write(g, i, j, c, c->tail.nodes, t) && !fuse_disturbs(g, j, i, c);
}

/* A later product like product i that has no tail of its own. */
static void
find_also(const struct ggml_cgraph *g, int i, const bool *done, Chosen *c)
{
	Chosen other;

	if (g->nodes[i]->op != GGML_OP_MUL_MAT || c->tail.second)
		return;
	for (int j = i + 1; j < g->n_nodes && j < i + AHEAD; j++)
		if (!done[j] && !is_idle(g->nodes[j]) && is_like(g->nodes[i], g->nodes[j]) &&
		    !is_member(c, c->tail.nodes, j) && may_move(g, i, j, c) && !find_tail(g, j, &other)) {
			c->tail.also = g->nodes[j];
			c->also = j;
			return;
		}
}

bool
fuse(const struct ggml_cgraph *g, int i, const bool *done, Chosen *c)
{
	bool found = find_tail(g, i, c);

	find_also(g, i, done, c);
	return found || c->tail.also;
}

int
fuse_later(const struct ggml_cgraph *g, int i, const bool *done)
{
	Chosen c;

	if (g->nodes[i]->op != GGML_OP_ROPE || find_tail(g, i, &c))
		return -1;
	for (int j = i + 1; j < g->n_nodes && j < i + AHEAD; j++)
		if (!done[j] && !is_idle(g->nodes[j]) && is_like(g->nodes[i], g->nodes[j]))
			return j;
	return -1;
}

bool
fuse_less(Chosen *c)
{
	bool also = c->tail.also;
	int nodes = c->tail.nodes - (!also && !c->tail.rows);

	c->tail.also = NULL;
	c->also = -1;
	if (also && (c->tail.nodes || c->tail.rows))
		return true;
	c->tail.rows = NULL;
	c->rows = 0;
	return shorten(c, nodes);
}

int
fuse_mark(const Chosen *c, bool *done)
{
	int at[TAIL_MOST + 3], n = 0;

	for (int i = 0; i < c->tail.nodes; i++)
		at[n++] = c->at[i];
	if (c->second && c->tail.nodes)
		at[n++] = c->second;
	if (c->rows)
		at[n++] = c->rows;
	if (c->also >= 0)
		at[n++] = c->also;
	for (int i = 0; i < n; i++)
		done[at[i]] = true;
	return n;
}
