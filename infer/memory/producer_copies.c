/* producer_copies.c - estimates the registers per thread of producer warps, which do the copies that TMA
 * cannot do and need row indices for them. */
#include "infer/core/cost_constants.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"

/* Is the value of a view's start, of no tile, read from memory, as the number of a page is? */
static bool
is_read(const Val *v, int depth)
{
	const Op *o = v->def;

	if (!o || depth == 0 || is_reg(v))
		return false;
	for (int i = 0; i < o->nin && op_is(o, F_ELT); i++)
		if (is_read(o->in[i], depth - 1))
			return true;
	return o->code == O_load;
}

/* Returns the registers of the address where a copy that lanes do begins, if it is read from memory: each
 * copy of an iteration has its own, and ptxas reads them together, before the first copy. */
static int64_t
address_registers(const Solve *s, const Op *o)
{
	enum { DEPTH = 4 };
	const Op *view = copy_source(o)->def;

	for (int i = IN_view_start; view && i < view->nin && box_refusal(s, o); i++)
		if (is_read(view->in[i], DEPTH))
			return ADDRESS_REGISTERS;
	return 0;
}

/* Returns the registers per thread of a copy that producers do lane by lane: the start of each row; and data
 * and address of each access that is loaded and then stored, for a few more accesses than are in flight. */
static int64_t
copy_registers(Solve *s, const Op *o)
{
	const Op *view = copy_source(o)->def;
	int64_t rows = 0, vec;
	InstrKind kind;
	Layout map;

	if (!box_refusal(s, o) || !copy_map(s, o, &map, &vec, &kind))
		return 0;
	for (int i = 1; view && i < view->nin; i++)
		if (is_reg(view->in[i]))
			rows = max64(rows, layout_cosize(s->sol->val[view->in[i]->id], AX_reg));
	if (vec * bits_of(copy_source(o)) < 32) /* cp.async moves at least 32 bits */
		rows += min64(ceil_div(layout_cosize(&map, AX_reg), vec), COPIES_AHEAD + 2);
	return ROW_REGISTERS * rows;
}

/* Returns the registers of indices that a copy's view needs in another layout than another copy determined: a
 * separate tile, values computed from it, and the lanes' exchange. */
static int64_t
changed_registers(const Solve *s, const Op *o)
{
	const Op *view = copy_source(o)->def;
	int64_t sum = 0;

	for (int i = 1; view && i < view->nin; i++) {
		const Val *v = view->in[i];
		const Layout *read = is_reg(v) ? operand_layout(s, view, i) : NULL;

		if (read && !layout_equal(read, s->sol->val[v->id]))
			sum += 2 * layout_words(read, dtype_slot_bits(v->type.dtype)) + ROW_REGISTERS;
	}
	return sum;
}

bool
registers_of_producers(Solve *s)
{
	const Op *roles = kernel_roles(s->k);
	int64_t need = FETCH_REGISTERS, copies = 0, changed = 0, starts = 0;

	if (!roles)
		return true;
	s->sol->producer = (int)IMM(roles, producer);
	if (!schedule_has_roles(s->k->schedule))
		return true;
	for (int i = 0; i < s->norder; i++) {
		if (s->order[i]->code != O_copy || op_role(s->order[i]) != ROLE_PRODUCER)
			continue;
		copies = max64(copies, copy_registers(s, s->order[i]));
		changed += changed_registers(s, s->order[i]);
		starts += address_registers(s, s->order[i]);
	}
	need = align_up(need + copies + changed + 2 * live_registers(s, roles->blk[0]), 8);
	if (starts) /* the usual number suffices for lanes' copies from addresses that are computed */
		need = align_up(max64(need, s->sol->producer) + starts, 8);
	need = min64(need, LANE_REGISTERS / 8 * 8);
	s->sol->producer = (int)max64(need, PRODUCER_LEAST);
	return true;
}
