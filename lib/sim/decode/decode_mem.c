/* decode_mem.c - decodes loads, stores, atomics, address conversion, matrix loads and cp.async. */
#include <string.h>
#include "lib/sim/decode/decode.h"

static void
cache_mods(Dec *d)
{
	static const char *const words[] = { "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified" };

	for (size_t i = 0; i < COUNT_OF(words); i++)
		dec_has(d, words[i]);
	if (dec_has(d, "nc"))
		d->in->flags |= F_NC;
	while (dec_prefix(d, "L1::") || dec_prefix(d, "L2::"))
		;
}

static void
order_mods(Dec *d)
{
	u32 *fl = &d->in->flags;

	dec_has(d, "weak");
	dec_has(d, "mmio");
	if (dec_has(d, "volatile") || dec_has(d, "relaxed"))
		*fl |= F_STRONG;
	if (dec_has(d, "acquire"))
		*fl |= F_STRONG | F_ACQ;
	if (dec_has(d, "release"))
		*fl |= F_STRONG | F_REL;
	if (dec_has(d, "acq_rel"))
		*fl |= F_STRONG | F_ACQ | F_REL;
	if (!dec_scope(d) && d->row->cls == SIM_CLASS_ATOM)
		d->in->scope = SCOPE_GPU;
}

static bool
space_mod(Dec *d)
{
	sim_space sp;

	dec_space(d, &sp);
	d->in->space = (u8)sp;
	return true;
}

/* Registers of a load or store may be wider than the memory type. */
static bool
wide_refs(Dec *d, const Opnd *o, PtxType t, bool dst, Ref *out, u32 n)
{
	const Opnd *e = o->kind == O_VEC ? o->elt : o;

	if ((o->kind == O_VEC ? o->n : 1) != n)
		return dec_fail(d, "expected %u registers", n);
	for (u32 i = 0; i < n; i++) {
		PtxType rt = t;
		if (e[i].kind == O_REG && e[i].reg->type != T_pred) {
			rt = e[i].reg->type;
			if (type_bits(rt) < type_bits(t))
				return dec_fail(d, "%.60s is too narrow for .%s", e[i].reg->name,
				                type_name(t));
		}
		if (!(dst ? dec_dst(d, &e[i], rt, &out[i]) : dec_src(d, &e[i], rt, &out[i])))
			return false;
	}
	return true;
}

static bool
vector_type(Dec *d)
{
	Ins *in = d->in;

	in->mem.vec = dec_has(d, "v2") ? 2 : dec_has(d, "v4") ? 4 : dec_has(d, "v8") ? 8 : 1;
	if (!dec_types(d))
		return false;
	if (d->nty != 1 || type_bits(d->ty[0]) < 8)
		return dec_fail(d, "wrong type");
	in->mem.ebytes = (u8)(type_bits(d->ty[0]) / 8);
	if (in->mem.ebytes * in->mem.vec > 32)
		return dec_fail(d, "vector of more than 32 bytes");
	return true;
}

/* Parameters of a .func live in the thread's local frame. */
static bool
param_space(Dec *d, const Opnd *addr)
{
	Ins *in = d->in;
	const Opnd *b = &addr->elt[0];

	if (in->space != SIM_SPACE_PARAM)
		return true;
	if (!d->f->entry || (b->kind == O_VAR && b->var->user == d->f))
		in->space = SIM_SPACE_LOCAL;
	return true;
}

/* Shared memory, not strong, elements as large as their registers: see exec/shared_fast_path.c. */
static bool
plain_shared(const Ins *in, const Ref *r, u32 least)
{
	for (u32 i = 0; i < in->mem.vec; i++)
		if (r[i].bits != 8 * in->mem.ebytes)
			return false;
	return in->space == SIM_SPACE_SHARED && !(in->flags & (F_STRONG | F_ACQ | F_REL)) &&
	       in->mem.ebytes >= least &&
	       in->mem.ebytes <= 8 && in->mem.ebytes * in->mem.vec <= 16;
}

/* Decodes the common part of ld and st: modifiers, type, and the address, which is operand `at` and s[0]. */
static bool
access_form(Dec *d, u32 at, const char *form, Ref *r)
{
	Ins *in = d->in;
	sim_space sp;

	order_mods(d);
	cache_mods(d);
	space_mod(d);
	if (!vector_type(d))
		return false;
	if (d->st->no < 2 || d->st->no > 3 || d->st->o[at].kind != O_ADDR)
		return dec_fail(d, "%s", form);
	sp = (sim_space)in->space;
	in->s = r;
	if (!dec_addr(d, &d->st->o[at], &r[0], &in->off, &sp))
		return false;
	in->space = (u8)sp;
	return true;
}

