/* verify.c - verifies that a kernel is well-formed: links, regions, definitions that dominate uses, and each
 * op's shape rule. */
#include "hexc/ir/verify/verify.h"

typedef struct Verify {
	Kernel *k;
	const char *after;
	const Val **seen; /* by id: the value, while in scope */
	bool *used;       /* by id: the id is taken */
	bool ok;
} Verify;

static bool
verify_error(Verify *v, const Op *o, const char *what)
{
	const char *op = o ? arena_printf(v->k->unit->arena, "op %s: ", op_info[o->code].name) : "";
	const char *kernel = v->k->name ? v->k->name : "?";
	Src src = o ? o->src : v->k->src;

	if (v->ok && v->after)
		diag_class_error(v->k->unit->diag, DC_INTERNAL, src, "internal: after %s: kernel %s: %s%s",
		                 v->after, kernel, op, what);
	else if (v->ok)
		diag_error(v->k->unit->diag, src, "invalid IR: kernel %s: %s%s", kernel, op, what);
	v->ok = false;
	return false;
}

/* ---- values -------------------------------------------------------------------------------------- */

static bool
define(Verify *v, const Op *o, const Val *x, const Op *def, const Block *b, int index)
{
	Arena *a = v->k->unit->arena;
	const char *bad;
	unsigned id;

	if (!x)
		return verify_error(v, o, "a result or argument is missing");
	id = x->id;
	if (x->id == 0 || x->id > v->k->nval || v->used[x->id])
		return verify_error(v, o, arena_printf(a, "id %%%u is used twice or out of range", id));
	if (x->def != def || x->block != b || x->index != index)
		return verify_error(v, o, arena_printf(a, "value %%%u has a wrong back-reference", id));
	bad = type_check(a, &x->type, v->k->warps);
	if (bad)
		return verify_error(v, o, arena_printf(a, "value %%%u: %s", id, bad));
	v->used[x->id] = true;
	v->seen[x->id] = x;
	return true;
}

static bool
visible(const Verify *v, const Val *x)
{
	return x && x->id <= v->k->nval && v->seen[x->id] == x;
}

static bool
use(Verify *v, const Op *o, const Val *x, const char *what)
{
	Arena *a = v->k->unit->arena;

	if (visible(v, x))
		return true;
	if (!x)
		return verify_error(v, o, arena_printf(a, "%s is missing", what));
	return verify_error(v, o, arena_printf(a, "%s %%%u is not defined before its "
	                                          "use", what, (unsigned)x->id));
}

/* ---- ops and blocks ------------------------------------------------------------------------------ */

static bool verify_block(Verify *v, const Block *b, const Op *owner);

static bool
verify_counts(Verify *v, const Op *o)
{
	Arena *a = v->k->unit->arena;
	const OpInfo *info;
	int nblk = 0;

	if (o->code <= O_none || o->code >= O_COUNT)
		return verify_error(v, NULL, "an op has an invalid code");
	info = &op_info[o->code];
	if (o->code == O_for || o->code == O_if || o->code == O_roles)
		nblk = o->code == O_for ? 1 : 2;
	if (o->nin < 0 || o->nout < 0)
		return verify_error(v, o, "a negative number of operands or results");
	if (info->nin != V && info->nin != o->nin)
		return verify_error(v, o, arena_printf(a, "%d operands; expected %d", o->nin, info->nin));
	if (info->nout != V && info->nout != o->nout)
		return verify_error(v, o, arena_printf(a, "%d results; expected %d", o->nout, info->nout));
	for (int r = 0; r < 2; r++) {
		if ((o->blk[r] != NULL) != (r < nblk))
			return verify_error(v, o, "wrong number of regions");
		if (r < nblk && (o->blk[r]->owner != o || o->blk[r]->kernel != v->k))
			return verify_error(v, o, "a region belongs to another op");
	}
	return true;
}

/* The tensor that memory x belongs to; NULL: none. */
static const Param *
tensor_of(const Verify *v, Val *x)
{
	return x->type.space == S_global ? val_param(v->k, view_root(x)) : NULL;
}

