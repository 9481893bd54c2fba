/* util_synctext.c - writes the PTX of a list of Ops. Each warp has separate straight-line code. A line holds
 * one instruction, and the line of an Op is that of its access or its synchronisation. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/sim/sanitizer/syncgen.h"

typedef struct Buf { char *s; size_t n, cap; unsigned lines; } Buf;

typedef struct Out {
	SgList *l;
	Buf head, warp[SG_WARPS];
	unsigned label;
} Out;

#if defined(__GNUC__)
static void put(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif

static void
put(Buf *b, const char *fmt, ...)
{
	va_list ap;

	if (b->n + 1000 > b->cap) {
		b->cap = 2 * b->cap + 4000;
		b->s = realloc(b->s, b->cap);
	}
	va_start(ap, fmt);
	b->n += (size_t)vsnprintf(b->s + b->n, b->cap - b->n, fmt, ap);
	va_end(ap);
	b->s[b->n++] = '\n';
	b->s[b->n] = 0;
	b->lines++;
}

static unsigned
block_of(const Out *o, unsigned warp)
{
	return warp / o->l->s.warps;
}

/* ---- memory ---- */

static bool
is_global(unsigned region)
{
	return region >= 2 * SG_SHARED;
}

static const char *
guard(const SgOp *op)
{
	static const char *const text[SG_MASKS] = { "", "@%m1 ", "@%m2 ", "@%m3 ", "@%m4 ", "@%m5 " };

	return op->wide ? "@%p8 " : text[op->mask];
}

/* "shared", "shared::cluster" or "global"; the address of the lane's word, at %a or %d. */
static const char *
place(Out *o, const SgOp *op, char addr[40])
{
	Buf *b = &o->warp[op->warp];
	unsigned r = op->region, at;

	if (op->wide)
		put(b, "shl.b32 %%a, %%lane, 4;");
	else if (op->perm == 0)
		put(b, "mov.u32 %%a, %%l4;");
	else if (op->perm == 1)
		put(b, "xor.b32 %%a, %%l4, %u;", 4u * op->k);
	else if (op->perm == 2)
		put(b, "add.u32 %%a, %%l4, %u; and.b32 %%a, %%a, 124;", 4u * op->k);
	else
		put(b, "mov.u32 %%a, %u;", 4u * op->k);
	if (is_global(r)) {
		put(b, "cvt.u64.u32 %%d, %%a; add.s64 %%d, %%d, %%g;");
		snprintf(addr, 40, "%%d+%u", 128 * (r - 2 * SG_SHARED));
		return "global";
	}
	at = 128 * (r % SG_SHARED);
	if (r / SG_SHARED != block_of(o, op->warp)) {
		put(b, "add.u32 %%a, %%a, %%peer;");
		snprintf(addr, 40, "%%a+%u", at);
		return "shared::cluster";
	}
	put(b, "add.u32 %%a, %%a, %%sm;");
	snprintf(addr, 40, "%%a+%u", at);
	return "shared";
}

static void
here(Out *o, SgOp *op)
{
	op->line[op->warp] = o->warp[op->warp].lines + 1;
}

static void
load(Out *o, SgOp *op)
{
	Buf *b = &o->warp[op->warp];
	const char *gu = guard(op), *space;
	char addr[40];

	space = place(o, op, addr);
	here(o, op);
	if (op->wide) {
		put(b, "%sld.%s.v4.u32 {%%v, %%v1, %%v2, %%v3}, [%s];", gu, space, addr);
		put(b, "%smad.lo.u32 %%acc, %%acc, 5, %%v; %smad.lo.u32 %%acc, %%acc, 5, %%v1;", gu, gu);
		put(b, "%smad.lo.u32 %%acc, %%acc, 5, %%v2; %smad.lo.u32 %%acc, %%acc, 5, %%v3;", gu, gu);
		return;
	}
	put(b, "%sld.%s.u32 %%v, [%s];", gu, space, addr);
	put(b, "%smad.lo.u32 %%acc, %%acc, 5, %%v;", gu);
}