bool
dec_ld(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 9);

	if (!access_form(d, 1, "expected d, [a]", r))
		return false;
	in->ns = 1;
	in->d = r + 1;
	in->nd = in->mem.vec;
	if (!wide_refs(d, &d->st->o[0], d->ty[0], true, r + 1, in->mem.vec))
		return false;
	param_space(d, &d->st->o[1]);
	if (in->space == SIM_SPACE_PARAM && r[0].base && !in->guard_neg)
		in->exec = exec_ldparam;
	if (plain_shared(in, r + 1, 2))
		in->exec = exec_lds;
	return true;
}

bool
dec_st(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 9);

	if (!access_form(d, 0, "expected [a], b", r))
		return false;
	in->ns = (u8)(1 + in->mem.vec);
	if (!wide_refs(d, &d->st->o[1], d->ty[0], false, r + 1, in->mem.vec))
		return false;
	if (plain_shared(in, r + 1, 4))
		in->exec = exec_sts;
	return param_space(d, &d->st->o[0]);
}

bool
dec_atom(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 20);
	bool atom = d->row->id == OP_atom, known;
	const Opnd *o = d->st->o + atom;
	u32 n, extra;
	sim_space sp;
	PtxType t;

	order_mods(d);
	in->flags |= F_STRONG;
	space_mod(d);
	dec_has(d, "noftz");
	known = dec_atomic(d, &in->mem.op);
	cache_mods(d);
	if (!vector_type(d))
		return false;
	t = d->ty[0];
	if (!known)
		return dec_fail(d, "unknown operation");
	if (type_bits(t) < 16 || (type_bits(t) == 16 && t != T_f16 && t != T_bf16 && in->mem.op != AT_CAS) ||
	    (type_float(t) && in->mem.op != AT_ADD && !(in->mem.op == AT_MIN || in->mem.op == AT_MAX)) ||
	    (in->mem.vec > 1 && !type_float(t)))
		return dec_fail(d, "type .%s is not supported here", type_name(t));
	n = (u32)atom + 2u + (in->mem.op == AT_CAS);
	extra = d->st->no - n;
	if (d->st->no < n || extra > 1)
		return dec_fail(d, "wrong number of operands");
	sp = (sim_space)in->space;
	if (!dec_addr(d, &o[0], &r[0], &in->off, &sp))
		return false;
	in->space = (u8)sp;
	in->s = r;
	in->ns = (u8)(1 + in->mem.vec + (in->mem.op == AT_CAS));
	if (!dec_refs(d, &o[1], t, false, in->mem.vec, r + 1, &n) ||
	    (in->mem.op == AT_CAS && !dec_src(d, &o[2], t, &r[1 + in->mem.vec])))
		return false;
	if (atom) {
		in->d = r + 10;
		in->nd = in->mem.vec;
		return dec_refs(d, &d->st->o[0], t, true, in->mem.vec, r + 10, &n);
	}
	return true;
}

/* cvta{.to}.space: adds or subtracts the window of the space. */
bool
dec_cvta(Dec *d)
{
	Ins *in = d->in;
	Ref *r = dec_room(d, 1, 1);

	space_mod(d);
	if (!dec_types(d) || d->st->no != 2 || in->space == SIM_SPACE_NONE)
		return dec_fail(d, "expected cvta{.to}.space.type d, a");
	if (in->space == SIM_SPACE_PARAM && !d->f->entry)
		in->space = SIM_SPACE_LOCAL;
	if (d->st->o[1].kind == O_VAR && d->st->o[1].var->space != in->space)
		return dec_fail(d, "%.60s is in another state space", d->st->o[1].var->name);
	return dec_dst(d, &d->st->o[0], d->ty[0], &r[0]) && dec_src(d, &d->st->o[1], d->ty[0], &r[1]);
}

bool
dec_isspacep(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEW(d->arena, Ref);
	const Opnd *o = d->st->o;

	space_mod(d);
	if (d->st->no != 2 || in->space == SIM_SPACE_NONE)
		return dec_fail(d, "expected isspacep.space p, a");
	in->s = r;
	in->ns = 1;
	return dec_pdst(d, &o[0], &in->pd) &&
	       dec_src(d, &o[1], o[1].kind == O_REG ? o[1].reg->type : T_u64, r);
}

