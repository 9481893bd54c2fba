/* grid_barrier.c - executes barriers of the whole grid on the tile interpreter, with suspended blocks
 * (block_interleaving.c).
 *
 * The word holds what the kernel's code leaves in it: bit 31 is inverted by each barrier, the others count
 * arrivals and are 0 before and after. The first block adds 2^31 less the number of the others, each of which
 * adds 1. */
#include "hexc/interp/interp_internal.h"
#include <inttypes.h>

#define PHASE ((int64_t)1 << 31)

static bool
read_word(Interp *it, const Op *o, int64_t *word)
{
	const Val *v = grid_barrier_word(o);
	int64_t i = 0;
	InterpValue x = { .n = 1, .i = &i };

	if (!interp_read(it, o, slot_of(it, v)->view, &v->type, &x))
		return false;
	*word = i & (2 * PHASE - 1);
	return true;
}

static bool
write_word(Interp *it, const Op *o, int64_t word)
{
	const Val *v = grid_barrier_word(o);
	int64_t i = num_wrap(v->type.dtype, word);
	InterpValue x = { .n = 1, .i = &i };

	return interp_write(it, o, slot_of(it, v)->view, &v->type, &x, false);
}

static bool
arrive(Interp *it, const Op *o, int64_t word)
{
	int64_t now, next = (word + (it->linear ? 1 : PHASE - (it->launched - 1))) & (2 * PHASE - 1);

	if ((word & (PHASE - 1)) == 0 || it->common->arrived)
		it->common->arrived++;
	else
		return interp_error(it, INTERP_E_FAULT, o,
		                    "the element of a grid barrier is %" PRId64 " before the first arrival; "
				    "set it to 0 before the first launch, and let only barriers write it",
		                    num_wrap(grid_barrier_word(o)->type.dtype, word));
	if (!write_word(it, o, next) || !read_word(it, o, &now))
		return false;
	if (now != next)
		return interp_error(it, INTERP_E_FAULT, o, "the element of a grid barrier is out of bounds");
	if (it->common->arrived == it->launched)
		it->common->arrived = 0;
	it->all.grid_word = word;
	it->all.at_grid_barrier = true;
	return true;
}

bool
eval_grid_barrier(Interp *it, Op *o)
{
	int64_t word;

	if (!it->all.at_grid_barrier)
		race_barrier(it);
	if (!read_word(it, o, &word) || (!it->all.at_grid_barrier && !arrive(it, o, word)) ||
	    !read_word(it, o, &word))
		return false;
	if ((word ^ it->all.grid_word) & PHASE) {
		it->all.at_grid_barrier = false;
		race_barrier(it);
		return true;
	}
	it->loop = it->all.blocked = o;
	it->waiter = &it->all;
	it->all.poll = POLL_STUCK;
	return true;
}

void
grid_barrier_say(const Interp *it, Text *t)
{
	text_printf(t,
	            " waits at the grid barrier in line %u, where %" PRId64 " of %" PRId64
		    " blocks have arrived",
	            it->loop->src.line, it->common->arrived, it->launched);
}
