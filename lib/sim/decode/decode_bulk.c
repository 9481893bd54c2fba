/* decode_bulk.c - decodes bulk copies, tensor copies and tensor map instructions. */
#include <string.h>
#include "lib/sim/decode/decode.h"
#include "lib/sim/exec/bulk.h"

static BulkArg *
new_arg(Dec *d)
{
	BulkArg *a = NEW(d->arena, BulkArg);

	d->in->bulk = a;
	return a;
}

static bool
shared_addr(Dec *d, const Opnd *o, BulkAddr *a)
{
	sim_space sp = SIM_SPACE_SHARED;

	return dec_addr(d, o, &a->base, &a->off, &sp);
}

static bool
global_addr(Dec *d, const Opnd *o, BulkAddr *a)
{
	sim_space sp = SIM_SPACE_GLOBAL;

	return dec_addr(d, o, &a->base, &a->off, &sp);
}

/* The two spaces, the destination's first. */
static bool
spaces(Dec *d, BulkArg *a)
{
	static const struct { const char *dst, *src; BulkDir dir; bool own; } t[] = {
		{ "shared::cluster", "global", B_LOAD, false }, { "shared::cta", "global", B_LOAD, true },
		{ "shared::cluster", "shared::cta", B_SEND, false },
		{ "global", "shared::cta", B_STORE, false },
	};

	for (size_t k = 0; k < COUNT_OF(t); k++)
		if (dec_follow(d, t[k].dst, t[k].src)) {
			a->dir = t[k].dir;
			a->own = t[k].own;
			return true;
		}
	return dec_fail(d, "expected .shared::cluster.global, .shared::cta.global, "
	                ".shared::cluster.shared::cta or .global.shared::cta");
}

static bool
completion(Dec *d, const BulkArg *a)
{
	const char *want = a->dir == B_STORE ? "bulk_group" : "mbarrier::complete_tx::bytes";

	return dec_has(d, want) || dec_fail(d, "expected .%s", want);
}

/* ---- reductions ---- */

static bool
reduction(Dec *d, BulkArg *a)
{
	return (dec_atomic(d, &a->op) && a->op != AT_EXCH && a->op != AT_CAS) ||
	       dec_fail(d, "unknown operation");
}

static bool
reduction_type(Dec *d, const BulkArg *a)
{
	bool noftz = dec_has(d, "noftz"), half;

	if (!dec_types(d) || d->nty != 1)
		return dec_fail(d, "expected one type");
	half = d->ty[0] == T_f16 || d->ty[0] == T_bf16;
	if (noftz != (half && a->op == AT_ADD))
		return dec_fail(d, ".noftz is required with .add of .f16 and .bf16, and only allowed there");
	return bulk_reduces(a->op, d->ty[0], a->dir == B_SEND) ||
	       dec_fail(d, "type .%s is not allowed here", type_name(d->ty[0]));
}

/* ---- operands ---- */

/* Decodes the optional tail {, mask} {, policy}; the operand `at` is the next. */
static bool
tail(Dec *d, BulkArg *a, u32 at)
{
	const Opnd *o = d->st->o;
	bool hint = dec_has(d, "L2::cache_hint");
	Ref policy;

	if (hint && a->dir == B_SEND)
		return dec_fail(d, "does not support a cache hint");
	if (d->st->no != at + a->multicast + hint)
		return dec_fail(d, "expected %u operands, found %u", at + a->multicast + hint, d->st->no);
	return (!a->multicast || dec_src(d, &o[at], T_b16, &a->mask)) &&
	       (!hint || dec_src(d, &o[at + a->multicast], T_b64, &policy));
}

/* cp.async.bulk and cp.reduce.async.bulk */
bool
dec_bulk(Dec *d)
{
	BulkArg *a = new_arg(d);
	const Opnd *o = d->st->o;
	bool store;

	a->reduce = d->row->id == OP_bulkred;
	if (!dec_needs(d, 90, NULL) || !spaces(d, a) || !completion(d, a))
		return false;
	store = a->dir == B_STORE;
	if (a->reduce && (a->dir == B_LOAD || !reduction(d, a) || !reduction_type(d, a)))
		return dec_fail(d, "unsupported reduction for this type");
	a->multicast = a->dir == B_LOAD && !a->own && !a->reduce && dec_has(d, "multicast::cluster");
	if (d->st->no < 3u + !store)
		return dec_fail(d, "expected [dst], [src], size%s", store ? "" : ", [mbar]");
	return (store ? global_addr : shared_addr)(d, &o[0], &a->dst) &&
	       (a->dir == B_LOAD ? global_addr : shared_addr)(d, &o[1], &a->src) &&
	       dec_src(d, &o[2], T_u32, &a->size) && (store || shared_addr(d, &o[3], &a->mbar)) &&
	       tail(d, a, 3u + !store);
}