/* Stores and copies only write tensors declared out or inout; loads, copies and updates only read others than
 * out. */
static bool
verify_declared(Verify *v, const Op *o)
{
	const Param *to = o->code == O_store || o->code == O_copy ? tensor_of(v, o->in[IN_write_dest]) : NULL;
	const Param *from = o->code == O_load || o->code == O_copy ? tensor_of(v, o->in[0]) : NULL;

	if (to && !to->written)
		return verify_error(v, o, "the destination is not an out or inout parameter");
	if (to && !to->read && o->code == O_store && IMM(o, update))
		return verify_error(v, o, "an update reads, too, but the destination is an out parameter");
	return !from || from->read || verify_error(v, o, "the source is an out parameter");
}

static bool
has_bit_order(const Op *o)
{
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.bit_order)
			return true;
	for (int i = 0; i < o->nout; i++)
		if (o->out[i]->type.bit_order)
			return true;
	return false;
}

/* Does column `types` allow the element type of the last operand? Temporary types have neither arithmetic nor
 * comparisons. The shape rules of ops without operands check their types. */
static const char *
verify_types(Arena *a, const Op *o)
{
	const OpInfo *info = &op_info[o->code];
	const DTypeInfo *d;

	if (o->nin == 0 || (info->types == KINDS_any && !op_is(o, F_COMPARE)))
		return NULL;
	d = &dtype_info[o->in[o->nin - 1]->type.dtype];
	if (!(info->types >> d->kind & 1) || d->use == U_temp)
		return arena_printf(a, "not defined on %s", d->name);
	return NULL;
}

/* Do all of o's immediates have names, and those from 0 to a constant such a value? */
static const char *
verify_imms(Arena *a, const Op *o)
{
	if (!op_imms_named(o))
		return "a number that the op does not have";
	for (Imm i = 0; i < IMM_COUNT; i++)
		if (op_has_imm(o->code, i) && imm_last(i) >= 0 &&
		    (op_imm(o, i, 0) < 0 || op_imm(o, i, 0) > imm_last(i)))
			return arena_printf(a, "`%s` is not 0 to %d", imm_name[i], imm_last(i));
	return NULL;
}

static bool
verify_op(Verify *v, const Op *o)
{
	static const struct {
		OpCode code;
		const char *(*fn)(Arena *, const Op *);
	} rule[] = {
		{ O_none, NULL },
#define OP_SHAPE(name, rule) { O_##name, shape_##rule },
#include "hexc/ir/ops.def"
	};
	const char *bad = NULL;

	if (!verify_counts(v, o))
		return false;
	if (op_access(o) && op_access(o)->tensor_map > v->k->nmap)
		return verify_error(v, o, "the kernel has no such tensor map");
	for (int i = 0; i < o->nout && !bad; i++)
		bad = o->out[i] ? type_check(v->k->unit->arena, &o->out[i]->type, v->k->warps)
		                : "a result is missing";
	if (bad)
		return verify_error(v, o, bad);
	for (int i = 0; i < o->nin; i++)
		if (!use(v, o, o->in[i], "operand"))
			return false;
	for (int r = 0; r < 2; r++)
		if (o->blk[r] && !verify_block(v, o->blk[r], o))
			return false;
	if (!op_is(o, F_BIT_ORDER) && has_bit_order(o))
		return verify_error(v, o, "requires tiles in row-major order");
	if (op_is(o, F_BOUNDS) && v->k->masked)
		return verify_error(v, o, "the kernel's masks are explicit");
	bad = verify_imms(v->k->unit->arena, o);
	if (!bad)
		bad = rule[o->code].fn(v->k->unit->arena, o);
	if (!bad)
		bad = verify_types(v->k->unit->arena, o);
	if (bad)
		return verify_error(v, o, bad);
	if (!verify_declared(v, o))
		return false;
	for (int i = 0; i < o->nout; i++)
		if (!define(v, o, o->out[i], o, o->parent, i))
			return false;
	return true;
}

