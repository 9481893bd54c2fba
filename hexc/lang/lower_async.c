/* lower_async.c - lowers asynchronous copies, stores and dots, and the waits for them. */
#include "hexc/lang/lower.h"
#include <string.h>

/* ---- copies ---------------------------------------------------------------------------------- */

/* Reports a slice of a tensor with bounds of its own. Returns whether it has some. */
static bool
check_bounded(Lower *l, const Stmt *s, const char *what, Operand tensor)
{
	if (!tensor.v.v->def || !view_is_bounded(tensor.v.v->def))
		return false;
	diag_error(l->diag, s->src,
	           "async %s does not support `from` and `below`: it transfers boxes of the tensor; use a "
	           "plain assignment, or slices of the whole tensor and `where`",
	           what);
	return true;
}

/* Is x memory of space `from`, global or shared, y of the other one, and are their types equal? Reports,
 * naming the async `what`. */
static bool
check_tiles(Lower *l, const Stmt *s, const char *what, Operand x, Operand y, Space from)
{
	Space to = from == S_global ? S_shared : S_global;
	Type t;

	if (x.v.kind == VK_none || y.v.kind == VK_none)
		return false;
	if (x.v.kind != VK_view || x.v.v->type.space != from || y.v.kind != VK_view ||
	    y.v.v->type.space != to) {
		diag_error(l->diag, s->src, "async %s is only supported from %s to %s, not from %s to "
					    "%s", what,
		           from == S_global ? "a slice of a tensor" : "a shared tile",
		           to == S_global ? "a slice of a tensor" : "a shared tile",
		           check_describe(l, &x.v), check_describe(l, &y.v));
	} else if (check_bounded(l, s, what, from == S_shared ? y : x)) {
		return false;
	} else if (view_gather_dim((from == S_shared ? x : y).v.v->def) >= 0) {
		diag_error(l->diag, s->src,
		           "async %s does not support indexed shared tiles; use a plain assignment, `%s = "
			   "...`",
		           what, check_text(l, y.e, "slice"));
		return false;
	} else {
		t = x.v.v->type;
		t.space = to;
		if (type_same(&t, &y.v.v->type))
			return true;
		diag_error(l->diag, s->src,
		           "async %s from %s to %s: element types and shapes must be equal", what,
		           check_describe(l, &x.v), check_describe(l, &y.v));
	}
	check_declared(l, s->src, 1, &x);
	check_declared(l, s->src, 1, &y);
	return false;
}

void
lower_copy(Lower *l, const Stmt *s)
{
	Operand src = lower_operand(l, s->value), dst = lower_operand(l, s->target);
	Val *in[4];
	Op *o;

	if (!check_tiles(l, s, "copy", src, dst, S_global) || !lower_check_read(l, src) ||
	    (s->slot && !lower_slot(l, s->slot, &in[2], &in[3])))
		return;
	in[0] = lower_whole(l, s->value->src, src.v.v);
	in[1] = dst.v.v;
	o = op_new(l->b, NULL, O_copy, s->src, s->slot ? 4 : 2, in, 0, NULL);
	IMM_SET(o, async, s->slot ? COPY_BARRIER : COPY_GROUP);
	if (s->slot)
		lower_check_role(l, o, "an `async copy` with an mbarrier");
}

