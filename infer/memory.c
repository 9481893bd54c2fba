/* memory.c - which instruction every load, store and copy uses, given the register layouts. */
#include "infer/solve.h"

static int
bits_of(const Val *v)
{
	return dtype_info[v->type.dtype].bits;
}

Val *
view_dims(Val *v, int *dim_of)
{
	int rank = v->type.rank;

	for (int d = 0; d < rank; d++)
		dim_of[d] = d;
	while (v->def && v->def->code == O_view) {
		const Op *o = v->def;
		int keep[DIM_MAX], n = 0;

		for (int d = 0; d < o->in[0]->type.rank; d++)
			if (!(o->imm[0] >> d & 1))
				keep[n++] = d;
		for (int d = 0; d < rank; d++)
			dim_of[d] = keep[dim_of[d]];
		v = o->in[0];
	}
	return v;
}

static const ViewFact *view_fact(const Solve *s, const Op *view);

/* The view dim along which memory is contiguous, -1 none. */
static int
unit_dim(const Solve *s, Val *mem)
{
	int dim_of[DIM_MAX];
	Val *root;

	if (mem->type.space == S_global)
		return mem->def ? view_fact(s, mem->def)->unit : mem->type.rank - 1;
	root = view_dims(mem, dim_of);
	for (int d = 0; d < mem->type.rank; d++)
		if (dim_of[d] == s->unit[root->id])
			return d;
	return -1;
}

void
memory_order(const Solve *s, Val *view, int *order)
{
	int n = 0, u = unit_dim(s, view);

	if (u >= 0)
		order[n++] = u;
	for (int d = view->type.rank - 1; d >= 0; d--)
		if (d != u)
			order[n++] = d;
}

int64_t
reg_run(const Layout *l, int dim)
{
	int64_t run = 1;

	for (int i = l->first[dim]; i < l->first[dim + 1]; i++) {
		if (l->it[i].axis != AX_reg || l->it[i].stride != run)
			break;
		run *= l->it[i].extent;
	}
	return run & -run;
}

/* The longest vector along the contiguous dim that never straddles the tensor's edge: it starts and the tensor
 * ends at multiples of it. */
static int64_t
edge_vec(const Solve *s, const Op *view, int dim, int64_t cap)
{
	int dim_of[DIM_MAX];
	Val *root = view_dims(view->out[0], dim_of);
	const Param *p = val_param(s->k, root);
	int rd = dim_of[dim];
	int64_t size, start;

	if (view_in_bounds(s->k, view, dim))
		return cap;
	if (!p || view->in[0] != root)
		return 1;
	size = val_fact_at(s->k, view, p->size[rd]).mult;
	start = val_fact_at(s->k, view, view->in[1 + rd]).mult;
	while (cap > 1 && (size % cap || start % cap))
		cap /= 2;
	return cap;
}

/* What the facts say of a view of global memory, asked once. */
static const ViewFact *
view_fact(const Solve *s, const Op *view)
{
	ViewFact *f = &s->view[view->out[0]->id];
	int64_t cap = 128 / bits_of(view->out[0]);

	if (f->known)
		return f;
	f->known = true;
	f->unit = view_unit_dim(s->k, view);
	f->vec = 1;
	if (f->unit >= 0) {
		f->vec = view_align(s->k, view, cap);
		cap = edge_vec(s, view, f->unit, cap);
		if (f->vec > cap)
			f->vec = cap;
	}
	return f;
}

int64_t
global_vec(const Solve *s, const Op *view, int dim, int64_t run)
{
	int64_t vec = run & -run;
	const ViewFact *f = view ? view_fact(s, view) : NULL;

	if (!f || f->unit != dim)
		return 1;
	return vec < f->vec ? vec : f->vec;
}

/* Elements that a run along the contiguous dim of a shared view may span: what divides the row, and where
 * the view starts in it. */
