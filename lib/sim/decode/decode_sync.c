/* decode_sync.c - decodes cluster, mbarrier and fence instructions. */
#include <string.h>
#include "lib/sim/decode/decode.h"
#include "lib/sim/sanitizer/sanitizer.h"

/* .shared, .shared::cta, .shared::cluster or none (generic). */
static bool
shared_space(Dec *d, bool cluster)
{
	sim_space sp;

	dec_space(d, &sp);
	d->in->space = (u8)sp;
	return sp == SIM_SPACE_NONE || sp == SIM_SPACE_SHARED ||
	       (cluster && sp == SIM_SPACE_CLUSTER) || dec_fail(d, "only supports shared memory");
}

static bool
mbar_addr(Dec *d, const Opnd *o, Ref *r)
{
	sim_space sp = (sim_space)d->in->space;

	if (!dec_addr(d, o, r, &d->in->off, &sp))
		return false;
	d->in->space = (u8)sp;
	return true;
}

static bool
b64(Dec *d)
{
	return (dec_types(d) && d->nty == 1 && d->ty[0] == T_b64) || dec_fail(d, "the type must be .b64");
}

/* Decodes .sem and .scope. */
static void
sem_scope(Dec *d, u32 sem)
{
	if (dec_has(d, "relaxed"))
		sem = 0;
	else
		(void)(dec_has(d, sem == F_REL ? "release" : "acquire"));
	d->in->flags |= sem;
	if (!dec_has(d, "cta"))
		dec_has(d, "cluster");
}

bool
dec_mbarset(Dec *d)
{
	bool init = d->row->id == OP_mbinit;
	const Opnd *o = d->st->o;
	Ref *r = dec_room(d, 0, init ? 2 : 1);

	if (!dec_needs(d, 80, NULL) || !shared_space(d, false) || !b64(d))
		return false;
	if (d->st->no != (init ? 2u : 1u))
		return dec_fail(d, init ? "expected [addr], count" : "expected [addr]");
	return mbar_addr(d, &o[0], &r[0]) && (!init || dec_src(d, &o[1], T_u32, &r[1]));
}

bool
dec_mbar(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	u32 n = d->st->no, op = d->row->id - OP_mbarrive, dst = op == ARRIVE || op == ARRIVE_DROP;
	Ref *r = dec_room(d, 1, 2);

	in->arrive.op = (u8)op;
	in->arrive.tx = !dst || dec_first(d, "expect_tx");
	if (!in->arrive.tx && dec_has(d, "noComplete"))
		in->flags |= F_NOCOMPLETE;
	sem_scope(d, F_REL);
	if (!dec_needs(d, in->arrive.tx ? 90 : 80, NULL) || !shared_space(d, true) || !b64(d))
		return false;
	if (dst && n && o[0].kind == O_ADDR)
		return dec_fail(d, "expected a state register or _ first");
	if (n < dst + 1 || n > dst + 2 || (in->arrive.tx && n != dst + 2) ||
	    (in->flags & F_NOCOMPLETE && n != dst + 2))
		return dec_fail(d, "wrong number of operands");
	if (dst && o[0].kind != O_SINK) {
		if (in->space == SIM_SPACE_CLUSTER)
			return dec_fail(d, "has no state result for .shared::cluster; use _");
		if (!dec_dst(d, &o[0], T_b64, &r[0]))
			return false;
	} else {
		in->nd = 0;
	}
	in->ns = (u8)(n - dst);
	return mbar_addr(d, &o[dst], &r[1]) && (n == dst + 1 || dec_src(d, &o[dst + 1], T_u32, &r[2]));
}

bool
dec_mbarwait(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	bool try = d->row->id == OP_mbtry;
	u32 n = d->st->no;
	Ref *r = dec_room(d, 0, 3);

	if (dec_first(d, "parity"))
		in->flags |= F_PARITY;
	sem_scope(d, F_ACQ);
	if (!dec_needs(d, try ? 90 : 80, NULL) || !shared_space(d, false) || !b64(d))
		return false;
	if (n < 3 || n > (try ? 4u : 3u))
		return dec_fail(d, "wrong number of operands");
	in->ns = (u8)(n - 1);
	return dec_pdst(d, &o[0], &in->pd) && mbar_addr(d, &o[1], &r[0]) &&
	       dec_src(d, &o[2], in->flags & F_PARITY ? T_u32 : T_b64, &r[1]) &&
	       (n < 4 || dec_src(d, &o[3], T_u32, &r[2]));
}

bool
dec_mbarpend(Dec *d)
{
	const Opnd *o = d->st->o;
	Ref *r = dec_room(d, 1, 1);

	if (!dec_needs(d, 80, NULL) || !b64(d))
		return false;
	if (d->st->no != 2)
		return dec_fail(d, "expected count, state");
	return dec_dst(d, &o[0], T_u32, &r[0]) && dec_src(d, &o[1], T_b64, &r[1]);
}

/* cp.async.mbarrier.arrive{.noinc} */
bool
dec_cpmbar(Dec *d)
{
	Ref *r = dec_room(d, 0, 1);

	d->in->arrive.noinc = dec_has(d, "noinc");
	if (!dec_needs(d, 80, NULL) || !shared_space(d, false) || !b64(d))
		return false;
	if (d->st->no != 1)
		return dec_fail(d, "expected [addr]");
	return mbar_addr(d, &d->st->o[0], &r[0]);
}

