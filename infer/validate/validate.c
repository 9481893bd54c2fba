/* validate.c - pass_validate: translation validation of inference.
 *
 * requires   the result of pass_infer: a layout on every register and shared tile, a lowering on every op
 *            that moves or combines data
 * preserves  everything; reports a violation as an internal error with the op, thread, register and
 *            elements */
#include "infer/validate/validate.h"
#include "hexc/analysis/analysis.h"
#include <stdio.h>
#include <string.h>

void
prove_violation(Kernel *k, bool *ok, const Op *o, const char *what)
{
	if (*ok)
		diag_class_error(k->unit->diag, DC_INTERNAL, o->src, "internal: %s: %s",
		                 op_info[o->code].name, what);
	*ok = false;
}

bool
prove_error(Prove *p, int thread, int64_t reg, const char *fmt, ...)
{
	va_list ap;
	char text[512];

	if (!p->ok)
		return false;
	p->ok = false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (thread >= 0)
		diag_class_error(p->k->unit->diag, DC_INTERNAL, p->op->src,
		          "internal: %s, lane %d of warp %d, register %lld: %s", op_info[p->op->code].name,
		                 thread % WARP_SIZE, thread / WARP_SIZE, (long long)reg, text);
	else
		diag_class_error(p->k->unit->diag, DC_INTERNAL, p->op->src, "internal: %s: %s",
		                 op_info[p->op->code].name, text);
	return false;
}

int64_t
index_elem(const Type *t, const int64_t *c)
{
	return row_major_index(t->rank, t->shape, c);
}

const char *
elem_text(Prove *p, const Type *t, int64_t elem)
{
	Text s = { .arena = p->arena };
	int64_t c[DIM_MAX] = { 0 };

	if (elem < 0)
		return "nothing";
	type_coord(t, elem, c);
	for (int d = 0; d < t->rank; d++)
		text_printf(&s, "%s%lld", d ? "," : "(", (long long)c[d]);
	text_printf(&s, "%s", t->rank ? ")" : "()");
	return s.s;
}

int64_t
reg_of(const Ownership *h, int64_t elem)
{
	for (int64_t r = 0; r < h->regs; r++)
		if (h->elem[r] == elem)
			return r;
	return -1;
}

/* Computes, per axis, the sum of mode index * stride, fastest mode first within each dim, as tables
 * out[d][index]. dim_of[d] is the dim of l that dim d corresponds to; NULL: d. */
static void
spell_dims(Prove *p, const Layout *l, const Type *t, const int *dim_of, Coord *out[])
{
	for (int d = 0; d < t->rank; d++) {
		out[d] = NEWN(p->arena, Coord, t->shape[d]);
		for (Digit g = dim_digits(l, dim_of ? dim_of[d] : d); g.it; digit_next(&g))
			for (int64_t i = 0; i < t->shape[d]; i++)
				out[d][i].at[g.it->axis] += i / g.weight % g.it->extent * g.it->stride;
	}
}

/* Advances c to the next element in row-major order. */
static void
next_coord(const Type *t, int64_t *c)
{
	for (int d = t->rank - 1; d >= 0 && ++c[d] == t->shape[d]; d--)
		c[d] = 0;
}

static int64_t
swizzled(const Layout *l, int64_t x)
{
	int64_t from = x >> (l->swizzle.base + l->swizzle.shift);

	if (l->swizzle.bits == 0)
		return x;
	return x ^ (from & (((int64_t)1 << l->swizzle.bits) - 1)) << l->swizzle.base;
}

int64_t
mem_offset(const Layout *l, const int64_t *c)
{
	int64_t at = l->offset[AX_mem];

	for (Digit g = layout_digits(l); g.it; digit_next(&g))
		if (g.it->axis == AX_mem)
			at += c[g.dim] / g.weight % g.it->extent * g.it->stride;
	return swizzled(l, at);
}

