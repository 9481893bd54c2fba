/* lower_subtile.c - lowers slices of register tiles, tiles assembled from parts, and assignments to parts.
 * If the tile consists of few chunks and the slice of some of them, only registers are renamed; otherwise
 * it goes through shared memory, where every element has an address.
 *
 * An assignment to a part, x[k, :] = v, is a select:
 *
 *     %1 = iota dim 0                      i
 *     %2 = eq %1, k                        i == k;  of a :+ n:  a <= i && i < a + n
 *     %3 = broadcast v
 *     %4 = select %2, %3, %x part 1
 *
 * v broadcasts to the tile if the part has one element along each dim that it cuts, or v has. Otherwise v is
 * placed in a tile of x's shape: between pieces of zeros if only registers are renamed, else through shared
 * memory. Comparisons with known starts are of registers and lanes, which the backend folds. */
#include "hexc/ir/dtype_value.h"
#include "hexc/lang/lower.h"

Val *
lower_put_alloc(Lower *l, Src src, Type t)
{
	t = type_free(t);
	t.space = S_shared;
	return put_op(l, O_alloc, src, 0, NULL, t);
}

static Op *
put_store(Lower *l, Src src, Val *x, Val *to)
{
	Val *in[2] = { x, to };

	return op_new(l->b, NULL, O_store, src, 2, in, 0, NULL);
}

LoweredValue
lower_stage(Lower *l, Src src, const LoweredValue *x)
{
	LoweredValue r = *x;

	r.kind = VK_view;
	r.v = lower_put_alloc(l, src, x->v->type);
	put_store(l, src, x->v, r.v);
	return r;
}

/* Returns register tile x, in a wider type if its rows are not full bytes. */
static Val *
byte_rows(Lower *l, Src src, Val *x)
{
	Type t = x->type;
	int bits = dtype_info[t.dtype].bits;

	if (t.dtype == D_bool || bits >= 8 || t.shape[t.rank - 1] * bits % 8 == 0)
		return x;
	t.dtype = dtype_is_float(t.dtype) ? D_f16 : num_min(t.dtype) < 0 ? D_i8 : D_u8;
	t = type_free(t);
	return put1(l, O_cast, src, x, t);
}

