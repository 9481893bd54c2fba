/* memory_order_overlap.c - pass_validate_barriers: determines whether two accesses may overlap in memory,
 * and by which threads.
 *
 * A location is the start of a view in its tensor or tile, dim by dim, and its extents. Tiles that share
 * memory with others or with staging tiles are compared by bytes. The thread that moves an element is read
 * from the register tile's ownership table (validate.c). What task mappings or warp-collective instructions
 * move is never assumed to stay in one thread. */
#include "infer/validate/memory_order.h"
#include "hexc/analysis/analysis.h"
#include <string.h>

enum { NOBODY = -1, MANY = -2, ELEMENTS_MOST = 1 << 16, SAME_DEPTH = 24 };

/* ---- accesses -------------------------------------------------------------------------------- */

/* Returns the bytes from the first to the last one of the tile's elements. */
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

/* Finds the view that locates v in its tile or tensor: the one next to the root. */
static void
find_view(OrderTouch *t, Val *v)
{
	Val *at = v->def && view_is_longer(v->def) ? view_source(v->def) : v;
	const Op *view[INNER_MOST];
	int n = 0;

	t->plain = true;
	while (at->def && at->def->code == O_view && view_source(at->def) != t->root && at != t->root) {
		t->plain = false;
		if (n < INNER_MOST)
			view[n] = at->def;
		n++;
		at = view_source(at->def);
	}
	if (at == t->root)
		return;
	if (!at->def || at->def->code != O_view) {
		t->plain = false; /* a reshape */
		return;
	}
	t->view = at->def;
	for (int i = 0; i < n && n <= INNER_MOST; i++)
		t->inner[t->ninner++] = view[n - 1 - i];
}

static int
add(Order *w, const Op *o, Val *v, bool write, OrderTouch *t)
{
	Val *root = view_root(v);
	const Param *p = val_param(w->k, root);

	if (v->type.space != S_shared && v->type.space != S_global)
		return 0;
	if (p ? !p->written : !root->def || root->def->code != O_alloc)
		return 0;
	*t = (OrderTouch){ .op = o, .mem = v, .root = root, .write = write };
	find_view(t, v);
	if (!p && IMM(root->def, offset) >= 0) {
		t->first = IMM(root->def, offset);
		t->end = t->first + tile_bytes(w, root);
	}
	return 1;
}

static int
add_copy(Order *w, const Op *o, OrderTouch *t)
{
	CopyKind kind = (CopyKind)IMM(o, async);
	int n;

	if (kind == COPY_BARRIER)
		return 0;
	n = add(w, o, copy_source(o), false, t);
	n += add(w, o, copy_dest(o), true, t + n);
	for (int i = 0; i < n; i++) {
		t[i].group = kind == COPY_GROUP || kind == COPY_OUT;
		t[i].bulk = kind == COPY_OUT;
		t[i].engine = kind == COPY_OUT && t[i].root->type.space == S_shared;
	}
	return n;
}

int
order_touches(Order *w, const Op *o, OrderTouch *t)
{
	int n = 0;

	switch (o->code) {
	case O_load: return add(w, o, load_source(o), false, t);
	case O_copy: return add_copy(w, o, t);
	case O_wgmma:
		for (int i = 0; i < 2; i++)
			if (o->in[i]->type.space == S_shared && add(w, o, o->in[i], false, t + n))
				t[n++].engine = true;
		return n;
	case O_store:
		n = add(w, o, store_dest(o), true, t);
		if (n)
			t->update = IMM(o, update) != STORE_PLAIN;
		return o->nin > 2 ? n + add(w, o, store_old(o), true, t + n) : n;
	default: break;
	}
	if (!lowering_is_staged(o->lowering))
		return 0;
	*t = (OrderTouch){ .op = o, .first = o->lowering->staged.off, .write = true };
	t->end = t->first + o->lowering->staged.bytes;
	return 1;
}

/* ---- locations ------------------------------------------------------------------------------- */

/* Returns the extent along dim d of the root, from the first element that t accesses to past the last. */
static int64_t
span(const OrderTouch *t, int d)
{
	const Op *last = t->view;
	int64_t step;
	int r;

	if (!t->view)
		return t->root->type.shape[d];
	step = view_step(t->view, d);
	r = view_result_dim(t->view, d);
	for (int i = 0; i < t->ninner && r >= 0; i++) {
		last = t->inner[i];
		step *= view_step(last, r);
		r = view_result_dim(last, r);
	}
	return r < 0 ? 1 : (last->out[0]->type.shape[r] - 1) * step + 1;
}

