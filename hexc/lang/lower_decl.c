/* lower_decl.c - lowers declarations: let and var, scalars, register tiles and shared tiles. */
#include "hexc/ir/dtype_value.h"
#include "hexc/lang/lower.h"
#include <math.h>

/* ---- types as written ------------------------------------------------------------------------ */

/* Computes the tile type of a declaration, whose extents must be compile-time constants. */
static bool
spec_type(Lower *l, const TypeSpec *s, Type *t)
{
	int64_t shape[RANK_MAX];

	if (s->ndim < 1 || s->ndim > RANK_MAX) {
		diag_error(l->diag, s->src, "a tile has 1 to %d dimensions, not %d", RANK_MAX, s->ndim);
		return false;
	}
	for (int i = 0; i < s->ndim; i++)
		if (!lower_const_int(l, s->dim[i], "the extent of a tile", &shape[i]) ||
		    !check_extent(l, shape[i], s->dim[i]->src))
			return false;
	*t = type_tile(s->dtype, s->space, s->ndim, shape);
	return check_shape(l, s->ndim, shape, s->src);
}

void
lower_keep(Val *v)
{
	if (v->def && v->type.space == S_reg && op_is(v->def, F_ELT | F_MOVE))
		v->type.kept = true;
}

static void
name_val(Val *v, const char *name)
{
	if (!v->name)
		v->name = name;
}

/* ---- shared tiles ---------------------------------------------------------------------------- */

static Val *
alloc(Lower *l, const Stmt *s, Type t)
{
	Val *v;

	t = type_free(t);
	t.space = S_shared;
	if (s->type.layout) {
		t.layout = lower_layout(l, &s->type, &t, s->name);
		t.pinned = t.layout != NULL;
	}
	v = put_op(l, O_alloc, s->src, 0, NULL, t);
	v->name = s->name;
	return v;
}

LoweredValue
lower_copied(Lower *l, const LoweredValue *v, bool *filled)
{
	Op *last = v->kind == VK_val && !v->v->name ? v->v->def : NULL;
	const Op *fill = last && last->code == O_fill ? last : NULL, *load = fill ? fill->in[0]->def : last;
	LoweredValue r = { .kind = VK_view };
	double f = fill ? fill->fimm : 0;

	*filled = false;
	if (!last || last != l->b->last || !load || load->code != O_load || load->out[0]->name ||
	    (fill && load->next != fill))
		return value_none();
	r.v = load_source(load);
	if (fabs(f) > 0 || signbit(f) || isnan(f) || (fill && IMM(fill, fill))) /* floats: in fimm */
		return value_none();
	if (r.v->type.space != S_global || r.v->type.dtype != v->v->type.dtype || !r.v->def ||
	    fabs(num_outside(r.v->type.dtype)) > 0)
		return value_none();
	*filled = fill != NULL;
	return r;
}

/* Fills a shared tile: global memory is copied, which pipeline loops make asynchronous; anything else goes
 * through registers. */
static LoweredValue
fill_shared(Lower *l, const Stmt *s, Operand src, Type t)
{
	LoweredValue r = { .kind = VK_view }, slice = value_none();
	bool filled = false;
	const Type *from;
	Val *in[2];

	t.space = S_reg;
	if (value_is_tile(&src.v) && type_same(&src.v.v->type, &t))
		slice = lower_copied(l, &src.v, &filled);
	if (slice.kind == VK_view)
		src.v = slice;
	from = src.v.kind == VK_view ? &src.v.v->type : NULL;
	t.space = S_global;
	if (from && type_same(from, &t)) {
		const Val *root = src.v.v->def ? view_source(src.v.v->def) : src.v.v;

		if (!l->k->param[root->index].read) {
			lower_load(l, src); /* reports that it is only written */
			return value_none();
		}
		in[0] = lower_whole(l, src.e->src, src.v.v);
		in[1] = r.v = alloc(l, s, t);
		IMM_SET(op_new(l->b, NULL, O_copy, s->src, 2, in, 0, NULL), filled, filled);
		return r;
	}
	t.space = S_reg;
	in[0] = lower_to_type(l, src, t, s->src, arena_printf(l->arena, "shared tile `%s`", s->name));
	if (!in[0])
		return value_none();
	in[1] = r.v = alloc(l, s, t);
	op_new(l->b, NULL, O_store, s->src, 2, in, 0, NULL);
	return r;
}

/* Computes the type of a shared tile that has the shape of its value. */
static bool
shared_type(Lower *l, const Stmt *s, Operand *src, Type *t)
{
	if (src->v.kind != VK_view && !value_is_tile(&src->v)) {
		diag_error(l->diag, s->value->src,
		           "shared tile `%s` requires a tile or a shape, not %s", s->name,
		           check_describe(l, &src->v));
		return false;
	}
	*t = src->v.v->type;
	for (int d = 0; d < t->rank; d++) {
		if (t->shape[d] >= 0)
			continue;
		lower_load(l, *src); /* reports that an entire tensor is no tile */
		return false;
	}
	if (s->type.dtype != D_COUNT)
		t->dtype = s->type.dtype;
	return check_shape(l, t->rank, t->shape, s->value->src);
}

