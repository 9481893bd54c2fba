/* reconvergence.c - finds where divergent lanes reconverge: the immediate post-dominator of each branch.
 *
 * Exited lanes never come back, so an exit inside a kernel must not keep the others from reconverging. Each
 * block belongs to the most important sink (ret, exit, trap) it can reach; edges to blocks that cannot reach
 * that sink are ignored. Branch.strict says that the reconvergence point is also valid with every edge
 * included.
 */
#include <string.h>
#include "lib/sim/decode/decode.h"

typedef struct Blk {
	u32 first, last;                /* code range, inclusive */
	u32 *succ, nsucc;
	u32 *pred, npred, cpred;
	u32 rank, order, reach;
	s32 ipdom, full;
	bool sink, leaves;              /* leaves: has a guarded exit */
} Blk;

typedef struct Cfg {
	sim_module *m;
	Fn *f;
	Blk *b;
	u32 n;
	u32 *of;                        /* block of an instruction */
	u32 *post, npost;               /* blocks in post-order of the reverse graph */
	u32 *stack;
	u8 *seen;
} Cfg;

static bool
is_end(const Ins *in)
{
	return in->id == OP_ret || in->id == OP_exit || in->id == OP_trap;
}

static bool
is_jump(const Ins *in)
{
	return is_end(in) || in->id == OP_bra || in->id == OP_brx;
}

static void
find_blocks(Cfg *g)
{
	Fn *f = g->f;
	Ins *code = g->m->code;
	u8 *lead = NEWN(&g->m->ptx.arena, u8, f->npc + 1);
	u32 end = f->pc + f->npc;

	lead[0] = 1;
	for (u32 pc = f->pc; pc < end; pc++) {
		Ins *in = &code[pc];
		if (!is_jump(in))
			continue;
		lead[pc + 1 - f->pc] = 1;
		if (in->id == OP_bra)
			lead[(u32)in->branch.target - f->pc] = 1;
		for (u32 i = 0; in->id == OP_brx && i < in->branch.n; i++)
			lead[in->branch.targets[i] - f->pc] = 1;
	}
	for (u32 i = 0; i < f->npc; i++)
		g->n += lead[i];
	g->b = arena_alloc(&g->m->ptx.arena, (g->n + 1) * sizeof *g->b);
	g->of = NEWN(&g->m->ptx.arena, u32, f->npc + 1);
	g->n = 0;
	for (u32 i = 0; i < f->npc; i++) {
		if (lead[i])
			g->b[g->n++].first = f->pc + i;
		g->b[g->n - 1].last = f->pc + i;
		g->of[i] = g->n - 1;
	}
}

static void
edge(Cfg *g, u32 from, u32 to_pc)
{
	Blk *b = &g->b[from], *t;
	u32 to = g->of[to_pc - g->f->pc];

	b->succ[b->nsucc++] = to;
	t = &g->b[to];
	VEC_PUSH(&g->m->ptx.arena, t->pred, t->npred, t->cpred, from);
}

static void
find_edges(Cfg *g)
{
	Ins *code = g->m->code;
	u32 end = g->f->pc + g->f->npc;

	for (u32 i = 0; i < g->n; i++) {
		Blk *b = &g->b[i];
		Ins *in = &code[b->last];
		b->succ = arena_alloc(&g->m->ptx.arena,
		                      (2 + (in->id == OP_brx ? in->branch.n : 0)) * sizeof(u32));
		if (in->id == OP_bra)
			edge(g, i, (u32)in->branch.target);
		for (u32 k = 0; in->id == OP_brx && k < in->branch.n; k++)
			edge(g, i, in->branch.targets[k]);
		b->sink = is_end(in) && in->guard < 0;
		b->leaves = is_end(in) && in->guard >= 0;
		if ((!is_jump(in) || in->guard >= 0) && b->last + 1 < end)
			edge(g, i, b->last + 1);
	}
}

/* Marks backwards from a sink every block without a rank; returns the number of visited blocks. */
static u32
mark(Cfg *g, u32 sink, u32 rank)
{
	u32 top = 0, met = 0;

	memset(g->seen, 0, g->n);
	g->stack[top++] = sink;
	g->seen[sink] = 1;
	while (top) {
		u32 x = g->stack[--top];
		met++;
		if (rank && !g->b[x].rank)
			g->b[x].rank = rank;
		for (u32 i = 0; i < g->b[x].npred; i++) {
			u32 y = g->b[x].pred[i];
			if (!g->seen[y]) {
				g->seen[y] = 1;
				g->stack[top++] = y;
			}
		}
	}
	return met;
}