static void
store(Out *o, SgOp *op)
{
	Buf *b = &o->warp[op->warp];
	const char *space;
	char addr[40];

	put(b, "add.u32 %%v, %%acc, %u; add.u32 %%v1, %%v, 1; add.u32 %%v2, %%v, 2; add.u32 %%v3, %%v, 3;",
	    op->n);
	space = place(o, op, addr);
	here(o, op);
	if (op->wide)
		put(b, "%sst.%s.v4.u32 [%s], {%%v, %%v1, %%v2, %%v3};", guard(op), space, addr);
	else
		put(b, "%sst.%s.u32 [%s], %%v;", guard(op), space, addr);
}

static void
atomic(Out *o, SgOp *op)
{
	const char *space;
	char addr[40];

	space = place(o, op, addr);
	here(o, op);
	if (op->form)
		put(&o->warp[op->warp], "%sred.%s.add.u32 [%s], %u;", guard(op), space, addr, op->n);
	else
		put(&o->warp[op->warp], "%satom.%s.add.u32 %%v, [%s], %u;", guard(op), space, addr, op->n);
}

static void
copy(Out *o, SgOp *op)
{
	Buf *b = &o->warp[op->warp];
	char addr[40];

	place(o, op, addr);
	put(b, "sub.u32 %%v, %%a, %%sm; cvt.u64.u32 %%d, %%v; add.s64 %%d, %%d, %%in;");
	here(o, op);
	if (op->wide)
		put(b, "%scp.async.cg.shared.global [%s], [%%d+%u], 16;", guard(op), addr, 4 * op->n);
	else
		put(b, "%scp.async.ca.shared.global [%s], [%%d+%u], 4;", guard(op), addr, 4 * op->n);
}

static void
matrix(Out *o, SgOp *op)
{
	Buf *b = &o->warp[op->warp];
	unsigned a = 128 * (op->region % SG_SHARED), c = 128 * (op->region2 % SG_SHARED);

	/* lanes 0-7 name the rows of the first matrix, 8-15 of the second */
	put(b, "and.b32 %%a, %%lane, 7; shl.b32 %%a, %%a, 4; add.u32 %%a, %%a, %%sm;");
	put(b, "and.b32 %%v, %%lane, 8; setp.ne.u32 %%q, %%v, 0; selp.u32 %%v, %u, %u, %%q; add.u32 %%a, "
	       "%%a, %%v;",
	    op->form ? c : a, a);
	here(o, op);
	if (op->form)
		put(b, "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%%v, %%v1}, [%%a];");
	else
		put(b, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%v}, [%%a];");
	put(b, "mad.lo.u32 %%acc, %%acc, 5, %%v;");
	if (op->form)
		put(b, "mad.lo.u32 %%acc, %%acc, 5, %%v1;");
}

/* ---- order ---- */

static void
for_warps(Out *o, SgOp *op, uint32_t who, const char *text)
{
	for (unsigned w = 0; w < SG_WARPS; w++)
		if (who >> w & 1) {
			op->line[w] = o->warp[w].lines + 1;
			put(&o->warp[w], "%s", text);
		}
}

static void
barrier(Out *o, SgOp *op)
{
	unsigned count = 32 * (unsigned)__builtin_popcount(op->warps | op->arrivers);
	char text[120];

	if (op->kind == SG_BARRED)
		snprintf(text, sizeof text, "and.b32 %%v, %%acc, 1; setp.ne.u32 %%q, %%v, 0; "
		         "bar.red.popc.u32 %%v, %u, %u, %%q; mad.lo.u32 %%acc, %%acc, 5, %%v;", op->id,
		         count);
	else if (op->kind == SG_ARRIVE)
		snprintf(text, sizeof text, "bar.arrive %u, %u;", op->id, count);
	else if (!op->id && op->form)
		snprintf(text, sizeof text, "bar.sync 0;");
	else
		snprintf(text, sizeof text, "%s %u, %u;", op->form ? "barrier.sync.aligned" : "bar.sync",
		         op->id, count);
	for_warps(o, op, op->kind == SG_ARRIVE ? 1u << op->warp : op->warps, text);
}

typedef struct Spelling { const char *before, *access, *after; } Spelling;