int64_t *
mem_offsets(Prove *p, const Layout *l, const Type *t, const int *dim_of)
{
	int64_t n = type_size(t), *out = arena_alloc(p->arena, sizeof *out * (size_t)n);
	int64_t c[DIM_MAX] = { 0 };
	Coord *of[DIM_MAX];

	spell_dims(p, l, t, dim_of, of);
	for (int64_t e = 0; e < n; e++, next_coord(t, c)) {
		out[e] = l->offset[AX_mem];
		for (int d = 0; d < t->rank; d++)
			out[e] += of[d][c[d]].at[AX_mem];
		out[e] = swizzled(l, out[e]);
	}
	return out;
}

static bool
extents_match(const Layout *l, const Type *t)
{
	if (l->ndim != t->rank)
		return false;
	for (int d = 0; d < t->rank; d++)
		if (layout_extent(l, d) != t->shape[d])
			return false;
	return true;
}

/* Places element e at this lane, warp and register. */
static bool
place_one(Prove *p, const Type *t, Ownership *h, int64_t e, const Coord *at)
{
	int64_t lane = at->at[AX_lane], warp = at->at[AX_warp], reg = at->at[AX_reg], *slot;

	if (lane < 0 || lane >= WARP_SIZE || warp < 0 || warp * WARP_SIZE >= p->threads || reg < 0 ||
	    reg >= h->regs)
		return prove_error(p, -1, 0, "element %s is at lane %lld of warp %lld, register %lld, "
		                             "which is out of range",
		                   elem_text(p, t, e), (long long)lane, (long long)warp, (long long)reg);
	slot = &h->elem[(warp * WARP_SIZE + lane) * h->regs + reg];
	if (*slot >= 0)
		return prove_error(p, (int)(warp * WARP_SIZE + lane), reg, "both %s and %s are here",
		                   elem_text(p, t, *slot), elem_text(p, t, e));
	*slot = e;
	return true;
}

Ownership *
held_spell(Prove *p, const Layout *l, const Type *t, bool full)
{
	Ownership *h = NEW(p->arena, Ownership);
	int64_t n = type_size(t), replicas, c[DIM_MAX] = { 0 };
	Coord *of[DIM_MAX], *replica;

	if (!l) {
		prove_error(p, -1, 0, "%s has no layout", type_print(p->arena, t));
		return NULL;
	}
	if (!extents_match(l, t)) {
		prove_error(p, -1, 0, "layout %s is not one of %s", layout_print(p->arena, l),
		            type_print(p->arena, t));
		return NULL;
	}
	replicas = layout_replicas(l);
	h->regs = layout_cosize(l, AX_reg);
	h->elem = NEWN(p->arena, int64_t, (size_t)p->threads * (size_t)h->regs);
	h->acts = NEWN(p->arena, bool, p->threads);
	memset(h->elem, -1, sizeof *h->elem * (size_t)p->threads * (size_t)h->regs);
	spell_dims(p, l, t, NULL, of);
	replica = NEWN(p->arena, Coord, replicas);
	for (int64_t i = 0; i < replicas; i++)
		layout_replica(l, i, &replica[i]);
	for (int64_t e = 0; e < n; e++, next_coord(t, c))
		for (int64_t i = 0; i < replicas; i++) {
			Coord at = replica[i];

			for (int d = 0; d < t->rank; d++)
				for (Axis a = 0; a < AX_COUNT; a++)
					at.at[a] += of[d][c[d]].at[a];
			if (!place_one(p, t, h, e, &at))
				return NULL;
		}
	for (int i = 0; i < p->threads; i++) {
		h->acts[i] = layout_first_replica(l, i % WARP_SIZE, i / WARP_SIZE);
		for (int64_t r = 0; full && r < h->regs; r++)
			if (h->elem[i * h->regs + r] < 0) {
				prove_error(p, i, r, "no element is here");
				return NULL;
			}
	}
	return h;
}