bool
dec_bulkpre(Dec *d)
{
	BulkArg *a = new_arg(d);
	const Opnd *o = d->st->o;

	a->dir = B_FETCH;
	if (!dec_needs(d, 90, NULL))
		return false;
	if (!dec_has(d, "L2") || !dec_has(d, "global") || d->st->no < 2)
		return dec_fail(d, "expected .L2.global [src], size");
	return global_addr(d, &o[0], &a->src) && dec_src(d, &o[1], T_u32, &a->size) && tail(d, a, 2);
}

bool
dec_bulkgroup(Dec *d)
{
	u64 n = 0;

	d->in->wait.read = dec_has(d, "read");
	if (!dec_needs(d, 90, NULL))
		return false;
	if (d->row->id == OP_bulkwait && (d->st->no != 1 || !dec_imm(&d->st->o[0], &n)))
		return dec_fail(d, "expected a number of groups");
	if (d->row->id == OP_bulkcommit && (d->st->no || d->in->wait.read))
		return dec_fail(d, "expected no operand");
	d->in->wait.keep = n > 1000000 ? 1000000 : (u32)n;
	return true;
}

/* [map, {coordinates}] */
static bool
map_operand(Dec *d, const Opnd *o, BulkArg *a, BulkAddr *map)
{
	Opnd base = *o;
	sim_space sp = SIM_SPACE_NONE;

	if (o->kind != O_ADDR || o->n != 2 || o->elt[1].kind != O_VEC || o->elt[1].n != a->rank)
		return dec_fail(d, "expected [map, {%u coordinates}]", a->rank);
	base.n = 1;
	if (!dec_addr(d, &base, &map->base, &map->off, &sp))
		return false;
	if (sp != SIM_SPACE_NONE && sp != SIM_SPACE_GLOBAL && sp != SIM_SPACE_CONST)
		return dec_fail(d, "the map's address is generic");
	for (u32 i = 0; i < a->rank; i++)
		if (!dec_src(d, &o->elt[1].elt[i], T_s32, &a->coord[i]))
			return false;
	return true;
}

/* .1d to .5d and the mode */
static bool
shape(Dec *d, BulkArg *a)
{
	static const char *const dims[] = { "1d", "2d", "3d", "4d", "5d" };

	for (u32 i = 0; i < 5; i++)
		if (dec_has(d, dims[i]))
			a->rank = (u8)(i + 1);
	if (!a->rank)
		return dec_fail(d, "expected .1d to .5d");
	if (!dec_has(d, "tile")) {
		a->offsets = a->dir != B_STORE && dec_has(d, "im2col");
		a->im2col = a->offsets || (a->dir == B_STORE && dec_has(d, "im2col_no_offs"));
	}
	return !a->im2col || a->rank >= 3 || dec_fail(d, "im2col needs 3 dimensions or more");
}

/* {w, h, d}: a vector of two less than the dimensions */
static bool
pixel_offsets(Dec *d, u32 at, BulkArg *a)
{
	const Opnd *o = &d->st->o[at];
	u32 n;

	if (!a->offsets)
		return true;
	if (at >= d->st->no || o->kind != O_VEC)
		return dec_fail(d, "expected %u im2col offsets in { }", a->rank - 2u);
	return dec_refs(d, o, T_u16, false, a->rank - 2u, a->off, &n);
}

/* cp.async.bulk.tensor, cp.reduce.async.bulk.tensor */
bool
dec_btensor(Dec *d)
{
	BulkArg *a = new_arg(d);
	const Opnd *o = d->st->o;
	bool store;

	a->reduce = d->row->id == OP_btensorred;
	if (!dec_needs(d, 90, NULL) || !spaces(d, a))
		return false;
	store = a->dir == B_STORE;
	if (a->dir == B_SEND || (a->reduce && !store))
		return dec_fail(d, "expected one operand in global memory (the destination, for a "
		                   "reduction)");
	if (!completion(d, a) || !shape(d, a) || (a->reduce && !reduction(d, a)))
		return false;
	a->multicast = !store && !a->own && dec_has(d, "multicast::cluster");
	if (d->st->no < 2u + !store)
		return dec_fail(d, store ? "expected [map, {...}], [src]"
		                         : "expected [dst], [map, {...}], [mbar]");
	if (store)
		return map_operand(d, &o[0], a, &a->dst) && shared_addr(d, &o[1], &a->src) && tail(d, a, 2);
	return shared_addr(d, &o[0], &a->dst) && map_operand(d, &o[1], a, &a->src) &&
	       shared_addr(d, &o[2], &a->mbar) && pixel_offsets(d, 3, a) && tail(d, a, 3u + a->offsets);
}

bool
dec_btensorpre(Dec *d)
{
	BulkArg *a = new_arg(d);

	a->dir = B_FETCH;
	if (!dec_needs(d, 90, NULL) || !shape(d, a))
		return false;
	if (!dec_has(d, "L2") || !dec_has(d, "global") || !d->st->no)
		return dec_fail(d, "expected .L2.global [map, {...}]");
	return map_operand(d, &d->st->o[0], a, &a->src) && pixel_offsets(d, 1, a) &&
	       tail(d, a, 1u + a->offsets);
}

/* ---- tensor maps ---- */

