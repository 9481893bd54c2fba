/* parse_body.c - function bodies: registers, labels, scopes, instructions, operands. */
#include <string.h>
#include "parse_int.h"

enum { MAX_REGS = 1 << 20, MAX_ELT = 128, MAX_OPND = 24 };

/* %r17 of ".reg .b32 %r<100>": registers of a range come to be when first named. */
static Reg *
range_reg(Parser *p, const char *s, size_t n)
{
	size_t k = n;
	u64 num = 0;
	Bucket *b;
	Reg *r;
	Scope *sc;

	while (k > 0 && s[k - 1] >= '0' && s[k - 1] <= '9')
		k--;
	if (k == n || k == 0 || n - k > 9 || (s[k] == '0' && n - k > 1))
		return NULL;
	for (size_t i = k; i < n; i++)
		num = num * 10 + (u64)(s[i] - '0');
	for (sc = p->sc; sc; sc = sc->up) {
		Scope one = *sc;
		one.up = NULL;
		b = scope_find(&one, s, k);
		while (b && !(b->what == SYM_RANGE && !strncmp(b->name, s, k) && !b->name[k]))
			b = b->next;
		if (b && num < ((Range *)b->p)->count)
			break;
	}
	if (!sc)
		return NULL;
	r = arena_get(&p->m->arena, sizeof *r);
	r->name = arena_str(&p->m->arena, s, n);
	r->type = ((Range *)b->p)->type;
	{
		Scope *keep = p->sc;
		p->sc = sc;
		p_define(p, r->name, SYM_REG, r);
		p->sc = keep;
	}
	r->unit = ~0u;
	return r;
}

static bool
reg_decl(Parser *p)
{
	Type t;

	lex_next(&p->l);
	if (p->l.tok == K_ID && (lex_word(&p->l, ".v2") || lex_word(&p->l, ".v4")))
		return p_fail(p, "vector registers are not supported");
	if (p->l.tok != K_ID || *p->l.s != '.' || !type_find(p->l.s + 1, p->l.n - 1, &t))
		return p_fail(p, "expected a register type");
	lex_next(&p->l);
	do {
		char *name = p_name(p);
		if (!name)
			return false;
		if (p_take(p, '<')) {
			Range *r = arena_get(&p->m->arena, sizeof *r);
			r->type = t;
			if (!p_uint(p, &r->count) || !p_want(p, '>'))
				return false;
			if (r->count > MAX_REGS)
				return p_fail(p, "more than %d registers", MAX_REGS);
			if (!p_define(p, name, SYM_RANGE, r))
				return false;
		} else {
			Reg *r = arena_get(&p->m->arena, sizeof *r);
			r->name = name;
			r->type = t;
			r->unit = ~0u;
			if (!p_define(p, name, SYM_REG, r))
				return false;
		}
	} while (p_take(p, ','));
	return p_want(p, ';');
}

static bool operand(Parser *p, Opnd *o, int deep);

/* %r1.b2: the register, and which part of it. */
static bool
part_of_reg(Parser *p, Opnd *o)
{
	Lex *l = &p->l;
	const char *dot = memchr(l->s, '.', l->n);
	size_t n = dot ? (size_t)(dot - l->s) : 0;
	Bucket *b;

	if (!n || (dot[1] != 'b' && dot[1] != 'h'))
		return false;
	b = scope_find(p->sc, l->s, n);
	while (b && (b->what == SYM_RANGE || strncmp(b->name, l->s, n) || b->name[n]))
		b = b->next;
	o->reg = b && b->what == SYM_REG ? b->p : b ? NULL : range_reg(p, l->s, n);
	if (!o->reg)
		return false;
	o->kind = O_REG;
	o->sel = arena_str(&p->m->arena, dot + 1, l->n - n - 1);
	return true;
}