/* Returns the start of t along dim d of the root, which no view gathers. */
static OrderSum
start_of(Order *w, const OrderState *s, const OrderTouch *t, int d)
{
	OrderSum at = sum_const(0);
	int64_t step = 1;
	int r = d;

	for (int i = -1; t->view && i < t->ninner && r >= 0; i++) {
		const Op *v = i < 0 ? t->view : t->inner[i];

		at = sum_add(w, at, order_value(w, s, view_start(v, r)), step);
		step *= view_step(v, r);
		r = view_result_dim(v, r);
	}
	return at;
}

static bool
has_indices(const OrderTouch *t, int d)
{
	int r = d;

	for (int i = -1; t->view && i < t->ninner && r >= 0; i++) {
		const Op *v = i < 0 ? t->view : t->inner[i];

		if (view_gathers(v, r))
			return true;
		r = view_result_dim(v, r);
	}
	return false;
}

/* Returns the part of the root's first dim that v covers; *d: the corresponding dim of v, -1: none. */
static Stages
stages_of(Order *w, const OrderState *s, const Val *v, const Val *root, int *d)
{
	const Op *o = v->def;
	Stages is = { .known = true, .at = sum_const(0), .n = root->type.shape[0] };

	*d = 0;
	if (v == root)
		return is;
	is = stages_of(w, s, o->in[0], root, d);
	if (!is.known || *d < 0)
		return is;
	if (o->code != O_view) {
		is.known = *d == 0 && v->type.rank > 0 && v->type.shape[0] == op_source(o)->type.shape[0];
		return is;
	}
	is.known = !view_gathers(o, *d) && view_step(o, *d) == 1;
	if (is.known)
		is.at = sum_add(w, is.at, order_value(w, s, view_start(o, *d)), 1);
	*d = view_result_dim(o, *d);
	is.n = *d < 0 ? 1 : v->type.shape[*d];
	return is;
}

void
order_begin(Order *w)
{
	const OrderTouch *t = &w->from;
	const OrderState none = { .bounds = NULL };
	int first;

	w->stages.known = false;
	if (t->root && t->root->type.rank > 0)
		w->stages = stages_of(w, &none, t->mem, t->root, &first);
	w->vague = false;
	for (int d = 0; t->root && d < t->root->type.rank; d++)
		w->start[d] = has_indices(t, d) ? sum_const(0) : start_of(w, &none, t, d);
	w->start_vague = w->vague;
}

/* Does the update write back bits of a word that belong to adjacent elements? Updates of 8 bits do. */
static bool
takes_neighbours(const OrderTouch *t)
{
	return t->update && dtype_info[store_value(t->op)->type.dtype].bits < 16;
}

/* Is t, which starts at `at` along dim d of its root, a part of a tensor that is entirely out of bounds? Such
 * elements are never accessed. */
static bool
is_outside(Order *w, const OrderTouch *t, const OrderSum *at, int d)
{
	int64_t lo, hi, size = t->root->type.shape[d], n = span(t, d);

	if (!order_is_tensor(t) || has_indices(t, d) || n < 0)
		return false;
	sum_range(w, at, &lo, &hi);
	return hi <= -n || (size >= 0 && lo >= size);
}

/* Computes the distance of t from the start of the walk, by dim; *apart: too large in one of them to
 * overlap. Returns false if it is unknown in a dim. */