static int64_t
shared_vec(const Solve *s, Val *mem, int64_t run)
{
	int dim_of[DIM_MAX], u = unit_dim(s, mem);
	Val *root = view_dims(mem, dim_of);
	int64_t cap = 128 / bits_of(mem), vec = run & -run, row;

	if (u < 0)
		return 1;
	row = root->type.shape[s->unit[root->id]];
	if ((row & -row) < cap)
		cap = row & -row;
	for (const Val *v = mem; v->def && v->def->code == O_view; v = v->def->in[0]) {
		int d = s->unit[root->id]; /* chains keep the contiguous dim's number only when nothing
		                              before it is dropped: look it up per link */
		int link[DIM_MAX], inner = -1;
		view_dims(v->def->in[0], link);
		for (int i = 0; i < v->def->in[0]->type.rank; i++)
			if (link[i] == d)
				inner = i;
		if (inner >= 0) {
			int64_t mult = val_fact(s->k, v->def->in[1 + inner]).mult;
			while (mult && mult % cap)
				cap /= 2;
		}
	}
	return vec < cap ? vec : cap;
}

static const Instr *
row(InstrKind kind, int bits, bool trans)
{
	if (bits < 8)
		bits = 8;
	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == kind && i->bits == bits && i->trans == trans)
			return i;
	return NULL;
}

static Pick *
pick_new(Solve *s, const Instr *in, int64_t vec)
{
	Pick *p = NEW(s->arena, Pick);

	p->inst = in ? in->name : NULL;
	p->vec = (int)vec;
	return p;
}

/* ---- ldmatrix ------------------------------------------------------------------------------------- */

/* Where an 8 x 16-byte matrix lies in a fragment layout. */
typedef struct Matrix {
	bool trans;
	int unit, row;     /* tile dims: 16-byte runs, matrix rows */
	int word, lane4, lane8; /* iters: elements of a register, lanes mod 4, lanes div 4; word -1: one element */
} Matrix;

static bool
is_iter(const Iter *it, int64_t extent, Axis axis, int64_t stride)
{
	return it->extent == extent && it->axis == axis && it->stride == stride;
}

/* Digits [word][lane4] at the start of dim d. */
static bool
fragment_run(const Layout *l, int d, int64_t per_word, int *word, int *lane4)
{
	int i = l->first[d];

	*word = -1;
	if (per_word > 1) {
		if (i >= l->first[d + 1] || !is_iter(&l->it[i], per_word, AX_reg, 1))
			return false;
		*word = i++;
	}
	*lane4 = i;
	return i < l->first[d + 1] && is_iter(&l->it[i], 4, AX_lane, 1);
}

static bool
find_matrix(const Layout *l, int unit, int bits, Matrix *m)
{
	if (unit < 0 || bits > 32)
		return false;
	m->unit = unit;
	if (fragment_run(l, unit, 32 / bits, &m->word, &m->lane4)) {
		m->trans = false;
		for (int d = 0; d < l->ndim; d++)
			for (int i = l->first[d]; i < l->first[d + 1]; i++)
				if (d != unit && is_iter(&l->it[i], 8, AX_lane, 4)) {
					m->row = d;
					m->lane8 = i;
					return true;
				}
		return false;
	}
	if (bits != 16 || l->first[unit] == l->first[unit + 1] ||
	    !is_iter(&l->it[l->first[unit]], 8, AX_lane, 4))
		return false;
	m->trans = true;
	m->lane8 = l->first[unit];
	for (int d = 0; d < l->ndim; d++)
		if (d != unit && fragment_run(l, d, 2, &m->word, &m->lane4)) {
			m->row = d;
			return true;
		}
	return false;
}

/* The memory side of a load by ldmatrix: lane 8j + r addresses row r of matrix j; registers count the elements
 * of a row, then instances. */