/* [form]; %s is "cta.shared" or "gpu.global", then the address; the fence's scope comes first. */
static const Spelling releases[] = {
	{ NULL, "@%%m4 st.release.%s.u32 [%s], %u;", NULL },
	{ "@%%m4 fence.acq_rel.%s;", "@%%m4 st.relaxed.%s.u32 [%s], %u;", NULL },
	{ NULL, "@%%m4 atom.release.%s.exch.b32 %%v, [%s], %u;", NULL },
	{ "@%%m4 fence.sc.%s;", "@%%m4 atom.relaxed.%s.exch.b32 %%v, [%s], %u;", NULL },
};
static const Spelling acquires[] = {
	{ NULL, "ld.acquire.%s.u32 %%v, [%s];", NULL },
	{ NULL, "ld.relaxed.%s.u32 %%v, [%s];", "fence.acq_rel.%s;" },
	{ NULL, "atom.acquire.%s.or.b32 %%v, [%s], 0;", NULL },
	{ NULL, "atom.relaxed.%s.add.u32 %%v, [%s], 0;", "fence.acq_rel.%s;" },
};

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif

static void
flag(Out *o, SgOp *op)
{
	bool global = op->id >= SG_FLAGS / 2, rel = op->kind == SG_RELEASE;
	const Spelling *s = rel ? &releases[op->form] : &acquires[op->form];
	const char *scope = global ? "gpu" : "cta", *space = global ? "gpu.global" : "cta.shared";
	Buf *b = &o->warp[op->warp];
	unsigned label = o->label++;
	char addr[40];

	snprintf(addr, sizeof addr, global ? "%%fg+%u" : "%%fs+%u", 4u * op->id);
	if (rel) {
		if (s->before)
			put(b, s->before, scope);
		here(o, op);
		put(b, s->access, space, addr, op->n);
		return;
	}
	if (op->mask)
		put(b, "@!%%m4 bra D%u;", label);
	put(b, "L%u:", label);
	here(o, op);
	put(b, s->access, space, addr);
	put(b, "setp.lt.u32 %%q, %%v, %u;", op->n);
	put(b, "@%%q bra L%u;", label);
	if (s->after)
		put(b, s->after, scope);
	put(b, "D%u:", label);
}

static void
mbar(Out *o, SgOp *op)
{
	Buf *b = &o->warp[op->warp];
	unsigned at = 8u * op->id, label = o->label++;

	switch (op->kind) {
	case SG_MARRIVE:
		here(o, op);
		put(b, "mbarrier.arrive.shared.b64 %%st, [%%mb+%u];", at);
		break;
	case SG_MWAIT:
		put(b, "L%u:", label);
		here(o, op);
		put(b, "mbarrier.%s.parity.shared.b64 %%q, [%%mb+%u], %u;",
		    op->form && o->l->s.hopper ? "try_wait" : "test_wait", at, op->phase & 1);
		put(b, "@!%%q bra L%u;", label);
		break;
	default:                /* SG_BULKLOAD */
		put(b, "@%%m4 fence.proxy.async;");
		put(b, "@%%m4 mbarrier.arrive.expect_tx.shared.b64 %%st, [%%mb+%u], 128;", at);
		put(b, "add.u32 %%a, %%sm, %u; add.u32 %%v, %%mb, %u;", 128 * (op->region % SG_SHARED), at);
		put(b, "add.s64 %%d, %%in, %u;", 4 * op->n);
		here(o, op);
		put(b, "@%%m4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%a], "
		       "[%%d], 128, "
		    "[%%v];");
		break;
	}
}

static void
bulk_store(Out *o, SgOp *op)
{
	Buf *b = &o->warp[op->warp];

	put(b, "@%%m4 fence.proxy.async;");
	put(b, "add.u32 %%a, %%sm, %u; add.s64 %%d, %%g, %u;", 128 * (op->region % SG_SHARED),
	    128 * (op->region2 - 2 * SG_SHARED));
	here(o, op);
	put(b, "@%%m4 cp.async.bulk.global.shared::cta.bulk_group [%%d], [%%a], 128;");
	put(b, "@%%m4 cp.async.bulk.commit_group;");
	put(b, "@%%m4 cp.async.bulk.wait_group 0;");
}

