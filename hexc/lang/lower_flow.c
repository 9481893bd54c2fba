/* lower_flow.c - lowers loops and conditions: assigned variables become loop-carried values and results. */
#include "hexc/lang/lower.h"

typedef struct Vars {
	Sym **sym;
	int n, cap;
} Vars;

static void
add_sym(Lower *l, Vars *v, Sym *s)
{
	if (!s || s->kind != SY_var || s->val.kind != VK_val)
		return;
	for (int i = 0; i < v->n; i++)
		if (v->sym[i] == s)
			return;
	VEC_PUSH(l->arena, v->sym, v->n, v->cap, s);
}

static void
add_flags(Lower *l, Vars *v, const Leave *leave)
{
	add_sym(l, v, leave->going);
	add_sym(l, v, leave->turn);
}

/* Adds the flags that leaving by s clears; `loops`: loops around s within the inspected statements. */
static void
add_left(Lower *l, Vars *v, const Stmt *s, int loops)
{
	if (s->kind == ST_return)
		for (const Leave *x = l->leave; x; x = x->outer)
			add_flags(l, v, x);
	else if ((s->kind == ST_break || s->kind == ST_continue) && loops == 0 && l->leave)
		add_flags(l, v, l->leave);
}

static bool
is_loop(const Stmt *s)
{
	return s->kind == ST_for || s->kind == ST_while;
}

/* Adds the variable of which e selects a part, or all tiles of the array from which it selects one. */
static void
add_base(Lower *l, Vars *v, const Expr *e)
{
	Sym *s;

	while (e->kind == EX_index)
		e = e->arg[0];
	s = e->kind == EX_name ? sym_find(l, e->name) : NULL;
	if (!s || s->val.kind != VK_array)
		add_sym(l, v, s);
	else
		for (int64_t i = 0; i < s->val.i; i++)
			add_sym(l, v, lower_array_tile(l, s->name, i));
}

/* Finds the variables of outer scopes that the statements assign, and flags. Names cannot be declared
 * twice, so a name that is visible now means the same inside. */
static void
find_assigned(Lower *l, Vars *v, const Stmt *s, int loops)
{
	for (; s; s = s->next) {
		if (s->kind == ST_assign && s->target->kind == EX_name)
			add_sym(l, v, sym_find(l, s->target->name));
		if (s->kind == ST_assign && s->target->kind == EX_index)
			add_base(l, v, s->target);
		if (s->kind == ST_assign && s->target->kind == EX_tuple)
			for (int i = 0; i < s->target->narg; i++)
				add_sym(l, v, sym_find(l, s->target->arg[i]->name));
		add_left(l, v, s, loops);
		find_assigned(l, v, s->body, loops + is_loop(s));
		find_assigned(l, v, s->other, loops);
	}
}

const Sym *
lower_first_assigned(Lower *l, const Stmt *s)
{
	Vars v = { NULL, 0, 0 };

	find_assigned(l, &v, s, 0);
	for (int i = 0; i < v.n; i++)
		if (v.sym[i]->name)
			return v.sym[i];
	return NULL;
}

static void
end_region(Lower *l, const Vars *v, Src src)
{
	Val **out = NEWN(l->arena, Val *, v->n + 1);

	for (int i = 0; i < v->n; i++)
		out[i] = v->sym[i]->val.v;
	op_new(l->b, NULL, O_yield, src, v->n, out, 0, NULL);
}

/* Sets the variable to `x`. */
static void
set_var(Sym *s, Val *x)
{
	if (!x->name)
		x->name = s->name;
	s->val = value_of(x);
}

/* ---- flags and conditions --------------------------------------------------------------------- */

static Val *
put_bool(Lower *l, Src src, bool x)
{
	LoweredValue c = value_bool(x);

	return put_const(l, &c, type_cond(), src);
}

/* Returns an unnamed variable, initially true. */
static Sym *
new_flag(Lower *l, Src src)
{
	Sym *s = NEW(l->arena, Sym);

	s->kind = SY_var;
	s->src = src;
	s->val = value_of(put_bool(l, src, true));
	return s;
}

/* Is there a statement of that kind that leaves s? `loops`: number of loops inside s around it. */
static bool
leaves(const Stmt *s, StmtKind kind, int loops)
{
	for (; s; s = s->next)
		if ((s->kind == kind && (kind == ST_return || loops == 0)) ||
		    leaves(s->body, kind, loops + is_loop(s)) || leaves(s->other, kind, loops))
			return true;
	return false;
}

/* Lowers the condition of `if` and `while`: a compile-time bool or a scalar; none after a report. A tile
 * of one element becomes a scalar through shared memory, so that all threads read the same value. */
