/* lower_param.c - lowers parameters: the declared ones, then the run-time sizes that shapes and strides
 * name. */
#include "hexc/lang/lower.h"
#include "hexc/ir/pack.h"
#include <string.h>

bool
lower_is_const(const Lower *l, const Expr *e)
{
	if (e->kind == EX_index || e->kind == EX_error)
		return false;
	if (e->kind == EX_name) {
		const Sym *s = sym_find(l, e->name);
		return (s && value_is_const(&s->val)) || lower_expr_dtype(l, e) != D_COUNT ||
		       strcmp(e->name, "inf") == 0;
	}
	if (e->kind == EX_member)
		return false;
	for (int i = 0; i < e->narg; i++)
		if (!lower_is_const(l, e->arg[i]))
			return false;
	return true;
}

static void
set_range(Param *p)
{
	DType d = p->val->type.dtype;

	if (dtype_info[d].kind == K_flt)
		return;
	p->mult = 1;
	p->lo = p->kind == P_size ? 0 : INT64_MIN;
	p->hi = INT64_MAX;
}

/* Adds a parameter; its argument is set once the type is known. */
static Param *
add_param(Lower *l, ParamKind kind, const char *name, Src src)
{
	Param *p = &l->k->param[l->k->nparam++];

	p->kind = kind;
	p->name = name;
	p->src = src;
	return p;
}

static void
set_arg(Lower *l, Param *p, Type t)
{
	p->val = block_arg(l->k->body, t);
	p->val->name = p->name;
	if (p->kind != P_tensor)
		set_range(p);
}

/* ---- names of sizes -------------------------------------------------------------------------- */

typedef struct Sizes {
	const char **name;
	Src *src;
	int n, cap, cap2;
} Sizes;

static const ParamDecl *
find_decl(const Lower *l, const char *name)
{
	for (int i = 0; i < l->decl->nparam; i++)
		if (strcmp(l->decl->param[i].name, name) == 0)
			return &l->decl->param[i];
	return NULL;
}

/* Handles a name in a shape: a constant, a declared i64 parameter, or the declaration of a size. */
static void
note_size(Lower *l, Sizes *z, const Expr *e)
{
	const ParamDecl *d = find_decl(l, e->name);
	const Sym *s = sym_find(l, e->name);

	for (int i = 0; i < z->n; i++)
		if (strcmp(z->name[i], e->name) == 0)
			return;
	if ((s && s->kind == SY_const) || d || strcmp(e->name, "inf") == 0)
		return;
	VEC_PUSH(l->arena, z->src, z->n, z->cap2, e->src);
	z->n--;
	VEC_PUSH(l->arena, z->name, z->n, z->cap, e->name);
}

static void
find_sizes(Lower *l, Sizes *z, const Expr *e)
{
	if (e->kind == EX_name)
		note_size(l, z, e);
	else if (e->kind != EX_member)
		for (int i = 0; i < e->narg; i++)
			find_sizes(l, z, e->arg[i]);
}

static bool
names_param(const Expr *e, const char *name)
{
	if (e->kind == EX_name && strcmp(e->name, name) == 0)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (names_param(e->arg[i], name))
			return true;
	return false;
}