static bool
distances(Order *w, const OrderState *s, const OrderTouch *t, int64_t *by, bool *apart)
{
	const OrderTouch *from = &w->from;
	bool known = true;

	*apart = false;
	for (int d = 0; d < from->root->type.rank; d++) {
		int64_t lo, hi, x = span(from, d), y = span(t, d), step;
		Fact f, g;
		OrderSum gap, at = has_indices(t, d) ? sum_const(0) : start_of(w, s, t, d);

		by[d] = 0;
		*apart = *apart || is_outside(w, from, &w->start[d], d) || is_outside(w, t, &at, d);
		if (has_indices(from, d) || has_indices(t, d)) {
			known = known && from->op == t->op && !t->ninner &&
			        order_same(w, s, view_start(t->view, d), SAME_DEPTH);
			continue;
		}
		gap = sum_add(w, at, w->start[d], -1);
		sum_range(w, &gap, &lo, &hi);
		*apart = *apart || sum_apart(w, &gap, x, y);
		if (from->view && t->view && !from->ninner && !t->ninner && !*apart) {
			f = val_fact(w->k, view_start(from->view, d));
			g = val_fact(w->k, view_start(t->view, d));
			*apart = (x >= 0 && g.lo > INT64_MIN && f.hi < INT64_MAX && g.lo - f.hi >= x) ||
			         (y >= 0 && f.lo > INT64_MIN && g.hi < INT64_MAX && f.lo - g.hi >= y);
		}
		known = known && lo == hi;
		/* stages with unknown indices: in a part of a loop that starts with any of them */
		w->vague = w->vague || (lo != hi && x == 1 && y == 1 && from->root->type.space == S_shared);
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

/* Returns the register tile that o moves, or the tile that lanes copy; NULL if neither. */
static const Val *
moved(const Op *o)
{
	switch (o->code) {
	case O_load: return o->out[0];
	case O_store: return store_value(o);
	case O_copy: return op_access(o)->map ? copy_dest(o) : NULL;
	default: return NULL;
	}
}

/* Returns the ownership table of v in o; NULL if it is unknown. */
static const Ownership *
movers(Order *w, const Op *o, const Val *v)
{
	w->prove.op = o;
	w->prove.threads = op_warps(o) * WARP_SIZE;
	if (o->code == O_copy)
		return held_spell(&w->prove, op_access(o)->map, &v->type, false);
	return v->type.layout ? held_of(&w->prove, v) : NULL;
}

static int16_t *
owners_of(Order *w, const OrderTouch *t)
{
	const Op *o = t->op;
	const Val *v = moved(o);
	const Instr *in = o->lowering && o->lowering->kind == LW_access ? instr_of(o->lowering) : NULL;
	int64_t n = v ? type_size(&v->type) : 0;
	const Ownership *h;
	int16_t *who;

	if (!v || (op_access(o)->map && o->code != O_copy) || n > ELEMENTS_MOST || instr_is_box(in) ||
	    (in && (in->kind == IK_ldmatrix || in->kind == IK_stmatrix)))
		return NULL;
	who = NEWN(w->k->unit->arena, int16_t, n);
	if (v->type.space == S_scalar) {
		who[0] = o->code == O_load ? MANY : 0;
		return who;
	}
	h = movers(w, o, v);
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
owners(Order *w, const OrderTouch *t)
{
	int16_t **slot = &w->owner[t->op->code == O_store && t->mem != store_dest(t->op)][t->op->id];

	if (!*slot && !(t->op->code == O_store && t->view && view_gather_dim(t->view) >= 0 && t->update))
		*slot = owners_of(w, t);
	return *slot;
}

/* Returns the element of t's tile at c[] of the root, relative to t's start; -1 if there is none. */
static int64_t
element_at(const OrderTouch *t, const int64_t *c)
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

/* Do both access the same elements, each once? by: the distance of their starts. */
static bool
same_part(const OrderTouch *from, const OrderTouch *t, const int64_t *by)
{
	for (int d = 0; d < from->root->type.rank; d++)
		if (by[d] != 0 || span(from, d) != span(t, d))
			return false;
	return true;
}

/* Does t write elements narrower than a byte in vectors of full bytes? Then the byte of each of its elements
 * is written by the element's thread. */
static bool
writes_bytes(const OrderTouch *t)
{
	int vec = t->write && !t->update ? op_access(t->op)->vec : 0;

	return vec > 0 && vec * dtype_info[t->root->type.dtype].bits % 8 == 0;
}

/* Is some common element, or a byte of it, accessed by different threads? */
static bool
other_threads(Order *w, const OrderTouch *t, const int64_t *by)
{
	const OrderTouch *from = &w->from;
	const int16_t *x, *y;
	const Type *has = from->view ? &from->view->out[0]->type : &from->root->type;
	int64_t n = type_size(has);
	bool still = true;

	for (int d = 0; d < from->root->type.rank; d++)
		still = still && by[d] == 0;
	if (from->op == t->op && from->mem == t->mem && still && t->plain)
		return false; /* the same access again, element by element */
	x = owners(w, from);
	y = owners(w, t);
	if (!x || !y || !from->plain || !t->plain || n > ELEMENTS_MOST)
		return true;
	if (dtype_info[from->root->type.dtype].bits < 8 &&
	    (!same_part(from, t, by) || (!writes_bytes(from) && !writes_bytes(t))))
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

/* Do both access the same elements in the same order? They do if they are views with equal starts and the
 * same index tiles, which select an element once (warning `lost`). */
static bool
same_elements(Order *w, const OrderState *s, const OrderTouch *t)
{
	const Op *x = w->from.view, *y = t->view;

	if (!x || !y || !w->from.plain || !t->plain || view_gather_dim(y) < 0 || x->nin != y->nin ||
	    !type_same(&w->from.mem->type, &t->mem->type))
		return false;
	for (int i = 0; i < x->nin; i++)
		if (x->in[i] != y->in[i] || (i > 0 && !order_same(w, s, y->in[i], SAME_DEPTH)))
			return false;
	for (int d = 0; d < w->from.root->type.rank; d++)
		if (view_step(x, d) != view_step(y, d) || view_result_dim(x, d) != view_result_dim(y, d))
			return false;
	return true;
}

/* Does some element belong to different threads in the two? */
static bool
handed_over(Order *w, const OrderTouch *t)
{
	const int16_t *x = owners(w, &w->from), *y = owners(w, t);

	if (!x || !y)
		return true;
	for (int64_t e = 0; e < type_size(&t->mem->type); e++)
		if (x[e] != y[e] || x[e] == MANY)
			return true;
	return false;
}

/* Does t cover all elements of its n stages? */
static bool
is_whole(const OrderTouch *t, int64_t n)
{
	const Type *root = &t->root->type;

	return type_size(&t->mem->type) == type_size(root) / root->shape[0] * n;
}

/* Do accesses under different shapes of the tile overlap? This is known if one covers the whole tile, or
 * full stages. */
static bool
aliases_meet(Order *w, const OrderState *s, const OrderTouch *t)
{
	int64_t all = t->root->type.shape[0], lo, hi;
	Stages is;
	OrderSum gap;
	int d;

	if (is_whole(&w->from, all) || is_whole(t, all))
		return true;
	is = stages_of(w, s, t->mem, t->root, &d);
	if (!is.known || !w->stages.known) {
		order_unjudged(w, GAP_shapes);
		return false;
	}
	gap = sum_add(w, is.at, w->stages.at, -1);
	sum_range(w, &gap, &lo, &hi);
	if (lo >= w->stages.n || hi <= -is.n)
		return false;
	if (lo == hi && (is_whole(&w->from, w->stages.n) || is_whole(t, is.n)))
		return true;
	order_unjudged(w, lo == hi ? GAP_shapes : GAP_ring);
	return false;
}

/* Is t a tile that a bulk copy stores to a tensor? Only the program may know that such tiles are disjoint. */
static bool
is_bulk_store(const OrderTouch *t)
{
	return t->bulk && t->root->type.space == S_global;
}

bool
order_meets(Order *w, const OrderState *s, const OrderTouch *t, bool lanes)
{
	const OrderTouch *from = &w->from;
	int64_t by[DIM_MAX];
	bool apart, known;

	if (!from->root || from->root != t->root)
		return from->first < t->end && t->first < from->end;
	if (takes_neighbours(from) || takes_neighbours(t))
		return true;
	if (from->mem && t->mem && (val_is_alias(view_base(from->mem)) || val_is_alias(view_base(t->mem))))
		return aliases_meet(w, s, t);
	if (w->from.op != t->op && same_elements(w, s, t))
		return !lanes || handed_over(w, t);
	w->vague = w->start_vague;
	known = distances(w, s, t, by, &apart);
	if (apart)
		return false;
	if (!known && (is_bulk_store(from) || is_bulk_store(t) || w->blind || w->vague)) {
		order_unjudged(w, is_bulk_store(from) || is_bulk_store(t) ? GAP_bulk : GAP_ring);
		return false;
	}
	if (!known)
		return true;
	return !lanes || other_threads(w, t, by);
}
