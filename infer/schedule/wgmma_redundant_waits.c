/* wgmma_redundant_waits.c - waits for products that find nothing to wait for are dropped.
 *
 * Followed is how many groups may be under way at most, along all ways; a wait that lets as many be under
 * way does nothing. */
#include "infer/schedule/wgmma_waits.h"

enum { MANY = 64 }; /* who can say */

static int scan_pending_groups(Block *b, int most, bool drop);

static int
larger(int a, int b)
{
	return a > b ? a : b;
}

/* Behind a loop that so many groups come to: until its turns add nothing. */
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
			most = larger(scan_pending_groups(o->blk[0], most, drop), scan_pending_groups(o->blk[1], most, drop));
		else if (o->code == O_wg_commit)
			most += most < MANY;
		else if (o->code == O_wg_wait && most > IMM(o, pending))
			most = (int)IMM(o, pending);
		else if (o->code == O_wg_wait && drop)
			op_unlink(o);
	}
	return most;
}

void
drop_empty_waits(Block *b)
{
	scan_pending_groups(b, 0, true);
}
