/* order_meet.c - where in memory two accesses are, and by which threads.
 *
 * A place is the start of a view in its tensor or tile, dim by dim, and its extents; what lies in
 * shared memory as other tiles do, or as staging tiles, is compared by bytes.  Who moves an element
 * is read from tables of the register tile (prove.c); of what task mappings or instructions of whole
 * warps move nothing is taken to be a thread's own. */
#include "infer/prove/order.h"
#include <string.h>

enum { NOBODY = -1, MANY = -2, ELEMENTS_MOST = 1 << 16, SAME_DEPTH = 24 };

/* ---- accesses -------------------------------------------------------------------------------- */

/* Bytes from its first to the last one that an element of the tile has. */
static int64_t
tile_bytes(Order *w, const Val *tile)
{
	const Type *t = &tile->type;
	int64_t n = type_size(t), *at, last = n - 1;

	if (w->bytes[tile->id])
		return w->bytes[tile->id];
	if (t->layout) {
		at = mem_offsets(&w->prove, t->layout, t, NULL);
		for (int64_t i = last = 0; i < n; i++)
			last = at[i] > last ? at[i] : last;
	}
	return w->bytes[tile->id] = ceil_div((last + 1) * dtype_info[t->dtype].bits, 8);
}

/* The view that says where in its tile or tensor v is: the one next to it. */
static void
find_view(Touch *t, Val *v)
{
	Val *at = v->def && view_is_longer(v->def) ? v->def->in[0] : v;

	t->plain = true;
	while (at->def && at->def->code == O_view && at->def->in[0] != t->root && at != t->root) {
		t->plain = false;
		at = at->def->in[0];
	}
	if (at == t->root)
		return;
	if (at->def && at->def->code == O_view)
		t->view = at->def;
	else
		t->plain = false; /* in another shape */
}

static int
add(Order *w, const Op *o, Val *v, bool write, Touch *t)
{
	Val *root = view_root(v);
	const Param *p = val_param(w->k, root);

	if (v->type.space != S_shared && v->type.space != S_global)
		return 0;
	if (p ? !p->written : !root->def || root->def->code != O_alloc)
		return 0;
	*t = (Touch){ .op = o, .mem = v, .root = root, .write = write };
	find_view(t, v);
	if (!p && IMM(root->def, offset) >= 0) {
		t->first = IMM(root->def, offset);
		t->end = t->first + tile_bytes(w, root);
	}
	return 1;
}

static int
add_copy(Order *w, const Op *o, Touch *t)
{
	CopyKind kind = (CopyKind)IMM(o, async);
	int n;

	if (kind == COPY_BARRIER)
		return 0;
	n = add(w, o, o->in[0], false, t);
	n += add(w, o, o->in[1], true, t + n);
	for (int i = 0; i < n; i++) {
		t[i].group = kind == COPY_GROUP || kind == COPY_OUT;
		t[i].bulk = kind == COPY_OUT;
		t[i].engine = kind == COPY_OUT && t[i].root->type.space == S_shared;
	}
	return n;
}

