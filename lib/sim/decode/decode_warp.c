/* decode_warp.c - decodes warp-level exchange, barriers, control flow, and instructions that are not
 * simulated. */
#include <string.h>
#include "lib/sim/decode/decode.h"

static bool
warp_common(Dec *d, u32 nsrc, Ref **out)
{
	Ref *r = NEWN(d->arena, Ref, nsrc + 2);

	d->in->wsync = true;
	d->in->d = r;
	d->in->s = r + 1;
	d->in->ns = (u8)nsrc;
	*out = r;
	return true;
}

/* d or d|p */
static bool
dst_pair(Dec *d, const Opnd *o, PtxType t, Ref *r)
{
	d->in->nd = 1;
	if (o->kind != O_PAIR)
		return dec_dst(d, o, t, r);
	return dec_dst(d, &o->elt[0], t, r) && dec_pdst(d, &o->elt[1], &d->in->pd);
}

/* Sets Ins.mode to the one of four modes that the opcode has. */
static bool
take_mode(Dec *d, const char *const mode[4])
{
	for (u8 i = 0; i < 4; i++)
		if (dec_has(d, mode[i])) {
			d->in->mode = i;
			return true;
		}
	return false;
}

bool
dec_shfl(Dec *d)
{
	static const char *const mode[] = { [SHFL_UP] = "up", [SHFL_DOWN] = "down",
		[SHFL_BFLY] = "bfly", [SHFL_IDX] = "idx" };
	const Opnd *o = d->st->o;
	Ref *r;

	if (!take_mode(d, mode) || !dec_types(d) || type_bits(d->ty[0]) != 32 || d->st->no != 5)
		return dec_fail(d, "expected shfl.sync.mode.b32 d, a, b, c, mask");
	if (o[0].kind == O_PAIR && o[0].elt[0].kind == O_SINK)
		return dec_fail(d, "d cannot be omitted");
	warp_common(d, 4, &r);          /* mask first: s[0] is always the member mask */
	return dst_pair(d, &o[0], T_b32, &r[0]) && dec_src(d, &o[4], T_u32, &r[1]) &&
	       dec_src(d, &o[1], T_b32, &r[2]) && dec_src(d, &o[2], T_u32, &r[3]) &&
	       dec_src(d, &o[3], T_u32, &r[4]);
}

bool
dec_vote(Dec *d)
{
	static const char *const mode[] = { [VOTE_ALL] = "all", [VOTE_ANY] = "any",
		[VOTE_UNI] = "uni", [VOTE_BALLOT] = "ballot" };
	const Opnd *o = d->st->o;
	Ref *r;

	if (!take_mode(d, mode) || !dec_types(d) || d->st->no != 3 ||
	    d->ty[0] != (d->in->mode == VOTE_BALLOT ? T_b32 : T_pred))
		return dec_fail(d, "expected vote.sync.mode.type d, p, mask");
	warp_common(d, 1, &r);
	if (d->in->mode == VOTE_BALLOT) {
		d->in->nd = 1;
		if (!dec_dst(d, &o[0], T_b32, &r[0]))
			return false;
	} else if (!dec_pdst(d, &o[0], &d->in->pd)) {
		return false;
	}
	return dec_psrc(d, &o[1], &d->in->ps, &d->in->ps_neg) && dec_src(d, &o[2], T_u32, &r[1]);
}

bool
dec_match(Dec *d)
{
	const Opnd *o = d->st->o;
	Ref *r;

	if (!dec_types(d) || d->st->no != 3 || (d->ty[0] != T_b32 && d->ty[0] != T_b64))
		return dec_fail(d, "expected match.mode.sync.type d, a, mask");
	warp_common(d, 2, &r);
	return dst_pair(d, &o[0], T_b32, &r[0]) && dec_src(d, &o[2], T_u32, &r[1]) &&
	       dec_src(d, &o[1], d->ty[0], &r[2]);
}