static void
one(Out *o, SgOp *op)
{
	static const char *const shuffles[] = { "bfly.b32 %%v, %%acc, %u, 31", "idx.b32 %%v, %%acc, %u, 31",
		"up.b32 %%v, %%acc, %u, 0", "down.b32 %%v, %%acc, %u, 31" };
	Buf *b = &o->warp[op->warp];
	char text[80];

	switch ((SgKind)op->kind) {
	case SG_LOAD: load(o, op); break;
	case SG_STORE: store(o, op); break;
	case SG_ATOMIC: atomic(o, op); break;
	case SG_LDMATRIX: matrix(o, op); break;
	case SG_SHFL:
		snprintf(text, sizeof text, shuffles[op->form], op->k);
		put(b, "shfl.sync.%s, -1; mad.lo.u32 %%acc, %%acc, 5, %%v;", text);
		break;
	case SG_VOTE:
		if (op->form)
			put(b, "redux.sync.add.u32 %%v, %%acc, -1;");
		else
			put(b, "and.b32 %%v, %%acc, 1; setp.ne.u32 %%q, %%v, 0; vote.sync.ballot.b32 %%v, "
			       "%%q, -1;");
		put(b, "mad.lo.u32 %%acc, %%acc, 5, %%v;");
		break;
	case SG_BAR: case SG_BARRED: case SG_ARRIVE: case SG_BARWAIT: barrier(o, op); break;
	case SG_WARPSYNC:
		here(o, op);
		put(b, "%sbar.warp.sync 0x%08x;", guard(op), sg_mask[op->mask]);
		break;
	case SG_COPY: copy(o, op); break;
	case SG_COMMIT: put(b, "cp.async.commit_group;"); break;
	case SG_WAITGROUP:
		here(o, op);
		put(b, "cp.async.wait_group %u;", op->n);
		break;
	case SG_RELEASE: case SG_ACQUIRE: flag(o, op); break;
	case SG_MARRIVE: case SG_MWAIT: case SG_BULKLOAD: mbar(o, op); break;
	case SG_BULKSTORE: bulk_store(o, op); break;
	case SG_CLUSTERBAR:
		for_warps(o, op, op->warps,
		          op->form ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
		                   : "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;");
		break;
	case SG_NKINDS: break;
	}
}

/* ---- the frame ---- */

