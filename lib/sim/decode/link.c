/* link.c - links the functions of a module to code: decodes statements, resolves labels, computes the stack
 * of calls. */
#include <string.h>
#include "lib/sim/decode/decode.h"

/* Finds a label. Labels are numbered by statement; *out is its code address. */
static bool
find_label(Dec *d, const char *name, const u32 *pc, s32 *out, const Label **lb)
{
	Fn *f = d->f;

	for (const Scope *s = d->st->scope; s; s = s->up)
		for (u32 i = 0; i < f->nlabel; i++)
			if (f->label[i].scope == s && !strcmp(f->label[i].name, name)) {
				*out = (s32)pc[f->label[i].at];
				if (lb)
					*lb = &f->label[i];
				return true;
			}
	return dec_fail(d, "label %.80s is not defined", name);
}

static bool
link_branches(Dec *d, u32 from, const u32 *pc)
{
	sim_module *m = d->m;
	Fn *f = d->f;

	for (u32 i = 0; i < f->nst; i++) {
		PtxStmt *st = &f->st[i];
		Ins *in = &m->code[pc[i + 1] - 1];
		const Label *lb = NULL;
		u32 *t;
		s32 to;
		d->st = st;
		if (pc[i + 1] <= from || pc[i + 1] == pc[i])
			continue;
		if (in->id == OP_call) {
			in->branch.rpc = (s32)pc[i + 1]; /* of calls through diverging pointers */
			in->branch.strict = true;
			if (st->no == 4)
				find_label(d, st->o[3].name, pc, &to, NULL);
		}
		if (in->id == OP_bra && !find_label(d, st->o[0].name, pc, &in->branch.target, NULL))
			continue;
		if (in->id != OP_brx)
			continue;
		if (!find_label(d, st->o[1].name, pc, &to, &lb))
			continue;
		if (!lb->ntargets) {
			dec_fail(d, "%.80s is not a .branchtargets list", lb->name);
			continue;
		}
		t = NEWN(&m->ptx.arena, u32, lb->ntargets);
		for (u32 k = 0; k < lb->ntargets; k++)
			if (find_label(d, lb->targets[k], pc, &to, NULL))
				t[k] = (u32)to;
		in->branch.targets = t;
		in->branch.n = lb->ntargets;
	}
	return m->ptx.nerr == 0;
}

/* In a .func every ret but the last becomes a branch to it: a single reconvergence point. */
static void
one_ret(sim_module *m, Fn *f)
{
	s32 last = (s32)(f->pc + f->npc) - 1;

	for (u32 pc = f->pc; (s32)pc < last; pc++) {
		Ins *in = &m->code[pc];
		if (in->id != OP_ret)
			continue;
		in->id = OP_bra;
		in->exec = exec_bra;
		in->branch = (Branch){ .target = last, .rpc = NO_PC };
	}
}

/* The loop "old = *p; do old = atomicCAS(p, ...) until it succeeds" may first read any value: its load is no
 * race. It is recognized by the address, which is in the same register. */
static void
find_guesses(sim_module *m, const Fn *f)
{
	const Ins *cas[32];
	u32 n = 0;

	for (u32 i = 0; i < f->npc && n < 32; i++) {
		const Ins *in = &m->code[f->pc + i];
		if (in->id == OP_atom && in->mem.op == AT_CAS)
			cas[n++] = in;
	}
	for (u32 i = 0; n && i < f->npc; i++) {
		Ins *in = &m->code[f->pc + i];
		for (u32 k = 0; k < n && in->id == OP_ld; k++)
			if (in->s[0].unit == cas[k]->s[0].unit && in->s[0].base == cas[k]->s[0].base &&
			    in->off == cas[k]->off && in->mem.ebytes * in->mem.vec == cas[k]->mem.ebytes) {
				in->flags |= F_GUESS;
				in->exec = exec_ld;
			}
	}
}