static LoweredValue
lower_condition(Lower *l, const Expr *e)
{
	Operand c = lower_operand(l, e);

	c.v = lower_load(l, c);
	if (c.v.kind == VK_bool || c.v.kind == VK_none)
		return c.v;
	if (value_is_tile(&c.v) && c.v.v->type.dtype == D_bool && type_size(&c.v.v->type) == 1) {
		c.v = lower_element(l, e->src, lower_stage(l, e->src, &c.v).v);
		return lower_load(l, c);
	}
	if (!value_is_const(&c.v) && c.v.v->type.space == S_scalar && c.v.v->type.dtype == D_bool)
		return c.v;
	diag_error(l->diag, e->src,
	           "the condition is %s, but must be a scalar bool, uniform over the block%s",
	           check_describe(l, &c.v), value_is_tile(&c.v) ? ", or use where(c, a, b)" : "");
	return value_none();
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Computes the step, 1 if it is unknown; negative steps count down. */
static bool
check_step(Lower *l, const Stmt *s, const Val *v, int64_t *step)
{
	if (!val_is_const(v, step))
		return true;
	if (*step != 0 && *step != INT64_MIN)
		return true;
	diag_error(l->diag, s->step->src, "invalid loop step %lld", (long long)*step);
	return false;
}

static bool
loop_stages(Lower *l, const Stmt *s, int64_t *n)
{
	enum { STAGES_MAX = 16 };

	*n = 0;
	if (!s->stages)
		return true;
	if (!lower_const_int(l, s->stages, "the number of stages", n))
		return false;
	if (*n >= 0 && *n <= STAGES_MAX)
		return true;
	diag_error(l->diag, s->stages->src, "a pipeline must have 1 to %d stages (0: hexc chooses), not %lld",
	           STAGES_MAX, (long long)*n);
	return false;
}

/* Loops count up. A loop that counts down from a computes i = a - j from its counter j. */
static Val *
loop_value(Lower *l, const Stmt *s, Val *counter, Val *from)
{
	return from ? put_index(l, O_sub, s->name_src, from, counter) : counter;
}

/* Evaluates the condition again after the body of a `while`, if no statement left the loop. `first`: the
 * condition that started this iteration. */
static void
ask_again(Lower *l, const Stmt *s, const Val *first)
{
	Sym *going = l->leave->going;
	Type cond = type_cond();
	Block *outer = l->b;
	LoweredValue c;
	Op *o;

	if (going->val.v == first) {
		c = lower_condition(l, s->value);
		going->val = c.kind == VK_val ? c : going->val;
		return;
	}
	o = op_new(l->b, NULL, O_if, s->src, 1, &going->val.v, 1, &cond);
	for (int r = 0; r < 2; r++) {
		l->b = o->blk[r] = block_new(l->k, o);
		c = r == 0 ? lower_condition(l, s->value) : value_none();
		if (c.kind != VK_val)
			c = value_of(put_bool(l, s->src, false));
		op_new(l->b, NULL, O_yield, s->src, 1, &c.v, 0, NULL);
	}
	l->b = outer;
	set_var(going, o->out[0]);
}

/* Lowers the body, with carried values as its arguments and their next values in the yield. */
static void
lower_body(Lower *l, const Stmt *s, Op *o, const Vars *v, Val *from)
{
	Block *outer = l->b;
	Sym *scope = l->scope;
	Val *counter, *value;

	l->b = o->blk[0] = block_new(l->k, o);
	counter = block_arg(l->b, type_index());
	for (int i = 0; i < v->n; i++)
		set_var(v->sym[i], block_arg(l->b, type_free(v->sym[i]->val.v->type)));
	if (s->kind == ST_for) {
		value = loop_value(l, s, counter, from);
		value->name = s->name;
		sym_add(l, s->name, SY_let, s->name_src, value_of(value));
	}
	if (l->leave->turn)
		l->leave->turn->val = value_of(put_bool(l, s->src, true));
	l->depth++;
	lower_stmts(l, s->body);
	l->depth--;
	if (l->leave->asks)
		ask_again(l, s, l->b->arg[1]);
	end_region(l, v, s->src);
	l->b = outer;
	scope_leave(l, scope);
}

/* Creates a loop over in[0 .. 2] for the statement s; `from`: start of a loop that counts down, else
 * NULL. */
static Op *
put_loop(Lower *l, const Stmt *s, Val *const bound[3], Val *from, Leave *leave)
{
	Vars v = { NULL, 0, 0 };
	Val **in;
	Type *out;
	Op *o;

	add_sym(l, &v, leave->going); /* the first one */
	find_assigned(l, &v, s->body, 0);
	in = NEWN(l->arena, Val *, 3 + v.n);
	out = NEWN(l->arena, Type, v.n + 1);
	for (int i = 0; i < 3; i++)
		in[i] = bound[i];
	for (int i = 0; i < v.n; i++) {
		in[3 + i] = v.sym[i]->val.v;
		out[i] = type_free(in[3 + i]->type);
	}
	o = op_new(l->b, NULL, O_for, s->src, 3 + v.n, in, v.n, out);
	IMM_SET(o, breaks, leave->going != NULL);
	leave->outer = l->leave;
	l->leave = leave;
	lower_body(l, s, o, &v, from);
	l->leave = leave->outer;
	for (int i = 0; i < v.n; i++)
		set_var(v.sym[i], o->out[i]);
	return o;
}

/* Creates the flags that the loop over s needs for early exits, of the loop and of an iteration. */
static Leave
new_leave(Lower *l, const Stmt *s, bool asks)
{
	Leave leave = { .loop = true };

	if (asks || leaves(s->body, ST_break, 0) || leaves(s->body, ST_return, 0))
		leave.going = new_flag(l, s->src);
	if (leaves(s->body, ST_continue, 0))
		leave.turn = new_flag(l, s->src);
	return leave;
}

/* Repeats the body with the loop variable as a number. */
static void
lower_unrolled(Lower *l, const Stmt *s)
{
	enum { UNROLL_MAX = 64 };
	int64_t lo, hi, step = 1, n = 0;
	int errors = l->diag->nerror;
	Sym *scope = l->scope;

	if (!lower_const_int(l, s->lo, "the start of an unrolled loop", &lo) ||
	    !lower_const_int(l, s->hi, "the end of an unrolled loop", &hi) ||
	    (s->step && !lower_const_int(l, s->step, "the step of an unrolled loop", &step)))
		return;
	if (step == 0 || step < -UNROLL_MAX * TILE_MAX || step > UNROLL_MAX * TILE_MAX) {
		diag_error(l->diag, s->step->src, "invalid loop step %lld", (long long)step);
		return;
	}
	if (leaves(s->body, ST_break, 0) || leaves(s->body, ST_continue, 0) ||
	    leaves(s->body, ST_return, 0)) {
		diag_error(l->diag, s->src,
		           "an unrolled loop cannot be left early; write `for`, or `if` around the "
			   "statements");
		return;
	}
	l->depth++;
	while ((step > 0 ? lo < hi : lo > hi) && l->diag->nerror == errors) {
		if (n++ == UNROLL_MAX) {
			diag_error(l->diag, s->src, "an unrolled loop has at most %d iterations; write `for`",
			           UNROLL_MAX);
			break;
		}
		sym_add(l, s->name, SY_let, s->name_src, value_int(lo));
		lower_stmts(l, s->body);
		scope_leave(l, scope);
		if (__builtin_add_overflow(lo, step, &lo))
			break;
	}
	l->depth--;
}

void
lower_for(Lower *l, const Stmt *s)
{
	Leave leave;
	int64_t stages, step = 1;
	Val *in[3], *from = NULL;
	Op *o;
	bool ok;

	if (s->unroll) {
		lower_unrolled(l, s);
		return;
	}
	leave = new_leave(l, s, false);
	in[0] = lower_index_value(l, s->lo, "the start of a loop");
	in[1] = lower_index_value(l, s->hi, "the end of a loop");
	in[2] = s->step ? lower_index_value(l, s->step, "the step of a loop") : ir_const(l->b, NULL, 1);
	ok = loop_stages(l, s, &stages) && in[0] && in[1] && in[2] && check_step(l, s, in[2], &step);
	for (int i = 0; i < 3; i++) /* continue, to report errors inside */
		in[i] = ok ? in[i] : ir_const(l->b, NULL, 1);
	if (ok && step < 0) {
		from = in[0];
		in[1] = put_index(l, O_sub, s->src, from, in[1]);
		in[0] = ir_const(l->b, NULL, 0);
		in[2] = ir_const(l->b, NULL, -step);
	}
	if (s->pipeline && leave.going)
		diag_error(l->diag, s->src,
		           "a pipeline loop prefetches and cannot be left early; write `for`");
	o = put_loop(l, s, in, from, &leave);
	IMM_SET(o, loop, s->pipeline ? FOR_PIPELINE : FOR_PLAIN);
	IMM_SET(o, stages, ok ? stages : 0);
}

void
lower_while(Lower *l, const Stmt *s)
{
	LoweredValue c = lower_condition(l, s->value);
	Leave leave = new_leave(l, s, true);
	Val *in[3] = { ir_const(l->b, NULL, 0), ir_const(l->b, NULL, INT64_MAX), ir_const(l->b, NULL, 1) };

	if (c.kind == VK_bool && !c.i)
		return;
	if (c.kind == VK_bool && !leaves(s->body, ST_break, 0) && !leaves(s->body, ST_return, 0))
		diag_error(l->diag, s->value->src,
		           "infinite loop: the condition is always true and the body has no `break`");
	leave.asks = c.kind == VK_val;
	if (leave.asks)
		leave.going->val = c;
	put_loop(l, s, in, NULL, &leave);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static void
lower_branch(Lower *l, Src src, const Stmt *body, Op *o, int r, const Vars *v)
{
	Block *outer = l->b;

	l->b = o->blk[r] = block_new(l->k, o);
	l->depth++;
	lower_stmts(l, body);
	l->depth--;
	end_region(l, v, src);
	l->b = outer;
}

/* Runs `body` if the bool scalar c is true, else `other`. */
static void
put_choice(Lower *l, Src src, Val *c, const Stmt *body, const Stmt *other)
{
	Vars v = { NULL, 0, 0 };
	LoweredValue *before;
	Type *out;
	Op *o;

	find_assigned(l, &v, body, 0);
	find_assigned(l, &v, other, 0);
	before = NEWN(l->arena, LoweredValue, v.n + 1);
	out = NEWN(l->arena, Type, v.n + 1);
	for (int i = 0; i < v.n; i++) {
		before[i] = v.sym[i]->val;
		out[i] = type_free(before[i].v->type);
	}
	o = op_new(l->b, NULL, O_if, src, 1, &c, v.n, out);
	lower_branch(l, src, body, o, 0, &v);
	for (int i = 0; i < v.n; i++)
		v.sym[i]->val = before[i];
	lower_branch(l, src, other, o, 1, &v);
	for (int i = 0; i < v.n; i++)
		set_var(v.sym[i], o->out[i]);
}

void
lower_if(Lower *l, const Stmt *s)
{
	LoweredValue c = lower_condition(l, s->value);

	if (c.kind == VK_bool) {
		l->depth++;
		lower_stmts(l, c.i ? s->body : s->other);
		l->depth--;
		return;
	}
	put_choice(l, s->src, c.kind == VK_none ? put_bool(l, s->src, true) : c.v, s->body, s->other);
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void
clear(Lower *l, Src src, Sym *flag)
{
	if (flag)
		flag->val = value_of(put_bool(l, src, false));
}

static const char *
why_not_left(const Lower *l, const Stmt *s)
{
	if (s->kind != ST_return)
		return l->leave && l->leave->loop ? NULL : "only allowed in a loop";
	if (s->narg)
		return "a kernel returns no value; store to an `out` tensor";
	for (const Leave *x = l->leave; x; x = x->outer)
		if (x->roles)
			return "`return` is not allowed in a role (the other role would deadlock); use `if`";
	return NULL;
}

void
lower_leave(Lower *l, const Stmt *s)
{
	static const char *const word[] = {
		[ST_break] = "break",
		[ST_continue] = "continue",
		[ST_return] = "return",
	};
	const char *bad = why_not_left(l, s);

	if (bad || s->next) {
		diag_error(l->diag, bad ? s->src : s->next->src,
		           bad ? "`%s`: %s" : "unreachable statement after `%s`%s", word[s->kind],
		           bad ? bad : "");
		return;
	}
	if (s->kind == ST_continue) {
		clear(l, s->src, l->leave->turn);
		return;
	}
	for (Leave *x = l->leave; x; x = s->kind == ST_break ? NULL : x->outer) {
		clear(l, s->src, x->going);
		clear(l, s->src, x->turn);
	}
}

/* Does every path through s leave? */
static bool
always_leaves(const Stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == ST_break || s->kind == ST_continue || s->kind == ST_return ||
		    (s->kind == ST_if && always_leaves(s->body) && always_leaves(s->other)))
			return true;
	return false;
}

bool
lower_leaving(Lower *l, const Stmt *s)
{
	enum { DEPTH_MAX = 3 * STMT_DEPTH_MAX };
	Stmt alone = *s;
	const Sym *flag;

	if (!s->next || !l->leave || (s->kind != ST_if && !is_loop(s)))
		return false;
	alone.next = NULL;
	if (!leaves(&alone, ST_return, 0) && !leaves(&alone, ST_break, 0) && !leaves(&alone, ST_continue, 0))
		return false;
	if (l->depth == DEPTH_MAX)
		diag_error(l->diag, s->src,
		           "more than %d consecutive statements with `break`, `continue` or `return`",
		           DEPTH_MAX);
	if (l->depth >= DEPTH_MAX)
		return true;
	if (s->kind == ST_if && !s->other && always_leaves(s->body)) {
		alone.other = s->next;
		lower_if(l, &alone);
		return true;
	}
	lower_stmts(l, &alone);
	flag = l->leave->turn ? l->leave->turn : l->leave->going;
	if (flag)
		put_choice(l, s->src, flag->val.v, s->next, NULL);
	return true;
}

void
lower_kernel_body(Lower *l, const Stmt *s)
{
	Leave leave = { .going = leaves(s, ST_return, 0) ? new_flag(l, l->decl->src) : NULL };

	l->leave = &leave;
	lower_stmts(l, s);
	l->leave = NULL;
}
