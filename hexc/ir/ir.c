/* ir.c - implements the op table, and creating, replacing and walking ops, blocks and values. */
#include "hexc/ir/dot.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/ir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ops ----------------------------------------------------------------------------------------- */

const OpInfo op_info[O_COUNT] = {
	[O_none] = { "none", 0, 0, 0, 0 },
#define OP_INFO(name, in, out, flags, types) [O_##name] = { #name, in, out, flags, KINDS_##types },
#include "hexc/ir/ops.def"
};

enum { IMM_OPS = 16, FREE = -1 };
static const struct {
	int slot;
	bool list;
	int last;
	OpCode of[IMM_OPS];
} imm_info[IMM_COUNT] = {
#define OP_IMM(name, slot, last, ...) [IMM_##name] = { slot, false, last, { __VA_ARGS__ } },
#define OP_IMMS(name, slot, last, ...) [IMM_##name] = { slot, true, last, { __VA_ARGS__ } },
#include "hexc/ir/ops.def"
};
const char *const imm_name[IMM_COUNT] = {
#define OP_IMM(name, slot, last, ...) #name,
#include "hexc/ir/ops.def"
};

OpCode
op_find(const char *name, size_t n)
{
	for (int o = O_none + 1; o < O_COUNT; o++)
		if (strlen(op_info[o].name) == n && memcmp(op_info[o].name, name, n) == 0)
			return (OpCode)o;
	return O_none;
}

bool
op_has_imm(OpCode code, Imm name)
{
	for (int i = 0; i < IMM_OPS; i++)
		if (imm_info[name].of[i] == code)
			return true;
	return false;
}

Imm
imm_find(OpCode code, const char *name, size_t n)
{
	for (Imm i = 0; i < IMM_COUNT; i++)
		if (strlen(imm_name[i]) == n && memcmp(imm_name[i], name, n) == 0 && op_has_imm(code, i))
			return i;
	return IMM_COUNT;
}

int
imm_slot(Imm name)
{
	return imm_info[name].slot;
}

bool
imm_is_list(Imm name)
{
	return imm_info[name].list;
}

int
imm_last(Imm name)
{
	return imm_info[name].last;
}

bool
imm_may_be_float(Imm name)
{
	return name == IMM_value || name == IMM_fill || name == IMM_fill_in || name == IMM_fill_value;
}

static int
slot_of(const Op *o, Imm name)
{
	if (o->parent) /* else o was unlinked from its block */
		BUG_IF(o->parent->kernel->unit->arena, !op_has_imm(o->code, name));
	return imm_info[name].slot;
}

#ifdef HEXC_CHECKED
void
op_check(const Op *o, const OpCode *ops, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (o->code == ops[i])
			return;
	fprintf(stderr, "%s of op %s\n", name, op_info[o->code].name);
	abort();
}
#endif

int64_t
op_imm(const Op *o, Imm name, int64_t i)
{
	return o->imm[slot_of(o, name) + i];
}

void
op_set_imm(Op *o, Imm name, int64_t i, int64_t x)
{
	o->imm[slot_of(o, name) + i] = x;
}

bool
op_imm_is_float(const Op *o, Imm name)
{
	return imm_may_be_float(name) && o->nout && dtype_is_float(o->out[0]->type.dtype);
}

bool
op_imms_named(const Op *o)
{
	bool named[DIM_MAX] = { false }, has_float = false;

	for (Imm i = 0; i < IMM_COUNT; i++) {
		if (!op_has_imm(o->code, i))
			continue;
		has_float |= op_imm_is_float(o, i);
		for (int n = imm_slot(i); n < (imm_is_list(i) ? DIM_MAX : imm_slot(i) + 1); n++)
			named[n] = !op_imm_is_float(o, i);
	}
	for (int n = 0; n < DIM_MAX; n++)
		if (o->imm[n] && !named[n])
			return false;
	return has_float || double_bits(o->fimm) == 0;
}

bool
op_is(const Op *o, unsigned flags)
{
	return (op_info[o->code].flags & flags) != 0;
}

Val *
op_moved(const Op *o)
{
	return o->nin == 1 && (o->code == O_splat || op_is(o, F_MOVE)) ? op_source(o) : NULL;
}

bool
op_is_late(const Op *o)
{
	return o && op_is(o, F_REDUCE) && IMM(o, deferrable);
}

/* ---- kernels, blocks, values --------------------------------------------------------------------- */

Kernel *
kernel_new(Unit *u, const char *name)
{
	Kernel *k = NEW(u->arena, Kernel);

	k->unit = u;
	k->name = name;
	k->warps = 4;
	k->teams = 1;
	for (int d = 0; d < 3; d++)
		k->cluster[d] = 1;
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

bool
block_inside(const Block *b, const Block *outer)
{
	while (b && b != outer)
		b = b->owner ? b->owner->parent : NULL;
	return b != NULL;
}

bool
op_is_other_version(const Op *o)
{
	const Block *b = o->parent;

	while (b->owner && !(b->owner->code == O_if && IMM(b->owner, versions) && b == b->owner->blk[1]))
		b = b->owner->parent;
	return b->owner != NULL;
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

/* Links o into b before `at`, or at the end if at is NULL. */
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
	b->kernel->made_roles |= code == O_roles;
	if (code == O_alloc || code == O_mbarrier)
		IMM_SET(o, offset, -1); /* not allocated yet */
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
	if (old->def) { /* not visible outside of its block */
		block_replace(old->block, old, new_val);
	} else {
		block_replace(k->body, old, new_val);
		if (k->grid)
			block_replace(k->grid, old, new_val);
	}
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
	for (int i = 0; i < k->nmap; i++) {
		TensorMap *m = &k->map[i];
		for (int d = 0; d < m->rank; d++) {
			if (m->size[d] == old)
				m->size[d] = new_val;
			if (m->stride[d] == old)
				m->stride[d] = new_val;
		}
	}
}

void
vals_replace(Kernel *k, Val *const *to, uint32_t n)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i]->id < n && to[o->in[i]->id])
				o->in[i] = to[o->in[i]->id];
}

