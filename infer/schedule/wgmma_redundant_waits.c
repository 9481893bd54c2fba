/* wgmma_redundant_waits.c - pass wgmma_waits: removes wgmma waits that cannot block.
 *
 * Computes the maximum number of groups in flight over all paths; a wait that permits at least that many is
 * redundant. */
#include "infer/schedule/wgmma_waits.h"

enum { MANY = 64 }; /* unknown */

static int scan_pending_groups(Block *b, int most, bool drop);

static int
larger(int a, int b)
{
	return a > b ? a : b;
}

/* Returns the maximum after a loop that is entered with `most` groups in flight: iterated to a fixed
 * point. */
static int
walk_turns(Op *loop, int most, bool drop)
{
	for (int before = -1; before != most;) {
		before = most;
		most = larger(most, scan_pending_groups(loop->blk[0], most, false));
	}
	return drop ? larger(most, scan_pending_groups(loop->blk[0], most, true)) : most;
}

static int
scan_pending_groups(Block *b, int most, bool drop)
{
	for (Op *o = b->first, *next; o; o = next) {
		next = o->next;
		if (o->code == O_for)
			most = walk_turns(o, most, drop);
		else if (o->code == O_if)
			most = larger(scan_pending_groups(o->blk[0], most, drop),
				      scan_pending_groups(o->blk[1], most, drop));
		else if (o->code == O_wgmma_commit)
			most += most < MANY;
		else if (o->code == O_wgmma_wait && most > IMM(o, pending))
			most = (int)IMM(o, pending);
		else if (o->code == O_wgmma_wait && drop)
			op_unlink(o);
	}
	return most;
}

void
drop_empty_waits(Block *b)
{
	scan_pending_groups(b, 0, true);
}