static void
rank_sinks(Cfg *g)
{
	u32 nsink = 0, rank = 1;
	bool many;

	for (u32 i = 0; i < g->n; i++)
		nsink += g->b[i].sink;
	many = nsink > 64;              /* then computing reach takes too long */
	for (u32 i = 0; i < g->n; i++)
		if (g->b[i].sink)
			g->b[i].reach = (many ? 1 : mark(g, i, 0)) +
			                (g->m->code[g->b[i].last].id == OP_trap ? 0 : 1u << 30);
	while (nsink--) {
		s32 best = -1;
		for (u32 i = 0; i < g->n; i++)
			if (g->b[i].sink && g->b[i].reach &&
			    (best < 0 || g->b[i].reach >= g->b[best].reach))
				best = (s32)i;
		if (best < 0 || rank > 256)
			return;
		mark(g, (u32)best, rank++);
		g->b[best].reach = 0;
	}
}

static bool
keep(const Cfg *g, u32 from, u32 to, bool full)
{
	return full || (g->b[from].rank && g->b[from].rank == g->b[to].rank);
}

static void
post_order(Cfg *g, bool full)
{
	u32 *pos = NEWN(&g->m->ptx.arena, u32, g->n + 1), top;

	memset(g->seen, 0, g->n);
	g->npost = 0;
	for (u32 s = 0; s < g->n; s++) {
		if (!(g->b[s].sink || (full && g->b[s].leaves)) || g->seen[s])
			continue;
		top = 0;
		g->stack[top++] = s;
		g->seen[s] = 1;
		while (top) {
			u32 x = g->stack[top - 1];
			if (pos[x] == g->b[x].npred) {
				g->b[x].order = g->npost;
				g->post[g->npost++] = x;
				top--;
				continue;
			}
			u32 y = g->b[x].pred[pos[x]++];
			if (!g->seen[y] && keep(g, y, x, full)) {
				g->seen[y] = 1;
				g->stack[top++] = y;
			}
		}
	}
}

/* ipdom[]: -1 unknown, n the virtual exit */
static s32
intersect_postdoms(const Cfg *g, s32 a, s32 b, const s32 *ip)
{
	s32 n = (s32)g->n;

	while (a != b) {
		if (a == n || b == n)
			return n;
		if (g->b[a].order < g->b[b].order)
			a = ip[a];
		else
			b = ip[b];
	}
	return a;
}

static void
solve(Cfg *g, bool full, s32 *ip)
{
	bool changed = true;

	for (u32 i = 0; i < g->n; i++)
		ip[i] = -1;
	post_order(g, full);
	while (changed) {
		changed = false;
		for (u32 k = g->npost; k-- > 0;) {
			u32 x = g->post[k];
			s32 best = g->b[x].sink || (full && g->b[x].leaves) ? (s32)g->n : -1;
			for (u32 i = 0; i < g->b[x].nsucc; i++) {
				u32 y = g->b[x].succ[i];
				if (!keep(g, x, y, full) || (ip[y] < 0))
					continue;
				best = best < 0 ? (s32)y : intersect_postdoms(g, best, (s32)y, ip);
			}
			if (best != ip[x]) {
				ip[x] = best;
				changed = true;
			}
		}
	}
}

void
cfg_reconverge(sim_module *m, Fn *f)
{
	Cfg g = { 0 };
	s32 *ip, *full;

	g.m = m;
	g.f = f;
	find_blocks(&g);
	find_edges(&g);
	g.stack = arena_alloc(&m->ptx.arena, (g.n + 1) * sizeof *g.stack);
	g.post = arena_alloc(&m->ptx.arena, (g.n + 1) * sizeof *g.post);
	g.seen = NEWN(&m->ptx.arena, u8, g.n + 1);
	ip = arena_alloc(&m->ptx.arena, (g.n + 1) * sizeof *ip);
	full = arena_alloc(&m->ptx.arena, (g.n + 1) * sizeof *full);
	rank_sinks(&g);
	solve(&g, true, full);
	solve(&g, false, ip);
	for (u32 i = 0; i < g.n; i++) {
		Ins *in = &m->code[g.b[i].last];
		if ((in->id != OP_bra || in->guard < 0) && in->id != OP_brx)
			continue;
		in->branch.strict = ip[i] == full[i];
		if (ip[i] < 0 || ip[i] == (s32)g.n)
			continue;
		in->branch.rpc = (s32)g.b[ip[i]].first;
		/* At the end of a kernel reconvergence is pointless. */
		if (f->entry && is_end(&m->code[in->branch.rpc]) && m->code[in->branch.rpc].guard < 0)
			in->branch.rpc = NO_PC;
	}
}
