/* util_prog.c - generates random index programs. */
#include "test/ir/util_prog.h"

typedef struct Gen {
	Kernel *k;
	uint64_t seed;
	Val *pool[200]; /* visible i64 scalars */
	int npool;
	Val *tile;
	int nview, depth;
} Gen;

static const Src nowhere = { 0, 0, 0 };

uint64_t
prog_rand(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % below;
}

static int64_t
pick(Gen *g, const int64_t *from, uint64_t n)
{
	return from[prog_rand(&g->seed, n)];
}

static Val *
op2(Block *b, OpCode code, Val *x, Val *y)
{
	Val *in[2] = { x, y };
	bool compare = code == O_lt || code == O_le || code == O_eq || code == O_ne;
	Type t = type_scalar(compare ? D_bool : x->type.dtype);

	return op_new(b, NULL, code, nowhere, 2, in, 1, &t)->out[0];
}

static Val *
constant(Gen *g, Block *b)
{
	static const int64_t usual[] = { 0, 1, 2, 3, 4, 6, 8, 16, 5, 7, 12, 32 };
	static const int64_t odd[] = { -1, -8, INT64_MAX, INT64_MIN, (int64_t)1 << 62, INT64_MAX / 3, -7 };
	bool strange = prog_rand(&g->seed, 40) == 0;

	return ir_const(b, NULL, strange ? pick(g, odd, COUNT_OF(odd)) : pick(g, usual, COUNT_OF(usual)));
}

static Val *
expr(Gen *g, Block *b, int depth)
{
	static const int64_t ops[] = { O_add, O_add, O_add, O_sub, O_mul, O_mul, O_div, O_div, O_mod, O_min,
		                       O_max, O_shl, O_shr, O_and, O_or, O_xor, O_select, O_neg, O_abs };
	static const int64_t compares[] = { O_lt, O_le, O_eq, O_ne };
	OpCode code = (OpCode)pick(g, ops, COUNT_OF(ops));
	Val *x, *y, *in[3];
	Type t = type_scalar(D_i64);

	if (depth == 0 || prog_rand(&g->seed, 4) == 0)
		return prog_rand(&g->seed, 3) == 0 ? constant(g, b)
		                                   : g->pool[prog_rand(&g->seed, (uint64_t)g->npool)];
	x = expr(g, b, depth - 1);
	if (code == O_neg || code == O_abs)
		return op_new(b, NULL, code, nowhere, 1, &x, 1, &t)->out[0];
	y = (code == O_div || code == O_mod || code == O_mul || code == O_shl || code == O_shr) &&
	                    prog_rand(&g->seed, 6)
	            ? constant(g, b)
	            : expr(g, b, depth - 1);
	if (code != O_select)
		return op2(b, code, x, y);
	in[0] = op2(b, (OpCode)pick(g, compares, 4), x, prog_rand(&g->seed, 2) ? y : constant(g, b));
	in[1] = prog_rand(&g->seed, 2) ? x : expr(g, b, depth - 1);
	in[2] = y;
	return op_new(b, NULL, O_select, nowhere, 3, in, 1, &t)->out[0];
}

static void
add_pool(Gen *g, Val *v)
{
	if (g->npool < (int)COUNT_OF(g->pool))
		g->pool[g->npool++] = v;
}

/* A view of T and a store to it. */
static void
view(Gen *g, Block *b, Val *start)
{
	static const int64_t extents[] = { 1, 1, 2, 4, 8, 16 };
	int64_t shape[2] = { pick(g, extents, 6), pick(g, extents, 6) };
	Type t, tile = type_tile(D_f32, S_reg, 2, shape);
	bool drop = shape[0] == 1 && prog_rand(&g->seed, 2);
	Val *in[3] = { g->k->param[0].val, start, start }, *st[2];
	int other = (int)prog_rand(&g->seed, 2);
	Op *v;

	in[1 + other] = prog_rand(&g->seed, 3) ? ir_const(b, NULL, 0) : expr(g, b, 2);
	if (drop)
		tile = type_tile(D_f32, S_reg, 1, shape + 1);
	t = tile;
	t.space = S_global;
	v = op_new(b, NULL, O_view, nowhere, 3, in, 1, &t);
	v->imm[0] = drop;
	st[0] = op_new(b, NULL, O_const, nowhere, 0, NULL, 1, &tile)->out[0];
	st[1] = v->out[0];
	op_new(b, NULL, O_store, nowhere, 2, st, 0, NULL);
	g->nview++;
}