/* Returns register tile x with v, of the same rank, from `start` on: through shared memory. */
static Val *
put_part(Lower *l, Src src, Val *x, Val *v, Val *const *start)
{
	Val *wide = byte_rows(l, src, x), *in[RANK_MAX + 1], *r;
	Type t = type_free(wide->type), part = type_free(v->type);

	part.dtype = t.dtype;
	if (v->type.dtype != t.dtype)
		v = put1(l, O_cast, src, v, part);
	in[0] = lower_put_alloc(l, src, t);
	put_store(l, src, wide, in[0]);
	for (int d = 0; d < t.rank; d++)
		in[1 + d] = start[d];
	part.space = S_shared;
	IMM_SET(put_store(l, src, v, put_op(l, O_view, src, 1 + t.rank, in, part)), placed, 1);
	r = put1(l, O_load, src, in[0], t);
	t.dtype = x->type.dtype;
	return t.dtype != r->type.dtype ? put1(l, O_cast, src, r, t) : r;
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* A copy in shared memory of register tile `of`. */
struct Table {
	const Val *of;
	Val *mem;
	bool open; /* index tiles may also read it in registers */
	struct Table *next;
};

static struct Table *
find_table(const Lower *l, const Val *of, bool open)
{
	struct Table *t = l->table;

	while (t && (t->of != of || t->open != open || !block_inside(l->b, t->mem->block)))
		t = t->next;
	return t;
}

static void
keep_table(Lower *l, const Val *of, Val *mem, bool open)
{
	struct Table *t = NEW(l->arena, struct Table);

	*t = (struct Table){ of, mem, open, l->table };
	l->table = t;
}

LoweredValue
lower_staged(Lower *l, Src src, const LoweredValue *x)
{
	struct Table *t = find_table(l, x->v, false);
	LoweredValue r = *x;

	r.kind = VK_view;
	if (t) {
		r.v = t->mem;
		return r;
	}
	r.v = byte_rows(l, src, x->v);
	r = lower_stage(l, src, &r);
	keep_table(l, x->v, r.v, false);
	return r;
}

/* Returns the outermost loop around the current block that v is defined outside of; NULL if there is
 * none. */
static Op *
loop_behind(const Lower *l, const Val *v)
{
	Op *found = NULL;

	for (const Block *b = l->b; b != v->block && b->owner; b = b->owner->parent)
		if (b->owner->code == O_for)
			found = b->owner;
	return found;
}

LoweredValue
lower_table(Lower *l, Src src, const LoweredValue *x)
{
	LoweredValue r = *x;
	Block *here = l->b;
	Op *loop = loop_behind(l, x->v), *last;
	struct Table *t = find_table(l, x->v, true);

	r.kind = VK_view;
	if (t) {
		r.v = t->mem;
		return r;
	}
	l->b = loop ? loop->parent : here;
	last = l->b->last;
	r.v = byte_rows(l, src, x->v);
	r.v->name = x->v->name;
	r.v = lower_stage(l, src, &r).v;
	IMM_SET(r.v->def, table, TABLE_OPEN);
	l->b = here;
	while (loop && last->next)
		op_move_before(last->next, loop);
	keep_table(l, x->v, r.v, true);
	return r;
}

/* Returns the view of the entire memory. */
static Val *
view_all(Lower *l, Src src, Val *mem)
{
	Val *in[1 + DIM_MAX] = { mem };
	int rank = mem->type.rank;

	for (int d = 0; d < rank; d++)
		in[1 + d] = ir_const(l->b, NULL, 0);
	return put_op(l, O_view, src, 1 + rank, in, mem->type);
}

LoweredValue
lower_element(Lower *l, Src src, Val *tile)
{
	return (LoweredValue){ .kind = VK_view, .v = view_all(l, src, tile), .single = true };
}

Val *
lower_whole(Lower *l, Src src, Val *mem)
{
	return mem->type.space == S_global && !mem->def ? view_all(l, src, mem) : mem;
}

/* ---- what threads divide up ---------------------------------------------------------------------- */

enum { ACCESS_BITS = 128, FEW = 16 /* registers */ };

/* Returns over how many threads a dim can be distributed: a full dim of any extent, as it is padded;
 * chunks of a dim in powers of two only and, in the last dim, after dividing by the access width. */
static int64_t
ways_of(const Type *t, int64_t extent, bool whole, bool last)
{
	int64_t n = extent & -extent, wide = max64(ACCESS_BITS / dtype_info[t->dtype].bits, 1);

	while (whole && n < extent)
		n *= 2;
	return !whole && last && n < extent ? max64(n / wide, 1) : n;
}

/* Does a register tile t distributed over `ways` threads use about as few registers as over all threads,
 * or few registers? */
static bool
is_shared_out(const Lower *l, const Type *t, int64_t ways)
{
	int64_t threads = (int64_t)l->k->warps * WARP_SIZE, size = type_size(t);
	int64_t least = (size + threads - 1) / threads, each = (size + ways - 1) / ways;

	return 2 * each <= 3 * least || each * dtype_info[t->dtype].bits <= FEW * 32;
}

/* Iterates over the dims of a shape from the last on. */
typedef struct Factors {
	const Type *t;
	int d;        /* the next dim */
	int64_t size; /* product of the later dims */
} Factors;

static int64_t
next_size(const Factors *f)
{
	return f->d >= 0 ? f->size * f->t->shape[f->d] : INT64_MAX;
}

/* Each interval between two starts of dims, in either shape, is a factor of both. */
bool
lower_reshapes_shared_out(const Lower *l, const Type *from, const Type *to)
{
	Factors x = { from, from->rank - 1, 1 }, y = { to, to->rank - 1, 1 };
	int64_t at = 1, ways = 1;

	while (x.d >= 0 || y.d >= 0) {
		int64_t a = next_size(&x), b = next_size(&y), next = min64(a, b);
		bool whole = a == b && x.size == at && y.size == at;

		ways *= next % at ? 1 : ways_of(from, next / at, whole, at == 1);
		if (a == next)
			x = (Factors){ from, x.d - 1, a };
		if (b == next)
			y = (Factors){ to, y.d - 1, b };
		at = next;
	}
	return is_shared_out(l, from, ways);
}

enum { PIECES_MAX = 8 }; /* along one dim, each in separate registers */

bool
lower_slice_shared_out(const Lower *l, const Type *t, const int64_t *start, const int64_t *extent)
{
	int64_t ways = 1;

	for (int d = 0; d < t->rank; d++) {
		int64_t g = gcd64(gcd64(t->shape[d], extent[d]), start[d]);

		if (t->shape[d] / g > PIECES_MAX)
			return false;
		ways *= ways_of(t, g, g == t->shape[d], d == t->rank - 1);
	}
	return is_shared_out(l, t, ways);
}

Val *
lower_put_slice(Lower *l, Src src, Val *x, int dim, int64_t start, int64_t extent)
{
	Type t = x->type;

	if (start == 0 && extent == t.shape[dim])
		return x;
	t.shape[dim] = extent;
	x = put1(l, O_slice, src, x, t);
	IMM_SET(x->def, dim, dim);
	IMM_SET(x->def, from, start);
	return x;
}

/* Concatenates the parts in registers. */
static LoweredValue
joined(Lower *l, Src src, int n, const Operand *part, int dim)
{
	Val *v = part[0].v.v;

	for (int i = 1; i < n; i++) {
		Type t = v->type;

		t.shape[dim] += part[i].v.v->type.shape[dim];
		v = put2(l, O_concat, src, v, part[i].v.v, t);
		IMM_SET(v->def, dim, dim);
	}
	return value_of(v);
}

Val *
lower_resized(Lower *l, Src src, Val *x, int dim, int64_t extent)
{
	Type t = x->type, tile = t;
	int64_t n = t.shape[dim];
	Val *in[RANK_MAX + 1], *longer, *mem;

	if (n == extent)
		return x;
	tile.shape[dim] = min64(n, extent);
	mem = in[0] = lower_put_alloc(l, src, tile);
	for (int d = 0; d < t.rank; d++)
		in[1 + d] = ir_const(l->b, NULL, 0);
	tile.shape[dim] = max64(n, extent);
	tile.space = S_shared;
	longer = put_op(l, O_view, src, 1 + t.rank, in, tile);
	put_store(l, src, x, n < extent ? mem : longer);
	t.shape[dim] = extent;
	return put1(l, O_load, src, n < extent ? longer : mem, t);
}

LoweredValue
lower_at(Lower *l, Src src, const LoweredValue *x, int dim, Val *at)
{
	Type t = x->v->type;
	LoweredValue r = *x;
	Val *in[RANK_MAX + 1];

	in[0] = lower_stage(l, src, x).v;
	for (int d = 0; d < t.rank; d++)
		in[1 + d] = d == dim ? at : ir_const(l->b, NULL, 0);
	t.shape[dim] = 1;
	t.space = S_shared;
	r.v = put_op(l, O_view, src, 1 + t.rank, in, t);
	t.space = S_reg;
	r.v = put1(l, O_load, src, r.v, t);
	return r;
}

/* ---- concat ------------------------------------------------------------------------------------ */

/* Computes the type of the parts' concatenation along dim. */
static bool
joined_type(Lower *l, const Expr *e, int n, const Operand *part, int dim, Type *t)
{
	*t = part[0].v.v->type;
	for (int i = 1; i < n; i++) {
		const Type *x = &part[i].v.v->type;
		bool fit = x->rank == t->rank;

		if (!check_same_dtype(l, e->src, &part[0], &part[i]))
			return false;
		for (int d = 0; fit && d < t->rank; d++)
			fit = d == dim || x->shape[d] == t->shape[d];
		if (!fit) {
			diag_error(l->diag, part[i].e->src,
			           "concat of %s and %s along dimension %d: other extents must be equal",
			           check_describe(l, &part[0].v), check_describe(l, &part[i].v), dim);
			check_declared(l, e->src, n, part);
			return false;
		}
		t->shape[dim] += x->shape[dim];
	}
	return check_shape(l, t->rank, t->shape, e->src);
}

LoweredValue
lower_concat(Lower *l, const Expr *e)
{
	Operand part[CALL_ARG_MAX];
	int n = e->narg - 1, dim;
	int64_t at = 0, piece = 0, ways = 1;
	Val *tile;
	Type t;

	for (int i = 0; i < n; i++)
		if (!lower_tile_arg(l, e, 1 + i, &part[i]))
			return value_none();
	if (!lower_dim_arg(l, e, 0, part[0].v.v->type.rank, &dim) || !joined_type(l, e, n, part, dim, &t))
		return value_none();
	for (int i = 0; i < n; i++)
		piece = gcd64(piece, part[i].v.v->type.shape[dim]);
	for (int d = 0; d < t.rank; d++)
		ways *= ways_of(&t, d == dim ? piece : t.shape[d], d != dim, d == t.rank - 1);
	if (t.shape[dim] / piece <= PIECES_MAX && is_shared_out(l, &t, ways))
		return joined(l, e->src, n, part, dim);
	tile = lower_put_alloc(l, e->src, t);
	for (int i = 0; i < n; i++) {
		Type p = part[i].v.v->type;
		Val *in[RANK_MAX + 1] = { tile };

		for (int d = 0; d < t.rank; d++)
			in[1 + d] = ir_const(l->b, NULL, d == dim ? at : 0);
		p.space = S_shared;
		put_store(l, e->src, part[i].v.v, put_op(l, O_view, e->src, 1 + t.rank, in, p));
		at += p.shape[dim];
	}
	return value_of(put1(l, O_load, e->src, tile, t));
}

/* ---- the place of an extreme -------------------------------------------------------------------- */

/* Computes the lowest index of an element equal to the largest (smallest) one. */
LoweredValue
lower_arg_extreme(Lower *l, const Expr *e, OpCode code)
{
	LoweredValue none = value_int(INT32_MAX), found;
	Operand x, best;
	Val *in[3];
	Type t;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim) ||
	    !check_dtype(l, O_max, x.v.v->type.dtype, e->src, x.e))
		return value_none();
	t = x.v.v->type;
	best = x;
	best.v.v = lower_put_reduce(l, e, code, x.v.v, dim);
	found = lower_op2(l, TK_eq, e->src, x, best);
	if (found.kind == VK_none)
		return found;
	t.dtype = D_i32;
	in[0] = found.v;
	in[1] = put_op(l, O_iota, e->src, 0, NULL, t);
	IMM_SET(in[1]->def, dim, dim);
	in[2] = put_const(l, &none, t, e->src);
	best.v.v = lower_put_reduce(l, e, O_reduce_min, put_op(l, O_select, e->src, 3, in, t), dim);
	return best.v;
}