/* Copies a slice of a tensor with new dims: the copy lacks them, and the tile has them as another shape of
 * the same memory. Returns false, with nothing lowered, if it is no such copy. */
static bool
copy_with_dims(Lower *l, const Stmt *s, LoweredValue *r)
{
	const Expr *e = s->value;
	const Sym *sym = e->kind == EX_index && lower_has_new_dim(e) && e->arg[0]->kind == EX_name
	                         ? sym_find(l, e->arg[0]->name)
	                         : NULL;
	Operand src = { .e = e };
	Type full;

	if (!sym || sym->val.kind != VK_view || sym->val.v->type.space != S_global || s->type.shaped ||
	    s->type.layout || (s->type.dtype != D_COUNT && s->type.dtype != sym->val.v->type.dtype))
		return false;
	*r = value_none();
	src.v = lower_slice_memory(l, e, &full);
	if (src.v.kind == VK_view)
		*r = fill_shared(l, s, src, src.v.v->type);
	if (r->kind != VK_view)
		return true;
	full.space = S_shared;
	r->v = put_op(l, O_reshape, s->src, 1, &r->v, full);
	return true;
}

static LoweredValue
let_shared(Lower *l, const Stmt *s)
{
	Operand src = { .e = s->value };
	LoweredValue copy;
	Type t;

	if (s->is_var) {
		diag_error(l->diag, s->src,
		           "shared tile `%s` must be declared with `let`; write slices of it, as in "
		           "%s[...] = x",
		           s->name, s->name);
		return value_none();
	}
	if (s->type.shaped && !spec_type(l, &s->type, &t))
		return value_none();
	if (!s->value) {
		if (s->type.shaped)
			return (LoweredValue){ .kind = VK_view, .v = alloc(l, s, t) };
		diag_error(l->diag, s->src,
		           "shared tile `%s` has neither a type nor a value; write `let %s: shared f16[64, "
		           "64];`",
		           s->name, s->name);
		return value_none();
	}
	if (copy_with_dims(l, s, &copy))
		return copy;
	src = lower_operand(l, s->value);
	if (src.v.kind == VK_view && src.v.v->type.space == S_shared)
		src.v = lower_load_tile(l, src);
	if (src.v.kind == VK_none || (!s->type.shaped && !shared_type(l, s, &src, &t)))
		return value_none();
	return fill_shared(l, s, src, t);
}

/* ---- registers and scalars ------------------------------------------------------------------- */

static LoweredValue
let_typed(Lower *l, const Stmt *s, Type t)
{
	Operand src = lower_operand(l, s->value);
	LoweredValue r = { .kind = VK_val };

	src.v = s->type.space == S_reg && !src.v.single ? lower_load_tile(l, src) : lower_load(l, src);
	if (src.v.kind == VK_none)
		return src.v;
	r.v = lower_to_type(l, src, t, s->src, arena_printf(l->arena, "`%s`", s->name));
	if (!r.v)
		return value_none();
	return r;
}

static LoweredValue
register_tile(Lower *l, const Stmt *s)
{
	Operand src = { .e = s->value };
	Type t;

	if (s->type.shaped)
		return spec_type(l, &s->type, &t) ? let_typed(l, s, t) : value_none();
	src = lower_operand(l, s->value);
	src.v = lower_load_tile(l, src);
	if (src.v.kind == VK_none || value_is_tile(&src.v)) {
		if (src.v.kind == VK_none || s->type.dtype == D_COUNT ||
		    s->type.dtype == src.v.v->type.dtype)
			return src.v;
		lower_to_type(l, src, type_scalar(s->type.dtype), s->src,
		              arena_printf(l->arena, "`%s`", s->name));
		return value_none();
	}
	diag_error(l->diag, s->value->src,
	           "register tile `%s` has no shape; write `%s: register f32[64, 64]`",
	           s->name, s->name);
	return value_none();
}

static LoweredValue
let_register(Lower *l, const Stmt *s, const Layout **pin)
{
	LoweredValue v = register_tile(l, s);

	if (!s->type.layout || v.kind != VK_val)
		return v;
	*pin = lower_layout(l, &s->type, &v.v->type, s->name);
	if (*pin)
		v.v = lower_pin(l, s->src, v.v, *pin);
	return v;
}

