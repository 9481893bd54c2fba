/* assign_space.c - pass assign_space: assigns shared memory or registers to tiles whose space the program
 * leaves unspecified.
 *
 *     a = load A[..] free 1          s = alloc; copy A[..] to s
 *     ...                     =>    ...
 *     f(a)                          a = load s; f(a)
 *
 * A register tile that index tiles select from (IMM(o, table) of an alloc) stays in shared memory, or is
 * gathered from registers (register_gather.c). A dot operand stays in shared memory or is read from registers
 * (stage_operands.c).
 *
 * The result equals that of `let a: shared = A[..]`: pipelines prefetch it, and each reader loads it in its
 * own layout. A load without a mark is unchanged, as `let a: register = A[..]`.
 *
 * requires   marks on loads from tensors to registers
 * preserves  what the kernel computes
 * produces   no marks */
#include "hexc/pass/pass.h"
#include "hexc/pass/assign_space.h"
#include "hexc/pass/register_gather.h"

/* ---- who is free -------------------------------------------------------------------------------- */

static bool
is_marked(const Op *o)
{
	return o->code == O_load && IMM(o, space_open);
}

static bool
is_table(const Op *o)
{
	return o->code == O_alloc && IMM(o, table) != TABLE_NONE;
}

/* Does operand i of o contribute to its result, elementwise or rearranged? */
static bool
passes_on(const Op *o, int i)
{
	if (o->code == O_lookup && i == 0)
		return false; /* a table, which is in registers */
	return op_is(o, F_PURE) && !op_is(o, F_REDUCE) && o->code != O_dot && o->in[i]->type.space == S_reg;
}

/* Name of a tile; without one in the program, that of the tensor: A[..]. */
static const char *
tile_name(const Kernel *k, const Op *load)
{
	const Val *root = view_root(load_source(load));

	if (load->out[0]->name || !root->name)
		return load->out[0]->name;
	return arena_printf(k->unit->arena, "%s[..]", root->name);
}

/* Name of the register tile that is stored to a table alloc. */
static const char *
table_name(const Kernel *k, const Op *alloc)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_store && store_dest(o) == alloc->out[0])
			return store_value(o)->name;
	return NULL;
}

typedef struct OperandClosure {
	Op **work;
	int n, cap;
	bool *seen; /* by op id: a dot operand depends on it */
} OperandClosure;

static void
reach(Arena *a, OperandClosure *r, const Val *v)
{
	if (!v->def || r->seen[v->def->id])
		return;
	r->seen[v->def->id] = true;
	VEC_PUSH(a, r->work, r->n, r->cap, v->def);
}

/* Marks all ops on which dot operands depend, except for accumulators. */
static bool *
read_by_dots(Kernel *k)
{
	Arena *a = k->unit->arena;
	OperandClosure r = { .seen = NEWN(a, bool, k->nop + 1) };
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; o->code == O_dot && i < o->nin; i++)
			if (i != 2)
				reach(a, &r, o->in[i]);
	while (r.n) {
		const Op *o = r.work[--r.n];

		for (int i = 0; i < o->nin; i++)
			if (passes_on(o, i))
				reach(a, &r, o->in[i]);
	}
	return r.seen;
}

void
space_find(Kernel *k, SpaceChoice **out, int *n)
{
	Arena *a = k->unit->arena;
	bool *read = NULL;
	SpaceChoice *space = NULL;
	int cap = 0;
	OpWalk w;

	*n = 0;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Type *t;
		SpaceChoice p = { .src = o->src };

		if (is_table(o)) {
			if (IMM(o, table) == TABLE_OPEN && !table_fits(k, o)) {
				IMM_SET(o, table, TABLE_NONE);
				continue;
			}
			p.name = IMM(o, table) == TABLE_OPEN ? table_name(k, o) : operand_name(k, o);
			p.kept = IMM(o, table) == TABLE_KEPT;
		} else if (is_marked(o)) {
			read = read ? read : read_by_dots(k);
			if (!read[o->id]) {
				IMM_SET(o, space_open, 0);
				continue;
			}
			p.name = tile_name(k, o);
		} else {
			continue;
		}
		t = &o->out[0]->type;
		p.bytes = type_size(t) * dtype_info[t->dtype].bits / 8;
		VEC_PUSH(a, space, *n, cap, p);
	}
	*out = space;
}

void
space_decide(Kernel *k, const bool *registers)
{
	OpWalk w;
	int n = 0;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (is_marked(o))
			IMM_SET(o, space_open, !registers[n++]);
		else if (is_table(o) && !registers[n++])
			IMM_SET(o, table, TABLE_NONE);
		else if (is_table(o))
			IMM_SET(o, table, IMM(o, table) == TABLE_OPEN ? TABLE_REGISTERS : TABLE_DIRECT);
}

/* ---- to shared memory ----------------------------------------------------------------------------- */

/* Replaces the marked load by a copy to a shared tile; returns the tile. */
static Val *
staged(Op *load)
{
	Type t = load->out[0]->type;
	Val *in[2] = { load_source(load), NULL };

	t.space = S_shared;
	in[1] = op_new(load->parent, load, O_alloc, load->src, 0, NULL, 1, &t)->out[0];
	in[1]->name = tile_name(load->parent->kernel, load);
	op_new(load->parent, load, O_copy, load->src, 2, in, 0, NULL);
	op_unlink(load);
	return in[1];
}

/* Loads operands of o that are now in shared memory before it. Each reader has its own load: a dot and a
 * reduction may need different layouts. */
static void
load_operands(Op *o, Val *const *shared, uint32_t n)
{
	for (int i = 0; i < o->nin; i++) {
		Val *tile = o->in[i], *memory = tile->id < n ? shared[tile->id] : NULL, *own;

		if (!memory)
			continue;
		own = op_new(o->parent, o, O_load, tile->def->src, 1, &memory, 1, &tile->type)->out[0];
		own->name = tile->name;
		for (int j = i; j < o->nin; j++)
			if (o->in[j] == tile)
				o->in[j] = own;
	}
}

static Op *
next_table(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (is_table(o))
			return o;
	return NULL;
}

bool
pass_assign_space(Kernel *k)
{
	uint32_t n = k->nval + 1;
	Val **shared = NULL; /* by value id: the shared tile that replaces it */
	SpaceChoice *free;
	bool tables = false;
	Op *table;
	int nfree;
	OpWalk w;

	space_find(k, &free, &nfree);
	while ((table = next_table(k)) != NULL) {
		TableKind kind = (TableKind)IMM(table, table);

		IMM_SET(table, table, TABLE_NONE);
		if (kind == TABLE_REGISTERS)
			table_gather(k, table);
		else if (kind == TABLE_DIRECT)
			operand_direct(k, table);
		tables = tables || kind == TABLE_REGISTERS || kind == TABLE_DIRECT;
	}
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (is_marked(o)) {
			shared = shared ? shared : NEWN(k->unit->arena, Val *, n);
			shared[o->out[0]->id] = staged(o);
		} else if (shared) {
			load_operands(o, shared, n);
		}
	}
	return shared != NULL || tables;
}
