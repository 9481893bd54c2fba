/* instruction.c - decodes a statement to an Ins: finds the row of isa.def, checks its modifiers, places
 * operands. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/decode/decode.h"

enum { ARITH = SIM_NCLASSES, MEM };

static const IsaRow rows[OP_COUNT] = {
#define INT SIM_CLASS_INT
#define MUFU SIM_CLASS_MUFU
#define CVT SIM_CLASS_CVT
#define MMA SIM_CLASS_MMA
#define LDG SIM_CLASS_LDG
#define STG SIM_CLASS_STG
#define STS SIM_CLASS_STS
#define ATOM SIM_CLASS_ATOM
#define SHFL SIM_CLASS_SHFL
#define BARRIER SIM_CLASS_BARRIER
#define CPASYNC SIM_CLASS_CPASYNC
#define LDSM SIM_CLASS_LDSM
#define BRANCH SIM_CLASS_BRANCH
#define OTHER SIM_CLASS_OTHER
#define I(id, mnemonic, cls, dec, exec, pat, mods) \
	[OP_##id] = { mnemonic, cls, dec_##dec, exec_##exec, pat, mods, OP_##id },
#include "lib/sim/ptx/isa.def"
};

bool
dec_fail(Dec *d, const char *fmt, ...)
{
	char buf[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	ptx_error(&d->m->ptx, d->st->line, "%.80s: %s", d->st->op, buf);
	return false;
}

bool
dec_has(Dec *d, const char *word)
{
	for (u32 i = 0; i < d->npart; i++)
		if (!(d->used >> i & 1) && !strcmp(d->part[i], word)) {
			d->used |= 1u << i;
			return true;
		}
	return false;
}

bool
dec_first(Dec *d, const char *word)
{
	return d->npart && !strcmp(d->part[0], word) && dec_has(d, word);
}

bool
dec_follow(Dec *d, const char *first, const char *then)
{
	u32 before = d->used, i;

	if (!dec_has(d, first))
		return false;
	i = d->used & ~before;
	if (dec_has(d, then) && (d->used & ~before & ~i) > i)
		return true;
	d->used = before;
	return false;
}

const char *
dec_prefix(Dec *d, const char *pre)
{
	size_t n = strlen(pre);

	for (u32 i = 0; i < d->npart; i++)
		if (!(d->used >> i & 1) && !strncmp(d->part[i], pre, n)) {
			d->used |= 1u << i;
			return d->part[i];
		}
	return NULL;
}

bool
dec_types(Dec *d)
{
	PtxType t;

	for (u32 i = 0; i < d->npart; i++)
		if (!(d->used >> i & 1) && d->nty < 6 &&
		    type_find(d->part[i], strlen(d->part[i]), &t)) {
			d->used |= 1u << i;
			d->ty[d->nty++] = t;
		}
	if (!d->nty)
		return dec_fail(d, "no type");
	d->in->type = (u8)d->ty[0];
	d->in->type2 = (u8)(d->nty > 1 ? d->ty[1] : d->ty[0]);
	return true;
}

bool
dec_space(Dec *d, sim_space *out)
{
	static const struct { const char *name; sim_space sp; } t[] = {
		{ "global", SIM_SPACE_GLOBAL }, { "shared", SIM_SPACE_SHARED },
		{ "shared::cta", SIM_SPACE_SHARED }, { "shared::cluster", SIM_SPACE_CLUSTER },
		{ "local", SIM_SPACE_LOCAL }, { "param", SIM_SPACE_PARAM },
		{ "param::entry", SIM_SPACE_PARAM }, { "param::func", SIM_SPACE_PARAM },
		{ "const", SIM_SPACE_CONST },
	};

	for (size_t i = 0; i < COUNT_OF(t); i++)
		if (dec_has(d, t[i].name)) {
			*out = t[i].sp;
			return true;
		}
	*out = SIM_SPACE_NONE;
	return false;
}

static const char *
scope_name(u32 scope)
{
	static const char *const names[] = { [SCOPE_CTA] = "cta", [SCOPE_CLUSTER] = "cluster",
		[SCOPE_GPU] = "gpu", [SCOPE_SYS] = "sys" };

	return names[scope];
}

bool
dec_scope(Dec *d)
{
	for (u32 i = 0; i <= SCOPE_SYS; i++)
		if (dec_has(d, scope_name(i))) {
			d->in->scope = (u8)i;
			return true;
		}
	return false;
}

bool
dec_atomic(Dec *d, u8 *op)
{
	static const char *const names[] = { [AT_AND] = "and", [AT_OR] = "or", [AT_XOR] = "xor",
		[AT_EXCH] = "exch", [AT_ADD] = "add", [AT_MIN] = "min", [AT_MAX] = "max", [AT_INC] = "inc",
		[AT_DEC] = "dec", [AT_CAS] = "cas" };

	for (u32 i = 0; i < COUNT_OF(names); i++)
		if (dec_has(d, names[i])) {
			*op = (u8)i;
			return true;
		}
	return false;
}

bool
dec_needs(Dec *d, u32 sm, const char *what)
{
	const char *t = d->m->ptx.target + 3;
	char *end;
	u32 have = (u32)strtoul(t, &end, 10), want = sm % DEC_LETTER;

	if (sm < DEC_LETTER ? have >= want : *end != 0 && (sm < DEC_LETTERS ? have == want : have >= want))
		return true;
	return dec_fail(d, "%s%sneeds .target sm_%u%s%s", what ? what : "", what ? " " : "", want,
	                sm < DEC_LETTER ? "" : "a", sm < DEC_LETTER || sm > DEC_LETTERS ? " or higher" : "");
}

/* Splits the opcode into parts, including the mnemonic's first word; returns false if there are too many. */
static bool
split(Dec *d)
{
	char *s = d->op;

	for (bool more = true; more; s++) {
		if (d->npart == COUNT_OF(d->part))
			return false;
		d->part[d->npart++] = s;
		s += strcspn(s, ".");
		more = *s == '.';
		*s = 0;
	}
	return true;
}