/* Creates the initial value of a variable, which needs a type. */
static LoweredValue
var_number(Lower *l, const Stmt *s, LoweredValue v)
{
	Type t = type_scalar(v.kind == VK_int ? D_i64 : v.kind == VK_bool ? D_bool
	                                                                  : D_f32);

	return check_fits(l, &v, t.dtype, s->value->src) ? value_of(put_const(l, &v, t, s->src))
	                                                 : value_none();
}

static LoweredValue
let_plain(Lower *l, const Stmt *s)
{
	LoweredValue v = lower_expr(l, s->value), one;

	if (v.single) {
		one = lower_load(l, (Operand){ v, s->value });
		if (one.kind == VK_none || one.v->type.space == S_scalar)
			return one;
	}
	if (v.kind == VK_view)
		return lower_load(l, (Operand){ v, s->value });
	return s->is_var && value_is_const(&v) ? var_number(l, s, v) : v;
}

static LoweredValue
let_value(Lower *l, const Stmt *s, const Layout **pin)
{
	const TypeSpec *t = &s->type;

	if (t->space == S_shared)
		return let_shared(l, s);
	if (!s->value) {
		diag_error(l->diag, s->src, "`%s` has no initial value; only shared tiles may omit it",
		           s->name);
		return value_none();
	}
	if (t->space == S_reg)
		return let_register(l, s, pin);
	if (!t->given)
		return let_plain(l, s);
	if (t->shaped) {
		diag_error(l->diag, t->src,
		           "missing memory space of tile `%s`; write `register` or `shared` before the type",
		           s->name);
		return value_none();
	}
	return let_typed(l, s, type_scalar(t->dtype));
}

/* let (a, b) = f(x); */
static void
let_parts(Lower *l, const Stmt *s)
{
	LoweredValue v[RESULT_MAX];

	lower_fn_parts(l, s->value, s->npart, v);
	for (int i = 0; i < s->npart; i++) {
		const struct Part *p = &s->part[i];

		v[i] = lower_load(l, (Operand){ v[i], s->value });
		if (s->is_var && value_is_const(&v[i]))
			v[i] = var_number(l, s, v[i]);
		if (v[i].kind == VK_val)
			name_val(v[i].v, p->name);
		sym_add(l, p->name, s->is_var ? SY_var : SY_let, p->src, v[i]);
	}
}

/* The parser has reported the error. */
static void
let_broken(Lower *l, const Stmt *s)
{
	SymKind kind = s->is_var ? SY_var : SY_let;

	if (!s->npart)
		sym_add(l, s->name, kind, s->src, value_none());
	for (int i = 0; i < s->npart; i++)
		sym_add(l, s->part[i].name, kind, s->part[i].src, value_none());
}

/* Declares the tiles of an array, each with the value. */
static void
let_array(Lower *l, const Stmt *s)
{
	enum { ARRAY_MAX = 64 };
	int64_t n;
	LoweredValue array = { .kind = VK_array };

	if (!lower_const_int(l, s->count, "the length of an array of tiles", &n)) {
		n = 0;
	} else if (n < 1 || n > ARRAY_MAX || lower_is_mbar(l, &s->type)) {
		if (n < 1 || n > ARRAY_MAX)
			diag_error(l->diag, s->count->src, "an array has 1 to %d tiles, not %lld", ARRAY_MAX,
			           (long long)n);
		else
			diag_error(l->diag, s->type.src, "mbarriers are one array: write `mbarrier[%lld]`",
			           (long long)n);
		n = 0;
	}
	for (int64_t i = 0; i < n; i++) {
		Stmt one = *s;
		int errors = l->diag->nerror;

		one.count = NULL;
		one.name = arena_printf(l->arena, "%s[%lld]", s->name, (long long)i);
		lower_let(l, &one);
		if (l->diag->nerror > errors)
			n = 0;
	}
	array.i = n;
	sym_add(l, s->name, SY_let, s->src, n ? array : value_none());
}

void
lower_let(Lower *l, const Stmt *s)
{
	Stmt own = *s;
	const Layout *pin = NULL;
	LoweredValue v;
	Sym *sym;

	if (s->broken) {
		let_broken(l, s);
		return;
	}
	if (s->npart) {
		let_parts(l, s);
		return;
	}
	if (s->count) {
		let_array(l, s);
		return;
	}
	if (lower_is_mbar(l, &s->type)) {
		sym_add(l, s->name, SY_let, s->src, lower_let_mbar(l, s));
		return;
	}
	own.type.dtype = lower_dtype(l, &s->type);
	v = s->type.name && own.type.dtype == D_COUNT ? value_none() /* reported */
	                                              : let_value(l, &own, &pin);
	if (v.kind == VK_val) {
		name_val(v.v, s->name);
		if (own.type.space == S_reg)
			lower_keep(v.v);
	}
	sym = sym_add(l, s->name, s->is_var ? SY_var : SY_let, s->src, v);
	sym->pin = pin;
	sym->kept = own.type.space == S_reg;
}