/* prefetch{.param,.const}.tensormap [a] */
bool
dec_tmprefetch(Dec *d)
{
	BulkArg *a = new_arg(d);
	sim_space sp;

	dec_space(d, &sp);
	if (!dec_has(d, "tensormap") || d->st->no != 1 ||
	    (sp != SIM_SPACE_NONE && sp != SIM_SPACE_PARAM && sp != SIM_SPACE_CONST))
		return dec_fail(d, "expected prefetch{.param,.const}.tensormap [a]");
	if (!dec_needs(d, 90, NULL) || !dec_addr(d, &d->st->o[0], &a->src.base, &a->src.off, &sp))
		return false;
	d->in->space = (u8)sp;
	return true;
}

/* tensormap.replace.tile: s[0] the address, s[1] the value. */
static const struct {
	const char *name;
	u8 most;                /* maximum ordinal; 0: the field has none */
	u8 values;              /* number of enumerators on sm_90; 0: any value, also in a register */
	bool wide;
} fields[] = {
	[TF_ADDRESS] = { "global_address", 0, 0, true }, [TF_RANK] = { "rank", 0, 0, false },
	[TF_BOX] = { "box_dim", 4, 0, false }, [TF_DIM] = { "global_dim", 4, 0, false },
	[TF_STRIDE] = { "global_stride", 4, 0, true }, [TF_ESTRIDE] = { "element_stride", 4, 0, false },
	[TF_TYPE] = { "elemtype", 0, 13, false }, [TF_INTERLEAVE] = { "interleave_layout", 0, 3, false },
	[TF_SWIZZLE] = { "swizzle_mode", 0, 4, false }, [TF_FILL] = { "fill_mode", 0, 2, false },
};

bool
dec_tmreplace(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 2);
	const Opnd *o = d->st->o;
	sim_space sp;
	u64 ord = 0, v;
	u32 f = 0, at;

	while (f < COUNT_OF(fields) && !dec_has(d, fields[f].name))
		f++;
	if (f == COUNT_OF(fields))
		return dec_fail(d, "unknown field, or not one of sm_90");
	dec_space(d, &sp);
	at = 1 + (fields[f].most != 0);
	if (!dec_has(d, "b1024") || !dec_types(d) || d->nty != 1 ||
	    d->ty[0] != (fields[f].wide ? T_b64 : T_b32) || d->st->no != at + 1)
		return dec_fail(d, "expected .b1024.%s [a]%s, value", fields[f].wide ? "b64" : "b32",
		                at == 2 ? ", ordinal" : "");
	if (at == 2 && (!dec_imm(&o[1], &ord) || ord > fields[f].most))
		return dec_fail(d, "the ordinal must be a number in 0..%u", fields[f].most);
	if (fields[f].values && (!dec_imm(&o[at], &v) || v >= fields[f].values))
		return dec_fail(d, "the new value must be a number in 0..%u", fields[f].values - 1u);
	if (sp != SIM_SPACE_NONE && sp != SIM_SPACE_GLOBAL && sp != SIM_SPACE_SHARED)
		return dec_fail(d, "only supports global and shared::cta memory");
	in->tmap.field = (u8)f;
	in->tmap.i = (u8)ord;
	in->s = r;
	in->ns = 2;
	if (!dec_needs(d, DEC_LETTERS + 90, NULL) || !dec_addr(d, &o[0], &r[0], &in->off, &sp))
		return false;
	in->space = (u8)sp;
	return dec_src(d, &o[at], d->ty[0], &r[1]);
}

/* tensormap.cp_fenceproxy...: both addresses, 128 */
bool
dec_tmcopy(Dec *d)
{
	BulkArg *a = new_arg(d);
	const Opnd *o = d->st->o;
	u64 size;

	if (!dec_follow(d, "global", "shared::cta") || !dec_scope(d) || !dec_has(d, "sync") ||
	    !dec_has(d, "aligned") || d->st->no != 3 ||
	    !dec_imm(&o[2], &size) || size != TMAP_BYTES)
		return dec_fail(d, "expected .global.shared::cta.scope.sync.aligned [dst], [src], 128");
	d->in->wsync = true;
	return dec_needs(d, 90, NULL) && global_addr(d, &o[0], &a->dst) && shared_addr(d, &o[1], &a->src);
}

/* fence.proxy.tensormap::generic.release.scope, .acquire.scope [a], 128 */
bool
dec_tmfence(Dec *d)
{
	BulkArg *a = new_arg(d);
	const Opnd *o = d->st->o;
	sim_space sp = SIM_SPACE_NONE;
	u64 size;

	if (!dec_scope(d))
		return dec_fail(d, "expected a scope");
	if (d->row->id == OP_tmrelease)
		return dec_needs(d, 90, NULL) && (!d->st->no || dec_fail(d, "expected no operand"));
	if (d->st->no != 2 || !dec_imm(&o[1], &size) || size != TMAP_BYTES)
		return dec_fail(d, "expected [a], 128");
	return dec_needs(d, 90, NULL) && dec_addr(d, &o[0], &a->src.base, &a->src.off, &sp);
}