bool
dec_redux(Dec *d)
{
	static const char *const op[] = { [REDUX_ADD] = "add", [REDUX_MIN] = "min",
		[REDUX_MAX] = "max", [REDUX_AND] = "and", [REDUX_OR] = "or", [REDUX_XOR] = "xor" };
	const Opnd *o = d->st->o;
	Ref *r;

	d->in->mode = 255;
	for (u32 i = 0; i < 6; i++)
		if (dec_has(d, op[i]))
			d->in->mode = (u8)i;
	if (d->in->mode == 255 || !dec_types(d) || type_bits(d->ty[0]) != 32 || type_float(d->ty[0]) ||
	    d->st->no != 3)
		return dec_fail(d, "expected redux.sync.op.type d, a, mask");
	warp_common(d, 2, &r);
	d->in->nd = 1;
	return dec_dst(d, &o[0], T_b32, &r[0]) && dec_src(d, &o[2], T_u32, &r[1]) &&
	       dec_src(d, &o[1], T_b32, &r[2]);
}

bool
dec_activemask(Dec *d)
{
	Ref *r = NEW(d->arena, Ref);

	d->in->d = r;
	d->in->nd = 1;
	if (!dec_types(d) || d->st->no != 1)
		return dec_fail(d, "expected activemask.b32 d");
	return dec_dst(d, &d->st->o[0], T_b32, r);
}

bool
dec_elect(Dec *d)
{
	Ref *r;

	if (d->st->no != 2)
		return dec_fail(d, "expected elect.sync d|p, mask");
	warp_common(d, 1, &r);
	return dst_pair(d, &d->st->o[0], T_b32, &r[0]) && dec_src(d, &d->st->o[1], T_u32, &r[1]);
}

/* s[0] barrier number, s[1] thread count if given.  mode: BAR_ */
bool
dec_bar(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 4);
	const Opnd *o = d->st->o;
	const u32 id = d->row->id;
	u32 n = d->st->no, i = 0;

	in->flags |= !strncmp(d->row->name, "bar.", 4) || dec_has(d, "aligned") ? F_INT : 0;
	in->d = r;
	in->s = r + 1;
	in->ns = 1;
	if (id == OP_bararrive || id == OP_bcarrive || id == OP_barrarrive || id == OP_brcarrive)
		in->mode = BAR_ARRIVE;
	if (id == OP_barred || id == OP_bcred || id == OP_barrred || id == OP_brcred) {
		in->mode = dec_has(d, "popc")  ? BAR_POPC
		           : dec_has(d, "and") ? BAR_AND
		           : dec_has(d, "or")  ? BAR_OR
		                               : BAR_SYNC;
		if (in->mode == BAR_SYNC || !dec_types(d) || n < 3)
			return dec_fail(d, "expected .popc.u32, .and.pred or .or.pred");
		if (in->mode == BAR_POPC) {
			in->nd = 1;
			if (!dec_dst(d, &o[0], T_u32, &r[0]))
				return false;
		} else if (!dec_pdst(d, &o[0], &in->pd)) {
			return false;
		}
		if (!dec_psrc(d, &o[n - 1], &in->ps, &in->ps_neg))
			return false;
		i = 1;
		n--;
	}
	if (n - i < 1 || n - i > 2 || n < i)
		return dec_fail(d, "wrong number of operands");
	if (!dec_src(d, &o[i], T_u32, &r[1]))
		return false;
	if (n - i == 2) {
		u64 count;
		in->ns = 2;
		if (dec_imm(&o[i + 1], &count) && count % WARP)
			return dec_fail(d, "the number of threads must be a multiple of 32");
		return dec_src(d, &o[i + 1], T_u32, &r[2]);
	}
	return in->mode != BAR_ARRIVE || dec_fail(d, "arrive requires a thread count");
}

bool
dec_warpbar(Dec *d)
{
	Ref *r;

	if (d->st->no != 1)
		return dec_fail(d, "expected a member mask");
	warp_common(d, 1, &r);
	return dec_src(d, &d->st->o[0], T_u32, &r[1]);
}

