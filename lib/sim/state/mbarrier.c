/* mbarrier.c - finds the mbarriers of a block by their address in its shared memory. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/state/execution.h"

static u32
slot_of(const MbarTab *t, u32 addr)
{
	u32 h = (addr >> 3) * 0x9e3779b1u >> 7;

	for (;; h++) {
		const Mbar *m = t->slot[h & (t->cap - 1)];
		if (!m || m->addr == addr)
			return h & (t->cap - 1);
	}
}

Mbar *
mbar_find(const Cta *b, u32 addr)
{
	Mbar *m = b->mb.cap ? b->mb.slot[slot_of(&b->mb, addr)] : NULL;

	return m && m->live ? m : NULL;
}

static bool
grow(MbarTab *t)
{
	MbarTab n = *t;

	n.cap = t->cap ? 2 * t->cap : 16;
	n.slot = calloc(n.cap, sizeof *n.slot);
	if (!n.slot)
		return false;
	for (u32 i = 0; i < t->cap; i++)
		if (t->slot[i])
			n.slot[slot_of(&n, t->slot[i]->addr)] = t->slot[i];
	free(t->slot);
	*t = n;
	return true;
}

Mbar *
mbar_make(Cta *b, u32 addr)
{
	MbarTab *t = &b->mb;
	Mbar **at;

	if (2 * t->n >= t->cap && !grow(t))
		return NULL;
	at = &t->slot[slot_of(t, addr)];
	if (!*at) {
		*at = calloc(1, sizeof **at);
		if (!*at)
			return NULL;
		t->n++;
	}
	know_drop(&(*at)->next);
	know_drop(&(*at)->done);
	memset(*at, 0, sizeof **at);
	(*at)->addr = addr;
	(*at)->agent = (u8)(t->made++ % NAGENT);
	if (t->hi <= t->lo) {
		t->lo = addr;
		t->hi = addr + 8;
	}
	t->lo = addr < t->lo ? addr : t->lo;
	t->hi = addr + 8 > t->hi ? addr + 8 : t->hi;
	return *at;
}

void
mbar_reset(Cta *b)
{
	MbarTab *t = &b->mb;

	for (u32 i = 0; i < t->cap; i++)
		if (t->slot[i])
			t->slot[i]->live = false;
	t->lo = t->hi = t->nunfenced = t->made = 0;
	memset(t->agent_clock, 0, sizeof t->agent_clock);
}

void
mbar_free(Cta *b)
{
	for (u32 i = 0; i < b->mb.cap; i++) {
		if (b->mb.slot[i]) {
			know_drop(&b->mb.slot[i]->next);
			know_drop(&b->mb.slot[i]->done);
		}
		free(b->mb.slot[i]);
	}
	free(b->mb.slot);
}