/* barrier.cluster.arrive and .wait */
bool
dec_clusterbar(Dec *d)
{
	if (d->row->id == OP_clarrive)
		d->in->flags |= !dec_has(d, "relaxed") || dec_has(d, "release") ? F_REL : 0;
	(void)dec_has(d, d->row->id == OP_clarrive ? "release" : "acquire");
	d->in->flags |= dec_has(d, "aligned") ? F_INT : 0;
	return dec_needs(d, 90, NULL) && (!d->st->no || dec_fail(d, "expected no operand"));
}

/* mapa{.shared::cluster}.type d, a, rank: a is a register or a variable, with an offset. */
bool
dec_mapa(Dec *d)
{
	const Opnd *o = d->st->o;
	Ref *r = dec_room(d, 1, 2);
	sim_space sp;

	dec_space(d, &sp);
	d->in->space = (u8)sp;
	if (!dec_needs(d, 90, NULL) || !dec_types(d))
		return false;
	if ((d->ty[0] != T_u32 && d->ty[0] != T_u64) || d->st->no != 3 ||
	    (sp != SIM_SPACE_NONE && sp != SIM_SPACE_CLUSTER))
		return dec_fail(d, "expected mapa{.shared::cluster}.{u32,u64} d, a, rank");
	if (o[1].kind == O_VAR && (o[1].var->space != SIM_SPACE_SHARED || sp != SIM_SPACE_CLUSTER))
		return dec_fail(d, "a variable must be in shared memory, with .shared::cluster");
	return dec_dst(d, &o[0], d->ty[0], &r[0]) && dec_src(d, &o[1], d->ty[0], &r[1]) &&
	       dec_src(d, &o[2], T_u32, &r[2]);
}

bool
dec_getctarank(Dec *d)
{
	const Opnd *o = d->st->o;
	Ref *r = dec_room(d, 1, 1);
	sim_space sp;

	dec_space(d, &sp);
	d->in->space = (u8)sp;
	if (!dec_needs(d, 90, NULL) || !dec_types(d))
		return false;
	if ((d->ty[0] != T_u32 && d->ty[0] != T_u64) || d->st->no != 2 ||
	    (sp != SIM_SPACE_NONE && sp != SIM_SPACE_CLUSTER))
		return dec_fail(d, "expected getctarank{.shared::cluster}.{u32,u64} d, a");
	return dec_dst(d, &o[0], T_u32, &r[0]) && dec_src(d, &o[1], d->ty[0], &r[1]);
}

/* st.async and red.async of shared memory: [a], b or {b, ...}, [mbar].  off: that of a. */
bool
dec_stasync(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	Ref *r;
	sim_space sp;
	s64 off;
	u32 n;

	in->mem.vec = dec_has(d, "v2") ? 2 : dec_has(d, "v4") ? 4 : 1;
	r = dec_room(d, 0, in->mem.vec + 2u);
	(void)dec_has(d, "weak");
	(void)dec_has(d, "relaxed");
	(void)dec_has(d, "cluster");
	in->mem.op = AT_EXCH;
	if (d->row->id == OP_redasync)
		dec_atomic(d, &in->mem.op);
	if (!dec_needs(d, 90, NULL) || !shared_space(d, true) || !dec_types(d))
		return false;
	if (!dec_has(d, "mbarrier::complete_tx::bytes") || d->st->no != 3)
		return dec_fail(d, "expected .mbarrier::complete_tx::bytes and [a], b, [mbar]");
	in->mem.ebytes = (u8)(type_bits(d->ty[0]) / 8);
	if (in->mem.ebytes < 4 || in->mem.ebytes * in->mem.vec > 16)
		return dec_fail(d, "type .%s is not allowed here", type_name(d->ty[0]));
	if (!mbar_addr(d, &o[0], &r[0]) || !dec_refs(d, &o[1], d->ty[0], false, in->mem.vec, r + 1, &n))
		return false;
	sp = (sim_space)in->space;
	if (!dec_addr(d, &o[2], &r[1 + in->mem.vec], &off, &sp))
		return false;
	in->mem.mbar = (s32)off;
	return off == in->mem.mbar || dec_fail(d, "offset is too large");
}

/* Returns the FENCE_ kind of a fence with one of the async proxies, or of aliases. */
static u8
proxies(Dec *d)
{
	if (dec_has(d, "alias"))
		return FENCE_OTHER;
	(void)dec_has(d, "async");
	if (dec_has(d, "global"))
		return FENCE_ASYNC_GLOBAL;
	return dec_has(d, "shared::cta") || dec_has(d, "shared::cluster") ? FENCE_ASYNC_SHARED : FENCE_ASYNC;
}

/* fence and membar, in the forms of opcode_syntax.def. */
bool
dec_fence(Dec *d)
{
	static const char *const orders[] = { "sc", "acq_rel", "acquire", "release" };
	Ins *in = d->in;

	if (!dec_scope(d) && dec_has(d, "gl"))
		in->scope = SCOPE_GPU;
	for (size_t i = 0; i < COUNT_OF(orders); i++)
		dec_has(d, orders[i]);
	(void)dec_prefix(d, "sync_restrict::");
	if (dec_has(d, "mbarrier_init"))
		in->fence = FENCE_MBAR_INIT;
	else if (dec_has(d, "proxy") && !dec_has(d, "async::generic"))
		in->fence = proxies(d);
	else
		in->fence = FENCE_THREAD;
	return !d->st->no || dec_fail(d, "expected no operand");
}
