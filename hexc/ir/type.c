/* type.c - types of values, and the table of ops. */
#include "hexc/ir/ir.h"
#include <string.h>

const OpInfo op_info[O_COUNT] = {
	[O_none] = { "none", 0, 0, 0, 0 },
#define OP_INFO(name, in, out, flags, types) [O_##name] = { #name, in, out, flags, KINDS_##types },
#include "hexc/ir/ops.def"
};

enum { IMM_OPS = 8 };
static const struct {
	int slot;
	OpCode of[IMM_OPS];
} imm_info[IMM_COUNT] = {
#define OP_IMM(name, slot, ...) [IMM_##name] = { slot, { __VA_ARGS__ } },
#include "hexc/ir/ops.def"
};

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

OpCode
op_find(const char *name, size_t n)
{
	for (int o = O_none + 1; o < O_COUNT; o++)
		if (strlen(op_info[o].name) == n && memcmp(op_info[o].name, name, n) == 0)
			return (OpCode)o;
	return O_none;
}

int
imm_slot(const Op *o, Imm name)
{
	bool has = false;

	for (int i = 0; i < IMM_OPS && !has; i++)
		has = imm_info[name].of[i] == o->code;
	if (o->parent) /* else it was taken out of its block */
		BUG_IF(o->parent->kernel->unit->arena, !has);
	return imm_info[name].slot;
}

bool
op_is(const Op *o, unsigned flags)
{
	return (op_info[o->code].flags & flags) != 0;
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
type_index(void)
{
	return type_scalar(D_i64);
}

Type
type_cond(void)
{
	return type_scalar(D_bool);
}

bool
type_is_index(const Type *t)
{
	return t->space == S_scalar && t->dtype == D_i64;
}

bool
type_is_cond(const Type *t)
{
	return t->space == S_scalar && t->dtype == D_bool;
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

void
type_coord(const Type *t, int64_t elem, int64_t *coord)
{
	row_major_coord(t->rank, t->shape, elem, coord);
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