/* An i64 parameter that a shape uses is a size. */
static bool
is_size(const Lower *l, const ParamDecl *d)
{
	if (d->type.shaped || d->type.dtype != D_i64)
		return false;
	for (int i = 0; i < l->decl->nparam; i++) {
		const ParamDecl *t = &l->decl->param[i];
		for (int j = 0; j < t->type.ndim; j++)
			if (names_param(t->type.dim[j], d->name))
				return true;
		for (int j = 0; j < t->nstride; j++)
			if (names_param(t->stride[j], d->name))
				return true;
	}
	return false;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Some types have no memory format for hosts. */
static void
check_memory_type(Lower *l, const ParamDecl *d)
{
	const char *name = dtype_info[d->type.dtype].name;

	if (dtype_info[d->type.dtype].use == U_temp)
		diag_error(l->diag, d->src,
		           "`%s` cannot be %s, which is only a type of intermediate values; declare f32 "
		           "and cast, as in `%s(%s[...])`",
		           d->name, name, name, d->name);
}

static Type
tensor_type(Lower *l, const ParamDecl *d)
{
	int64_t shape[RANK_MAX] = { 1 };
	int rank = d->type.ndim;

	check_memory_type(l, d);
	if (rank < 1 || rank > RANK_MAX) {
		diag_error(l->diag, d->type.src, "tensor `%s` has %d dimensions; 1 to %d are allowed",
		           d->name, rank, RANK_MAX);
		rank = rank < 1 ? 1 : RANK_MAX;
	}
	for (int i = 0; i < d->type.ndim && i < rank; i++) {
		const char *what = arena_printf(l->arena, "dimension %d of tensor `%s`", i, d->name);

		shape[i] = -1;
		if (lower_is_const(l, d->type.dim[i]) &&
		    lower_const_int(l, d->type.dim[i], what, &shape[i]) && shape[i] < 1) {
			diag_error(l->diag, d->type.dim[i]->src, "%s is %lld; must be at least 1", what,
			           (long long)shape[i]);
			shape[i] = 1;
		}
	}
	if (d->nstride && d->nstride != d->type.ndim)
		diag_error(l->diag, d->stride_src, "tensor `%s` has %d dimensions but %d strides", d->name,
		           d->type.ndim, d->nstride);
	return type_tile(d->type.dtype, S_global, rank, shape);
}

/* Returns the declared properties of the pack; inference chooses the rest. */
static const Pack *
declared_pack(Lower *l, const ParamDecl *d)
{
	const char *name = dtype_info[d->type.dtype].name, *why;
	Pack *p = NEW(l->arena, Pack);

	p->dtype = d->type.dtype;
	if (!dtype_is_narrow(p->dtype))
		diag_error(l->diag, d->pack_src, "`%s` is %s; only elements of 1 to 8 bits can be packed",
		           d->name,
		           name);
	else if (!d->type.shaped || d->type.ndim < 2)
		diag_error(l->diag, d->pack_src,
		           "`%s` has no rows and columns to pack; only tensors of two or more dimensions "
		           "can be packed",
		           d->name);
	else if (d->out && (d->in || !d->pack))
		diag_error(l->diag, d->pack_src,
		           "packed output `%s` needs an explicit pack, `out packed(\"..\")`; or write it "
			   "unpacked and call hexc_pack()",
		           d->name);
	else if (d->nstride)
		diag_error(l->diag, d->stride_src, "`%s` is packed and cannot have strides", d->name);
	else if (!d->pack)
		return p;
	else if (!pack_parse(l->arena, d->pack, strlen(d->pack), p, &why))
		diag_error(l->diag, d->pack_src, "invalid pack: %s", why);
	else if (p->dtype != d->type.dtype)
		diag_error(l->diag, d->pack_src, "the pack is for %s, but `%s` is %s",
		           dtype_info[p->dtype].name, d->name, name);
	else
		return p;
	return NULL;
}

static void
declare(Lower *l, const ParamDecl *d)
{
	Param *p = add_param(l, d->type.shaped ? P_tensor : is_size(l, d) ? P_size
	                                                                  : P_scalar,
	                     d->name,
	                     d->src);
	LoweredValue v = { .kind = VK_view };

	p->read = d->in;
	p->written = d->out;
	p->pack = d->packed ? declared_pack(l, d) : NULL;
	if (p->kind == P_tensor) {
		set_arg(l, p, tensor_type(l, d));
		v.v = p->val;
		sym_add(l, d->name, SY_tensor, d->src, v);
		return;
	}
	if (d->out)
		diag_error(l->diag, d->src,
		           "scalar parameter `%s` cannot be `out`; declare a tensor, as in %s: out %s[1]",
		           d->name, d->name, dtype_info[d->type.dtype].name);
	if (d->nstride)
		diag_error(l->diag, d->stride_src, "scalar `%s` cannot have strides", d->name);
	check_memory_type(l, d);
	set_arg(l, p, type_scalar(d->type.dtype));
	sym_add(l, d->name, p->kind == P_size ? SY_size : SY_scalar, d->src, value_of(p->val));
}

static Val *
index_or_one(Lower *l, const Expr *e, const char *what)
{
	Val *v = lower_index_value(l, e, what);

	return v ? v : ir_const(l->b, NULL, 1);
}

/* Computes sizes and strides at the top of the body. */
static void
set_sizes(Lower *l, Param *p, const ParamDecl *d)
{
	int rank = p->val->type.rank;
	int64_t c;

	l->what = "a shape";
	for (int i = 0; i < rank; i++)
		p->size[i] = d->type.ndim > i ? index_or_one(l, d->type.dim[i], "a dimension")
		                              : ir_const(l->b, NULL, 1);
	if (d->nstride == rank) {
		l->what = "a stride";
		for (int i = 0; i < rank; i++) {
			p->stride[i] = index_or_one(l, d->stride[i], "a stride");
			if (val_is_const(p->stride[i], &c) && c < 0)
				diag_error(l->diag, d->stride[i]->src,
				           "stride %lld of tensor `%s` is negative", (long long)c, d->name);
		}
		return;
	}
	p->stride[rank - 1] = ir_const(l->b, NULL, 1);
	for (int i = rank - 2; i >= 0; i--)
		p->stride[i] = put_index(l, O_mul, d->src, p->stride[i + 1], p->size[i + 1]);
}

void
lower_params(Lower *l)
{
	const KernelDecl *d = l->decl;
	Sizes z = { 0 };

	for (int i = 0; i < d->nparam; i++) {
		for (int j = 0; j < d->param[i].type.ndim && j < RANK_MAX; j++)
			find_sizes(l, &z, d->param[i].type.dim[j]);
		for (int j = 0; j < d->param[i].nstride && j < RANK_MAX; j++)
			find_sizes(l, &z, d->param[i].stride[j]);
	}
	l->k->param = NEWN(l->arena, Param, d->nparam + z.n);
	l->mode = MODE_SHAPE;
	l->b = l->k->body;
	for (int i = 0; i < d->nparam; i++)
		declare(l, &d->param[i]);
	for (int i = 0; i < z.n; i++) {
		Param *p = add_param(l, P_size, z.name[i], z.src[i]);

		p->read = true;
		set_arg(l, p, type_index());
		sym_add(l, p->name, SY_size, p->src, value_of(p->val));
	}
	for (int i = 0; i < d->nparam; i++)
		if (l->k->param[i].kind == P_tensor)
			set_sizes(l, &l->k->param[i], &d->param[i]);
}
