/* vector_width.c - computes how many contiguous elements a thread should own of tiles that elementwise ops
 * force to equal layouts.
 *
 * A thread owns the same elements of all these tiles, whatever the element types.  A run of 16 bytes of the
 * narrowest elements is then several accesses of the wider ones.  That is accepted if each access has 16
 * bytes and the run of a thread is at most one 32-byte sector: then one thread accesses the whole sector,
 * with consecutive instructions.  With bytes and f32, 16 bytes of the narrower elements correspond to more
 * than a sector of the wider ones, and requesting each sector twice gains nothing.  There a thread owns 16
 * bytes of the widest elements, unless that is less than 32 bits of the narrowest. */
#include "infer/core/cost_constants.h"
#include "infer/core/contiguity.h"
#include "infer/memory/memory.h"
#include <limits.h>

enum { NO_UNIT = -1, NOT_ASKED = -2 };

static int
tied_to(int *tie, int v)
{
	while (tie[v] != v)
		v = tie[v] = tie[tie[v]];
	return v;
}

static const Op *
loop_around(const Val *v)
{
	const Op *o = v->block->owner;

	while (o && o->code != O_for)
		o = o->parent->owner;
	return o;
}

/* Unifies a and b.  Constants are rematerialized at their uses; values outside of a loop do not influence
 * those inside. */
static void
tie_vals(int *tie, const Val *a, const Val *b)
{
	if (is_reg(a) && is_reg(b) && !(a->def && op_is(a->def, F_FILL)) &&
	    !(b->def && op_is(b->def, F_FILL)) && loop_around(a) == loop_around(b))
		tie[tied_to(tie, (int)a->id)] = tied_to(tie, (int)b->id);
}

static void
tie_op(int *tie, const Op *o)
{
	if (op_is(o, F_ELT) || o->code == O_mask || o->code == O_slice || o->code == O_concat)
		for (int i = 0; i < o->nin; i++)
			tie_vals(tie, o->out[0], o->in[i]);
	for (int i = 0; o->code == O_if && i < o->nout; i++)
		for (int b = 0; b < 2; b++)
			tie_vals(tie, o->out[i], o->blk[b]->last->in[i]);
}

static const Val *
tile_of(const Op *access)
{
	return access->code == O_load ? access->out[0] : store_value(access);
}

static void
ask(const Solve *s, Contiguity *r, const Op *access)
{
	const Val *tile = tile_of(access);
	const Val *mem = access->code == O_load ? load_source(access) : store_dest(access);
	int grain = dtype_grain(tile->type.dtype), unit;
	int64_t vec;

	if (mem->type.space != S_global || !mem->def || tile->type.rank == 0)
		return;
	unit = unit_dim(s, mem->def->out[0]);
	if (unit < 0 || (r->unit != NOT_ASKED && r->unit != unit)) {
		r->unit = NO_UNIT;
		return;
	}
	vec = global_vec(s, mem->def, unit, tile->type.shape[unit]);
	r->unit = unit;
	r->wanted = max64(vec, r->wanted);
	r->once = min64(vec, r->once);
	r->grain = grain < r->grain ? grain : r->grain;
	if (vec * grain >= ACCESS_BITS)
		vec = 8 * SECTOR_BYTES / grain;
	r->most = min64(vec, r->most);
}

void
find_runs(Solve *s)
{
	int n = (int)s->k->nval + 1;
	int *tie = NEWN(s->arena, int, n);
	Contiguity *all = NEWN(s->arena, Contiguity, n);

	s->run = NEWN(s->arena, const Contiguity *, n);
	for (int v = 0; v < n; v++) {
		tie[v] = v;
		all[v] = (Contiguity){
			.unit = NOT_ASKED, .grain = INT_MAX, .once = INT64_MAX, .most = INT64_MAX
		};
	}
	for (int i = 0; i < s->norder; i++)
		tie_op(tie, s->order[i]);
	for (int i = 0; i < s->naccess; i++)
		ask(s, &all[tied_to(tie, (int)tile_of(s->access[i])->id)], s->access[i]);
	for (int v = 0; v < n; v++)
		s->run[v] = &all[tied_to(tie, v)];
}
