/* memcheck_variable.c - reports shared accesses outside the variable that their address is based on: PTX does
 * not specify what is located there. */
#include <stdio.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

void
owner_range(const Cta *b, const Var *v, u32 *from, u32 *to)
{
	*from = v->is_extern ? b->l->f->smem_dyn : (u32)v->addr;
	*to = v->is_extern ? b->smem_bytes : *from + (u32)v->bytes;
}

/* Describes what is located at this offset. */
static void
describe(const Cta *b, u32 addr, char *buf, size_t n)
{
	const Ptx *m = &b->l->m->ptx;

	for (u32 i = 0; i < m->nvar; i++) {
		const Var *v = m->var[i];
		if (v->space == SIM_SPACE_SHARED && !v->is_extern && (v->used_func || v->user == b->l->f) &&
		    addr - (u32)v->addr < v->bytes) {
			snprintf(buf, n, "in variable %.60s", v->name);
			return;
		}
	}
	snprintf(buf, n, addr >= b->l->f->smem_dyn ? "in dynamic shared memory" : "between variables");
}

void
check_owner(Warp *w, const Ins *in, int lane, u32 addr, u32 bytes)
{
	u32 from, to;
	char what[80];

	owner_range(w->cta, in->owner, &from, &to);
	if (addr >= from && addr + bytes <= to)
		return;
	describe(w->cta, addr < from ? addr : to > addr ? to : addr, what, sizeof what);
	fault_add(w, lane, SIM_FAULT_BOUNDS, in->line, SIM_SPACE_SHARED, addr, bytes, NULL,
	          "%.60s: %u bytes at shared address 0x%x are %s, outside the %u bytes of %.60s, on which "
	          "the address is based", in->text, bytes, addr, what, to - from, in->owner->name);
}