static bool
matrix_map(const Layout *l, const Matrix *m, int bits, int nmat, Layout *map)
{
	int64_t run = 128 / bits, stride = 8;
	int order[ITER_MAX], n = 0, left = nmat;
	int64_t time[ITER_MAX] = { 0 }, spread[ITER_MAX] = { 0 }, slot[ITER_MAX] = { 0 };
	int64_t next = run;

	for (int i = 0; i < l->n; i++) /* free register digits, in the order of their numbers */
		if (l->it[i].axis == AX_reg && i != m->word) {
			int j = n++;
			for (; j > 0 && l->it[order[j - 1]].stride > l->it[i].stride; j--)
				order[j] = order[j - 1];
			order[j] = i;
		}
	for (int j = 0; j < n; j++) {
		const Iter *it = &l->it[order[j]];
		int64_t take = it->extent % left == 0 ? left : left % it->extent == 0 ? it->extent : 1;
		spread[order[j]] = take;
		slot[order[j]] = stride;
		stride *= take;
		left /= (int)take;
		time[order[j]] = next;
		next *= it->extent / take;
	}
	if (left != 1)
		return false;
	layout_init(map, l->ndim);
	for (int d = 0; d < l->ndim; d++) {
		if (d == m->unit)
			layout_push(map, d, run, 1, AX_reg);
		for (int i = l->first[d]; i < l->first[d + 1]; i++) {
			const Iter *it = &l->it[i];
			if (i == m->word && m->trans)
				layout_push(map, d, it->extent, 1, AX_lane);
			else if (i == m->lane4 && m->trans)
				layout_push(map, d, 4, 2, AX_lane);
			else if (i == m->lane8 && !m->trans)
				layout_push(map, d, 8, 1, AX_lane);
			else if (i == m->word || i == m->lane4 || i == m->lane8)
				continue;
			else if (it->axis == AX_reg) {
				layout_push(map, d, spread[i], slot[i], AX_lane);
				layout_push(map, d, it->extent / spread[i], time[i], AX_reg);
			} else if (!layout_push(map, d, it->extent, it->stride, (Axis)it->axis)) {
				return false;
			}
		}
	}
	for (int i = 0; i < l->nrep; i++)
		layout_push_rep(map, l->rep[i].extent, l->rep[i].stride, (Axis)l->rep[i].axis);
	if (nmat < 4)
		layout_push_rep(map, 4 / nmat, 8 * nmat, AX_lane);
	return true;
}

static Pick *
pick_ldmatrix(Solve *s, const Op *o, const Layout *l)
{
	int bits = bits_of(o->out[0]), unit = unit_dim(s, o->in[0]);
	Matrix m;

	if (!find_matrix(l, unit, bits, &m) || shared_vec(s, o->in[0], 128 / bits) * bits < 128)
		return NULL;
	for (int nmat = 4; nmat >= 1; nmat /= 2) {
		const Instr *in = row(IK_ldmatrix, 32 * nmat, m.trans);
		Layout *map = NEW(s->arena, Layout);
		Pick *p;

		if (!in || !instr_on(in, s->k->unit->target) || !matrix_map(l, &m, bits, nmat, map))
			continue;
		p = pick_new(s, in, 128 / bits);
		p->map = map;
		return p;
	}
	return NULL;
}

/* ---- loads ------------------------------------------------------------------------------------------ */

/* Lanes that share a run of memory each take all of it: the digits of `dim` below `run` move to registers,
 * lanes they came from hold copies.  Turns byte accesses of narrow types into wide ones. */
static bool
widen(Layout *out, const Layout *l, int dim, int64_t run)
{
	int64_t done = 1, regs = run;
	int order[ITER_MAX], n = 0;
	Layout from = *l;

	if (!layout_split(&from, dim, run))
		return false;
	layout_init(out, from.ndim);
	for (int i = 0; i < from.nrep; i++)
		layout_push_rep(out, from.rep[i].extent, from.rep[i].stride, (Axis)from.rep[i].axis);
	for (int i = from.first[dim]; done < run; i++) {
		const Iter *it = &from.it[i];
		if (it->axis == AX_warp ||
		    (it->axis == AX_lane && !layout_push_rep(out, it->extent, it->stride, AX_lane)))
			return false;
		done *= it->extent;
		from.it[i].extent = 1;
	}
	layout_push(out, dim, run, 1, AX_reg);
	for (int i = 0; i < from.n; i++)
		if (from.it[i].axis == AX_reg && from.it[i].extent > 1) {
			int j = n++;
			for (; j > 0 && from.it[order[j - 1]].stride > from.it[i].stride; j--)
				order[j] = order[j - 1];
			order[j] = i;
		}
	for (int j = 0; j < n; j++) {
		from.it[order[j]].stride = regs;
		regs *= from.it[order[j]].extent;
	}
	for (int d = 0; d < from.ndim; d++)
		for (int i = from.first[d]; i < from.first[d + 1]; i++)
			if (!layout_push(out, d, from.it[i].extent, from.it[i].stride,
			                 (Axis)from.it[i].axis))
				return false;
	return true;
}

/* What a lane spends on loading l by accesses of vec: wavefronts, instructions, and half as much for each
 * step of packing what is narrower than a word. */
