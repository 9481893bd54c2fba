/* ir.c - tables of types, ops and targets; making, replacing and walking the IR. */
#include "hexc/ir.h"
#include <string.h>

const DTypeInfo dtype_info[D_COUNT] = {
#define DTYPE(name, bits, kind, exp, man, round, codes, use)                                              \
	[D_##name] = { #name, bits, K_##kind, exp, man, R_##round, C_##codes, U_##use },
#include "hexc/dtypes.def"
};

const OpInfo op_info[O_COUNT] = {
	[O_none] = { "none", 0, 0, 0 },
#define OP(name, in, out, flags, shape, layout, emit, eval) [O_##name] = { #name, in, out, flags },
#include "hexc/ops.def"
};

const Target targets[] = {
#define TARGET(name, sm, ptx, llvm, smem, smem_sm, features)                                       \
	{ #name, sm, ptx, llvm, smem, smem_sm, features },
#include "hexc/targets.def"
	{ NULL, 0, 0, 0, 0, 0, 0 },
};

int
dtype_grain(DType d)
{
	return dtype_info[d].bits & -dtype_info[d].bits;
}

int
dtype_pieces(DType d)
{
	return dtype_info[d].bits / dtype_grain(d);
}

int
dtype_most(DType d)
{
	return 128 / dtype_grain(d);
}

int
dtype_place(DType d)
{
	int place = 1;

	while (place < dtype_info[d].bits)
		place *= 2;
	return place;
}

int64_t
type_value(DType d)
{
	return INT64_MIN + (int64_t)d;
}

DType
value_type(int64_t x)
{
	return x < INT64_MIN + D_COUNT ? (DType)(x - INT64_MIN) : D_COUNT;
}

DType
dtype_find(const char *name, size_t n)
{
	for (int d = 0; d < D_COUNT; d++)
		if (strlen(dtype_info[d].name) == n && memcmp(dtype_info[d].name, name, n) == 0)
			return (DType)d;
	return D_COUNT;
}

OpCode
op_find(const char *name, size_t n)
{
	for (int o = O_none + 1; o < O_COUNT; o++)
		if (strlen(op_info[o].name) == n && memcmp(op_info[o].name, name, n) == 0)
			return (OpCode)o;
	return O_none;
}

const Target *
target_find(const char *name)
{
	for (const Target *t = targets; t->name; t++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

/* ---- types --------------------------------------------------------------------------------------- */

int
reshape_source(const Type *x, const Type *y, int d)
{
	int64_t inner = 1, size = 1;

	for (int i = d + 1; i < y->rank; i++)
		inner *= y->shape[i];
	for (int i = x->rank - 1; i >= 0 && y->shape[d] > 1; i--) {
		if (size == inner && x->shape[i] == y->shape[d])
			return i;
		size *= x->shape[i];
	}
	return -1;
}

Type
type_scalar(DType d)
{
	Type t;

	memset(&t, 0, sizeof t);
	t.dtype = d;
	t.space = S_scalar;
	return t;
}

Type
type_tile(DType d, Space s, int rank, const int64_t *shape)
{
	Type t = type_scalar(d);

	t.space = s;
	t.rank = rank;
	for (int i = 0; i < rank; i++)
		t.shape[i] = shape[i];
	return t;
}

Type
type_free(Type t)
{
	t.layout = NULL;
	t.pinned = false;
	return t;
}

int64_t
type_size(const Type *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->rank; i++)
		n *= t->shape[i];
	return n;
}

bool
type_same(const Type *a, const Type *b)
{
	if (a->dtype != b->dtype || a->space != b->space || a->rank != b->rank || a->spread != b->spread)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->shape[i] != b->shape[i])
			return false;
	return true;
}

const char *
type_print(Arena *a, const Type *t)
{
	static const char *const space[] = { "", "reg ", "shared ", "global " };
	Text s = { a, NULL, 0, 0 };

	text_printf(&s, "%s%s", space[t->space], dtype_info[t->dtype].name);
	if (t->space == S_scalar)
		return s.s;
	text_printf(&s, "[");
	for (int i = 0; i < t->rank; i++) {
		text_printf(&s, i ? ", " : "");
		if (t->shape[i] < 0)
			text_printf(&s, "?");
		else
			text_printf(&s, "%lld", (long long)t->shape[i]);
	}
	text_printf(&s, "]");
	if (t->spread)
		text_printf(&s, " spread %d", t->spread);
	return s.s;
}

/* ---- kernels, blocks, values --------------------------------------------------------------------- */

Kernel *
kernel_new(Unit *u, const char *name)
{
	Kernel *k = NEW(u->arena, Kernel);

	k->unit = u;
	k->name = name;
	k->warps = 4;
	k->body = block_new(k, NULL);
	k->grid = block_new(k, NULL);
	return k;
}

Block *
block_new(Kernel *k, Op *owner)
{
	Block *b = NEW(k->unit->arena, Block);

	b->kernel = k;
	b->owner = owner;
	return b;
}

static Val *
val_new(Block *b, Op *def, int index, Type t)
{
	Val *v = NEW(b->kernel->unit->arena, Val);

	v->type = t;
	v->id = ++b->kernel->nval;
	v->def = def;
	v->block = b;
	v->index = index;
	return v;
}

Val *
block_arg(Block *b, Type t)
{
	Val *v = val_new(b, NULL, b->narg, t);

	b->arg = arena_grow(b->kernel->unit->arena, b->arg, (size_t)b->narg, (size_t)b->narg + 1,
	                    sizeof *b->arg);
	b->arg[b->narg++] = v;
	return v;
}

/* Link o into b before `at`, or at the end. */
static void
op_link(Block *b, Op *at, Op *o)
{
	o->parent = b;
	o->next = at;
	o->prev = at ? at->prev : b->last;
	if (o->prev)
		o->prev->next = o;
	else
		b->first = o;
	if (at)
		at->prev = o;
	else
		b->last = o;
}

Op *
op_new(Block *b, Op *at, OpCode code, Src src, int nin, Val *const *in, int nout, const Type *out)
{
	Arena *a = b->kernel->unit->arena;
	Op *o = NEW(a, Op);

	o->code = code;
	o->id = ++b->kernel->nop;
	o->src = src;
	o->nin = nin;
	o->nout = nout;
	o->in = NEWN(a, Val *, nin);
	for (int i = 0; i < nin; i++)
		o->in[i] = in[i];
	o->out = NEWN(a, Val *, nout);
	for (int i = 0; i < nout; i++)
		o->out[i] = val_new(b, o, i, out[i]);
	if (code == O_alloc)
		o->imm[0] = -1; /* not placed yet */
	op_link(b, at, o);
	return o;
}

void
op_unlink(Op *o)
{
	Block *b = o->parent;

	if (o->prev)
		o->prev->next = o->next;
	else
		b->first = o->next;
	if (o->next)
		o->next->prev = o->prev;
	else
		b->last = o->prev;
	o->prev = o->next = NULL;
	o->parent = NULL;
}

void
op_move_before(Op *o, Op *at)
{
	if (o == at)
		return;
	op_unlink(o);
	op_link(at->parent, at, o);
	for (int i = 0; i < o->nout; i++)
		o->out[i]->block = at->parent;
}

static void
block_replace(Block *b, Val *old, Val *new_val)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i] == old)
				o->in[i] = new_val;
}