/* ---- assignments to parts ------------------------------------------------------------------------ */

static bool
is_cut(const Type *t, const AssignedPart *p, int d)
{
	return p->extent[d] < t->shape[d];
}

/* Returns the scalar `v` + n as an i32 tile. */
static Val *
index_tile(Lower *l, Src src, Val *v, int64_t n, Type t)
{
	int64_t at;
	LoweredValue c;

	if (val_is_const(v, &at)) {
		c = value_int(at + n);
		return put_const(l, &c, t, src);
	}
	v = put_index(l, O_add, src, v, ir_const(l->b, NULL, n));
	return put1(l, O_splat, src, put1(l, O_cast, src, v, type_scalar(D_i32)), t);
}

/* Is an element's index along dim d in the part? */
static Val *
in_part(Lower *l, Src src, const Type *tile, const AssignedPart *p, int d)
{
	Type t = type_tile(D_i32, S_reg, tile->rank, tile->shape), cond = t;
	int64_t at, n = p->extent[d];
	bool known = val_is_const(p->start[d], &at);
	Val *i = put_op(l, O_iota, src, 0, NULL, t), *low = NULL, *high = NULL;

	IMM_SET(i->def, dim, d);
	cond.dtype = D_bool;
	if (n == 1)
		return put2(l, O_eq, src, i, index_tile(l, src, p->start[d], 0, t), cond);
	if (!known || at > 0)
		low = put2(l, O_le, src, index_tile(l, src, p->start[d], 0, t), i, cond);
	if (!known || at + n < tile->shape[d])
		high = put2(l, O_lt, src, i, index_tile(l, src, p->start[d], n, t), cond);
	return low && high ? put2(l, O_and, src, low, high, cond) : low ? low : high;
}