static double
load_price(const Layout *l, int64_t vec, int bits)
{
	double n = (double)(layout_cosize(l, AX_reg) / vec), bytes = (double)(vec * bits) / 8;
	double pack = bytes < 4 ? n - n * bytes / 4 : 0;

	return n * (bytes > 4 ? bytes / 4 : 1) + 0.25 * n + 0.75 * pack;
}

/* Steps to pick one's own elements out of whole words: every source word is looked at, the first for
 * nothing. */
static double
pick_price(const Layout *from, const Layout *to, int bits)
{
	double have = (double)(layout_cosize(from, AX_reg) * bits) / 32;
	double need = (double)(layout_cosize(to, AX_reg) * bits) / 32;

	return 0.75 * (have - (need < 1 ? 1 : need));
}

static void
load_shared(Solve *s, Op *o)
{
	const Layout *l = s->sol->val[o->out[0]->id];
	int bits = bits_of(o->out[0]), unit = unit_dim(s, o->in[0]);
	int64_t vec = unit < 0 ? 1 : shared_vec(s, o->in[0], reg_run(l, unit));
	Pick *p = pick_ldmatrix(s, o, l);

	if (p) {
		s->sol->pick[o->id] = p;
		return;
	}
	if (s->sol->plan.widen && unit >= 0 && vec * bits < 32) {
		int64_t wide = shared_vec(s, o->in[0], o->out[0]->type.shape[unit]);
		Layout *w = NEW(s->arena, Layout);
		if (wide * bits >= 32 && widen(w, l, unit, wide) &&
		    load_price(w, wide, bits) + pick_price(w, l, bits) < load_price(l, vec, bits)) {
			s->sol->pick[o->id] = pick_new(s, row(IK_ld_shared, (int)wide * bits, false), wide);
			s->sol->loaded[o->id] = w;
			s->sol->lconv[o->id] = conversion(s, &o->out[0]->type, w, l,
			                                    &s->sol->res[o->id]);
			return;
		}
	}
	s->sol->pick[o->id] = pick_new(s, row(IK_ld_shared, (int)vec * bits, false), vec);
}

static void
load_global(Solve *s, Op *o)
{
	const Layout *l = s->sol->val[o->out[0]->id];
	int bits = bits_of(o->out[0]), unit = unit_dim(s, o->in[0]);
	int64_t vec = unit < 0 ? 1 : global_vec(s, o->in[0]->def, unit, reg_run(l, unit));

	s->sol->pick[o->id] = pick_new(s, row(IK_ld_global, (int)vec * bits, false), vec);
}

/* ---- stores and copies ------------------------------------------------------------------------------ */

/* The widest coalesced layout for a store to global memory. */
static bool
store_layout(Solve *s, Op *o, Layout *l)
{
	const Type *t = &o->in[0]->type;
	int order[DIM_MAX];
	int64_t vec;

	memory_order(s, o->in[1], order);
	vec = global_vec(s, o->in[1]->def, order[0], t->shape[order[0]]);
	return coalesced(l, t->rank, t->shape, order, vec, s->k->warps, false);
}

static void
select_store(Solve *s, Op *o)
{
	int bits = bits_of(o->in[0]), unit = unit_dim(s, o->in[1]);
	bool global = o->in[1]->type.space == S_global;
	const Layout *l = operand(s, o, 0);
	int64_t vec;

	if (global && s->sol->plan.store && s->sol->want[o->id][0] == NULL) {
		Layout *w = NEW(s->arena, Layout);
		if (store_layout(s, o, w) && !layout_equal(w, l)) {
			s->sol->want[o->id][0] = w;
			l = w;
		}
	}
	vec = unit < 0 ? 1 : reg_run(l, unit);
	if (unit >= 0)
		vec = global ? global_vec(s, o->in[1]->def, unit, vec) : shared_vec(s, o->in[1], vec);
	if (vec * bits < 8) {
		s->why = arena_printf(s->arena, "a %s element cannot be stored on its own: rows must start at a "
		                                "byte boundary and be spread in whole bytes",
		                      dtype_info[o->in[0]->type.dtype].name);
		s->why_src = o->src;
	}
	s->sol->pick[o->id] =
		pick_new(s, row(global ? IK_st_global : IK_st_shared, (int)vec * bits, false), vec);
}