int
order_touches(Order *w, const Op *o, Touch *t)
{
	int n = 0;

	switch (o->code) {
	case O_load: return add(w, o, o->in[0], false, t);
	case O_copy: return add_copy(w, o, t);
	case O_wgmma:
		for (int i = 0; i < 2; i++)
			if (o->in[i]->type.space == S_shared && add(w, o, o->in[i], false, t + n))
				t[n++].engine = true;
		return n;
	case O_store:
		n = add(w, o, o->in[1], true, t);
		if (n)
			t->update = IMM(o, update) != STORE_PLAIN;
		return o->nin > 2 ? n + add(w, o, o->in[2], true, t + n) : n;
	default: break;
	}
	if (!lowering_is_staged(o->lowering))
		return 0;
	*t = (Touch){ .op = o, .first = o->lowering->staged.off, .write = true };
	t->end = t->first + o->lowering->staged.bytes;
	return 1;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Elements of dim d of the root from the first that t touches to behind the last. */
static int64_t
span(const Touch *t, int d)
{
	int r;

	if (!t->view)
		return t->root->type.shape[d];
	r = view_result_dim(t->view, d);
	return r < 0 ? 1 : (t->view->out[0]->type.shape[r] - 1) * view_step(t->view, d) + 1;
}

static bool
has_indices(const Touch *t, int d)
{
	return t->view && view_gathers(t->view, d);
}

void
order_begin(Order *w)
{
	const Touch *t = &w->from;
	const State none = { .nbound = 0 };

	for (int d = 0; t->root && d < t->root->type.rank; d++)
		w->start[d] = !t->view || has_indices(t, d) ? sum_const(0)
		                                            : order_value(w, &none, t->view->in[1 + d]);
}

/* Bits of a word that an update of 8 bits writes back belong to its neighbours. */
static bool
takes_neighbours(const Touch *t)
{
	return t->update && dtype_info[t->op->in[0]->type.dtype].bits < 16;
}

/* How far t is from where the walk began, dim by dim; *apart: in one of them too far to meet. 
 * False: in a dim it is not known. */
static bool
distances(Order *w, const State *s, const Touch *t, int64_t *by, bool *apart)
{
	const Touch *from = &w->from;
	bool known = true;

	*apart = false;
	for (int d = 0; d < from->root->type.rank; d++) {
		int64_t lo, hi, x = span(from, d), y = span(t, d), step;
		Fact f, g;
		Sum gap;

		by[d] = 0;
		if (has_indices(from, d) || has_indices(t, d)) {
			known = known && from->op == t->op &&
			        order_same(w, s, t->view->in[1 + d], SAME_DEPTH);
			continue;
		}
		gap = t->view ? order_value(w, s, t->view->in[1 + d]) : sum_const(0);
		gap = sum_add(w, gap, w->start[d], -1);
		sum_range(w, &gap, &lo, &hi);
		*apart = *apart || (x >= 0 && lo >= x) || (y >= 0 && hi <= -y);
		if (from->view && t->view && !*apart) {
			f = val_fact(w->k, from->view->in[1 + d]);
			g = val_fact(w->k, t->view->in[1 + d]);
			*apart = (x >= 0 && g.lo > INT64_MIN && f.hi < INT64_MAX && g.lo - f.hi >= x) ||
			         (y >= 0 && f.lo > INT64_MIN && g.hi < INT64_MAX && f.lo - g.hi >= y);
		}
		known = known && lo == hi;
		by[d] = lo;
		step = from->view && t->view ? view_step(from->view, d) : 1;
		if (lo == hi && step > 1 && step == view_step(t->view, d) && lo % step != 0)
			*apart = true;
		if (lo == hi && lo % step == 0 && t->view && view_step(t->view, d) == step)
			by[d] = lo / step;
		else if (step > 1 || (t->view && view_step(t->view, d) > 1))
			known = false;
	}
	return known;
}

/* ---- threads --------------------------------------------------------------------------------- */

static int16_t *
owners_of(Order *w, const Touch *t)
{
	const Op *o = t->op;
	const Val *v = o->code == O_load ? o->out[0] : o->code == O_store ? o->in[0] : NULL;
	const Instr *in = o->lowering && o->lowering->kind == LW_access ? instr_of(o->lowering) : NULL;
	int64_t n = v ? type_size(&v->type) : 0;
	const Held *h;
	int16_t *who;

	if (!v || op_access(o)->map || n > ELEMENTS_MOST ||
	    (in && (in->kind == IK_ldmatrix || in->kind == IK_stmatrix)))
		return NULL;
	who = NEWN(w->k->unit->arena, int16_t, n);
	if (v->type.space == S_scalar) {
		who[0] = o->code == O_load ? MANY : 0;
		return who;
	}
	if (!v->type.layout)
		return NULL;
	w->prove.op = o;
	w->prove.threads = op_warps(o) * WARP_SIZE;
	h = held_of(&w->prove, v);
	if (!h)
		return NULL;
	for (int64_t e = 0; e < n; e++)
		who[e] = NOBODY;
	for (int i = 0; i < w->prove.threads; i++)
		for (int64_t r = 0; (o->code == O_load || h->acts[i]) && r < h->regs; r++) {
			int64_t e = h->elem[i * h->regs + r];

			if (e >= 0)
				who[e] = who[e] == NOBODY || who[e] == i ? (int16_t)i : MANY;
		}
	return who;
}

static const int16_t *
owners(Order *w, const Touch *t)
{
	int16_t **slot = &w->owner[t->op->code == O_store && t->mem != t->op->in[1]][t->op->id];

	if (!*slot && !(t->op->code == O_store && t->view && view_gather_dim(t->view) >= 0 && t->update))
		*slot = owners_of(w, t);
	return *slot;
}

/* The number of the element of t's tile at c[] of the root, from where t starts; -1: it has none
 * there. */
static int64_t
element_at(const Touch *t, const int64_t *c)
{
	int64_t at[DIM_MAX] = { 0 };
	const Type *shows = &t->mem->type, *has = t->view ? &t->view->out[0]->type : &t->root->type;

	for (int d = 0; d < t->root->type.rank; d++) {
		int r = t->view ? view_result_dim(t->view, d) : d;

		if (c[d] < 0 || c[d] >= (r < 0 ? 1 : has->shape[r]))
			return -1;
		if (r >= 0)
			at[r] = c[d];
	}
	return index_elem(shows, at);
}

/* Does an element that both touch have another thread each time? */
static bool
other_threads(Order *w, const Touch *t, const int64_t *by)
{
	const Touch *from = &w->from;
	const int16_t *x, *y;
	const Type *has = from->view ? &from->view->out[0]->type : &from->root->type;
	int64_t n = type_size(has);
	bool still = true;

	for (int d = 0; d < from->root->type.rank; d++)
		still = still && by[d] == 0;
	if (from->op == t->op && from->mem == t->mem && still && t->plain)
		return false; /* the same again, element by element */
	x = owners(w, from);
	y = owners(w, t);
	if (!x || !y || !from->plain || !t->plain || n > ELEMENTS_MOST ||
	    dtype_info[from->root->type.dtype].bits < 8)
		return true;
	for (int64_t i = 0; i < n; i++) {
		int64_t c[DIM_MAX] = { 0 }, at[DIM_MAX] = { 0 }, e, f;

		type_coord(has, i, at);
		for (int d = 0; d < from->root->type.rank; d++) {
			int r = from->view ? view_result_dim(from->view, d) : d;

			c[d] = r < 0 ? 0 : at[r];
		}
		e = element_at(from, c);
		for (int d = 0; d < from->root->type.rank; d++)
			c[d] -= by[d];
		f = element_at(t, c);
		if (f >= 0 && (x[e] != y[f] || x[e] == MANY))
			return true;
	}
	return false;
}

bool
order_meets(Order *w, const State *s, const Touch *t, bool lanes)
{
	const Touch *from = &w->from;
	int64_t by[DIM_MAX];
	bool apart, known;

	if (!from->root || from->root != t->root)
		return from->first < t->end && t->first < from->end;
	if (takes_neighbours(from) || takes_neighbours(t))
		return true;
	if (from->mem && t->mem && (val_is_alias(view_base(from->mem)) || val_is_alias(view_base(t->mem))))
		return true; /* in other coordinates */
	known = distances(w, s, t, by, &apart);
	if (apart)
		return false;
	if (!known)
		return !w->blind;
	return !lanes || other_threads(w, t, by);
}