/* Returns NULL if the part is the whole tile. */
static Val *
part_cond(Lower *l, Src src, const Type *tile, const AssignedPart *p)
{
	Val *all = NULL;

	for (int d = 0; d < tile->rank; d++) {
		Val *one = is_cut(tile, p, d) ? in_part(l, src, tile, p, d) : NULL;

		all = all && one ? put2(l, O_and, src, all, one, one->type) : one ? one : all;
	}
	return all;
}

/* Returns v's extent along dim i of the part. */
static int64_t
extent_of(const LoweredValue *v, const AssignedPart *p, int i)
{
	int skip = value_is_tile(v) ? p->full.rank - v->v->type.rank : p->full.rank;

	return i < skip ? 1 : v->v->type.shape[i - skip];
}

/* Does v have several elements along a dim that the part cuts? */
static bool
is_spread(const LoweredValue *v, const Type *tile, const AssignedPart *p)
{
	for (int i = 0; i < p->full.rank; i++)
		if (p->dim[i] >= 0 && is_cut(tile, p, p->dim[i]) && extent_of(v, p, i) > 1)
			return true;
	return false;
}

/* Returns v in the dims of the tile. */
static LoweredValue
lifted(Lower *l, Src src, LoweredValue v, const Type *tile, const AssignedPart *p)
{
	LoweredValue r = { .kind = VK_val };
	int64_t shape[RANK_MAX];
	int skip;

	if (!value_is_tile(&v))
		return v;
	skip = p->full.rank - v.v->type.rank;
	for (int d = 0; d < tile->rank; d++)
		shape[d] = 1;
	for (int i = skip; i < p->full.rank; i++) {
		if (p->dim[i] < 0)
			continue;
		shape[p->dim[i]] = extent_of(&v, p, i);
	}
	r.v = put_reshape(l, src, v.v, tile->rank, shape);
	return r;
}

