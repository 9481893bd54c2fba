/* fuse.c - finds which operations of a graph can be computed by the launch of an earlier one: chains of
 * operations of elements, whose values nothing else reads. The launch runs in the place of the first node, so
 * what the nodes between read and write must not be touched by it. */
#include "examples/ggml/fuse.h"
#include <ggml-impl.h>

/* How far behind a node its reader is looked for. */
enum { AHEAD = 32 };

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

/* Are elements of equal indices at equal addresses? */
static bool
same_place(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	bool same = a->data == b->data && a->type == b->type && ggml_are_same_shape(a, b);

	for (int i = 0; i < GGML_MAX_DIMS; i++)
		same = same && a->nb[i] == b->nb[i];
	return same;
}

/* The node that reads node i, if it is the only reader, and nobody else may look at the value. -1 otherwise. */
static int
only_reader(const struct ggml_cgraph *g, int i)
{
	const struct ggml_tensor *t = g->nodes[i];

	if (ggml_node_get_use_count(g, i) != 1 || t->view_src || (t->flags & GGML_TENSOR_FLAG_OUTPUT))
		return -1;
	for (int j = i + 1; j < g->n_nodes && j < i + AHEAD; j++)
		for (int k = 0; k < GGML_MAX_SRC; k++)
			if (g->nodes[j]->src[k] == t)
				return j;
	return -1;
}

/* Is node j, whose operand `before` comes from the launch, an operation of elements of the same shape? */
static bool
continues(const struct ggml_tensor *t, const struct ggml_tensor *before)
{
	Pointwise e;

	return !is_idle(t) && (t->src[0] == before || t->src[1] == before) && ggml_are_same_shape(t, before) &&
	       pointwise_of(&e, t);
}

static bool
has_member(const Chosen *c, int n, int node)
{
	for (int i = 0; i < n; i++)
		if (c->at[i] == node)
			return true;
	return false;
}

/* May the launch, in the place of node i, store the result of the n-th member of the tail? */
static bool
is_safe(const struct ggml_cgraph *g, int i, const Chosen *c, int n)
{
	const struct ggml_tensor *head = g->nodes[i], *y = c->tail.node[n - 1], *before = head;
	Pointwise e;
	bool elements = pointwise_of(&e, head);

	for (int k = 0; k < GGML_MAX_SRC && head->src[k]; k++)
		if (overlaps(head->src[k], y) && !(elements && same_place(head->src[k], y)))
			return false;
	for (int m = 0; m < n; m++) {
		const struct ggml_tensor *t = c->tail.node[m];

		for (int k = 0; k < GGML_MAX_SRC && t->src[k]; k++) {
			/* the target of CPY is written, not read */
			bool target = t->op == GGML_OP_CPY && k == 1;

			if (t->src[k] == before || target)
				continue;
			if (overlaps(t->src[k], y) && !same_place(t->src[k], y))
				return false;
			for (int j = i + 1; j < c->at[m]; j++)
				if (!is_idle(g->nodes[j]) && overlaps(g->nodes[j], t->src[k]))
					return false;
		}
		before = t;
	}
	for (int j = i + 1; j < c->at[n - 1]; j++) {
		if (is_idle(g->nodes[j]) || has_member(c, n, j))
			continue;
		if (overlaps(g->nodes[j], y))
			return false;
		for (int k = 0; k < GGML_MAX_SRC && g->nodes[j]->src[k]; k++)
			if (overlaps(g->nodes[j]->src[k], y))
				return false;
	}
	return true;
}

void
fuse(const struct ggml_cgraph *g, int i, Chosen *c)
{
	int at = i;

	*c = (Chosen){ 0 };
	while (c->tail.nodes < TAIL_MOST) {
		int j = only_reader(g, at), n = c->tail.nodes;

		if (j < 0 || !continues(g->nodes[j], g->nodes[at]))
			break;
		c->tail.node[n] = g->nodes[j];
		c->at[n] = at = j;
		c->tail.nodes++;
		c->safe[n] = is_safe(g, i, c, n + 1);
	}
	fuse_shorten(c, c->tail.nodes);
}

void
fuse_shorten(Chosen *c, int nodes)
{
	while (nodes > 0 && !c->safe[nodes - 1])
		nodes--;
	c->tail.nodes = nodes;
}
