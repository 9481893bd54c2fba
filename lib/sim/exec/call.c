/* call.c - executes calls of .func: frames, recursion, function pointers.
 *
 * A frame holds a function's parameters, results, .local variables and the parameters of its calls. Frames
 * are stacked in each lane's local memory; every .func has a hidden register with the start of its frame. A
 * function's registers are at a fixed place, so the call saves those of a function that may be re-entered.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/calls.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

static bool
overflow(Warp *w, const Ins *in, int lane)
{
	fault_add(w, lane, SIM_FAULT_CALL, in->line, SIM_SPACE_LOCAL, w->sp[lane], 0, NULL,
	          "%.60s: stack overflow (%u bytes)", in->text, w->cta->l->local - w->cta->l->frame);
	block_stop(w->cta, SIM_E_FAULT, "stack overflow");
	return false;
}

/* Grows the lane's stack; its new bytes are undefined. */
static bool
push(Warp *w, const Ins *in, int lane, u64 bytes, u32 align, u32 *at)
{
	u32 size = w->cta->l->local, start = (u32)align_up(w->sp[lane], align);

	if (start > size || bytes > size - start)
		return overflow(w, in, lane);
	memset(w->local + (size_t)lane * size + start, 0xA5, (size_t)bytes);
	if (w->def)
		memset(w->linit + (size_t)lane * size + start, 0, (size_t)bytes);
	w->sp[lane] = (u32)align_up(start + (u32)bytes, 16);
	*at = start;
	return true;
}

int
exec_alloca(Warp *w, const Ins *in, u32 mask)
{
	int l;
	u32 at = 0;

	if (in->ns)
		use_check(w, in, &in->s[0], mask, "a stack operand");
	FOR_LANES(l, mask) {
		u64 v = in->ns ? lane_get(w, in->s, l) : 0;
		if (in->id == OP_alloca) {
			if (!push(w, in, l, v, in->align, &at))
				return R_STOP;
			lane_set(w, in->d, l, at);
		} else if (in->id == OP_stacksave) {
			lane_set(w, in->d, l, w->sp[l]);
		} else {
			if (v > w->sp[l])
				return overflow(w, in, l), R_STOP;
			w->sp[l] = (u32)v;
		}
	}
	if (w->def && in->nd)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}

int
exec_frame(Warp *w, const Ins *in, u32 mask)
{
	const u64 *fp = src64(w, in->s);
	int l;

	FOR_LANES(l, mask)
		lane_set(w, in->d, l, fp[l] + in->frame);
	if (w->def)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}

/* Saves the registers and predicates of f with their defined bits; `put`: restores those of the lanes of
 * mask. */
static void
registers(Warp *w, const Fn *f, u32 *data, bool put, u32 mask)
{
	u32 n = f->units * WARP, *r = w->r + (size_t)f->unit0 * WARP, preds = f->preds, *at = data + n;
	u32 *def[3] = { w->p + f->pred0, w->def ? w->pdef + f->pred0 : NULL,
	                w->def ? w->def + DEF_CONST + DEF_UNIT * (size_t)f->unit0 : NULL };

	if (!put)
		memcpy(data, r, n * sizeof *r);
	for (u32 i = 0; put && i < f->units * WARP; i++) {
		/* a plane of 64 bits spans two units: lane l is words 2l and 2l + 1 of the pair */
		u32 half = f->wide[i / WARP], lane = i % WARP;
		if (half)
			lane = ((half - 1) * WARP + lane) / 2;
		if (mask >> lane & 1)
			r[i] = data[i];
	}
	for (u32 i = 0; put && w->def && i < f->units; i++)
		w->org[f->unit0 + i] &= ~(u32)ORG_BITS;
	for (u32 k = 0; k < 3; k++) {
		u32 len = k == 2 ? DEF_UNIT * f->units : preds;
		for (u32 i = 0; def[k] && i < len; i++) {
			if (put)
				def[k][i] = (def[k][i] & ~mask) | (at[i] & mask);
			else
				at[i] = def[k][i];
		}
		at += len;
	}
}

