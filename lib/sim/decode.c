/* decode.c - a statement to Ins: finds the row of ptx.def, takes its modifiers, places operands. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim_int.h"

enum { ARITH = SIM_NCLASSES, MEM };
static const Row rows[OP_COUNT] = {
#define INT SIM_CLASS_INT
#define MUFU SIM_CLASS_MUFU
#define CVT SIM_CLASS_CVT
#define MMA SIM_CLASS_MMA
#define LDG SIM_CLASS_LDG
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
#include "ptx.def"
};

bool
dec_fail(Dec *d, const char *fmt, ...)
{
	char buf[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	if (d->m->nerr < 20)
		sim_error(d->m->s, d->st->line, "%.80s: %s", d->st->op, buf);
	d->m->nerr++;
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
	Type t;

	for (u32 i = 0; i < d->npart; i++)
		if (!(d->used >> i & 1) && d->nty < 6
		    && type_find(d->part[i], strlen(d->part[i]), &t)) {
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

	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		if (dec_has(d, t[i].name)) {
			*out = t[i].sp;
			return true;
		}
	*out = SIM_SPACE_NONE;
	return false;
}

bool
dec_scope(Dec *d)
{
	return dec_has(d, "cta") || dec_has(d, "cluster") || dec_has(d, "gpu") || dec_has(d, "sys");
}

/* A plane with the same value in all lanes; equal ones of a module are mostly shared. */
u32
dec_const(Dec *d, u64 v, u32 bits, u64 hi)
{
	sim_module *m = d->m;
	u32 units = bits <= 32 ? 1 : bits / 32, from = m->nkonst > 64 ? m->nkonst - 64 : 0, u;
	u32 *p;

	if (bits < 64)
		v &= (1ull << bits) - 1;
	if (bits <= 32)
		for (u = from; u < m->nkonst; u++)
			if (m->konst[u * WARP] == v && m->konst[u * WARP + 1] == v
			    && m->konst[u * WARP + WARP - 1] == v)
				return u;
	m->konst = sim_arena_grow(&m->arena, m->konst, m->nkonst + 4, &m->ckonst, WARP * sizeof(u32));
	u = m->nkonst;
	m->nkonst += units;
	p = m->konst + (size_t)u * WARP;
	for (u32 l = 0; l < WARP; l++) {
		if (bits <= 32) {
			p[l] = (u32)v;
			continue;
		}
		memcpy(p + 2 * l, &v, 8);
		if (bits == 128)
			memcpy(p + 2 * WARP + 2 * l, &hi, 8);
	}
	return u;
}

static void
const_ref(Dec *d, u64 v, u32 bits, Ref *out)
{
	memset(out, 0, sizeof *out);
	out->base = 1;
	out->unit = dec_const(d, v, bits, 0);
	out->bits = (u8)bits;
	out->chunks = (u8)(bits <= 16 ? 1 : bits / 16);
	out->def = 0;
}

static void
new_reg(Dec *d, Reg *r)
{
	u32 bits = type_bits(r->type);

	if (r->unit != ~0u)
		return;
	if (r->type == T_pred) {
		r->unit = d->f->pred0 + d->f->preds++;
		return;
	}
	if (bits > 32)          /* 64-bit planes start at even units, for their alignment */
		d->f->units += d->f->units & 1;
	r->unit = d->f->unit0 + d->f->units;
	for (u32 i = 0; i < (bits <= 32 ? 1 : bits / 32); i++) {
		Fn *f = d->f;
		f->wide = sim_arena_grow(&d->m->arena, f->wide, f->units + 1, &f->cwide, 1);
		f->wide[f->units++] = (u8)(bits <= 32 ? 0 : 1 + i % 2);
	}
}

static void
reg_ref(Dec *d, Reg *r, Ref *out)
{
	u32 bits = type_bits(r->type);

	new_reg(d, r);
	memset(out, 0, sizeof *out);
	out->unit = r->unit;
	out->bits = (u8)bits;
	out->chunks = (u8)(bits <= 16 ? 1 : bits / 16);
	out->def = 8 + 2 * r->unit;
}

static bool
temp_ref(Dec *d, Type t, Ref *out)
{
	Reg r = { "temporary", t, ~0u };

	reg_ref(d, &r, out);
	return true;
}

bool
dec_frame(const Dec *d, const Var *v)
{
	return !d->f->entry && (v->space == SIM_SPACE_LOCAL || v->space == SIM_SPACE_PARAM);
}

void
dec_fp(Dec *d, Ref *out)
{
	reg_ref(d, d->f->fp, out);
}

/* The value of a variable's name: its address in its own space. */
static bool
var_value(Dec *d, const Opnd *o, u64 *v)
{
	const Var *var = o->var;

	*v = var->addr + o->imm;
	if (var->space == SIM_SPACE_SHARED && var->is_extern)
		*v = d->f->smem_dyn + o->imm;
	else if (var->is_extern)
		return dec_fail(d, "%.80s is external", var->name);
	return true;
}