/* Each store is a group. */
void
lower_async_store(Lower *l, const Stmt *s)
{
	Operand src = lower_operand(l, s->value), dst = lower_operand(l, s->target);
	Val *in[2];
	Op *o;

	if (!check_tiles(l, s, "store", src, dst, S_shared) ||
	    !lower_check_written(l, s->target, dst.v.v))
		return;
	in[0] = src.v.v;
	in[1] = dst.v.v;
	o = op_new(l->b, NULL, O_copy, s->src, 2, in, 0, NULL);
	IMM_SET(o, async, COPY_OUT);
	if (op_role(o) == ROLE_ALL)
		diag_error(l->diag, s->src, "`async store` is only allowed in a role; write `%s = ...` here",
		           check_text(l, s->target, "slice"));
	IMM_SET(op_new(l->b, NULL, O_async_commit, s->src, 0, NULL, 0, NULL), bulk, 1);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Lowers operand i of dot(...): a shared tile, possibly transposed, or a register tile. */
static bool
async_factor(Lower *l, const Expr *call, int i, Operand *o, int64_t *turned)
{
	const Expr *e = call->arg[i];
	bool turn = false;

	for (; e->kind == EX_member && strcmp(e->name, "T") == 0; e = e->arg[0])
		turn = !turn;
	*o = lower_operand(l, e);
	if (o->v.kind == VK_none)
		return false;
	if (o->v.kind == VK_view && view_gather_dim(o->v.v->def) >= 0) {
		diag_error(l->diag, e->src,
		           "async dot does not support indexed operands; store %s to a separate shared tile",
		           check_quoted(l, o, "this"));
		return false;
	}
	if (o->v.kind == VK_view && o->v.v->type.space == S_shared && o->v.v->type.rank == 2) {
		*turned |= (int64_t)turn << i;
		return true;
	}
	if (i == 0 && value_is_tile(&o->v) && o->v.v->type.rank == 2)
		return lower_tile_arg(l, call, i, o);
	diag_error(l->diag, e->src,
	           "async dot needs operand B in shared memory and A in shared memory or registers; %s is %s",
	           check_quoted(l, o, "this"), check_describe(l, &o->v));
	check_declared(l, e->src, 1, o);
	return false;
}

/* Returns the operand with the type of the multiplied matrix, for checks. */
static Operand
as_multiplied(Lower *l, Operand o, bool turned)
{
	Val *v = NEW(l->arena, Val);

	*v = *o.v.v;
	if (turned) {
		v->type.shape[0] = o.v.v->type.shape[1];
		v->type.shape[1] = o.v.v->type.shape[0];
	}
	o.v.v = v;
	return o;
}

/* Lowers the accumulator and, for `=`, the condition of its use (scale-d). Returns the number of operands;
 * 0 after a report. */
static int
async_acc(Lower *l, const Stmt *s, const Sym *sym, const Operand *f, DType d, Val **in)
{
	int64_t shape[] = { f[0].v.v->type.shape[0], f[1].v.v->type.shape[1] };
	LoweredValue no = value_bool(false);

	in[0] = lower_to_type(l, (Operand){ sym->val, s->target }, type_tile(d, S_reg, 2, shape), s->src,
	                      "the accumulator of `dot`");
	if (!in[0])
		return 0;
	if (s->op == TK_addeq)
		return 1;
	in[1] = put_const(l, &no, type_cond(), s->src);
	return 2;
}

/* Each dot is a group. */
void
lower_async_dot(Lower *l, const Stmt *s)
{
	const Expr *e = s->value;
	Sym *sym = s->target->kind == EX_name ? lower_find_var(l, s->target) : NULL;
	Operand o[2], f[2];
	int64_t turned = 0;
	Val *in[4];
	DType d;
	int n;
	Op *p;

	if (e->kind == EX_error || (s->target->kind == EX_name && (!sym || sym->val.kind != VK_val)))
		return;
	if (!sym || e->kind != EX_call || strcmp(e->name, "dot") != 0 || e->narg != 2 ||
	    (s->op != TK_assign && s->op != TK_addeq)) {
		diag_error(l->diag, s->src,
		           "write an async dot as `acc += async dot(a, b);`, or with `=`, where `acc` is a "
		           "variable");
		return;
	}
	if (!async_factor(l, e, 0, &o[0], &turned) || !async_factor(l, e, 1, &o[1], &turned))
		return;
	for (int i = 0; i < 2; i++) {
		in[i] = o[i].v.v;
		f[i] = as_multiplied(l, o[i], turned >> i & 1);
	}
	if (!lower_check_dot(l, e, &f[0], &f[1], &d) || !(n = async_acc(l, s, sym, f, d, in + 2)))
		return;
	op_new(l->b, NULL, O_wgmma_fence, s->src, 0, NULL, 0, NULL);
	p = op_new(l->b, NULL, O_wgmma, s->src, 2 + n, in, 1, &in[2]->type);
	IMM_SET(p, transposed, turned);
	op_new(l->b, NULL, O_wgmma_commit, s->src, 0, NULL, 0, NULL);
	p->out[0]->name = sym->name;
	sym->val = value_of(p->out[0]);
}

/* ---- waiting --------------------------------------------------------------------------------- */

void
lower_wait(Lower *l, const Stmt *s)
{
	enum { GROUPS_MAX = 63, DOTS_MAX = 7 };
	int64_t n, most = s->wait_for == WAIT_DOTS ? DOTS_MAX : GROUPS_MAX;
	Op *o;

	if (!lower_const_int(l, s->value, "the number of groups that may stay in flight", &n))
		return;
	if (n < 0 || n > most) {
		diag_error(l->diag, s->value->src, "wait %lld is out of range: 0 to %lld groups may stay "
		                                   "in flight",
		           (long long)n, (long long)most);
		return;
	}
	o = op_new(l->b, NULL, s->wait_for == WAIT_DOTS ? O_wgmma_wait : O_async_wait, s->src, 0, NULL,
		   0, NULL);
	IMM_SET(o, pending, n);
	if (s->wait_for == WAIT_STORES) {
		IMM_SET(o, bulk, 1);
		IMM_SET(o, reads, 1);
	}
}
