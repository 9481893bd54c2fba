/* body.c - parses function bodies: registers, labels, scopes, instructions. */
#include <string.h>
#include "lib/sim/ptx/parse.h"

enum { MAX_REGS = 1 << 20, MAX_OPND = 24 };

static bool
reg_decl(PtxParser *p)
{
	PtxType t;

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
			ScalarRange *r = NEW(&p->m->arena, ScalarRange);
			r->type = t;
			if (!p_uint(p, &r->count) || !p_want(p, '>'))
				return false;
			if (r->count > MAX_REGS)
				return p_fail(p, "more than %d registers", MAX_REGS);
			if (!p_define(p, name, SYM_RANGE, r))
				return false;
		} else {
			Reg *r = NEW(&p->m->arena, Reg);
			r->name = name;
			r->type = t;
			r->unit = ~0u;
			if (!p_define(p, name, SYM_REG, r))
				return false;
		}
	} while (p_take(p, ','));
	return p_want(p, ';');
}

static bool
guard(PtxParser *p, PtxStmt *s)
{
	Opnd o = { 0 };

	if (!p_take(p, '@'))
		return true;
	s->guard_neg = p_take(p, '!');
	if (p->l.tok != K_ID || !p_name_operand(p, &o))
		return p_fail(p, "expected a predicate after '@'");
	if (o.kind != O_REG || o.reg->type != T_pred)
		return p_fail(p, "the guard is not a predicate register");
	s->guard = o.reg;
	return true;
}

/* call{.uni} (ret), f, (params) {, prototype}: becomes operands  VEC f VEC */
static bool
call_operands(PtxParser *p, Opnd *o, u32 *n)
{
	memset(o, 0, 4 * sizeof *o);
	o[0].kind = o[2].kind = O_VEC;
	if (p_take(p, '(')) {
		if (!p_list(p, &o[0], ')', 0) || !p_want(p, ','))
			return false;
		o[0].kind = O_VEC;
	}
	if (!p_operand(p, &o[1], 0))
		return false;
	*n = 3;
	if (!p_take(p, ','))
		return true;
	if (p_take(p, '(')) {
		if (!p_list(p, &o[2], ')', 0))
			return false;
		o[2].kind = O_VEC;
		if (!p_take(p, ','))
			return true;
	}
	*n = 4;                 /* the name of a .callprototype or .calltargets */
	return p_operand(p, &o[3], 0);
}

static bool
instruction(PtxParser *p)
{
	Fn *f = p->f;
	PtxStmt s;
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
	s.op = arena_strndup(&p->m->arena, p->l.s, p->l.n);
	lex_next(&p->l);
	if (!strncmp(s.op, "call", 4) && (!s.op[4] || s.op[4] == '.')) {
		ok = call_operands(p, o, &n);
	} else {
		while (ok && !lex_is(&p->l, ';')) {
			if (n == MAX_OPND)
				return p_fail(p, "too many operands");
			ok = p_operand(p, &o[n], 0);
			n++;
			if (!p_take(p, ','))
				break;
		}
	}
	if (!ok || !p_want(p, ';'))
		return false;
	s.no = n;
	s.o = NEWN(&p->m->arena, Opnd, n + 1);
	memcpy(s.o, o, n * sizeof *o);
	VEC_PUSH(&p->m->arena, f->st, f->nst, f->cst, s);
	return true;
}

/* `name:` has been read; the token after the colon may be .branchtargets. */
static bool
label(PtxParser *p, const char *name, u32 line)
{
	Fn *f = p->f;
	Label *lb;
	u32 cap = 0;

	VEC_PUSH(&p->m->arena, f->label, f->nlabel, f->clabel,
	         ((Label){ .name = name, .at = f->nst, .scope = p->sc, .line = line }));
	lb = &f->label[f->nlabel - 1];
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
		VEC_PUSH(&p->m->arena, lb->targets, lb->ntargets, cap, t);
	} while (p_take(p, ','));
	return p_want(p, ';');
}

static bool
body_directive(PtxParser *p)
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
	if (lex_word(l, ".loc"))
		return p_loc(p), true;
	if (lex_word(l, ".file"))
		return p_file(p), true;
	if (lex_word(l, ".pragma")) {
		p_skip(p);
		return true;
	}
	return p_fail(p, "unknown directive %.*s", (int)(l->n < 40 ? l->n : 40), l->s);
}

/* An identifier followed by one colon is a label. */
static bool
is_label(PtxParser *p)
{
	const char *q = p->l.p;

	if (p->l.tok != K_ID || *p->l.s == '.')
		return false;
	while (q < p->l.end && (*q == ' ' || *q == '\t'))
		q++;
	return q < p->l.end && *q == ':' && !(q + 1 < p->l.end && q[1] == ':');
}

static bool
statement(PtxParser *p)
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
p_body(PtxParser *p)
{
	u32 deep = 1;
	Scope *outer = p->sc;

	p->f->has_body = true;
	p_no_loc(p);
	lex_next(&p->l);
	while (deep) {
		if (p->l.tok == K_END)
			return p_fail(p, "the body of %.80s is not closed", p->f->name);
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