static bool
verify_links(Verify *v, const Block *b, const Op *owner)
{
	const Op *prev = NULL;

	for (const Op *o = b->first; o; prev = o, o = o->next)
		if (o->prev != prev || o->parent != b)
			return verify_error(v, owner, "the list of ops is inconsistent");
	if (b->last != prev)
		return verify_error(v, owner, "the list of ops is inconsistent");
	if (!prev || prev->code != O_yield)
		return verify_error(v, owner, "a block does not end in yield");
	return true;
}

static bool
verify_block(Verify *v, const Block *b, const Op *owner)
{
	if (!verify_links(v, b, owner))
		return false;
	for (int i = 0; i < b->narg; i++)
		if (b->kernel->body != b && !define(v, owner, b->arg[i], NULL, b, i))
			return false;
	for (const Op *o = b->first; o; o = o->next) {
		if (o->code == O_yield && o != b->last)
			return verify_error(v, o, "not the last op of its block");
		if (!verify_op(v, o))
			return false;
	}
	if (b->owner == NULL)
		return true;
	/* out of scope after the region */
	for (int i = 0; i < b->narg; i++)
		v->seen[b->arg[i]->id] = NULL;
	for (const Op *o = b->first; o; o = o->next)
		for (int i = 0; i < o->nout; i++)
			v->seen[o->out[i]->id] = NULL;
	return true;
}

/* ---- the kernel ---------------------------------------------------------------------------------- */

static bool
index_scalar(const Val *x)
{
	return type_is_index(&x->type);
}

/* Parameters are the body's arguments, with the type of their kind. */
static bool
verify_params(Verify *v)
{
	Kernel *k = v->k;

	if (k->body->narg != k->nparam || k->body->owner)
		return verify_error(v, NULL, "body arguments and parameters differ");
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];
		if (!p->val || k->body->arg[i] != p->val)
			return verify_error(v, NULL, "body arguments and parameters differ");
		if (!define(v, NULL, p->val, NULL, k->body, i))
			return false;
		if ((p->kind == P_tensor) != (p->val->type.space == S_global) ||
		    (p->kind != P_tensor && p->val->type.space != S_scalar) ||
		    (p->kind == P_size && p->val->type.dtype != D_i64))
			return verify_error(v, NULL, "a parameter's type does not fit its kind");
		if (p->kind == P_tensor && p->val->type.rank < 1)
			return verify_error(v, NULL, "a tensor of rank 0");
		if (p->kind != P_tensor && (p->mult < 0 || p->lo > p->hi))
			return verify_error(v, NULL, "a parameter's range attributes contradict each other");
	}
	return true;
}

/* Verifies a tensor map: sizes and strides are index scalars of the body's top level, and TMA supports the
 * box. */
static bool
verify_map(Verify *v, const TensorMap *m)
{
	if (m->param < 0 || m->param >= v->k->nparam || v->k->param[m->param].kind != P_tensor ||
	    m->rank < 1 || m->rank > MAP_RANK_MAX)
		return verify_error(v, NULL, "a tensor map without a tensor, or of more than 5 dimensions");
	for (int d = 0; d < m->rank; d++) {
		if (!use(v, NULL, m->size[d], "a tensor map's size") ||
		    (d && !use(v, NULL, m->stride[d], "a tensor map's stride")))
			return false;
		if (!index_scalar(m->size[d]) || (d && !index_scalar(m->stride[d])))
			return verify_error(v, NULL, "a tensor map's size or stride is not an i64 scalar");
		if (m->box[d] < 1 || m->box[d] > 256)
			return verify_error(v, NULL, "a tensor map's box is not 1 to 256 elements in each "
			                             "dimension");
	}
	if ((m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128) ||
	    (m->l2 != 0 && m->l2 != 64 && m->l2 != 128 && m->l2 != 256))
		return verify_error(v, NULL, "a tensor map has an invalid swizzle or L2 promotion");
	return true;
}

static bool
verify_maps(Verify *v)
{
	for (int i = 0; i < v->k->nmap; i++)
		if (!verify_map(v, &v->k->map[i]))
			return false;
	return true;
}