static bool
decode_fn(sim_module *m, Fn *f)
{
	u32 *pc = NEWN(&m->ptx.arena, u32, f->nst + 2);
	Dec d = dec_start(m, f, NULL);
	PtxStmt end = { .line = f->nst ? f->st[f->nst - 1].line : f->line, .op = "ret" };

	f->pc = m->ncode;
	if (!f->entry) {
		f->fp = NEW(&m->ptx.arena, Reg);
		*f->fp = (Reg){ .name = "the frame pointer", .type = T_u64, .unit = ~0u };
		dec_fp(&d, &f->fp_ref);
	}
	for (u32 i = 0; i < f->nst; i++) {
		d = dec_start(m, f, &f->st[i]);
		pc[i] = m->ncode;
		dec_stmt(&d);
		if (m->ncode > 4u << 20)
			return dec_fail(&d, "module has too many instructions");
	}
	pc[f->nst] = m->ncode;
	d = dec_start(m, f, &end);
	dec_stmt(&d);        /* falling off the end returns */
	f->npc = m->ncode - f->pc;
	d = dec_start(m, f, NULL);
	if (m->ptx.nerr || !link_branches(&d, f->pc, pc))
		return false;
	find_guesses(m, f);
	find_owners(m, f);
	if (!f->entry)
		one_ret(m, f);
	cfg_reconverge(m, f);
	return true;
}

/* Possible callees of f: its direct ones, and if it calls through pointers every function whose address is
 * used. Returns NULL past the end. */
static Fn *
callee(const sim_module *m, const Fn *f, u32 i)
{
	if (i < f->ncallee)
		return f->callee[i];
	i -= f->ncallee;
	return !f->indirect || i >= m->ptx.nfn ? NULL : m->ptx.fn[i];
}

/* Is `goal` reachable from f? Marks visited functions. */
static bool
reaches(const sim_module *m, Fn *f, const Fn *goal, int deep)
{
	u32 n = f->ncallee + (f->indirect ? m->ptx.nfn : 0);

	f->checked = true;
	for (u32 i = 0; i < n; i++) {
		Fn *g = callee(m, f, i);
		if (i >= f->ncallee && !g->taken)
			continue;
		if (g == goal || (!g->checked && (deep > 1000 || reaches(m, g, goal, deep + 1))))
			return true;
	}
	return false;
}

/* Marks functions that may be re-entered while active. */
static void
find_recursion(sim_module *m)
{
	for (u32 k = 0; k < m->ptx.nfn; k++) {
		for (u32 i = 0; i < m->ptx.nfn; i++)
			m->ptx.fn[i]->checked = false;
		m->ptx.fn[k]->again = reaches(m, m->ptx.fn[k], m->ptx.fn[k], 0);
	}
	for (u32 i = 0; i < m->ptx.nfn; i++)
		m->ptx.fn[i]->checked = false;
}

/* Bytes of the frames of everything that f calls; ~0: unbounded. */
static u32
stack_need(sim_module *m, Fn *f)
{
	u32 most = 0;

	if (f->again || f->indirect)
		return ~0u;
	if (f->checked)
		return f->below;
	for (u32 i = 0; i < f->ncallee; i++) {
		u32 n = stack_need(m, f->callee[i]);
		if (n == ~0u || n > 1u << 20) {
			most = ~0u;
			break;
		}
		n += f->callee[i]->local;
		most = n > most ? n : most;
	}
	f->checked = true;
	return f->below = most;
}

/* Does the module have warpgroup instructions? */
static void
warpgroups(sim_module *m)
{
	u32 units = m->fn_units;

	for (u32 i = 0; i < m->ptx.nfn; i++)
		if (m->ptx.fn[i]->has_body && m->ptx.fn[i]->unit0 + m->ptx.fn[i]->units > units)
			units = m->ptx.fn[i]->unit0 + m->ptx.fn[i]->units;
	m->wgmma = wgmma_mark(m, units);
	for (u32 pc = 0; pc < m->ncode && !m->wgmma; pc++)
		m->wgmma = m->code[pc].id >= OP_wgmma && m->code[pc].id <= OP_maxnregdec;
}

bool
decode_module(sim_module *m)
{
	for (u32 pass = 0; pass < 2; pass++)
		for (u32 i = 0; i < m->ptx.nfn; i++) {
			Fn *f = m->ptx.fn[i];
			if (f->entry != (pass == 1) || !f->has_body)
				continue;
			f->unit0 = m->fn_units;
			f->pred0 = 1 + m->fn_preds;
			decode_fn(m, f);
			if (!f->entry) {
				m->fn_units += f->units + (f->units & 1);
				m->fn_preds += f->preds;
			}
			if (m->ptx.nerr >= 20)
				return false;
		}
	if (m->ptx.nerr)
		return false;
	find_recursion(m);
	for (u32 i = 0; i < m->ptx.nfn; i++)
		m->ptx.fn[i]->below = stack_need(m, m->ptx.fn[i]);
	warpgroups(m);
	return true;
}