/* Name: register, special register, variable (+ offset), function or label. */
static bool
name_operand(Parser *p, Opnd *o)
{
	Lex *l = &p->l;
	Bucket *b;
	Reg *r;
	Opnd off;

	if (l->n == 1 && *l->s == '_') {
		o->kind = O_SINK;
		lex_next(l);
		return true;
	}
	b = scope_find(p->sc, l->s, l->n);
	while (b && (b->what == SYM_RANGE || strncmp(b->name, l->s, l->n) || b->name[l->n]))
		b = b->next;
	if (b && b->what == SYM_REG) {
		o->kind = O_REG;
		o->reg = b->p;
	} else if (b && b->what == SYM_VAR) {
		o->kind = O_VAR;
		o->var = b->p;
		lex_next(l);
		if (lex_is(l, '+') || lex_is(l, '-')) {
			if (!p_const(p, &off))
				return false;
			o->imm = off.imm;
		}
		return true;
	} else if (b && b->what == SYM_FN) {
		o->kind = O_FN;
		o->fn = b->p;
		o->name = o->fn->name;
	} else if ((r = range_reg(p, l->s, l->n)) != NULL) {
		o->kind = O_REG;
		o->reg = r;
	} else if (part_of_reg(p, o)) {
		;
	} else if (sreg_find(l->s, l->n, &o->sreg)) {
		o->kind = O_SREG;
		p->m->system_smem |= sreg_is_system_smem(o->sreg);
	} else if (*l->s == '%') {
		return p_fail(p, "%.*s is not declared", (int)(l->n < 60 ? l->n : 60), l->s);
	} else {
		o->kind = O_LABEL;
		o->name = arena_str(&p->m->arena, l->s, l->n);
	}
	lex_next(l);
	if (o->kind == O_REG && !o->sel && l->tok == K_ID && l->n >= 3 && l->s[0] == '.'
	    && (l->s[1] == 'b' || l->s[1] == 'h')) {
		o->sel = arena_str(&p->m->arena, l->s + 1, l->n - 1);
		lex_next(l);
	}
	return true;
}

static bool
list(Parser *p, Opnd *o, char close, int deep)
{
	Opnd tmp[MAX_ELT];
	u32 n = 0;

	while (!lex_is(&p->l, close)) {
		if (n == MAX_ELT)
			return p_fail(p, "more than %d elements", MAX_ELT);
		if (!operand(p, &tmp[n], deep + 1))
			return false;
		n++;
		if (!p_take(p, ','))
			break;
	}
	o->n = n;
	o->elt = arena_get(&p->m->arena, (n + 1) * sizeof *o->elt);
	memcpy(o->elt, tmp, n * sizeof *tmp);
	return p_want(p, close);
}

/* [base], [base + offset], [base, {coordinates}] */
static bool
address(Parser *p, Opnd *o, int deep)
{
	Opnd base, off, rest;

	memset(&rest, 0, sizeof rest);
	o->kind = O_ADDR;
	if (!operand(p, &base, deep + 1))
		return false;
	if (base.kind == O_REG && (lex_is(&p->l, '+') || lex_is(&p->l, '-'))) {
		if (!p_const(p, &off))
			return false;
		o->imm = off.imm;
	}
	if (p_take(p, ',')) {
		if (!list(p, &rest, ']', deep))
			return false;
	} else if (!p_want(p, ']')) {
		return false;
	}
	o->n = 1 + rest.n;
	o->elt = arena_get(&p->m->arena, o->n * sizeof *o->elt);
	o->elt[0] = base;
	if (rest.n)
		memcpy(o->elt + 1, rest.elt, rest.n * sizeof *rest.elt);
	return true;
}

/* After a minus: a register, not a number. */
static bool
names_follow(const Lex *l)
{
	return l->p < l->end && (*l->p == '%' || *l->p == '_' || *l->p == '$' || (*l->p >= 'a' && *l->p <= 'z'));
}

