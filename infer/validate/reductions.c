/* reductions.c - validates reductions: every term of a result is added once, in every thread that has the
 * result.
 *
 * A thread reduces its own registers, then the lanes of its warp that differ in modes of the reduced dim
 * only. Partial results of several warps go through a staging tile: one lane of each warp writes, all
 * threads that need a result read. */
#include "infer/validate/validate.h"
#include <string.h>

static bool
digits_agree(const Iter *it, int x, int y)
{
	if ((it->axis != AX_lane && it->axis != AX_warp) || it->stride == 0)
		return true;
	x = it->axis == AX_warp ? x / WARP_SIZE : x % WARP_SIZE;
	y = it->axis == AX_warp ? y / WARP_SIZE : y % WARP_SIZE;
	return x / it->stride % it->extent == y / it->stride % it->extent;
}

/* Do threads x and y differ in modes of dim d only? */
static bool
differ_only_in_dim(const Layout *l, int d, int x, int y)
{
	for (Digit g = layout_digits(l); g.it; digit_next(&g))
		if (g.dim != d && !digits_agree(g.it, x, y))
			return false;
	for (int i = 0; i < l->nrep; i++)
		if (!digits_agree(&l->rep[i], x, y))
			return false;
	return true;
}

/* Counts in seen[term] the terms of result `want` that the warp of thread th combines in register reg of
 * the result. */
static void
warp_terms(const Op *o, const Ownership *to, const Ownership *from, int th, int64_t reg,
           uint8_t *seen)
{
	const Type *t = &op_source(o)->type, *rt = &o->out[0]->type;
	int d = (int)IMM(o, dim), first = th / WARP_SIZE * WARP_SIZE;
	int64_t want = to->elem[th * to->regs + reg];

	for (int x = first; x < first + WARP_SIZE; x++) {
		if (to->elem[x * to->regs + reg] != want ||
		    !differ_only_in_dim(op_source(o)->type.layout, d, x, th))
			continue;
		for (int64_t q = 0; q < from->regs; q++) {
			int64_t c[DIM_MAX] = { 0 }, i;

			type_coord(t, from->elem[x * from->regs + q], c);
			i = c[d];
			c[d] = 0;
			if (index_elem(rt, c) == want && seen[i] < 255)
				seen[i]++;
		}
	}
}

static bool
all_once(Prove *p, const Op *o, int th, int64_t reg, int64_t want, const uint8_t *seen)
{
	for (int64_t i = 0; i < op_source(o)->type.shape[IMM(o, dim)]; i++)
		if (seen[i] != 1)
			return prove_error(p, th, reg, "term %lld of result %s is included %d times; "
			                               "expected once", (long long)i,
			                   elem_text(p, &o->out[0]->type, want), seen[i]);
	return true;
}

/* Returns the result that element `part` of the staging tile is a partial result of. */
static int64_t
result_of(const Type *parts, const Type *rt, int d, int64_t part)
{
	int64_t c[DIM_MAX] = { 0 };

	type_coord(parts, part, c);
	c[d] = 0;
	return index_elem(rt, c);
}

/* Returns the result's register that register q of a map of partial results belongs to, the same in all
 * threads (codegen uses the first thread's); -1 after a report. */
static int64_t
part_register(Prove *p, const Op *o, const Type *parts, const Ownership *map, const Ownership *to, int64_t q,
              bool write)
{
	const Type *rt = &o->out[0]->type;
	int d = (int)IMM(o, dim);
	int64_t reg = map->elem[q] < 0 ? -1 : reg_of(to, result_of(parts, rt, d, map->elem[q]));

	if (reg < 0) {
		prove_error(p, 0, q, "no result here belongs to the partial sum");
		return -1;
	}
	for (int t = 0; t < p->threads; t++) {
		int64_t e = map->elem[t * map->regs + q];

		if (write && !map->acts[t])
			continue;
		if (e < 0 || result_of(parts, rt, d, e) != to->elem[t * to->regs + reg]) {
			prove_error(p, t, q, "%s partial sum %s, but its register belongs to result %s",
			            write ? "writes" : "reads", elem_text(p, parts, e),
			            elem_text(p, rt, to->elem[t * to->regs + reg]));
			return -1;
		}
	}
	return reg;
}

/* Validates the partial results of several warps: each is written once, together they contain all terms,
 * and each thread that has a result reads all of them. */
static void
prove_parts(Prove *p, const Op *o, const Ownership *to, const Ownership *from)
{
	const Type *t = &op_source(o)->type, *rt = &o->out[0]->type;
	Type parts = *rt;
	int d = (int)IMM(o, dim);
	const Staging *tile = &o->lowering->staged;
	const Ownership *w, *r;
	uint8_t *seen = NEWN(p->arena, uint8_t, type_size(rt) * t->shape[d]);
	int64_t *read = NEWN(p->arena, int64_t, to->regs);

	parts.dtype = dtype_info[rt->dtype].bits == 64 ? D_i64 : D_i32;
	parts.shape[d] = layout_extent_on(op_source(o)->type.layout, d, AX_warp);
	if (!tile->write.map || !tile->read.map || tile->write.inst || tile->read.inst) {
		prove_error(p, -1, 0, "no mapping for the writes and reads of the partial sums");
		return;
	}
	w = held_spell(p, tile->write.map, &parts, false);
	r = held_spell(p, tile->read.map, &parts, false);
	if (!w || !r || !prove_staging(p, &parts, tile, w, r))
		return;
	for (int64_t q = 0; q < w->regs; q++) {
		int64_t reg = part_register(p, o, &parts, w, to, q, true);

		if (reg < 0)
			return;
		for (int th = 0; th < p->threads; th++)
			if (w->acts[th])
				warp_terms(o, to, from, th, reg,
				           seen + to->elem[th * to->regs + reg] * t->shape[d]);
	}
	for (int64_t e = 0; e < type_size(rt); e++)
		if (!all_once(p, o, -1, 0, e, seen + e * t->shape[d]))
			return;
	for (int64_t q = 0; q < r->regs; q++) {
		int64_t reg = part_register(p, o, &parts, r, to, q, false);

		if (reg < 0)
			return;
		read[reg]++;
	}
	for (int64_t q = 0; q < to->regs; q++) /* distinct ones, since the map is injective */
		if (read[q] != parts.shape[d]) {
			prove_error(p, 0, q, "%lld of %lld partial sums are read", (long long)read[q],
			            (long long)parts.shape[d]);
			return;
		}
}

void
prove_reduce(Prove *p, const Op *o)
{
	const Ownership *to = held_of(p, o->out[0]), *from = held_of(p, op_source(o));
	uint8_t *seen = NEWN(p->arena, uint8_t, op_source(o)->type.shape[IMM(o, dim)]);

	if (!to || !from)
		return;
	if (!o->lowering ||
	    (o->lowering->kind != LW_reduce_shuffle && o->lowering->kind != LW_reduce_shared)) {
		prove_error(p, -1, 0, "no lowering was chosen");
		return;
	}
	if (o->lowering->kind == LW_reduce_shared) {
		prove_parts(p, o, to, from);
		return;
	}
	for (int th = 0; th < p->threads; th++)
		for (int64_t r = 0; r < to->regs; r++) {
			memset(seen, 0, (size_t)op_source(o)->type.shape[IMM(o, dim)]);
			warp_terms(o, to, from, th, r, seen);
			if (!all_once(p, o, th, r, to->elem[th * to->regs + r], seen))
				return;
		}
}