static bool
save(Warp *w, Path *q, const Fn *f, u32 mask)
{
	Save *s = malloc(sizeof *s + ((size_t)f->units * (WARP + DEF_UNIT) + 2 * f->preds) * sizeof(u32));

	if (!s) {
		launch_stop(w->cta->l, SIM_E_NOMEM, "out of memory");
		return false;
	}
	s->mask = mask;
	s->next = w->saves;
	w->saves = q->save = s;
	registers(w, f, s->data, false, mask);
	return true;
}

static void
restore(Warp *w, Path *q, const Fn *f, u32 mask)
{
	Save *s = q->save, **p = &w->saves;

	registers(w, f, s->data, true, mask & s->mask);
	s->mask &= ~mask;
	if (s->mask)
		return;
	while (*p && *p != s)
		p = &(*p)->next;
	if (*p)
		*p = s->next;
	free(s);
	q->save = NULL;
}

void
saves_free(Warp *w)
{
	while (w->saves) {
		Save *s = w->saves;
		w->saves = s->next;
		free(s);
	}
}

static u64
frame_of(const Warp *w, const CallInstr *c, int l)
{
	return c->framed ? src64(w, &c->fp)[l] : 0;
}

/* Copies one argument or result between the caller and the callee's variable at `there` in the lane's
 * memory. */
static void
pass(Warp *w, const Arg *a, u64 caller, u64 there, int l, bool back)
{
	size_t base = (size_t)l * w->cta->l->local;
	u8 *m = w->local + base, *init = w->def ? w->linit + base : NULL;
	u64 from = back ? there : caller + a->here, to = back ? caller + a->here : there;
	u64 v;

	if (!a->reg) {
		memmove(m + to, m + from, a->bytes);
		if (init)
			memmove(init + to, init + from, a->bytes);
	} else if (back) {
		v = 0;
		memcpy(&v, m + there, a->bytes < 8 ? a->bytes : 8);
		lane_set(w, &a->ref, l, v);
		if (init)
			def_set(w, &a->ref, 1u << l, memchr(init + there, 0, a->bytes) ? 0 : ALL_LANES, 0);
	} else {
		v = lane_get(w, &a->ref, l);
		memcpy(m + there, &v, a->bytes < 8 ? a->bytes : 8);
		if (init)
			memset(init + there, (int)(def_of(w, &a->ref) >> l & 1), a->bytes);
	}
}

u64
call_arg(const Warp *w, const CallInstr *c, u32 i, int l)
{
	const Arg *a = &c->arg[i];
	u64 v = 0;

	if (a->reg)
		return lane_get(w, &a->ref, l);
	memcpy(&v, w->local + (size_t)l * w->cta->l->local + frame_of(w, c, l) + a->here,
	       a->bytes < 8 ? a->bytes : 8);
	return v;
}

void
call_result(Warp *w, const CallInstr *c, int l, u64 v)
{
	const Arg *a = &c->arg[c->narg];
	size_t at;

	if (!c->nret)
		return;
	if (a->reg) {
		lane_set(w, &a->ref, l, v);
		if (w->def)
			def_set(w, &a->ref, 1u << l, ALL_LANES, 0);
		return;
	}
	at = (size_t)l * w->cta->l->local + frame_of(w, c, l) + a->here;
	memcpy(w->local + at, &v, a->bytes < 8 ? a->bytes : 8);
	if (w->def)
		memset(w->linit + at, 1, a->bytes);
}

static const Fn *
at_address(const sim_module *m, u64 addr)
{
	u64 i = (addr - WIN_CODE) / WIN_CODE_STEP - 1;

	return addr % WIN_CODE_STEP || i >= m->ptx.nfn || m->ptx.fn[i]->entry ? NULL : m->ptx.fn[i];
}

