/* builtin.c - executes device functions without a body: vprintf, __assertfail, malloc, free.
 *
 * The heap is one allocation of the device that outlives launches, as CUDA's; malloc divides it, first
 * fit.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/calls.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

enum { HEAP_BYTES = 8 << 20 };

enum { B_NONE, B_VPRINTF, B_ASSERT, B_MALLOC, B_FREE };

static const char *const names[] = { "", "vprintf", "__assertfail", "malloc", "free" };

u8
builtin_find(const char *name)
{
	for (u8 i = 1; i < COUNT_OF(names); i++)
		if (!strcmp(name, names[i]))
			return i;
	return B_NONE;
}

/* ---- assert ---- */

static int
fail_assert(Warp *w, const Ins *in, const CallInstr *c, int lane)
{
	char what[100], file[80], fn[60];

	if (!print_string(w, in, lane, call_arg(w, c, 0, lane), what, sizeof what) ||
	    !print_string(w, in, lane, call_arg(w, c, 1, lane), file, sizeof file) ||
	    !print_string(w, in, lane, call_arg(w, c, 3, lane), fn, sizeof fn))
		return R_STOP;
	fault_add(w, lane, SIM_FAULT_ASSERT, in->line, SIM_SPACE_NONE, 0, 0, NULL,
	          "%s:%u: %s: assertion `%s' failed", file, (u32)call_arg(w, c, 2, lane), fn, what);
	block_stop(w->cta, SIM_E_FAULT, "an assertion failed");
	return R_STOP;
}

/* ---- heap ---- */

bool
builtin_ready(sim *s, const Fn *f)
{
	static const u8 nargs[] = { 0, 2, 5, 1, 1 };
	Alloc *al;

	if (f->nparam != nargs[f->builtin])
		return false;
	if (s->heap || (f->builtin != B_MALLOC && f->builtin != B_FREE))
		return true;
	al = mem_new(s, HEAP_BYTES, "the heap of malloc");
	if (al)
		s->heap = al->base;
	return al != NULL;
}

/* Resets the shadow state of the bytes: neither values nor accesses are known any more. */
static void
forget(Alloc *al, u32 at, u32 size)
{
	memset(al->init + at, 0, size);
	for (u32 i = at / 4; al->page && i < (at + size) / 4; i++)
		if (al->page[i / PAGE_WORDS])
			memset(al->page[i / PAGE_WORDS] + (size_t)(i % PAGE_WORDS) * GLOBAL_SLOTS, 0,
			       GLOBAL_SLOTS * sizeof(ShadowCell));
	granule_forget(al, at, size);
}

/* The caller holds the launch's lock. */
static u64
heap_get(sim *s, u64 bytes)
{
	u32 size = (u32)((bytes + 15) & ~15u), at = 0, i;
	void *grown;

	if (!bytes || bytes > HEAP_BYTES)
		return 0;
	if (s->nheap == s->cheap) {
		grown = realloc(s->heap_block, (2 * s->cheap + 64) * sizeof *s->heap_block);
		if (!grown)
			return 0;
		s->heap_block = grown;
		s->cheap = 2 * s->cheap + 64;
	}
	for (i = 0; i < s->nheap; i++) {
		if (s->heap_block[i].at - at >= size)
			break;
		at = s->heap_block[i].at + s->heap_block[i].size;
	}
	if (at + size > HEAP_BYTES)
		return 0;
	memmove(s->heap_block + i + 1, s->heap_block + i, (s->nheap - i) * sizeof *s->heap_block);
	s->heap_block[i] = (struct HeapBlock){ at, size };
	s->nheap++;
	forget(mem_find(s, s->heap), at, size);
	return s->heap + at;
}

static bool
heap_put(sim *s, u64 addr)
{
	u32 i = 0;

	if (!addr)
		return true;
	while (i < s->nheap && s->heap + s->heap_block[i].at != addr)
		i++;
	if (i == s->nheap)
		return false;
	forget(mem_find(s, s->heap), s->heap_block[i].at, s->heap_block[i].size);
	s->nheap--;
	memmove(s->heap_block + i, s->heap_block + i + 1, (s->nheap - i) * sizeof *s->heap_block);
	return true;
}

int
exec_builtin(Warp *w, const Ins *in, u32 mask)
{
	const CallInstr *c = in->branch.call;
	Launch *l = w->cta->l;
	int lane;
	bool ok;
	u64 v;

	FOR_LANES(lane, mask)
		switch (c->fn->builtin) {
		case B_VPRINTF:
			v = print_format(w, in, lane, call_arg(w, c, 0, lane), call_arg(w, c, 1, lane));
			call_result(w, c, lane, v);
			break;
		case B_ASSERT:
			return fail_assert(w, in, c, lane);
		case B_MALLOC:
			launch_lock(l);
			v = heap_get(l->s, call_arg(w, c, 0, lane));
			launch_unlock(l);
			call_result(w, c, lane, v);
			break;
		default:
			v = call_arg(w, c, 0, lane);
			launch_lock(l);
			ok = heap_put(l->s, v);
			launch_unlock(l);
			if (!ok)
				fault_add(w, lane, SIM_FAULT_HEAP, in->line, SIM_SPACE_GLOBAL, v, 0, NULL,
				          "free: 0x%llx was not returned by malloc", (unsigned long long)v);
			break;
		}
	return R_NEXT;
}