static void
head(Out *o)
{
	const SgShape *s = &o->l->s;
	Buf *b = &o->head;

	put(b, ".version %s .target %s .address_size 64", s->hopper ? "8.0" : "7.4",
	    s->hopper ? "sm_90a" : "sm_80");
	put(b, ".visible .entry k(.param .u64 in, .param .u64 g, .param .u64 out) {");
	put(b, ".reg .pred %%q, %%p8, %%m<6>; .reg .b64 %%d, %%g, %%in, %%out, %%fg, %%st;");
	put(b, ".reg .b32 %%acc, %%v, %%v1, %%v2, %%v3, %%a, %%lane, %%l4, %%sm, %%peer, %%fs, %%mb, %%t, "
	       "%%w;");
	put(b, ".shared .align 128 .b8 sm[%u]; .shared .align 8 .b64 mb[%u]; .shared .align 4 .b32 fl[%u];",
	    128 * SG_SHARED, SG_MBARS, SG_FLAGS);
	put(b, "ld.param.u64 %%in, [in]; ld.param.u64 %%g, [g]; ld.param.u64 %%out, [out];");
	put(b, "cvta.to.global.u64 %%in, %%in; cvta.to.global.u64 %%g, %%g; cvta.to.global.u64 %%out, "
	       "%%out;");
	put(b, "add.s64 %%fg, %%g, %u; mov.u32 %%sm, sm; mov.u32 %%mb, mb; mov.u32 %%fs, fl;",
	    128 * SG_GLOBAL);
	put(b, "mov.u32 %%t, %%tid.x; and.b32 %%lane, %%t, 31; shl.b32 %%l4, %%lane, 2;");
	put(b, "mov.u32 %%w, %%ctaid.x; mad.lo.u32 %%acc, %%w, %u, %%t; shr.u32 %%w, %%acc, 5;",
	    32 * s->warps);
	put(b, "mul.wide.u32 %%d, %%acc, 4; add.s64 %%out, %%out, %%d; setp.lt.u32 %%p8, %%lane, 8;");
	for (unsigned i = 1; i < SG_MASKS; i++)
		put(b, "mov.u32 %%v, %u; shr.u32 %%v, %%v, %%lane; and.b32 %%v, %%v, 1; setp.ne.u32 %%m%u, "
		       "%%v, 0;",
		    sg_mask[i], i);
	if (s->cluster)
		put(b, "mov.u32 %%a, %%cluster_ctarank; xor.b32 %%a, %%a, 1; mapa.shared::cluster.u32 "
		       "%%peer, %%sm, %%a;");
	put(b, "setp.ne.u32 %%q, %%t, 0;");
	put(b, "@%%q bra START;");
	for (unsigned i = 0; i < SG_MBARS; i++) {
		bool bulk = s->hopper && i % 2;
		put(b, "mbarrier.init.shared.b64 [%%mb+%u], %u;", 8 * i,
		    bulk ? 1 : 32 * (unsigned)__builtin_popcount(o->l->mbar_warps[i]));
	}
	if (s->hopper)
		put(b, "fence.mbarrier_init.release.cluster;");
	for (unsigned i = 0; i < SG_FLAGS / 2; i++)
		put(b, "st.shared.u32 [%%fs+%u], 0;", 4 * i);
	put(b, "START:");
	put(b, s->cluster ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : "bar.sync 0;");
	for (unsigned w = 0; w + 1 < s->blocks * s->warps; w++)
		put(b, "setp.eq.u32 %%q, %%w, %u; @%%q bra W%u;", w, w);
	put(b, "bra W%u;", s->blocks * s->warps - 1);
}

static void
append(Buf *to, const Buf *from)
{
	if (!from->n)
		return;
	if (to->n + from->n + 1 > to->cap) {
		to->cap = to->n + from->n + 4000;
		to->s = realloc(to->s, to->cap);
	}
	memcpy(to->s + to->n, from->s, from->n + 1);
	to->n += from->n;
	to->lines += from->lines;
}

/* Without a wait at a named barrier there are no arrivals for it either. */
static bool
left_out(const SgList *l, unsigned i, int missing)
{
	unsigned at = (unsigned)missing;

	if (missing < 0 || i > at)
		return false;
	if (i == at)
		return true;
	if (l->op[at].kind != SG_BARWAIT || l->op[i].kind != SG_ARRIVE || l->op[i].id != l->op[at].id ||
	    l->op[i].warp / l->s.warps != l->op[at].warp / l->s.warps)
		return false;
	for (unsigned k = i; k < at; k++)       /* is it of an earlier phase? */
		if (l->op[k].kind == SG_BARWAIT && l->op[k].id == l->op[at].id &&
		    l->op[k].warp / l->s.warps == l->op[at].warp / l->s.warps)
			return false;
	return true;
}

char *
sg_text(SgList *l, int missing)
{
	Out o = { 0 };

	o.l = l;
	head(&o);
	for (unsigned i = 0; i < l->n; i++) {
		memset(l->op[i].line, 0, sizeof l->op[i].line);
		if (!left_out(l, i, missing))
			one(&o, &l->op[i]);
	}
	for (unsigned w = 0; w < l->s.blocks * l->s.warps; w++) {
		unsigned base;
		put(&o.head, "W%u:", w);
		base = o.head.lines;
		for (unsigned i = 0; i < l->n; i++)
			l->op[i].line[w] += l->op[i].line[w] ? base : 0;
		append(&o.head, &o.warp[w]);
		free(o.warp[w].s);
		put(&o.head, "bra END;");
	}
	put(&o.head, "END:");
	put(&o.head, "cp.async.wait_all; st.global.u32 [%%out], %%acc;");
	put(&o.head, l->s.cluster ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
	                          : "bar.sync 0;");
	put(&o.head, "ret; }");
	return o.head.s;
}