/* Returns the parts of the opcode that belong to the row: its dotted name at the start and its words
 * anywhere. Returns 0 if one is missing. */
static u32
row_parts(const Dec *d, const IsaRow *row)
{
	const char *w = row->name;
	bool front = true;
	u32 taken = 0;

	for (u32 n = 0; *w; n++) {
		size_t len = strcspn(w, ". ");
		u32 i = front ? n : 0, end = front && n < d->npart ? n + 1 : d->npart;
		while (i < end && (taken >> i & 1 || strncmp(d->part[i], w, len) || d->part[i][len]))
			i++;
		if (i >= end)
			return 0;
		taken |= 1u << i;
		front = front && w[len] == '.';
		w += len + (w[len] != 0);
	}
	return taken;
}

/* Returns the row with the most words; *most: the parts that belong to it. */
static const IsaRow *
best_row(const Dec *d, u32 *most)
{
	const IsaRow *best = NULL;
	size_t len = strlen(d->part[0]);

	*most = 0;

	for (u32 i = 0; i < OP_COUNT; i++) {
		bool same = rows[i].name[0] == d->part[0][0] && !strncmp(rows[i].name, d->part[0], len);
		u32 taken = same ? row_parts(d, &rows[i]) : 0;
		if (__builtin_popcount(taken) > __builtin_popcount(*most)) {
			best = &rows[i];
			*most = taken;
		}
	}
	return best;
}

static u8
arith_class(PtxType t)
{
	switch (t) {
	case T_f32: case T_tf32: case T_f32x2: return SIM_CLASS_F32;
	case T_f64: return SIM_CLASS_F64;
	case T_f16: case T_f16x2: case T_bf16: case T_bf16x2: return SIM_CLASS_F16;
	default: return SIM_CLASS_INT;
	}
}