static bool
operand(Parser *p, Opnd *o, int deep)
{
	memset(o, 0, sizeof *o);
	if (deep > 4)
		return p_fail(p, "operand is nested too deep");
	if (p_take(p, '{')) {
		o->kind = O_VEC;
		return list(p, o, '}', deep);
	}
	if (p_take(p, '['))
		return address(p, o, deep);
	if (lex_is(&p->l, '!')) {
		lex_next(&p->l);
		if (p->l.tok != K_ID)
			return p_fail(p, "expected a predicate after '!'");
		o->neg = true;
	}
	if (lex_is(&p->l, '-') && names_follow(&p->l)) {
		lex_next(&p->l);
		o->minus = true;
	}
	if (p->l.tok == K_ID && !lex_word(&p->l, "WARP_SZ")) {
		bool neg = o->neg;
		if (!name_operand(p, o))
			return false;
		o->neg = neg;
		if (lex_is(&p->l, '|')) {
			Opnd a = *o, b;
			lex_next(&p->l);
			if (!operand(p, &b, deep + 1))
				return false;
			memset(o, 0, sizeof *o);
			o->kind = O_PAIR;
			o->n = 2;
			o->elt = arena_get(&p->m->arena, 2 * sizeof *o->elt);
			o->elt[0] = a;
			o->elt[1] = b;
		}
		return true;
	}
	return p_const(p, o);
}

static bool
guard(Parser *p, Stmt *s)
{
	Opnd o;

	if (!p_take(p, '@'))
		return true;
	s->guard_neg = p_take(p, '!');
	if (p->l.tok != K_ID || !name_operand(p, &o))
		return p_fail(p, "expected a predicate after '@'");
	if (o.kind != O_REG || o.reg->type != T_pred)
		return p_fail(p, "the guard is no predicate register");
	s->guard = o.reg;
	return true;
}

/* call{.uni} (ret), f, (params) {, prototype}: becomes operands  VEC f VEC */
static bool
call_operands(Parser *p, Opnd *o, u32 *n)
{
	memset(o, 0, 4 * sizeof *o);
	o[0].kind = o[2].kind = O_VEC;
	if (p_take(p, '(')) {
		if (!list(p, &o[0], ')', 0) || !p_want(p, ','))
			return false;
		o[0].kind = O_VEC;
	}
	if (!operand(p, &o[1], 0))
		return false;
	*n = 3;
	if (!p_take(p, ','))
		return true;
	if (p_take(p, '(')) {
		if (!list(p, &o[2], ')', 0))
			return false;
		o[2].kind = O_VEC;
		if (!p_take(p, ','))
			return true;
	}
	*n = 4;                 /* the name of a .callprototype or .calltargets */
	return operand(p, &o[3], 0);
}

static bool
instruction(Parser *p)
{
	Fn *f = p->f;
	Stmt s;
	Opnd o[MAX_OPND];
	u32 n = 0;
	bool ok = true;

	memset(&s, 0, sizeof s);
	s.line = p->l.tline;
	s.scope = p->sc;
	if (!guard(p, &s))
		return false;
	if (p->l.tok != K_ID)
		return p_fail(p, "expected an instruction, found '%.*s'",
		              (int)(p->l.n < 40 ? p->l.n : 40), p->l.s);
	s.line = p->l.tline;
	lex_opcode(&p->l);
	s.op = arena_str(&p->m->arena, p->l.s, p->l.n);
	lex_next(&p->l);
	if (!strncmp(s.op, "call", 4) && (!s.op[4] || s.op[4] == '.')) {
		ok = call_operands(p, o, &n);
	} else {
		while (ok && !lex_is(&p->l, ';')) {
			if (n == MAX_OPND)
				return p_fail(p, "too many operands");
			ok = operand(p, &o[n], 0);
			n++;
			if (!p_take(p, ','))
				break;
		}
	}
	if (!ok || !p_want(p, ';'))
		return false;
	s.no = n;
	s.o = arena_get(&p->m->arena, (n + 1) * sizeof *s.o);
	memcpy(s.o, o, n * sizeof *o);
	f->st = sim_arena_grow(&p->m->arena, f->st, f->nst, &f->cst, sizeof *f->st);
	f->st[f->nst++] = s;
	return true;
}