/* Joins v and a piece of `extent` zeros before or after it along dim d. */
static Val *
joined_zeros(Lower *l, Src src, Val *v, int d, int64_t extent, bool before)
{
	LoweredValue zero = dtype_is_float(v->type.dtype) ? value_flt(0)
	                    : v->type.dtype == D_bool     ? value_bool(false)
	                                                  : value_int(0);
	Type t = type_free(v->type);
	Val *z;

	if (!extent)
		return v;
	t.shape[d] = extent;
	z = put_const(l, &zero, t, src);
	t.shape[d] = v->type.shape[d] + extent;
	v = put2(l, O_concat, src, before ? z : v, before ? v : z, t);
	IMM_SET(v->def, dim, d);
	return v;
}

/* Returns a tile of x's shape with v in the part. */
static Val *
placed(Lower *l, Src src, Val *x, Val *v, const AssignedPart *p)
{
	const Type *t = &x->type;
	int64_t at[RANK_MAX];
	bool known = true;

	for (int d = 0; d < t->rank; d++)
		known = known && val_is_const(p->start[d], &at[d]);
	if (!known || !lower_slice_shared_out(l, t, at, p->extent))
		return put_part(l, src, x, v, p->start);
	for (int d = 0; d < t->rank; d++) {
		v = joined_zeros(l, src, v, d, at[d], true);
		v = joined_zeros(l, src, v, d, t->shape[d] - v->type.shape[d], false);
	}
	return v;
}

