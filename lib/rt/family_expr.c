/* family_expr.c - parses and evaluates the guards and sizes of families: expressions as in `assume`, over
 * sizes and the line's constants. */
#include "hexc/ir/dtype_value.h"
#include "lib/rt/family.h"
#include <string.h>

enum { DEPTH_MAX = 100 };

typedef struct FamilyExprReader {
	FamilyText *t;
	const hexc_family *f;
	FamilyLine *l;
	const char *at;
	int depth;
	const hexc_define *size; /* values of names; NULL: those of the family and its kernels */
	size_t nsize;
} FamilyExprReader;

static ExprRef read_or(FamilyExprReader *r);

static ExprRef
node(FamilyExprReader *r, OpCode op, DType type, ExprRef a, ExprRef b, ExprRef c, int64_t imm)
{
	ExprNode n = { op, type, { a, b, c }, imm };
	ExprTable *e = &r->l->expr;

	if (e->n == EXPR_MAX) {
		family_wrong(r->t, "the guard is too long");
		return 0;
	}
	VEC_PUSH(r->t->arena, e->node, e->n, e->cap, n);
	return e->n - 1;
}

static ExprRef
number(FamilyExprReader *r, int64_t x)
{
	return node(r, O_const, D_i64, -1, -1, -1, x);
}

static ExprRef
two(FamilyExprReader *r, OpCode op, ExprRef a, ExprRef b)
{
	return node(r, op, op == O_lt || op == O_le || op == O_eq || op == O_ne ? D_bool : D_i64, a, b, -1,
	            0);
}

static ExprRef
truth(FamilyExprReader *r, ExprRef a)
{
	return two(r, O_ne, a, number(r, 0));
}

/* ---- words ----------------------------------------------------------------------------------------- */

static char
next_char(FamilyExprReader *r)
{
	while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')
		r->at++;
	return *r->at;
}