/* `name:` has been read; the token after the colon may be .branchtargets. */
static bool
label(Parser *p, const char *name, u32 line)
{
	Fn *f = p->f;
	Label *lb;
	u32 cap = 0;

	f->label = sim_arena_grow(&p->m->arena, f->label, f->nlabel, &f->clabel, sizeof *f->label);
	lb = &f->label[f->nlabel++];
	memset(lb, 0, sizeof *lb);
	lb->name = name;
	lb->at = f->nst;
	lb->scope = p->sc;
	lb->line = line;
	if (lex_word(&p->l, ".callprototype") || lex_word(&p->l, ".calltargets")) {
		p_skip(p);
		return true;
	}
	if (!lex_word(&p->l, ".branchtargets"))
		return true;
	lex_next(&p->l);
	do {
		char *t = p_name(p);
		if (!t)
			return false;
		lb->targets = sim_arena_grow(&p->m->arena, lb->targets, lb->ntargets, &cap,
		                         sizeof *lb->targets);
		lb->targets[lb->ntargets++] = t;
	} while (p_take(p, ','));
	return p_want(p, ';');
}

static bool
body_directive(Parser *p)
{
	Lex *l = &p->l;
	bool is_extern = false;

	if (lex_word(l, ".extern")) {
		is_extern = true;
		lex_next(l);
	}
	if (lex_word(l, ".reg"))
		return reg_decl(p);
	if (lex_word(l, ".local"))
		return lex_next(l), p_var_list(p, SIM_SPACE_LOCAL, false);
	if (lex_word(l, ".param"))
		return lex_next(l), p_var_list(p, SIM_SPACE_PARAM, false);
	if (lex_word(l, ".shared"))
		return lex_next(l), p_var_list(p, SIM_SPACE_SHARED, is_extern);
	if (lex_word(l, ".global"))
		return lex_next(l), p_var_list(p, SIM_SPACE_GLOBAL, is_extern);
	if (lex_word(l, ".const"))
		return lex_next(l), p_var_list(p, SIM_SPACE_CONST, is_extern);
	if (lex_word(l, ".loc") || lex_word(l, ".file")) {
		p_skip_numbers(p);
		return true;
	}
	if (lex_word(l, ".pragma")) {
		p_skip(p);
		return true;
	}
	return p_fail(p, "unknown directive %.*s", (int)(l->n < 40 ? l->n : 40), l->s);
}

/* An identifier followed by one colon is a label. */
static bool
is_label(Parser *p)
{
	const char *q = p->l.p;

	if (p->l.tok != K_ID || *p->l.s == '.')
		return false;
	while (q < p->l.end && (*q == ' ' || *q == '\t'))
		q++;
	return q < p->l.end && *q == ':' && !(q + 1 < p->l.end && q[1] == ':');
}

static bool
statement(Parser *p)
{
	if (is_label(p)) {
		u32 line = p->l.tline;
		char *name = p_name(p);
		return name && p_want(p, ':') && label(p, name, line);
	}
	if (p_take(p, ';'))
		return true;
	if (p->l.tok == K_ID && *p->l.s == '.')
		return body_directive(p);
	return instruction(p);
}

bool
p_body(Parser *p)
{
	u32 deep = 1;
	Scope *outer = p->sc;

	p->f->has_body = true;
	lex_next(&p->l);
	while (deep) {
		if (p->l.tok == K_END)
			return p_fail(p, "the body of %.80s does not end", p->f->name);
		if (p_take(p, '{')) {
			p->sc = p_scope(p, p->sc);
			deep++;
		} else if (lex_is(&p->l, '}')) {
			deep--;
			p->sc = deep ? p->sc->up : outer;
			lex_next(&p->l);
		} else if (!statement(p)) {
			const char *before = p->l.s;
			p_skip(p);
			if (p->l.s == before)
				lex_next(&p->l);
			if (p->m->nerr >= 20)
				return false;
		}
	}
	return true;
}
