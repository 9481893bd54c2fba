/* operand.c - parses the operands of instructions. */
#include <string.h>
#include "lib/sim/ptx/parse.h"
#include "lib/sim/ptx/special_register.h"

enum { MAX_ELT = 128 };          /* of a vector */

/* %r17 of ".reg .b32 %r<100>": registers of a range are created when first named. */
static Reg *
range_reg(PtxParser *p, const char *s, size_t n)
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
		b = scope_find_here(sc, s, k);
		while (b && !(b->what == SYM_RANGE && !strncmp(b->name, s, k) && !b->name[k]))
			b = b->next;
		if (b && num < ((ScalarRange *)b->p)->count)
			break;
	}
	if (!sc)
		return NULL;
	r = NEW(&p->m->arena, Reg);
	r->name = arena_strndup(&p->m->arena, s, n);
	r->type = ((ScalarRange *)b->p)->type;
	{
		Scope *keep = p->sc;
		p->sc = sc;
		p_define(p, r->name, SYM_REG, r);
		p->sc = keep;
	}
	r->unit = ~0u;
	return r;
}

/* %r1.b2: the register, and the selected part of it. */
static bool
part_of_reg(PtxParser *p, Opnd *o)
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
	o->sel = arena_strndup(&p->m->arena, dot + 1, l->n - n - 1);
	return true;
}

/* Name: register, special register, variable (+ offset), function or label. */
bool
p_name_operand(PtxParser *p, Opnd *o)
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
		o->name = arena_strndup(&p->m->arena, l->s, l->n);
	}
	lex_next(l);
	if (o->kind == O_REG && !o->sel && l->tok == K_ID && l->n >= 3 && l->s[0] == '.' &&
	    (l->s[1] == 'b' || l->s[1] == 'h')) {
		o->sel = arena_strndup(&p->m->arena, l->s + 1, l->n - 1);
		lex_next(l);
	}
	return true;
}

bool
p_list(PtxParser *p, Opnd *o, char close, int deep)
{
	Opnd tmp[MAX_ELT];
	u32 n = 0;

	while (!lex_is(&p->l, close)) {
		if (n == MAX_ELT)
			return p_fail(p, "more than %d elements", MAX_ELT);
		if (!p_operand(p, &tmp[n], deep + 1))
			return false;
		n++;
		if (!p_take(p, ','))
			break;
	}
	o->n = n;
	o->elt = NEWN(&p->m->arena, Opnd, n + 1);
	memcpy(o->elt, tmp, n * sizeof *tmp);
	return p_want(p, close);
}

/* [base], [base + offset], [base, {coordinates}] */
static bool
address(PtxParser *p, Opnd *o, int deep)
{
	Opnd base, off, rest;

	memset(&rest, 0, sizeof rest);
	o->kind = O_ADDR;
	if (!p_operand(p, &base, deep + 1))
		return false;
	if (base.kind == O_REG && (lex_is(&p->l, '+') || lex_is(&p->l, '-'))) {
		if (!p_const(p, &off))
			return false;
		o->imm = off.imm;
	}
	if (p_take(p, ',')) {
		if (!p_list(p, &rest, ']', deep))
			return false;
	} else if (!p_want(p, ']')) {
		return false;
	}
	o->n = 1 + rest.n;
	o->elt = NEWN(&p->m->arena, Opnd, o->n);
	o->elt[0] = base;
	if (rest.n)
		memcpy(o->elt + 1, rest.elt, rest.n * sizeof *rest.elt);
	return true;
}

/* After a minus: a register, not a number. */
static bool
names_follow(const Lex *l)
{
	return l->p < l->end &&
	       (*l->p == '%' || *l->p == '_' || *l->p == '$' || (*l->p >= 'a' && *l->p <= 'z'));
}

bool
p_operand(PtxParser *p, Opnd *o, int deep)
{
	memset(o, 0, sizeof *o);
	if (deep > 4)
		return p_fail(p, "operand is nested too deeply");
	if (p_take(p, '{')) {
		o->kind = O_VEC;
		return p_list(p, o, '}', deep);
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
		if (!p_name_operand(p, o))
			return false;
		o->neg = neg;
		if (lex_is(&p->l, '|')) {
			Opnd a = *o, b;
			lex_next(&p->l);
			if (!p_operand(p, &b, deep + 1))
				return false;
			memset(o, 0, sizeof *o);
			o->kind = O_PAIR;
			o->n = 2;
			o->elt = NEWN(&p->m->arena, Opnd, 2);
			o->elt[0] = a;
			o->elt[1] = b;
		}
		return true;
	}
	return p_const(p, o);
}