static bool
accept(FamilyExprReader *r, const char *word)
{
	size_t n = strlen(word);

	next_char(r);
	if (strncmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

static bool
in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t
word(FamilyExprReader *r)
{
	size_t n = 0;

	next_char(r);
	while (in_word(r->at[n]))
		n++;
	return n;
}

static bool
accept_word(FamilyExprReader *r, const char *is)
{
	size_t n = word(r);

	if (strlen(is) != n || memcmp(r->at, is, n) != 0)
		return false;
	r->at += n;
	return true;
}

static void
expect(FamilyExprReader *r, const char *what)
{
	if (!accept(r, what))
		family_wrong(r->t, "missing %s at '%.20s'", what, r->at);
}

/* ---- expressions ----------------------------------------------------------------------------------- */

/* Computes the constant's value if all stages that have it agree; returns false if none has it, or two
 * differ. */
static bool
constant(const FamilyLine *l, const char *name, int64_t *out)
{
	bool found = false;

	for (int s = 0; s < l->nstage; s++) {
		int i = hexc_const_find(l->stage[s].m, l->stage[s].k, name);
		hexc_define d;

		if (i < 0 || !hexc_const(l->stage[s].m, l->stage[s].k, (size_t)i, &d))
			continue;
		if (found && d.value != *out)
			return false;
		found = true;
		*out = d.value;
	}
	return found;
}

/* A constant of the line, or a value that is given. */
static ExprRef
read_given(FamilyExprReader *r, const char *name)
{
	for (int s = 0; s < r->l->nstage; s++)
		for (int i = 0; i < r->l->stage[s].ndefine; i++)
			if (strcmp(r->l->stage[s].define[i].name, name) == 0)
				return number(r, r->l->stage[s].define[i].value);
	for (size_t i = 0; i < r->nsize; i++)
		if (strcmp(r->size[i].name, name) == 0)
			return number(r, r->size[i].value);
	family_wrong(r->t, "no value is given for %s", name);
	return 0;
}

static ExprRef
read_name(FamilyExprReader *r, size_t n)
{
	const char *name = arena_strndup(r->t->arena, r->at, n);
	int64_t value = 0;
	int i;

	r->at += n;
	if (r->size)
		return read_given(r, name);
	i = hexc_family_param_find(r->f, name);
	if (i >= 0) {
		const FamilyParam *p = &r->f->param[i];
		const ModParam *mp = &p->m->kernel[p->k].param[p->i];

		if (mp->kind == HEXC_POINTER || dtype_is_float(mp->dtype))
			family_wrong(r->t, "%s is not a size", name);
		return node(r, O_none, D_i64, -1, -1, -1, i);
	}
	if (!constant(r->l, name, &value))
		family_wrong(r->t, "%s is neither a size of the family nor a constant of the entry's kernels",
		             name);
	return number(r, value);
}

/* Builds ceil(a / b) from the truncating a / b: adds 1 if the quotient is positive and the remainder is
 * not 0. */
static ExprRef
rounded_up(FamilyExprReader *r, ExprRef a, ExprRef b)
{
	ExprRef left = two(r, O_mod, a, b), zero = number(r, 0);
	ExprRef positive = two(r, O_eq, two(r, O_lt, left, zero), two(r, O_lt, b, zero));

	positive = node(r, O_select, D_i64, truth(r, left), positive, zero, 0);
	return two(r, O_add, two(r, O_div, a, b), positive);
}

/* Parses NAME(A, B, ..) of a known function; returns -1 if it is none. */
static ExprRef
read_call(FamilyExprReader *r)
{
	static const struct {
		const char *name;
		int n;
		OpCode op;
	} call[] = { { "ceil", 2, O_div }, { "min", 2, O_min }, { "max", 2, O_max },
	             { "where", 3, O_select } };
	const char *before = r->at;
	ExprRef a[3] = { -1, -1, -1 };

	for (size_t i = 0; i < COUNT_OF(call); i++) {
		if (!accept_word(r, call[i].name) || !accept(r, "(")) {
			r->at = before;
			continue;
		}
		for (int k = 0; k < call[i].n && !r->t->bad; k++) {
			if (k)
				expect(r, ",");
			a[k] = read_or(r);
		}
		expect(r, ")");
		if (call[i].op == O_select)
			return node(r, O_select, D_i64, truth(r, a[0]), a[1], a[2], 0);
		if (call[i].op != O_div)
			return two(r, call[i].op, a[0], a[1]);
		return rounded_up(r, a[0], a[1]);
	}
	return -1;
}

static ExprRef
read_number(FamilyExprReader *r)
{
	int64_t x = 0;

	for (; *r->at >= '0' && *r->at <= '9'; r->at++)
		if (!mul64(x, 10, &x) || !add64(x, *r->at - '0', &x))
			family_wrong(r->t, "number too large");
	if (in_word(*r->at))
		family_wrong(r->t, "'%.20s' is not a number", r->at);
	return number(r, x);
}

static ExprRef
read_unary(FamilyExprReader *r)
{
	char c = next_char(r);
	ExprRef a;

	if (r->t->bad || ++r->depth > DEPTH_MAX) {
		family_wrong(r->t, "the guard is nested too deeply");
		return 0;
	}
	if (accept(r, "(")) {
		a = read_or(r);
		expect(r, ")");
	} else if (accept(r, "-")) {
		a = node(r, O_neg, D_i64, read_unary(r), -1, -1, 0);
	} else if (c == '!' && r->at[1] != '=') {
		r->at++;
		a = two(r, O_eq, read_unary(r), number(r, 0));
	} else if (c >= '0' && c <= '9') {
		a = read_number(r);
	} else if ((a = read_call(r)) < 0) {
		size_t n = word(r);

		if (n)
			a = read_name(r, n);
		else
			family_wrong(r->t, "missing value at '%.20s'", r->at);
	}
	r->depth--;
	return a < 0 ? 0 : a;
}

/* Operators by precedence; if one is a prefix of another, the longer comes first. */
static const struct {
	const char *text;
	int level;
	OpCode op;
	bool swapped;
} operators[] = {
	{ "==", 0, O_eq, false }, { "!=", 0, O_ne, false }, { "<=", 0, O_le, false },
	{ ">=", 0, O_le, true },  { "<", 0, O_lt, false },  { ">", 0, O_lt, true },
	{ "+", 1, O_add, false }, { "-", 1, O_sub, false }, { "*", 2, O_mul, false },
	{ "/", 2, O_div, false }, { "%", 2, O_mod, false },
};

static ExprRef
read_level(FamilyExprReader *r, int level)
{
	ExprRef a = level > 2 ? read_unary(r) : read_level(r, level + 1);
	size_t i = 0;

	while (level <= 2 && !r->t->bad && i < COUNT_OF(operators)) {
		ExprRef b;

		if (operators[i].level != level || !accept(r, operators[i].text)) {
			i++;
			continue;
		}
		b = read_level(r, level + 1);
		a = operators[i].swapped ? two(r, operators[i].op, b, a) : two(r, operators[i].op, a, b);
		i = 0;
	}
	return a;
}

/* The right side is evaluated only if needed: x != 0 && 8 % x == 0. */
static ExprRef
read_and(FamilyExprReader *r)
{
	ExprRef a = read_level(r, 0);

	while (!r->t->bad && accept(r, "&&")) {
		ExprRef yes = truth(r, read_level(r, 0));

		a = truth(r, a);
		a = node(r, O_select, D_bool, a, yes, number(r, 0), 0);
	}
	return a;
}

static ExprRef
read_or(FamilyExprReader *r)
{
	ExprRef a = read_and(r);

	while (!r->t->bad && accept(r, "||")) {
		ExprRef no = truth(r, read_and(r));

		a = truth(r, a);
		a = node(r, O_select, D_bool, a, number(r, 1), no, 0);
	}
	return a;
}

/* ---- lines ----------------------------------------------------------------------------------------- */

/* Skips to a comma, or to `when`, outside parentheses. */
static void
skip_value(FamilyExprReader *r)
{
	int open = 0;

	while (next_char(r)) {
		size_t n = word(r);

		if (open <= 0 && (*r->at == ',' || (n == 4 && memcmp(r->at, "when", n) == 0)))
			return;
		open += *r->at == '(' ? 1 : *r->at == ')' ? -1 : 0;
		r->at += n ? n : 1;
	}
}

void
family_size_names(FamilyText *t, FamilyLine *l)
{
	FamilyExprReader r = { .t = t, .l = l, .at = l->rest };

	t->line = l->number;
	if (accept_word(&r, "with"))
		do {
			size_t n = word(&r);
			FamilySize s = { arena_strndup(t->arena, r.at, n), -1 };

			if (!n || memchr("0123456789", *r.at, 10) || r.at[n + strspn(r.at + n, " \t")] != '=')
				family_wrong(t, "`with` requires NAME=VALUE at '%.20s'", r.at);
			VEC_PUSH(t->arena, l->size, l->nsize, l->size_cap, s);
			skip_value(&r);
		} while (!t->bad && accept(&r, ","));
}

void
family_expressions(FamilyText *t, const hexc_family *f, FamilyLine *l)
{
	FamilyExprReader r = { .t = t, .f = f, .l = l, .at = l->rest };
	int known = 0;

	t->line = l->number;
	l->expr.name = f->param_name;
	if (accept_word(&r, "with"))
		do {
			size_t n = word(&r);
			FamilySize *s = &l->size[known];

			r.at += n;
			expect(&r, "=");
			s->value = read_or(&r);
		} while (!t->bad && ++known < l->nsize && accept(&r, ","));
	if (!t->bad && !accept_word(&r, "when"))
		family_wrong(t, "missing `when GUARD` at '%.20s'; guard 1 matches all sizes", r.at);
	next_char(&r);
	l->guard = r.at;
	if (!t->bad)
		l->cond = truth(&r, read_or(&r));
	if (!t->bad && next_char(&r))
		family_wrong(t, "unexpected '%.20s' after the guard", r.at);
}

bool
family_guard_holds(FamilyText *t, FamilyLine *l, const hexc_define *size, size_t nsize)
{
	FamilyExprReader r = { .t = t, .l = l, .at = l->rest, .size = size, .nsize = nsize };
	ExprValues v;
	ExprRef cond = 0;

	t->line = l->number;
	if (accept_word(&r, "with"))
		do
			skip_value(&r);
		while (accept(&r, ","));
	if (!accept_word(&r, "when"))
		family_wrong(t, "missing `when GUARD` at '%.20s'; guard 1 matches all sizes", r.at);
	if (!t->bad)
		cond = truth(&r, read_or(&r));
	if (t->bad)
		return false;
	expr_eval(&l->expr, NULL, &v);
	return !v.bad[cond] && v.value[cond];
}

void
family_eval(const hexc_family *f, const FamilyLine *l, const hexc_arg *arg, ExprValues *out)
{
	int64_t value[HEXC_MAX_PARAMS];

	for (int i = 0; i < f->nparam; i++)
		value[i] = arg[i].i;
	expr_eval(&l->expr, value, out);
}