static void statements(Gen *g, Block *b, int n);

/* The rest of a region; what it defined goes out of sight. */
static void
region(Gen *g, Op *o, int which, int nin, Val *const *in, bool fill)
{
	int keep = g->npool;
	Val *y[2];

	if (fill)
		statements(g, o->blk[which], 3);
	for (int i = 0; i < nin; i++)
		y[i] = in && in[i] ? in[i] : expr(g, o->blk[which], 2);
	op_new(o->blk[which], NULL, O_yield, nowhere, nin, y, 0, NULL);
	g->npool = keep;
}

static void
loop(Gen *g, Block *b)
{
	static const int64_t steps[] = { 1, 2, 4, 8, 16 };
	Type t[2] = { type_scalar(D_i64), type_scalar(D_i64) };
	int64_t step = pick(g, steps, 5), stages = 2 + (int64_t)prog_rand(&g->seed, 3);
	Val *in[5], *next, *sel[3], *yield[2];
	Block *body;
	Op *o;
	int keep = g->npool;

	in[0] = prog_rand(&g->seed, 3) ? ir_const(b, NULL, 0) : expr(g, b, 1);
	in[1] = prog_rand(&g->seed, 2) ? g->k->param[2].val : expr(g, b, 2);
	in[2] = ir_const(b, NULL, step);
	in[3] = ir_const(b, NULL, 0);
	in[4] = expr(g, b, 1);
	o = op_new(b, NULL, O_for, nowhere, 5, in, 2, t);
	body = o->blk[0] = block_new(g->k, o);
	add_pool(g, block_arg(body, t[0]));
	add_pool(g, block_arg(body, t[0]));
	add_pool(g, block_arg(body, t[0]));
	view(g, body, body->arg[0]);
	/* a stage counter that wraps around, as the pipeline pass makes it */
	next = op2(body, O_add, body->arg[1], ir_const(body, NULL, 1));
	sel[0] = op2(body, O_eq, next, ir_const(body, NULL, stages));
	sel[1] = ir_const(body, NULL, 0);
	sel[2] = next;
	yield[0] = op_new(body, NULL, O_select, nowhere, 3, sel, 1, t)->out[0];
	yield[1] = prog_rand(&g->seed, 4) == 0 ? body->arg[2] : NULL;
	region(g, o, 0, 2, yield, true);
	g->npool = keep;
	add_pool(g, o->out[0]);
	add_pool(g, o->out[1]);
}

static void
branch(Gen *g, Block *b)
{
	Val *x = expr(g, b, 2), *hi = prog_rand(&g->seed, 2) ? g->k->param[2].val : expr(g, b, 1);
	bool lt = prog_rand(&g->seed, 3) > 0;
	Val *c = op2(b, lt ? O_lt : O_le, x, hi);
	Type t = type_scalar(D_i64);
	Op *o = op_new(b, NULL, O_if, nowhere, 1, &c, 1, &t);

	o->blk[0] = block_new(g->k, o);
	o->blk[1] = block_new(g->k, o);
	if (prog_rand(&g->seed, 2))
		x = op2(o->blk[0], O_add, x, constant(g, o->blk[0]));
	view(g, o->blk[0], x);
	region(g, o, 0, 1, NULL, true);
	view(g, o->blk[1], x->block == o->blk[0] ? hi : x);
	region(g, o, 1, 1, NULL, false);
	add_pool(g, o->out[0]);
}

