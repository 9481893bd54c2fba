/* decode_operand.c - decodes the operands of a statement: registers, constants, addresses, vectors of
 * them. */
#include <string.h>
#include "lib/sim/base/float_formats.h"
#include "lib/sim/decode/decode.h"
#include "lib/sim/ptx/special_register.h"

Ref *
dec_room(Dec *d, u32 nd, u32 ns)
{
	Ref *r = NEWN(d->arena, Ref, nd + ns + 1);

	d->in->d = r;
	d->in->nd = (u8)nd;
	d->in->s = r + nd;
	d->in->ns = (u8)ns;
	return r;
}

/* A plane with the same value in all lanes; equal planes of a module are mostly shared. */
static u32
const_plane(Dec *d, u64 v, u32 bits, u64 hi)
{
	sim_module *m = d->m;
	u32 units = bits <= 32 ? 1 : bits / 32, from = m->nconstants > 64 ? m->nconstants - 64 : 0, u;
	u32 *p;

	if (bits < 64)
		v &= (1ull << bits) - 1;
	if (bits <= 32)
		for (u = from; u < m->nconstants; u++)
			if (m->constants[u * WARP] == v && m->constants[u * WARP + 1] == v &&
			    m->constants[u * WARP + WARP - 1] == v)
				return u;
	u = m->nconstants;
	if (u + 4 >= m->cconstants) {
		u32 room = m->cconstants ? 2 * m->cconstants : 8, plane = WARP * sizeof(u32);
		m->constants = arena_grow(d->arena, m->constants, m->cconstants, room, plane);
		m->cconstants = room;
	}
	m->nconstants += units;
	p = m->constants + (size_t)u * WARP;
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
	out->unit = const_plane(d, v, bits, 0);
	out->bits = (u8)bits;
	out->chunks = (u8)(bits <= 16 ? 1 : bits / 16);
	out->bytes = (u8)(bits <= 8 ? 1 : bits / 8);
	out->def = 0;
}

void
dec_reg(Dec *d, Reg *r)
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
		VEC_PUSH(d->arena, f->wide, f->units, f->cwide, (u8)(bits <= 32 ? 0 : 1 + i % 2));
	}
}

static void
reg_ref(Dec *d, Reg *r, Ref *out)
{
	u32 bits = type_bits(r->type);

	dec_reg(d, r);
	memset(out, 0, sizeof *out);
	out->unit = r->unit;
	out->bits = (u8)bits;
	out->chunks = (u8)(bits <= 16 ? 1 : bits / 16);
	out->bytes = (u8)(bits <= 8 ? 1 : bits / 8);
	out->def = DEF_CONST + DEF_UNIT * r->unit;
}

static bool
temp_ref(Dec *d, PtxType t, Ref *out)
{
	Reg r = { .name = "temporary", .type = t, .unit = ~0u };

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

static bool
sreg_value(Dec *d, u32 sreg, PtxType t, Ref *out)
{
	Ref *r = NEW(d->arena, Ref);
	Ins *in = dec_emit(d);

	temp_ref(d, t, r);
	in->exec = exec_sreg;
	in->cls = SIM_CLASS_INT;
	in->sreg = sreg;
	in->type = (u8)t;
	in->d = r;
	in->nd = 1;
	*out = *r;
	return true;
}

/* The address of a variable in a frame: computed by a separate instruction. */
static bool
frame_value(Dec *d, u64 off, PtxType t, Ref *out)
{
	Ref *r = NEWN(d->arena, Ref, 2);
	Ins *in = dec_emit(d);

	temp_ref(d, t, r);
	dec_fp(d, &r[1]);
	in->exec = exec_frame;
	in->cls = SIM_CLASS_INT;
	in->frame = (u32)off;
	in->type = (u8)t;
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = 1;
	*out = *r;
	return true;
}

static u64
imm_bits(const Opnd *o, PtxType t)
{
	u64 v = o->imm;

	if (o->flt == 1 && type_bits(t) == 64)
		return bits64_of((double)f32_of((u32)v));
	if (o->flt == 2 && type_bits(t) < 64) {
		double dv = f64_of(v);

		if (t == T_f16)
			return f16_round(dv, RN);
		if (t == T_bf16)
			return bf16_round(dv, RN);
		return bits_of((float)dv);
	}
	return v;
}

bool
dec_src(Dec *d, const Opnd *o, PtxType t, Ref *out)
{
	u32 bits = type_bits(t);
	u64 v;

	switch (o->kind) {
	case O_REG:
		if (o->reg->type == T_pred)
			return dec_fail(d, "%.60s is a predicate", o->reg->name);
		if (type_bits(o->reg->type) != bits)
			return dec_fail(d, "%.60s has %u bits; expected %u", o->reg->name,
			                type_bits(o->reg->type), bits);
		if (o->neg)
			return dec_fail(d, "'!' requires a predicate");
		if (o->sel || o->minus)
			return dec_fail(d, "%.60s: register selectors and signs are not allowed here",
			                o->reg->name);
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
dec_dst(Dec *d, const Opnd *o, PtxType t, Ref *out)
{
	if (o->kind == O_SINK)
		return temp_ref(d, t, out);
	if (o->kind != O_REG)
		return dec_fail(d, "the destination is not a register");
	return dec_src(d, o, t, out);
}

bool
dec_psrc(Dec *d, const Opnd *o, s32 *p, bool *neg)
{
	if (o->kind == O_REG && o->reg->type == T_pred) {
		dec_reg(d, o->reg);
		*p = (s32)o->reg->unit;
		*neg = o->neg;
		return true;
	}
	if (o->kind == O_SREG && sreg_is_pred(o->sreg)) {
		Ins *in = dec_emit(d);
		in->exec = exec_sreg;
		in->cls = SIM_CLASS_INT;
		in->sreg = o->sreg;
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
		else if (*space != b->var->space &&
		         !(*space == SIM_SPACE_CLUSTER && b->var->space == SIM_SPACE_SHARED))
			return dec_fail(d, "%.60s is in another state space", b->var->name);
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
dec_refs(Dec *d, const Opnd *o, PtxType t, bool dst, u32 want, Ref *out, u32 *n)
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