/* Sizes and strides are index scalars of the body's top level. */
static bool
verify_sizes(Verify *v)
{
	for (int i = 0; i < v->k->nparam; i++) {
		const Param *p = &v->k->param[i];
		for (int d = 0; p->kind == P_tensor && d < p->val->type.rank; d++) {
			int64_t c, ext = p->val->type.shape[d];
			if (!use(v, NULL, p->size[d], "a size") || !use(v, NULL, p->stride[d], "a stride"))
				return false;
			if (!index_scalar(p->size[d]) || !index_scalar(p->stride[d]))
				return verify_error(v, NULL, "a size or stride is not an i64 scalar");
			if (ext != -1 && (!val_is_const(p->size[d], &c) || c != ext))
				return verify_error(v, NULL, "a static extent differs from the tensor's "
				                             "size");
		}
	}
	return true;
}

static bool
verify_grid(Verify *v)
{
	Kernel *k = v->k;
	Op *y;

	if (!k->grid || k->grid->owner || k->grid->narg)
		return verify_error(v, NULL, "the grid block is missing, or has an owner or arguments");
	if (!verify_block(v, k->grid, NULL))
		return false;
	y = k->grid->last;
	if (y->nin != 3)
		return verify_error(v, y, "the grid must yield x, y and z");
	for (int i = 0; i < 3; i++)
		if (!index_scalar(y->in[i]))
			return verify_error(v, y, "the grid must yield i64 scalars");
	for (int i = 0; i < k->nassume; i++) {
		const Val *c = k->assume[i].cond;
		if (!use(v, NULL, c, "an assumption"))
			return false;
		if (!type_is_cond(&c->type))
			return verify_error(v, NULL, "an assumption is not a bool scalar");
	}
	for (OpWalk w = { k->grid->first, k->grid }; w.next;) {
		const Op *o = walk_next(&w);
		if (!op_is(o, F_PURE | F_TERM) || o->code == O_block_id || o->code == O_linear_block_id ||
		    o->code == O_block_in_grid)
			return verify_error(v, o, "the grid block has an op with side effects");
		for (int i = 0; i < o->nout; i++)
			v->seen[o->out[i]->id] = NULL;
	}
	return true;
}

static bool
verify_order(const GridOrder *o)
{
	if (!o->group)
		return true;
	if (o->group < 0 || o->group > GROUP_MOST || o->fast < 0 || o->slow < 0 || o->slow > 2)
		return false;
	return o->fast >= GRID_OTHERS ? o->fast <= GRID_OTHERS_DOWN : o->fast < o->slow;
}

bool
kernel_verify(Kernel *k, const char *after)
{
	Arena *a = k->unit->arena;
	Verify v = { k, after, NULL, NULL, true };
	const char *bad;
	const Op *at;

	v.seen = NEWN(a, const Val *, (size_t)k->nval + 1);
	v.used = NEWN(a, bool, (size_t)k->nval + 1);
	if (k->warps < 1 || k->teams < 1 || k->producer_warps < 0 || kernel_warps(k) > 32)
		return verify_error(&v, NULL, "warps per block are not 1 to 32");
	if (k->cluster[0] < 1 || k->cluster[1] < 1 || k->cluster[2] < 1)
		return verify_error(&v, NULL, "a cluster without blocks");
	if (k->launch_registers < 0 || k->launch_registers > LANE_REGISTERS)
		return verify_error(&v, NULL, "the register limit per thread is out of range");
	if (!verify_order(&k->order))
		return verify_error(&v, NULL,
		                    "the raster order is not a group of 1 to 1024 blocks in two grid "
		                    "dimensions");
	if (!k->body || !verify_params(&v) || !verify_grid(&v))
		return verify_error(&v, NULL, "missing body");
	if (!verify_block(&v, k->body, NULL) || !verify_sizes(&v) || !verify_maps(&v))
		return false;
	if (k->body->last->nin != 0)
		return verify_error(&v, k->body->last, "the body must not yield values");
	bad = role_rules(k, &at);
	return !bad || verify_error(&v, at, bad);
}
