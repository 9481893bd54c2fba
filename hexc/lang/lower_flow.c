/* lower_flow.c - loops and conditions: assigned variables become carried values and results. */
#include "hexc/lang/lower.h"

typedef struct Vars {
	Sym **sym;
	int n, cap;
} Vars;

static void
add_var(Lower *l, Vars *v, const char *name)
{
	Sym *s = sym_find(l, name);

	if (!s || s->kind != SY_var || s->val.kind != VK_val)
		return;
	for (int i = 0; i < v->n; i++)
		if (v->sym[i] == s)
			return;
	VEC_PUSH(l->arena, v->sym, v->n, v->cap, s);
}

/* Variables of the scopes outside that the statements assign.  Names cannot be declared twice, so a name
 * that is visible now means the same inside. */
static void
find_assigned(Lower *l, Vars *v, const Stmt *s)
{
	for (; s; s = s->next) {
		if (s->kind == ST_assign && s->target->kind == EX_name)
			add_var(l, v, s->target->name);
		if (s->kind == ST_assign && s->target->kind == EX_tuple)
			for (int i = 0; i < s->target->narg; i++)
				add_var(l, v, s->target->arg[i]->name);
		find_assigned(l, v, s->body);
		find_assigned(l, v, s->other);
	}
}

const Sym *
lower_first_assigned(Lower *l, const Stmt *s)
{
	Vars v = { NULL, 0, 0 };

	find_assigned(l, &v, s);
	return v.n ? v.sym[0] : NULL;
}

static void
end_region(Lower *l, const Vars *v, Src src)
{
	Val **out = NEWN(l->arena, Val *, v->n + 1);

	for (int i = 0; i < v->n; i++)
		out[i] = v->sym[i]->val.v;
	op_new(l->b, NULL, O_yield, src, v->n, out, 0, NULL);
}

/* From here on the variable is `x`, which remembers nothing of a tensor's edge. */
static void
set_var(Sym *s, Val *x)
{
	if (!x->name)
		x->name = s->name;
	s->val = value_of(x);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool
check_step(Lower *l, const Stmt *s, const Val *step)
{
	int64_t n;

	if (!val_is_const(step, &n) || n >= 1)
		return true;
	diag_error(l->diag, s->step->src, "the step of a loop is 1 or more, not %lld", (long long)n);
	return false;
}

static bool
loop_stages(Lower *l, const Stmt *s, int64_t *n)
{
	enum { STAGES_MAX = 16 };

	*n = 0;
	if (!s->pipeline)
		return true;
	if (!lower_const_int(l, s->stages, "the number of stages", n))
		return false;
	if (*n >= 1 && *n <= STAGES_MAX)
		return true;
	diag_error(l->diag, s->stages->src, "a pipeline has 1 to %d stages, not %lld", STAGES_MAX,
	           (long long)*n);
	return false;
}

static void
lower_body(Lower *l, const Stmt *s, Op *o, const Vars *v)
{
	Block *outer = l->b;
	Sym *scope = l->scope;
	Val *iv;

	l->b = o->blk[0] = block_new(l->k, o);
	iv = block_arg(l->b, type_index());
	iv->name = s->name;
	sym_add(l, s->name, SY_let, s->name_src, value_of(iv));
	for (int i = 0; i < v->n; i++)
		set_var(v->sym[i], block_arg(l->b, type_free(v->sym[i]->val.v->type)));
	l->depth++;
	lower_stmts(l, s->body);
	l->depth--;
	end_region(l, v, s->src);
	l->b = outer;
	scope_leave(l, scope);
}

void
lower_for(Lower *l, const Stmt *s)
{
	Vars v = { NULL, 0, 0 };
	int64_t stages;
	Val **in;
	Type *out;
	Op *o;
	bool ok;

	find_assigned(l, &v, s->body);
	in = NEWN(l->arena, Val *, 3 + v.n);
	out = NEWN(l->arena, Type, v.n + 1);
	in[0] = lower_index_value(l, s->lo, "the first value of a loop");
	in[1] = lower_index_value(l, s->hi, "the end of a loop");
	in[2] = s->step ? lower_index_value(l, s->step, "the step of a loop") : ir_const(l->b, NULL, 1);
	ok = loop_stages(l, s, &stages) && in[0] && in[1] && in[2] && check_step(l, s, in[2]);
	for (int i = 0; i < 3; i++) /* go on for the sake of the errors inside */
		in[i] = ok ? in[i] : ir_const(l->b, NULL, 1);
	for (int i = 0; i < v.n; i++) {
		in[3 + i] = v.sym[i]->val.v;
		out[i] = type_free(in[3 + i]->type);
	}
	o = op_new(l->b, NULL, O_for, s->src, 3 + v.n, in, v.n, out);
	IMM_SET(o, loop, s->pipeline ? FOR_PIPELINE : FOR_PLAIN);
	IMM_SET(o, stages, ok ? stages : s->pipeline);
	lower_body(l, s, o, &v);
	for (int i = 0; i < v.n; i++)
		set_var(v.sym[i], o->out[i]);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static void
lower_branch(Lower *l, const Stmt *s, const Stmt *body, Op *o, int r, const Vars *v)
{
	Block *outer = l->b;

	l->b = o->blk[r] = block_new(l->k, o);
	l->depth++;
	lower_stmts(l, body);
	l->depth--;
	end_region(l, v, s->src);
	l->b = outer;
}

void
lower_if(Lower *l, const Stmt *s)
{
	Operand c = lower_operand(l, s->value);
	Vars v = { NULL, 0, 0 };
	Value *before;
	Type *out;
	Op *o;

	c.v = lower_load(l, c);
	if (c.v.kind == VK_bool) {
		l->depth++;
		lower_stmts(l, c.v.i ? s->body : s->other);
		l->depth--;
		return;
	}
	if (c.v.kind != VK_none && (value_is_const(&c.v) || c.v.v->type.space != S_scalar ||
	                            c.v.v->type.dtype != D_bool)) {
		diag_error(l->diag, s->value->src,
		           "the condition is %s, but all threads of a block decide "
		           "alike: it must be a scalar bool%s",
		           check_describe(l, &c.v),
		           value_is_tile(&c.v) ? ", or use where(c, a, b)" : "");
		c.v = value_none();
	}
	if (c.v.kind == VK_none) {
		Value yes = value_bool(true);
		c.v = value_of(put_const(l, &yes, type_cond(), s->src));
	}
	find_assigned(l, &v, s->body);
	find_assigned(l, &v, s->other);
	before = NEWN(l->arena, Value, v.n + 1);
	out = NEWN(l->arena, Type, v.n + 1);
	for (int i = 0; i < v.n; i++) {
		before[i] = v.sym[i]->val;
		out[i] = type_free(before[i].v->type);
	}
	o = op_new(l->b, NULL, O_if, s->src, 1, &c.v.v, v.n, out);
	lower_branch(l, s, s->body, o, 0, &v);
	for (int i = 0; i < v.n; i++)
		v.sym[i]->val = before[i];
	lower_branch(l, s, s->other, o, 1, &v);
	for (int i = 0; i < v.n; i++)
		set_var(v.sym[i], o->out[i]);
}
