/* lower_warp_roles.c - lowers warp roles, and the mbarriers between them. */
#include "hexc/lang/lower.h"
#include <string.h>

/* ---- barriers -------------------------------------------------------------------------------- */

bool
lower_is_mbar(const Lower *l, const TypeSpec *t)
{
	return t->name && strcmp(t->name, "mbarrier") == 0 && !sym_find(l, t->name);
}

static bool
count(Lower *l, const Expr *e, const char *what, int64_t lo, int64_t hi, int64_t *out)
{
	if (!lower_const_int(l, e, what, out))
		return false;
	if (*out >= lo && *out <= hi)
		return true;
	diag_error(l->diag, e->src, "%s is %lld; must be %lld to %lld", what, (long long)*out,
	           (long long)lo, (long long)hi);
	return false;
}

LoweredValue
lower_let_mbar(Lower *l, const Stmt *s)
{
	enum { SLOTS_MAX = 256 };
	LoweredValue r = { .kind = VK_mbar };
	int64_t slots, arrivals;

	if (s->value && s->value->kind == EX_error)
		return value_none();
	if (s->is_var || s->type.space != S_scalar || s->type.ndim != 1 || !s->value) {
		diag_error(l->diag, s->src,
		           "declare mbarriers as `let %s: mbarrier[n] = arrivals;` (arrivals per phase)",
		           s->name);
		return value_none();
	}
	if (!count(l, s->type.dim[0], "the number of mbarriers", 1, SLOTS_MAX, &slots) ||
	    !count(l, s->value, "the number of arrivals", 1, ARRIVALS_MOST, &arrivals))
		return value_none();
	if (l->depth || l->call) {
		diag_error(l->diag, s->src,
		           "mbarriers must be declared at the top level of the kernel, before its roles");
		return value_none();
	}
	r.v = put_op(l, O_mbarrier, s->src, 0, NULL, type_tile(D_u64, S_shared, 1, &slots));
	r.v->name = s->name;
	IMM_SET(r.v->def, arrivals, arrivals);
	return r;
}

bool
lower_slot(Lower *l, const Expr *e, Val **mbar, Val **slot)
{
	bool named = e->kind == EX_index && e->arg[0]->kind == EX_name;
	const Sym *sym = named ? sym_find(l, e->arg[0]->name) : NULL;
	int64_t at;

	if (e->kind == EX_error || (sym && sym->val.kind == VK_none))
		return false;
	if (!sym || sym->val.kind != VK_mbar || !lower_only_index(e)) {
		diag_error(l->diag, e->src, "expected an mbarrier, `full[s]` of `let full: mbarrier[n] = "
		                            "1;`");
		return false;
	}
	*mbar = sym->val.v;
	*slot = lower_index_value(l, e->slice[0].at, "the index of the mbarrier");
	if (!*slot)
		return false;
	if (!val_is_const(*slot, &at) || (at >= 0 && at < (*mbar)->type.shape[0]))
		return true;
	diag_error(l->diag, e->slice[0].src, "mbarrier index %lld is out of range: `%s` has %lld",
	           (long long)at,
	           sym->name, (long long)(*mbar)->type.shape[0]);
	return false;
}

void
lower_check_role(Lower *l, const Op *o, const char *what)
{
	if (op_role(o) == ROLE_ALL)
		diag_error(l->diag, o->src, "%s is only allowed in a role, `roles { producer .. consumer "
		                            ".. }`", what);
}

void
lower_await(Lower *l, const Stmt *s)
{
	Val *in[3];

	if (!lower_slot(l, s->slot, &in[0], &in[1]) ||
	    !(in[2] = lower_index_value(l, s->value, "the number of the phase")))
		return;
	lower_check_role(l, op_new(l->b, NULL, O_mbarrier_wait, s->src, 3, in, 0, NULL), "`await`");
}

/* The arrive tracks the preceding copies with this mbarrier (arrival_copy). */
void
lower_arrive(Lower *l, const Stmt *s)
{
	Val *in[2];
	Op *o;

	if (!lower_slot(l, s->slot, &in[0], &in[1]))
		return;
	o = op_new(l->b, NULL, O_mbarrier_arrive, s->src, 2, in, 0, NULL);
	IMM_SET(o, expect, arrival_copy(o, o) != NULL);
	lower_check_role(l, o, "`arrive`");
}

/* ---- roles ----------------------------------------------------------------------------------- */

/* Registers/thread of a role, 0: unspecified. */
static bool
role_registers(Lower *l, const RoleSpec *r, int64_t *n)
{
	*n = 0;
	if (!r->registers)
		return true;
	if (!count(l, r->registers, "the number of registers", REGISTERS_LEAST, REGISTERS_MOST, n))
		return false;
	if (*n % 8 == 0)
		return true;
	diag_error(l->diag, r->registers->src, "the number of registers must be a multiple of 8, not %lld",
	           (long long)*n);
	return false;
}