Ins *
dec_emit(Dec *d)
{
	sim_module *m = d->m;
	Ins *in;

	m->code = sim_arena_grow(&m->arena, m->code, m->ncode, &m->ccode, sizeof *m->code);
	in = &m->code[m->ncode++];
	memset(in, 0, sizeof *in);
	in->line = d->st->line;
	in->text = d->st->op;
	in->st = d->st;
	in->guard = in->pd = in->pd2 = in->ps = -1;
	in->target = in->rpc = NO_PC;
	return in;
}

static bool
sreg_value(Dec *d, u32 sreg, Type t, Ref *out)
{
	Ref *r = arena_get(&d->m->arena, sizeof *r);
	Ins *in = dec_emit(d);

	temp_ref(d, t, r);
	in->exec = exec_sreg;
	in->cls = SIM_CLASS_INT;
	in->aux = sreg;
	in->type = (u8)t;
	in->d = r;
	in->nd = 1;
	*out = *r;
	return true;
}

/* The address of a variable in a frame: an instruction of its own. */
static bool
frame_value(Dec *d, u64 off, Type t, Ref *out)
{
	Ref *r = arena_get(&d->m->arena, 2 * sizeof *r);
	Ins *in = dec_emit(d);

	temp_ref(d, t, r);
	dec_fp(d, &r[1]);
	in->exec = exec_frame;
	in->cls = SIM_CLASS_INT;
	in->aux = (u32)off;
	in->type = (u8)t;
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = 1;
	*out = *r;
	return true;
}

static u64
imm_bits(const Opnd *o, Type t)
{
	u64 v = o->imm;
	double dv;
	float f;

	if (o->flt == 1 && type_bits(t) == 64) {
		memcpy(&f, &v, 4);
		dv = f;
		memcpy(&v, &dv, 8);
	} else if (o->flt == 2 && type_bits(t) < 64) {
		memcpy(&dv, &v, 8);
		if (t == T_f16)
			return f16_round(dv, RN);
		if (t == T_bf16)
			return bf16_round(dv, RN);
		f = (float)dv;
		v = 0;
		memcpy(&v, &f, 4);
	}
	return v;
}

bool
dec_src(Dec *d, const Opnd *o, Type t, Ref *out)
{
	u32 bits = type_bits(t);
	u64 v;

	switch (o->kind) {
	case O_REG:
		if (o->reg->type == T_pred)
			return dec_fail(d, "%.60s is a predicate", o->reg->name);
		if (type_bits(o->reg->type) != bits)
			return dec_fail(d, "%.60s has %u bits, the instruction takes %u", o->reg->name,
			                type_bits(o->reg->type), bits);
		if (o->neg)
			return dec_fail(d, "'!' needs a predicate");
		if (o->sel || o->minus)
			return dec_fail(d, "%.60s: no part or sign of a register is possible here", o->reg->name);
		reg_ref(d, o->reg, out);
		return true;
	case O_IMM:
		const_ref(d, imm_bits(o, t), bits, out);
		return true;
	case O_VAR:
		if (!var_value(d, o, &v))
			return false;
		if (dec_frame(d, o->var))
			return frame_value(d, v, t, out);
		const_ref(d, v, bits, out);
		return true;
	case O_FN:
		if (o->fn->entry)
			return dec_fail(d, "%.60s is an entry: only functions can be called", o->fn->name);
		o->fn->taken = true;
		const_ref(d, o->fn->addr, bits, out);
		return true;
	case O_SREG:
		return sreg_value(d, o->sreg, t, out);
	case O_LABEL:
		return dec_fail(d, "%.60s is not declared", o->name);
	default:
		return dec_fail(d, "operand of the wrong kind");
	}
}

bool
dec_dst(Dec *d, const Opnd *o, Type t, Ref *out)
{
	if (o->kind == O_SINK)
		return temp_ref(d, t, out);
	if (o->kind != O_REG)
		return dec_fail(d, "destination is no register");
	return dec_src(d, o, t, out);
}

bool
dec_psrc(Dec *d, const Opnd *o, s32 *p, bool *neg)
{
	if (o->kind == O_REG && o->reg->type == T_pred) {
		new_reg(d, o->reg);
		*p = (s32)o->reg->unit;
		*neg = o->neg;
		return true;
	}
	if (o->kind == O_SREG && sreg_is_pred(o->sreg)) {
		Ins *in = dec_emit(d);
		in->exec = exec_sreg;
		in->cls = SIM_CLASS_INT;
		in->aux = o->sreg;
		in->pd = *p = (s32)(d->f->pred0 + d->f->preds++);
		*neg = o->neg;
		return true;
	}
	if (o->kind == O_IMM && !o->flt) {      /* predicate 0 is always true */
		*p = 0;
		*neg = (o->imm != 0) == o->neg;
		return true;
	}
	return dec_fail(d, "expected a predicate");
}

bool
dec_pdst(Dec *d, const Opnd *o, s32 *p)
{
	bool neg;

	*p = -1;
	if (o->kind == O_SINK)
		return true;
	if (o->kind != O_REG || o->neg)
		return dec_fail(d, "expected a predicate destination");
	return dec_psrc(d, o, p, &neg);
}