const char *const lowering_kind_name[LW_COUNT] = {
	"none",
#define X(name, help) #name,
	LOWERINGS(X)
#undef X
};

const char *
lowering_name(const Lowering *p)
{
	return p->kind == LW_access ? p->access.inst
	       : p->kind == LW_dot  ? p->dot.inst
	                            : lowering_kind_name[p->kind];
}

const LoweredAccess *
op_access(const Op *o)
{
	static const LoweredAccess single = { .vec = 1 };

	return o->lowering && o->lowering->kind == LW_access ? &o->lowering->access : &single;
}

bool
lowering_is_staged(const Lowering *p)
{
	return p && (p->kind == LW_shared || p->kind == LW_reduce_shared);
}

int
staging_bits(const Staging *p, DType d)
{
	int bits = dtype_info[d].bits;

	if (dtype_pieces(d) > 1)
		return 8;
	return bits < 8 && (p->write.vec * bits < 8 || p->read.vec * bits < 8) ? 8 : bits;
}

/* ---- walk ---------------------------------------------------------------------------------------- */

/* Returns the op after o in textual order, or NULL past the end of root. */
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

	if (o)
		arena_work(o->parent->kernel->unit->arena, 1);
	w->next = o ? walk_after(w, o) : NULL;
	return o;
}

bool
kernel_has(const Kernel *k, OpCode code)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == code)
			return true;
	return false;
}

/* ---- loops and uses -------------------------------------------------------------------------------- */

bool
loop_ends_early(const Op *o)
{
	return o->code == O_for && IMM(o, breaks) != 0;
}

/* Moves o's results to n, which has none yet, and appends one of type `more`; n replaces o. */
static void
op_take_results(Op *n, Op *o, Type more)
{
	n->nout = o->nout + 1;
	n->out = NEWN(n->parent->kernel->unit->arena, Val *, n->nout);
	for (int i = 0; i < o->nout; i++) {
		n->out[i] = o->out[i];
		n->out[i]->def = n;
	}
	n->out[o->nout] = val_new(n->parent, n, o->nout, more);
	o->nout = 0;
}

/* An op cannot gain results: a new `for` with one more carried value takes over the body. */
Op *
loop_carry(Op *o, Val *first)
{
	Arena *a = o->parent->kernel->unit->arena;
	Op *n;

	o->in = arena_grow(a, o->in, (size_t)o->nin, (size_t)o->nin + 1, sizeof *o->in);
	o->in[o->nin++] = first;
	n = op_new(o->parent, o, O_for, o->src, o->nin, o->in, 0, NULL);
	memcpy(n->imm, o->imm, sizeof n->imm);
	n->blk[0] = o->blk[0];
	n->blk[0]->owner = n;
	o->blk[0] = NULL;
	op_unlink(o); /* a body with two owners would leave a walk without an exit */
	op_take_results(n, o, first->type);
	block_arg(n->blk[0], first->type);
	return n;
}

Op *
if_carry(Op *o, Val *yes, Val *no)
{
	Arena *a = o->parent->kernel->unit->arena;
	Op *n = op_new(o->parent, o, O_if, o->src, o->nin, o->in, 0, NULL);

	memcpy(n->imm, o->imm, sizeof n->imm);
	for (int r = 0; r < 2; r++) {
		Op *y = o->blk[r]->last;

		n->blk[r] = o->blk[r];
		n->blk[r]->owner = n;
		o->blk[r] = NULL;
		y->in = arena_grow(a, y->in, (size_t)y->nin, (size_t)y->nin + 1, sizeof *y->in);
		y->in[y->nin++] = r ? no : yes;
	}
	op_unlink(o);
	op_take_results(n, o, yes->type);
	return n;
}

void
loop_carry_next(Op *loop, Val *next)
{
	Op *y = loop->blk[0]->last;

	y->in = arena_grow(next->block->kernel->unit->arena, y->in, (size_t)y->nin, (size_t)y->nin + 1,
	                   sizeof *y->in);
	y->in[y->nin++] = next;
}

uint32_t *
kernel_uses(const Kernel *k)
{
	uint32_t *n = NEWN(k->unit->arena, uint32_t, k->nval + 1);
	Block *const root[] = { k->grid, k->body };
	OpWalk w;

	for (int r = 0; r < (int)COUNT_OF(root); r++)
		for (Op *o = root[r] ? walk_first(&w, root[r]) : NULL; o; o = walk_next(&w))
			for (int i = 0; i < o->nin; i++)
				n[o->in[i]->id]++;
	return n;
}