/* Returns the ownership table of an identical layout on a type of the same shape; NULL if there is none. */
static const Ownership *
held_find(const Prove *p, const Type *t)
{
	const Ownership *h = p->spelled;

	while (h && (h->threads != p->threads || h->type->rank != t->rank ||
	             memcmp(h->type->shape, t->shape, sizeof *t->shape * (size_t)t->rank) != 0 ||
	             memcmp(h->layout, t->layout, sizeof *t->layout) != 0))
		h = h->next;
	return h;
}

const Ownership *
held_of(Prove *p, const Val *v)
{
	const Type *t = &v->type;
	const Ownership *found = p->held[v->id];
	Ownership *h;

	if (!found && t->layout)
		found = held_find(p, t);
	if (!found && (h = held_spell(p, t->layout, t, true)) != NULL) {
		h->layout = t->layout;
		h->type = t;
		h->threads = p->threads;
		h->next = p->spelled;
		p->spelled = found = h;
	}
	return p->held[v->id] = found;
}

static bool
is_reg(const Val *v)
{
	return v->type.space == S_reg;
}

/* Validates that two values of one shape have equal layouts. */
static void
same(Prove *p, const Val *x, const Val *y)
{
	const Ownership *a, *b;

	if (!is_reg(x) || !is_reg(y))
		return;
	a = held_of(p, x);
	b = held_of(p, y);
	if (!a || !b || a == b)
		return;
	if (a->regs != b->regs) {
		prove_error(p, -1, 0, "operands of %lld and %lld registers", (long long)a->regs,
		            (long long)b->regs);
		return;
	}
	for (int64_t i = 0; i < p->threads * a->regs; i++)
		if (a->elem[i] != b->elem[i]) {
			prove_error(p, (int)(i / a->regs), i % a->regs, "one operand has %s here, the "
			                                                "other has %s",
			            elem_text(p, &x->type, a->elem[i]), elem_text(p, &y->type, b->elem[i]));
			return;
		}
}

/* ---- rules for ops that move no data --------------------------------------------------------- */

void
prove_no_tile(Prove *p, const Op *o)
{
	(void)p;
	(void)o;
}

void
prove_owner(Prove *p, const Op *o)
{
	(void)p;
	(void)o;
}

void
prove_fill(Prove *p, const Op *o)
{
	if (is_reg(o->out[0]))
		held_of(p, o->out[0]);
}

/* Validates that register operands have the layout of the result. */
void
prove_same(Prove *p, const Op *o)
{
	for (int i = 0; i < o->nin; i++)
		same(p, o->in[i], o->out[0]);
}

void
prove_for(Prove *p, const Op *o)
{
	for (int i = 0; i < o->nout; i++) {
		same(p, for_init(o, i), o->out[i]);
		same(p, o->blk[0]->arg[i + 1], o->out[i]);
		same(p, o->blk[0]->last->in[i], o->out[i]);
	}
}

void
prove_if(Prove *p, const Op *o)
{
	for (int i = 0; i < o->nout; i++) {
		same(p, o->blk[0]->last->in[i], o->out[i]);
		same(p, o->blk[1]->last->in[i], o->out[i]);
	}
}

static void (*const prove_rule[O_COUNT])(Prove *, const Op *) = {
#define OP_PROVE(name, rule) [O_##name] = prove_##rule,
#include "hexc/ir/ops.def"
};

bool
pass_validate(Kernel *k)
{
	Prove p = { .k = k, .arena = k->unit->arena, .ok = true };
	OpWalk w;

	facts_keep(k);
	p.nval = k->nval;
	p.held = NEWN(p.arena, const Ownership *, k->nval + 1);
	for (Op *o = walk_first(&w, k->body); o && p.ok; o = walk_next(&w)) {
		p.op = o;
		p.threads = op_warps(o) * WARP_SIZE;
		prove_rule[o->code](&p, o);
	}
	if (p.ok)
		prove_claims(k);
	facts_drop(k);
	return false;
}