static bool
select_copy(Solve *s, Op *o)
{
	const Type *t = &o->in[1]->type;
	int bits = bits_of(o->in[1]), order[DIM_MAX], unit = unit_dim(s, o->in[1]);
	Layout *map = NEW(s->arena, Layout);
	int64_t vec = 1;
	const Instr *in = NULL;
	Pick *p;

	memory_order(s, o->in[0], order);
	if (unit == order[0] && t->rank)
		vec = shared_vec(s, o->in[1],
		                 global_vec(s, o->in[0]->def, unit, t->shape[unit]));
	if (vec * bits < 8) {
		s->why = arena_printf(s->arena,
		                      "rows of %s cannot be copied in whole bytes: assume that the last "
		                      "dimension is a multiple of %d",
		                      dtype_info[t->dtype].name, 8 / bits);
		s->why_src = o->src;
		return false;
	}
	if (!coalesced(map, t->rank, t->shape, order, vec, s->k->warps, false))
		return false;
	if (o->imm[0]) {
		in = row(IK_cp_async, (int)vec * bits, false);
		if (in && (in->bits != (int)vec * bits || !instr_on(in, s->k->unit->target)))
			in = NULL;
	}
	if (!in)
		in = row(IK_ld_st, (int)vec * bits, false);
	p = pick_new(s, in, vec);
	p->map = map;
	s->sol->pick[o->id] = p;
	return true;
}

/* ---- shared tiles ------------------------------------------------------------------------------------- */

/* How o touches the tile under its memory operand; false: it does not touch shared memory. */
static bool
access_of(const Solve *s, const Op *o, Access *a)
{
	Val *mem = o->code == O_load ? o->in[0] : o->code == O_store || o->code == O_copy ? o->in[1] : NULL;
	const Pick *p = s->sol->pick[o->id];
	const Instr *in;

	if (!mem || mem->type.space != S_shared || !p)
		return false;
	in = instr_find(p->inst);
	*a = (Access){ .op = o, .rank = mem->type.rank, .vec = p->vec, .bits = bits_of(mem),
	               .lanes = 32, .weight = s->weight[o->id], .write = o->code != O_load };
	view_dims(mem, a->dim_of);
	if (in && in->kind == IK_ldmatrix)
		a->lanes = in->bits / 32 * 8;
	a->map = p->map;
	if (!a->map && o->code == O_load)
		a->map = s->sol->loaded[o->id] ? s->sol->loaded[o->id] : s->sol->val[o->out[0]->id];
	if (!a->map)
		a->map = operand(s, o, 0);
	return true;
}

static void
select_shared(Solve *s, Op *alloc)
{
	Val *tile = alloc->out[0];
	Access *acc = NULL;
	int n = 0, cap = 0;
	Layout *l = NEW(s->arena, Layout);
	double excess;

	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		Val *mem = o->code == O_load ? o->in[0] :
		           o->code == O_store || o->code == O_copy ? o->in[1] : NULL;
		Access a;
		int dim_of[DIM_MAX];

		if (!mem || mem->type.space != S_shared || view_dims(mem, dim_of) != tile ||
		    !access_of(s, o, &a))
			continue;
		VEC_PUSH(s->arena, acc, n, cap, a);
	}
	shared_layout(s, &tile->type, s->unit[tile->id], acc, n, l, &excess);
	s->sol->val[tile->id] = l;
	for (int i = 0; i < n; i++) {
		int64_t waves, least;
		access_waves(s->arena, &acc[i], l, s->k->warps, &waves, &least);
		s->sol->res[acc[i].op->id].smem += (double)waves;
	}
}

bool
select_memory(Solve *s)
{
	s->why = NULL;
	for (int i = 0; i < s->norder && !s->why; i++) {
		Op *o = s->order[i];

		if (o->code == O_load && o->in[0]->type.space == S_shared)
			load_shared(s, o);
		else if (o->code == O_load)
			load_global(s, o);
		else if (o->code == O_store)
			select_store(s, o);
		else if (o->code == O_copy && !select_copy(s, o) && !s->why)
			s->why = "the copy cannot be spread over the threads";
	}
	if (s->why)
		return false;
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_alloc)
			select_shared(s, s->order[i]);
	return true;
}