/* An assignment: its operator, the tile as a value, and its part. */
typedef struct PartAssign {
	const Stmt *s;
	TileToken op;
	bool product; /* the value is a product to be fused */
	Operand tile;
	const Type *t;
	AssignedPart p;
	const char *what;
} PartAssign;

/* Loads the value of e, or a factor of it, which must fit the part; returns false after a report. */
static bool
value_for(Lower *l, const PartAssign *a, const Expr *e, Operand *o)
{
	Val *v;

	*o = lower_operand(l, e);
	o->v = lower_load(l, *o);
	if (o->v.kind == VK_none)
		return false;
	v = lower_to_type(l, *o, a->p.full, a->s->src, a->what);
	if (v && !value_is_const(&o->v) && lower_plain_of(&o->v))
		o->v = value_of(v);
	return v != NULL;
}

/* Returns old op= f[0], or f[0] * f[1] if the value is a product to be fused. */
static Operand
combined(Lower *l, const PartAssign *a, Operand old, const Operand *f)
{
	Operand r = f[0];

	if (a->product)
		r.v = lower_product_onto(l, a->op, a->s->src, old, f, a->s->value);
	else if (a->op != TK_assign)
		r.v = lower_op2(l, a->op, a->s->src, old, f[0]);
	r.e = a->s->value;
	return r;
}

/* Combines the whole tile with the value, in the dims of the tile. */
static Operand
on_tile(Lower *l, const PartAssign *a, Operand *f)
{
	for (int i = 0; i <= a->product; i++)
		f[i].v = lifted(l, a->s->src, f[i].v, a->t, &a->p);
	return combined(l, a, a->tile, f);
}

/* Combines the part alone, and places it. */
static Operand
on_part(Lower *l, const PartAssign *a, const Operand *f)
{
	Operand r, old = { .e = a->s->target };
	Val *v = NULL;

	if (a->op != TK_assign)
		old.v = lower_part_value(l, a->s->target, &a->tile.v, &a->p);
	r = combined(l, a, old, f);
	if (r.v.kind != VK_none)
		v = lower_to_type(l, r, a->p.full, a->s->src, a->what);
	if (!v) {
		r.v = value_none();
		return r;
	}
	v = lifted(l, a->s->src, value_of(v), a->t, &a->p).v;
	r.v = value_of(placed(l, a->s->src, a->tile.v.v, v, &a->p));
	return r;
}

void
lower_assign_part(Lower *l, const Stmt *s, Sym *sym)
{
	PartAssign a = { .s = s, .op = tok_assigned_op(s->op), .tile = { sym->val, s->target->arg[0] } };
	LoweredValue r = sym->val;
	Type t = type_free(sym->val.v->type);
	Operand f[2], whole;
	bool spread = false;
	int64_t cut = 0;
	Val *in[3];

	a.t = &t;
	a.product = (a.op == TK_plus || a.op == TK_minus) && lower_is_product(l, s->value);
	a.what = arena_printf(l->arena, "the slice of `%s`", sym->name);
	if (!lower_find_var(l, s->target->arg[0]) || !lower_part(l, s->target, &a.p)) {
		lower_expr(l, s->value);
		return;
	}
	for (int i = 0; i <= a.product; i++) {
		if (!value_for(l, &a, a.product ? s->value->arg[i] : s->value, &f[i]))
			return;
		spread = spread || is_spread(&f[i].v, &t, &a.p);
	}
	in[0] = part_cond(l, s->src, &t, &a.p);
	whole = spread ? on_part(l, &a, f) : on_tile(l, &a, f);
	if (whole.v.kind == VK_none)
		return;
	in[1] = in[0] ? lower_to_type(l, whole, t, s->src, a.what) : NULL;
	in[2] = sym->val.v;
	if (in[0] && !in[1])
		return;
	if (in[1]) {
		r.v = put_op(l, O_select, s->src, 3, in, t);
		for (int d = 0; d < t.rank; d++)
			cut |= (int64_t)is_cut(&t, &a.p, d) << d;
		IMM_SET(r.v->def, part, 1 + 2 * cut);
		whole.v = r;
	}
	lower_set_var(l, s, sym, whole);
}