/* setmaxnreg can only reallocate the registers of the launch. */
static bool
check_registers(Lower *l, const Stmt *s, int64_t producer, int64_t consumer)
{
	Kernel *k = l->k;
	int at_launch = launch_registers(kernel_warps(k));
	int64_t want = producer * k->producer_warps + consumer * k->warps * k->teams;

	if (!producer && !consumer)
		return true;
	if (!producer || !consumer) {
		diag_error(l->diag, s->role[producer ? 1 : 0].src,
		           "`registers` is given for only one role; registers are reallocated between "
		           "both, give it for both");
	} else if (k->producer_warps % 4 || k->warps % 4) {
		diag_error(l->diag, s->role[k->producer_warps % 4 ? 0 : 1].src,
		           "registers are reallocated per warpgroup; a role with `registers` needs a "
		           "multiple of 4 warps");
	} else if (want > (int64_t)at_launch * kernel_warps(k)) {
		diag_error(l->diag, s->role[1].src,
		           "the roles need %lld registers for %d warps together, but a launch provides %d "
		           "registers/thread, %lld in all",
		           (long long)want, kernel_warps(k), at_launch,
		           (long long)at_launch * kernel_warps(k));
	} else {
		k->launch_registers = at_launch;
		return true;
	}
	return false;
}

static bool
role_sizes(Lower *l, const Stmt *s, Op *o)
{
	enum { WARPS_MAX = 32 };
	int64_t helpers = 0, warps = l->k->warps, teams = 1, regs[2];
	const RoleSpec *p = &s->role[0], *c = &s->role[1];

	if (!p->warps || p->teams) {
		diag_error(l->diag, p->src, "missing producer warp count; write `producer warps 4 { ... }`");
		return false;
	}
	if (!count(l, p->warps, "the number of warps", 1, WARPS_MAX, &helpers) ||
	    (c->warps && !count(l, c->warps, "the number of warps", 1, WARPS_MAX, &warps)) ||
	    (c->teams && !count(l, c->teams, "the number of consumer groups", 1, WARPS_MAX, &teams)) ||
	    !role_registers(l, p, &regs[0]) || !role_registers(l, c, &regs[1]))
		return false;
	if (helpers + warps * teams > WARPS_MAX) {
		diag_error(l->diag, s->src, "the roles have %lld warps, but a block can have 1 to %d",
		           (long long)(helpers + warps * teams), WARPS_MAX);
		return false;
	}
	l->k->producer_warps = (int)helpers;
	l->k->warps = (int)warps;
	l->k->teams = (int)teams;
	l->k->open_warps = false;
	IMM_SET(o, producer, regs[0]);
	IMM_SET(o, consumer, regs[1]);
	return check_registers(l, s, regs[0], regs[1]);
}

/* All warps must reach the roles together, and no value leaves them. */
static void
check_place(Lower *l, const Stmt *s)
{
	const Sym *outer = lower_first_assigned(l, s);

	if (l->depth || l->call)
		diag_error(l->diag, s->src,
		           "`roles` is only allowed at the top level of the kernel, not in a loop, "
		           "condition or function");
	else if (s->next)
		diag_error(l->diag, s->next->src, "no statement may follow `roles`");
	if (outer) {
		diag_error(l->diag, s->src, "a role cannot assign `%s`, which is declared outside it",
		           outer->name);
		diag_note(l->diag, outer->src, "`%s` is declared here", outer->name);
	}
	for (const Op *o = l->b->first; o; o = o->next)
		if (!op_is(o, F_PURE) && o->code != O_alloc && o->code != O_mbarrier) {
			diag_error(l->diag, o->src,
			           "only values, shared tiles and mbarriers may precede `roles`; move this "
				   "into a role");
			return;
		}
}

static void
lower_role(Lower *l, const Stmt *body, Op *o, int r)
{
	Leave leave = { .roles = true, .outer = l->leave };
	Block *outer = l->b;

	l->leave = &leave;
	l->b = o->blk[r] = block_new(l->k, o);
	l->in_team = r == 1;
	l->depth++;
	lower_stmts(l, body);
	l->depth--;
	l->in_team = false;
	l->leave = leave.outer;
	op_new(l->b, NULL, O_yield, o->src, 0, NULL, 0, NULL);
	l->b = outer;
}

/* Does o return a register tile, or compute with a value that the role has? */
static bool
is_of_role(const Op *o, const Block *role)
{
	for (int i = 0; i < o->nout; i++)
		if (o->out[i]->type.space == S_reg)
			return true;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->def && o->in[i]->def->parent == role)
			return true;
	return false;
}

/* Register tiles from before the roles belong to the consumers: producer warps have no part of them. */
static void
move_tiles(Lower *l, const Op *roles)
{
	Block *consumer = roles->blk[1];
	Op *first = consumer->first;
	OpWalk w;

	for (Op *o = l->b->first, *next; o != roles; o = next) {
		next = o->next;
		if (is_of_role(o, consumer))
			op_move_before(o, first);
	}
	for (const Op *o = walk_first(&w, roles->blk[0]); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i]->def && o->in[i]->def->parent == consumer) {
				diag_error(l->diag, o->src,
				           "the producer has no part of a register tile from before the "
				           "roles; compute it in the role");
				return;
			}
}

void
lower_roles(Lower *l, const Stmt *s)
{
	Op *o;

	check_place(l, s);
	o = op_new(l->b, NULL, O_roles, s->src, 0, NULL, 0, NULL);
	role_sizes(l, s, o);
	lower_role(l, s->body, o, 0);
	lower_role(l, s->other, o, 1);
	move_tiles(l, o);
}