/* Resolves a call through a pointer: returns the function and the lanes of mask that call it, or NULL after a
 * fault. */
static const Fn *
pointed(Warp *w, const Ins *in, const CallInstr *c, u32 mask, u32 *same)
{
	const u64 *t = src64(w, &c->target);
	u64 first = t[low_lane(mask)];
	const Fn *f = at_address(w->cta->l->m, first);
	const char *why = NULL;
	int l;

	use_check(w, in, &c->target, mask, "the address of a call");
	*same = 0;
	FOR_LANES(l, mask)
		*same |= (u32)(t[l] == first) << l;
	if (!f)
		why = "is not a function";
	else if (!f->has_body)
		why = "has no body in this module";
	else if (f->nparam != c->narg || f->nret != c->nret)
		why = "has other parameters";
	for (u32 i = 0; !why && i < c->narg + c->nret; i++)
		if ((i < c->narg ? f->param[i] : f->ret[i - c->narg])->bytes != c->arg[i].bytes)
			why = "has parameters of other sizes";
	if (!why)
		return f;
	fault_add(w, low_lane(*same), SIM_FAULT_CALL, in->line, SIM_SPACE_NONE, first, 0, NULL,
	          "%.60s: 0x%llx %.60s %s", in->text, (unsigned long long)first, f ? f->name : "", why);
	block_stop(w->cta, SIM_E_FAULT, "call of an address that is not a function");
	return NULL;
}

int
exec_call(Warp *w, const Ins *in, u32 mask)
{
	const CallInstr *c = in->branch.call;
	const Fn *f = c->fn;
	Path *q = &w->path[w->cur];
	u32 same = mask, at;
	s32 child, me = w->cur;
	int l;

	if (!f && !(f = pointed(w, in, c, mask, &same)))
		return R_STOP;
	if (same != mask) {             /* the others execute this instruction again */
		path_split(w, in, q->pc, q->mask & ~same, q->pc, same);
		return R_JUMP;
	}
	if (f->again && !save(w, q, f, mask))
		return R_STOP;
	FOR_LANES(l, mask) {
		u64 caller = frame_of(w, c, l);
		if (!push(w, in, l, f->local, 16, &at))
			return R_STOP;
		for (u32 i = 0; i < c->narg; i++)
			pass(w, &c->arg[i], caller, at + f->param[i]->addr, l, false);
		dst64(w, &f->fp_ref)[l] = at;
	}
	if (w->def)
		def_set(w, &f->fp_ref, mask, ALL_LANES, 0);
	q->pc++;
	q->state = P_WAIT;
	q->arrived = q->mask & ~mask;
	q->kids = 0;
	q->strict = true;
	q->call = c;
	q->callee = f;
	child = path_new(w, (s32)f->pc, NO_PC, mask, me);
	if (w->cta->dead)
		return R_STOP;
	w->cur = child;
	return R_JUMP;
}

/* ret of a .func: returns to the path that waits for this call. */
int
exec_ret(Warp *w, const Ins *in, u32 mask)
{
	s32 i = w->path[w->cur].parent;
	u64 frame[WARP];
	int l;

	(void)in;
	while (i >= 0 && !w->path[i].call)
		i = w->path[i].parent;
	if (i >= 0) {
		Path *q = &w->path[i];
		const CallInstr *c = q->call;
		const Fn *f = q->callee;
		FOR_LANES(l, mask) {
			frame[l] = src64(w, &f->fp_ref)[l];
			w->sp[l] = (u32)frame[l];
		}
		if (q->save)
			restore(w, q, f, mask);
		FOR_LANES(l, mask)
			for (u32 k = 0; k < c->nret; k++)
				pass(w, &c->arg[c->narg + k], frame_of(w, c, l), frame[l] + f->ret[k]->addr,
				     l, true);
	}
	path_join(w);
	return R_JUMP;
}