void
val_replace(Kernel *k, Val *old, Val *new_val)
{
	block_replace(k->body, old, new_val);
	if (k->grid)
		block_replace(k->grid, old, new_val);
	for (int i = 0; i < k->nassume; i++)
		if (k->assume[i].cond == old)
			k->assume[i].cond = new_val;
	for (int i = 0; i < k->nparam; i++) {
		Param *p = &k->param[i];
		for (int d = 0; d < DIM_MAX; d++) {
			if (p->size[d] == old)
				p->size[d] = new_val;
			if (p->stride[d] == old)
				p->stride[d] = new_val;
		}
	}
}

int
pick_stage_bits(const Pick *p, DType d)
{
	int bits = dtype_info[d].bits;

	if (dtype_pieces(d) > 1)
		return 8;
	return bits < 8 && (p->vec * bits < 8 || p->vec2 * bits < 8) ? 8 : bits;
}

/* ---- walk ---------------------------------------------------------------------------------------- */

/* The op after o in order of text, or NULL past the end of root. */
static Op *
walk_after(const OpWalk *w, const Op *o)
{
	for (int r = 0; r < 2; r++)
		if (o->blk[r] && o->blk[r]->first)
			return o->blk[r]->first;
	for (;;) {
		const Block *b = o->parent;
		if (o->next)
			return o->next;
		if (b == w->root || !b->owner)
			return NULL;
		o = b->owner;
		if (b == o->blk[0] && o->blk[1] && o->blk[1]->first)
			return o->blk[1]->first;
	}
}

Op *
walk_first(OpWalk *w, Block *b)
{
	w->root = b;
	w->next = b->first;
	return walk_next(w);
}

Op *
walk_next(OpWalk *w)
{
	Op *o = w->next;

	w->next = o ? walk_after(w, o) : NULL;
	return o;
}