bool
dec_bra(Dec *d)
{
	dec_has(d, "uni");
	d->in->branch.target = d->in->branch.rpc = NO_PC;
	return (d->st->no == 1 && d->st->o[0].kind == O_LABEL) || dec_fail(d, "expected a label");
}

bool
dec_brx(Dec *d)
{
	Ref *r = NEW(d->arena, Ref);

	dec_has(d, "uni");
	if (d->st->no != 2 || d->st->o[1].kind != O_LABEL)
		return dec_fail(d, "expected an index and a list of targets");
	d->in->branch.rpc = NO_PC;
	d->in->s = r;
	d->in->ns = 1;
	return dec_src(d, &d->st->o[0], T_u32, r);
}

bool
dec_ret(Dec *d)
{
	dec_has(d, "uni");
	if (d->st->no)
		return dec_fail(d, "expected no operand");
	if (d->row->id == OP_ret && d->f->entry)
		d->in->exec = exec_exit;
	return true;
}

bool
dec_nop(Dec *d)
{
	if (d->row->id == OP_createpol) {
		Ref *r = NEW(d->arena, Ref);
		d->used = ~0u;
		d->in->exec = exec_mov;         /* a policy is opaque: zero suffices */
		d->in->d = r;
		d->in->nd = 1;
		return d->st->no >= 1 && dec_dst(d, &d->st->o[0], T_b64, r);
	}
	dec_has(d, d->row->id == OP_nanosleep ? "u32" : "mask");
	return true;
}

/* istypep: no address is that of a texture, a sampler or a surface. */
bool
dec_istypep(Dec *d)
{
	Ref *r = dec_room(d, 0, 1);

	if (!dec_prefix(d, "texref") && !dec_prefix(d, "samplerref") && !dec_prefix(d, "surfref"))
		return dec_fail(d, "expected .texref, .samplerref or .surfref");
	return (d->st->no == 2 || dec_fail(d, "expected p, a")) && dec_pdst(d, &d->st->o[0], &d->in->pd) &&
	       dec_src(d, &d->st->o[1], T_u64, r);
}

/* Number of registers in a vector of the opcode. */
static u32
vector(Dec *d)
{
	return dec_has(d, "v2") ? 2 : dec_has(d, "v4") ? 4 : dec_has(d, "v8") ? 8 : 1;
}

/* Elements of the coordinate vector in the address of a texture or surface; 0: none. */
static u32
coordinates(Dec *d)
{
	static const struct { const char *name; u32 n; } geometry[] = { { "1d", 1 }, { "2d", 2 }, { "3d", 4 },
		{ "a1d", 2 }, { "a2d", 4 }, { "cube", 4 }, { "acube", 4 }, { "2dms", 4 }, { "a2dms", 4 } };

	for (size_t i = 0; i < COUNT_OF(geometry); i++)
		if (dec_has(d, geometry[i].name))
			return geometry[i].n;
	return 0;
}

/* Instructions that the simulated device lacks: decoded with all operands, and a fault when executed. */
bool
dec_absent(Dec *d)
{
	const Opnd *o = d->st->o, *at, *data;
	u32 n = vector(d), c = coordinates(d), level = d->row->id == OP_tex && dec_first(d, "level");
	u32 grad = d->row->id == OP_tex && dec_first(d, "grad");

	d->used = ~0u;
	if (d->st->no < 2 + level + 2 * grad)
		return dec_fail(d, "too few operands");
	at = o[0].kind == O_ADDR ? &o[0] : &o[1];
	data = at == o ? &o[1] : &o[0];
	if (at->kind != O_ADDR || (data->kind == O_VEC ? data->n : 1) != n)
		return dec_fail(d, "expected an address and %u registers", n);
	if (c && (at->elt[at->n - 1].kind != O_VEC || at->elt[at->n - 1].n < c))
		return dec_fail(d, "expected %u coordinates", c);
	return true;
}