static void
statements(Gen *g, Block *b, int n)
{
	g->depth++;
	while (n-- > 0) {
		uint64_t what = prog_rand(&g->seed, 6);
		if (what < 2)
			add_pool(g, expr(g, b, 3));
		else if (what == 2 || g->depth > 3 || g->nview > 30)
			view(g, b, expr(g, b, 2));
		else if (what < 5)
			loop(g, b);
		else
			branch(g, b);
	}
	g->depth--;
}

/* x, or x times, over or plus a constant: what sizes and grids look like. */
static Val *
simple(Gen *g, Block *b, Val *x)
{
	static const int64_t c[] = { 2, 4, 8, 16, 3 };

	switch (prog_rand(&g->seed, 5)) {
	case 0: return op2(b, O_div, x, ir_const(b, NULL, pick(g, c, 5)));
	case 1: return op2(b, O_mul, x, ir_const(b, NULL, pick(g, c, 5)));
	default: return x;
	}
}

static Val *
divided_up(Block *b, Val *x, int64_t c)
{
	return op2(b, O_div, op2(b, O_add, x, ir_const(b, NULL, c - 1)), ir_const(b, NULL, c));
}

static void
params(Gen *g)
{
	static const int64_t mults[] = { 1, 1, 2, 4, 8, 16 };
	static const char *const names[] = { "T", "M", "K", "x" };
	int64_t shape[2] = { -1, -1 };
	Kernel *k = g->k;

	k->nparam = 4;
	k->param = NEWN(k->unit->arena, Param, 4);
	for (int i = 0; i < 4; i++) {
		Param *p = &k->param[i];
		p->kind = i == 0 ? P_tensor : i == 3 ? P_scalar
		                                     : P_size;
		p->name = names[i];
		p->mult = pick(g, mults, 6);
		p->lo = i == 3 ? -20 : (int64_t)prog_rand(&g->seed, 3);
		p->hi = prog_rand(&g->seed, 4) == 0 ? INT64_MAX : 40 + (int64_t)prog_rand(&g->seed, 30);
		p->written = p->read = true;
		p->val = block_arg(k->body, i ? type_scalar(D_i64) : type_tile(D_f32, S_global, 2, shape));
		if (i)
			add_pool(g, p->val);
	}
}

Kernel *
prog_random(Unit *u, uint64_t seed)
{
	Gen gen = { .k = kernel_new(u, "random"), .seed = seed * 77 + 1 }, *g = &gen;
	static const int64_t tiles[] = { 2, 4, 8, 16 };
	Type t = type_scalar(D_i64);
	Val *grid[3], *size[2];
	int64_t bm = pick(g, tiles, 4);
	Block *b = g->k->body;
	Op *id;

	params(g);
	grid[0] = divided_up(g->k->grid, simple(g, g->k->grid, g->k->param[1].val), bm);
	grid[1] = prog_rand(&g->seed, 3) ? ir_const(g->k->grid, NULL, 2) : expr(g, g->k->grid, 2);
	grid[2] = ir_const(g->k->grid, NULL, 1);
	op_new(g->k->grid, NULL, O_yield, nowhere, 3, grid, 0, NULL);

	for (int d = 0; d < 2; d++) {
		size[d] = simple(g, b, g->k->param[1 + prog_rand(&g->seed, 2)].val);
		g->k->param[0].size[d] = size[d];
		add_pool(g, size[d]);
	}
	g->k->param[0].stride[0] = size[1];
	g->k->param[0].stride[1] = ir_const(b, NULL, 1);
	for (int i = 0; i < 2; i++) {
		id = op_new(b, NULL, O_block_id, nowhere, 0, NULL, 1, &t);
		id->imm[0] = i;
		add_pool(g, id->out[0]);
		if (i == 0)
			add_pool(g, op2(b, O_mul, id->out[0], ir_const(b, NULL, bm)));
	}
	view(g, b, g->pool[g->npool - 2]);
	statements(g, b, 4);
	op_new(b, NULL, O_yield, nowhere, 0, NULL, 0, NULL);
	return g->k;
}