bool
dec_imm(const Opnd *o, u64 *v)
{
	*v = o->imm;
	return o->kind == O_IMM && !o->flt;
}

bool
dec_addr(Dec *d, const Opnd *o, Ref *base, s64 *off, sim_space *space)
{
	const Opnd *b;
	u64 v;

	if (o->kind != O_ADDR || o->n != 1)
		return dec_fail(d, "expected an address in [ ]");
	b = &o->elt[0];
	*off = (s64)o->imm;
	switch (b->kind) {
	case O_REG:
		if (type_bits(b->reg->type) != 32 && type_bits(b->reg->type) != 64)
			return dec_fail(d, "%.60s cannot hold an address", b->reg->name);
		reg_ref(d, b->reg, base);
		return true;
	case O_VAR:
		if (!var_value(d, b, &v))
			return false;
		if (*space == SIM_SPACE_NONE)
			*space = b->var->space;
		else if (*space != b->var->space
		         && !(*space == SIM_SPACE_CLUSTER && b->var->space == SIM_SPACE_SHARED))
			return dec_fail(d, "%.60s is in another space", b->var->name);
		if (dec_frame(d, b->var)) {
			*off += (s64)v;
			dec_fp(d, base);
			return true;
		}
		const_ref(d, v, 64, base);
		return true;
	case O_IMM:
		const_ref(d, b->imm, 64, base);
		return true;
	case O_LABEL:
		return dec_fail(d, "%.60s is not declared", b->name);
	default:
		return dec_fail(d, "address of the wrong kind");
	}
}

/* A scalar or a vector {a, b, ...} of registers; `loose`: registers may be wider than t. */
bool
dec_refs(Dec *d, const Opnd *o, Type t, bool dst, u32 want, Ref *out, u32 *n)
{
	const Opnd *e = o;
	u32 ne = 1;

	if (o->kind == O_VEC) {
		e = o->elt;
		ne = o->n;
	}
	if (want && ne != want)
		return dec_fail(d, "expected %u registers, found %u", want, ne);
	for (u32 i = 0; i < ne; i++)
		if (!(dst ? dec_dst(d, &e[i], t, &out[i]) : dec_src(d, &e[i], t, &out[i])))
			return false;
	*n = ne;
	return true;
}

bool
dec_needs(Dec *d, u32 sm, const char *what)
{
	const char *t = d->m->target + 3;
	char *end;
	u32 have = (u32)strtoul(t, &end, 10), want = sm % 1000;

	if (sm < 1000 ? have >= want : have == want && *end == 'a')
		return true;
	return dec_fail(d, "%s%sneeds .target sm_%u%s", what ? what : "", what ? " " : "", want,
	                sm < 1000 ? " or higher" : "a");
}

static const Row *
find_row(const char *op)
{
	const Row *best = NULL;
	size_t n, len = 0;

	for (u32 i = 0; i < OP_COUNT; i++) {
		n = strlen(rows[i].name);
		if (n > len && !strncmp(op, rows[i].name, n) && (!op[n] || op[n] == '.')) {
			best = &rows[i];
			len = n;
		}
	}
	return best;
}

static void
split(Dec *d)
{
	char *s = d->op + strlen(d->row->name);

	while (*s == '.') {
		*s++ = 0;
		if (d->npart < 24)
			d->part[d->npart++] = s;
		while (*s && *s != '.')
			s++;
	}
}

static u8
arith_class(Type t)
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
	return (u32)strtoul(m->target + 3, NULL, 10);
}

static bool
exists(Dec *d)
{
	u32 sm = target_sm(d->m), need = legal_opcode(d->st->op, sm);

	if (need == LEGAL)
		return true;
	if (need == LEGAL_NEVER)
		return dec_fail(d, "there is no such combination of modifiers and types");
	return dec_fail(d, "needs a target of sm_%u or newer, this is %s", need, d->m->target);
}

bool
dec_stmt(Dec *d)
{
	Ins in, *out;

	memset(&in, 0, sizeof in);
	in.guard = in.pd = in.pd2 = in.ps = -1;
	in.target = in.rpc = NO_PC;
	in.line = d->st->line;
	in.text = d->st->op;
	in.st = d->st;
	d->in = &in;
	if (strlen(d->st->op) >= sizeof d->op || !(d->row = find_row(d->st->op)))
		return dec_fail(d, "unknown instruction");
	if (!exists(d))
		return false;
	strcpy(d->op, d->st->op);
	split(d);
	in.id = d->row->id;
	in.exec = d->row->exec;
	in.cls = d->row->cls;
	if (d->st->guard) {
		new_reg(d, d->st->guard);
		in.guard = (s32)d->st->guard->unit;
		in.guard_neg = d->st->guard_neg;
	}
	if (!d->row->dec(d))
		return false;
	for (u32 i = 0; i < d->npart; i++)
		if (!(d->used >> i & 1))
			return dec_fail(d, "modifier .%.40s is not supported here", d->part[i]);
	if (in.cls == ARITH)
		in.cls = arith_class((Type)in.type);
	else if (in.cls == MEM)
		in.cls = mem_class(d);
	out = dec_emit(d);
	*out = in;
	return true;
}
