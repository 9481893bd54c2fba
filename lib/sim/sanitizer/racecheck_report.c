/* racecheck_report.c - formats the messages of races and of incomplete copies. */
#include "lib/sim/sanitizer/racecheck.h"
#include "lib/sim/state/fault.h"

void
slot_place(Launch *l, const ShadowCell *s, sim_place *out)
{
	Cta other;

	other.l = l;
	other.lin = s_block(s) - 1;
	other.id[0] = other.lin % l->a.grid[0];
	other.id[1] = other.lin / l->a.grid[0] % l->a.grid[1];
	other.id[2] = other.lin / l->a.grid[0] / l->a.grid[1];
	place_of(&other, s_thread(s), l->m->code[s_pc(s)].line, out);
}

/* Text on scopes, if these are the reason for the race. */
static const char *
narrow(const Now *n, const ShadowCell *s)
{
	if (strong(n->kind) && strong(s_kind(s)))
		return ": the scope of one does not include the other's thread";
	if (s_block(s) != n->block && s_time(s) < n->w->know.gwide && s_time(s) >= n->w->know.gacq)
		return ": a fence or strong access between them has too narrow a scope";
	return "";
}

void
race_fault(const Now *n, const ShadowCell *s)
{
	bool sh = n->acc->space == SIM_SPACE_SHARED;
	sim_place other;

	slot_place(n->w->cta->l, s, &other);
	(n->odd ? warning_add : fault_add)(
		n->w, n->lane, sh ? SIM_FAULT_RACE_SHARED : SIM_FAULT_RACE_GLOBAL, n->in->line, n->acc->space,
		n->acc->addr, n->bytes, &other,
		"%s of %s%.48s not ordered with the %s in line %u by block %u,%u,%u thread %u,%u,%u%s",
		writes(n->kind) ? "write" : "read", sh ? "shared memory" : "global memory ",
		sh || !n->acc->al ? "" : n->acc->al->name, writes(s_kind(s)) ? "write" : "read",
		other.line, other.block[0], other.block[1], other.block[2], other.thread[0],
		other.thread[1], other.thread[2],
		n->odd ? ", except by a wgmma.fence, which only orders registers" : narrow(n, s));
}

void
unfinished_fault(const Now *n, const ShadowCell *s)
{
	bool wr = writes(n->kind);
	sim_place other;

	slot_place(n->w->cta->l, s, &other);
	fault_add(n->w, n->lane, wr ? SIM_FAULT_ASYNC_WRITE : SIM_FAULT_ASYNC_READ, n->in->line,
	          n->acc->space, n->acc->addr, n->bytes, &other,
	          "%s of %s memory that the %.60s of line %u (thread %u,%u,%u) %s: missing wait",
	          wr ? "write" : "read", n->acc->space == SIM_SPACE_SHARED ? "shared" : "global",
	          n->w->cta->l->m->code[s_pc(s)].text, other.line, other.thread[0], other.thread[1],
	          other.thread[2], s_kind(s) == A_AREAD ? "reads" : "writes");
}

void
noncoherent_fault(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes, const sim_place *other)
{
	fault_add(w, lane, SIM_FAULT_NONCOHERENT, in->line, a->space, a->addr, bytes, other,
	          "%.60s of global memory %.48s that the kernel has written in line %u; load it without .nc",
	          in->text, a->al->name, other->line);
}