static u8
mem_class(const Dec *d)
{
	bool st = d->row->id == OP_wmmastore || d->row->id == OP_st;

	switch (d->in->space) {
	case SIM_SPACE_SHARED: case SIM_SPACE_CLUSTER: return st ? SIM_CLASS_STS : SIM_CLASS_LDS;
	case SIM_SPACE_LOCAL: case SIM_SPACE_PARAM: case SIM_SPACE_CONST: return SIM_CLASS_LDL;
	default: return st ? SIM_CLASS_STG : SIM_CLASS_LDG;
	}
}

/* The number in ".target sm_90a": 90. */
static u32
target_sm(const sim_module *m)
{
	return (u32)strtoul(m->ptx.target + 3, NULL, 10);
}

/* Does the row's instruction exist with these modifiers? */
static bool
exists(Dec *d)
{
	u32 sm = target_sm(d->m), need = legal_opcode(d->st->op, sm);

	if (need == LEGAL)
		return true;
	if (need == LEGAL_NEVER)
		return dec_fail(d, "this combination of modifiers and types does not exist");
	return dec_fail(d, "needs a target of sm_%u or newer, not %s", need, d->m->ptx.target);
}

/* Leaves as parts only those that are not words of the row. */
static void
drop_parts(Dec *d, u32 taken)
{
	u32 n = 0;

	for (u32 i = 0; i < d->npart; i++)
		if (!(taken >> i & 1))
			d->part[n++] = d->part[i];
	d->npart = n;
}

/* Finds the row of an existing opcode. A kernel has few different ones: the last of each hash is cached. */
static bool
take_row(Dec *d)
{
	KnownOp *k = &d->m->known[text_hash(d->st->op, strlen(d->st->op)) % COUNT_OF(d->m->known)];
	u32 taken;

	if (!split(d))
		return dec_fail(d, "unknown instruction");
	if (!k->op || strcmp(k->op, d->st->op)) {
		if (!(d->row = best_row(d, &taken)))
			return dec_fail(d, "unknown instruction");
		if (!exists(d))
			return false;
		*k = (KnownOp){ d->st->op, d->row, taken };
	}
	d->row = k->row;
	drop_parts(d, k->taken);
	return true;
}

static Ins
blank(const PtxStmt *st)
{
	Ins in;

	memset(&in, 0, sizeof in);
	in.guard = in.pd = in.pd2 = in.ps = -1;
	in.scope = SCOPE_SYS;
	in.line = st->line;
	in.text = st->op;
	in.st = st;
	return in;
}

Ins *
dec_emit(Dec *d)
{
	sim_module *m = d->m;

	VEC_PUSH(d->arena, m->code, m->ncode, m->ccode, blank(d->st));
	return &m->code[m->ncode - 1];
}

Dec
dec_start(sim_module *m, Fn *f, PtxStmt *st)
{
	Dec d;

	memset(&d, 0, sizeof d);
	d.m = m;
	d.arena = &m->ptx.arena;
	d.f = f;
	d.st = st;
	return d;
}

bool
dec_stmt(Dec *d)
{
	Ins in = blank(d->st);

	d->in = &in;
	if (strlen(d->st->op) >= sizeof d->op)
		return dec_fail(d, "unknown instruction");
	strcpy(d->op, d->st->op);
	if (!take_row(d))
		return false;
	in.id = d->row->id;
	in.exec = d->row->exec;
	in.cls = d->row->cls;
	if (d->st->guard) {
		dec_reg(d, d->st->guard);
		in.guard = (s32)d->st->guard->unit;
		in.guard_neg = d->st->guard_neg;
	}
	if (!d->row->dec(d))
		return false;
	for (u32 i = 0; i < d->npart; i++)
		if (!(d->used >> i & 1))
			return dec_fail(d, "modifier .%.40s is not supported here", d->part[i]);
	if (in.cls == ARITH)
		in.cls = arith_class((PtxType)in.type);
	else if (in.cls == MEM)
		in.cls = mem_class(d);
	*dec_emit(d) = in;
	return true;
}