/* Hints: nothing to simulate. */
bool
dec_prefetch(Dec *d)
{
	for (u32 i = 0; d->row->id == OP_prefetch && i < d->npart; i++)
		if (!strcmp(d->part[i], "tensormap")) {
			d->in->exec = exec_tmprefetch;
			return dec_tmprefetch(d);
		}
	d->used = ~0u;
	return true;
}

bool
dec_cpasync(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 4);
	const Opnd *o = d->st->o;
	sim_space sp = SIM_SPACE_SHARED;
	u64 size;
	s64 off;
	bool ca = dec_has(d, "ca"), cg = dec_has(d, "cg");

	if (ca == cg || !(dec_follow(d, "shared", "global") || dec_follow(d, "shared::cta", "global")))
		return dec_fail(d, "is not supported; expected cp.async.{ca,cg}.shared.global");
	cache_mods(d);
	if (d->st->no < 3 || d->st->no > 5 || !dec_imm(&o[2], &size))
		return dec_fail(d, "expected [dst], [src], size");
	if (size != 16 && (cg || (size != 4 && size != 8)))
		return dec_fail(d, "invalid copy size");
	in->copy.bytes = (u32)size;
	in->s = r;
	in->ns = 2;
	if (!dec_addr(d, &o[0], &r[0], &in->off, &sp))
		return false;
	sp = SIM_SPACE_GLOBAL;
	if (!dec_addr(d, &o[1], &r[1], &off, &sp))
		return false;
	in->copy.src = (s32)off;
	if (off != in->copy.src)
		return dec_fail(d, "offset is too large");
	if (d->st->no >= 4) {
		if (o[3].kind == O_REG && o[3].reg->type == T_pred)
			return dec_psrc(d, &o[3], &in->ps, &in->ps_neg);
		if (o[3].kind == O_REG && type_bits(o[3].reg->type) == 64)
			return true;    /* a cache policy */
		in->ns = 3;
		return dec_src(d, &o[3], T_u32, &r[2]);
	}
	return true;
}

bool
dec_cpgroup(Dec *d)
{
	u64 n = 0;

	if (d->row->id == OP_cpwait) {
		if (d->st->no != 1 || !dec_imm(&d->st->o[0], &n))
			return dec_fail(d, "expected a number of groups");
	} else if (d->st->no) {
		return dec_fail(d, "expected no operand");
	}
	d->in->wait.keep = n > 1000000 ? 1000000 : (u32)n;
	return true;
}

bool
dec_ldmatrix(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 5);
	bool st = d->row->id == OP_stmatrix;
	const Opnd *regs = &d->st->o[st], *addr = &d->st->o[!st];
	sim_space sp;
	u32 n;

	if (!dec_has(d, "m8n8"))
		return dec_fail(d,
		                "shapes other than .m8n8 need .target sm_100a or later, which is not "
		                "supported");
	if (!dec_needs(d, st ? 90 : 75, NULL))
		return false;
	in->mem.vec = dec_has(d, "x1") ? 1 : dec_has(d, "x2") ? 2 : dec_has(d, "x4") ? 4 : 0;
	if (dec_has(d, "trans"))
		in->flags |= F_TRANS;
	dec_space(d, &sp);
	if (sp != SIM_SPACE_NONE && sp != SIM_SPACE_SHARED)
		return dec_fail(d, "only shared memory is supported");
	in->space = (u8)sp;
	if (!in->mem.vec || !dec_types(d) || d->ty[0] != T_b16 || d->st->no != 2)
		return dec_fail(d, "expected .x1, .x2 or .x4 and .b16");
	in->wsync = true;
	if (!dec_addr(d, addr, &r[0], &in->off, &sp))
		return false;
	in->space = (u8)sp;
	in->s = r;
	in->ns = st ? (u8)(1 + in->mem.vec) : 1;
	in->d = r + 1;
	in->nd = st ? 0 : in->mem.vec;
	return dec_refs(d, regs, T_b32, !st, in->mem.vec, r + 1, &n);
}

bool
dec_movmatrix(Dec *d)
{
	Ins *in = d->in;
	Ref *r = dec_room(d, 1, 1);

	if (!dec_has(d, "m8n8") || !dec_has(d, "trans") || !dec_types(d) || d->ty[0] != T_b16 ||
	    d->st->no != 2)
		return dec_fail(d, "expected .m8n8.trans.b16 d, a");
	in->wsync = true;
	return dec_dst(d, &d->st->o[0], T_b32, &r[0]) && dec_src(d, &d->st->o[1], T_b32, &r[1]);
}
