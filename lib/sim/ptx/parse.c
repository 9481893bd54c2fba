/* parse.c - parses modules: directives, address spaces of variables, functions and their headers. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/sim/ptx/parse.h"

enum { MAX_ERRORS = 20 };

void
ptx_error(Ptx *m, u32 line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (m->nerr++ < MAX_ERRORS)
		messages_add(m->messages, line, fmt, ap);
	va_end(ap);
}

bool
p_fail(PtxParser *p, const char *fmt, ...)
{
	char buf[256];
	va_list ap;

	if (!p->bad) {
		va_start(ap, fmt);
		vsnprintf(buf, sizeof buf, fmt, ap);
		va_end(ap);
		ptx_error(p->m, p->l.tline, "%s", buf);
	}
	p->bad = true;
	return false;
}

bool
p_take(PtxParser *p, char c)
{
	if (!lex_is(&p->l, c))
		return false;
	lex_next(&p->l);
	return true;
}

bool
p_want(PtxParser *p, char c)
{
	if (p_take(p, c))
		return true;
	if (p->l.tok == K_END)
		return p_fail(p, "expected '%c', found the end of the text", c);
	return p_fail(p, "expected '%c', found '%.*s'", c, (int)(p->l.n < 40 ? p->l.n : 40), p->l.s);
}

char *
p_name(PtxParser *p)
{
	char *s;

	if (p->l.tok != K_ID || *p->l.s == '.') {
		p_fail(p, "expected a name, found '%.*s'", (int)(p->l.n < 40 ? p->l.n : 40), p->l.s);
		return NULL;
	}
	s = arena_strndup(&p->m->arena, p->l.s, p->l.n);
	lex_next(&p->l);
	return s;
}

void
p_skip(PtxParser *p)
{
	while (p->l.tok != K_END && !lex_is(&p->l, ';') && !lex_is(&p->l, '}'))
		lex_next(&p->l);
	p_take(p, ';');
	p->bad = false;
}

bool
p_uint(PtxParser *p, u32 *out)
{
	Opnd o;

	if (!p_const(p, &o))
		return false;
	if (o.flt || o.imm > 0xffffffffu)
		return p_fail(p, "expected an integer of 32 bits");
	*out = (u32)o.imm;
	return true;
}

/* Up to three numbers separated by commas. */
static bool
triple(PtxParser *p, u32 v[3])
{
	v[0] = v[1] = v[2] = 1;
	for (int i = 0; i < 3; i++) {
		if (!p_uint(p, &v[i]))
			return false;
		if (!p_take(p, ','))
			break;
	}
	return true;
}

static void
skip_parens(PtxParser *p)
{
	int deep = 0;

	do {
		if (lex_is(&p->l, '('))
			deep++;
		if (lex_is(&p->l, ')'))
			deep--;
		lex_next(&p->l);
	} while (deep > 0 && p->l.tok != K_END);
}

static bool
params(PtxParser *p, Var ***list, u32 *n, u32 *cap)
{
	Fn *f = p->f;
	Var *v;

	if (!p_take(p, '('))
		return true;
	while (!lex_is(&p->l, ')')) {
		if (lex_word(&p->l, ".reg"))
			return p_fail(p, ".reg parameters are not supported; use .param");
		if (!lex_word(&p->l, ".param"))
			return p_fail(p, "expected .param");
		lex_next(&p->l);
		v = p_var(p, SIM_SPACE_PARAM, false);
		if (!v)
			return false;
		if (f->entry) {
			f->param_bytes = (u32)align_up(f->param_bytes, v->align);
			v->addr = f->param_bytes;
			if (v->bytes > 32764 || f->param_bytes + v->bytes > 32764)
				return p_fail(p, "kernel parameters take more than 32764 bytes");
			f->param_bytes += (u32)v->bytes;
		}
		VEC_PUSH(&p->m->arena, *list, *n, *cap, v);
		if (!p_take(p, ','))
			break;
	}
	return p_want(p, ')');
}

/* Directives between a function's header and its body. */
static bool
tuning(PtxParser *p)
{
	Fn *f = p->f;
	u32 ignored[3], rank[3] = { 0 }, registers[3] = { 0 };

	while (p->l.tok == K_ID && *p->l.s == '.') {
		u32 *v = lex_word(&p->l, ".reqntid") ? f->reqntid
		         : lex_word(&p->l, ".maxntid")           ? f->maxntid
		         : lex_word(&p->l, ".reqnctapercluster") ? f->cluster
		         : lex_word(&p->l, ".maxclusterrank")    ? rank
		         : lex_word(&p->l, ".maxnreg")           ? registers
		                                                 : ignored;
		bool flag = lex_word(&p->l, ".noreturn") || lex_word(&p->l, ".explicitcluster") ||
		            lex_word(&p->l, ".blocksareclusters");
		if (lex_word(&p->l, ".pragma")) {
			while (p->l.tok != K_END && !p_take(p, ';'))
				lex_next(&p->l);
			continue;
		}
		f->cexplicit |= lex_word(&p->l, ".explicitcluster");
		if (v == ignored && !flag && !lex_word(&p->l, ".minnctapersm") &&
		    !lex_word(&p->l, ".maxnctapersm") &&
		    !lex_word(&p->l, ".abi_preserve") &&
		    !lex_word(&p->l, ".abi_preserve_control"))
			return p_fail(p, "unknown directive %.*s", (int)(p->l.n < 40 ? p->l.n : 40), p->l.s);
		lex_next(&p->l);
		if (!flag && !triple(p, v))
			return false;
		f->max_rank = rank[0];
		f->maxnreg = registers[0];
	}
	return true;
}

static bool
same_fn(PtxParser *p, const char *name, Fn **out)
{
	Bucket *b = scope_find(p->m->scope, name, strlen(name));

	if (!b)
		return true;
	*out = b->p;
	if (b->what != SYM_FN || (*out)->has_body)
		return p_fail(p, "redeclaration of %.80s", name);
	return true;
}

static bool
function(PtxParser *p, bool entry)
{
	Fn *f = NEW(&p->m->arena, Fn), *old = NULL;
	bool ok;

	f->line = p->l.tline;
	f->entry = entry;
	f->scope = p_scope(p, p->m->scope);
	p->f = f;
	p->sc = f->scope;
	lex_next(&p->l);
	while (lex_word(&p->l, ".attribute")) {
		lex_next(&p->l);
		skip_parens(p);
	}
	ok = entry || params(p, &f->ret, &f->nret, &f->cret);
	if (ok)
		ok = (f->name = p_name(p)) != NULL && params(p, &f->param, &f->nparam, &f->cparam) &&
		     tuning(p) && same_fn(p, f->name, &old);
	if (!ok) {
		p->f = NULL;
		p->sc = p->m->scope;
		return false;
	}
	if (old) {              /* a declaration came first: callers already point to it */
		*old = *f;
		f = p->f = old;
	} else {
		p->sc = p->m->scope;
		if (!p_define(p, f->name, SYM_FN, f))
			return false;
		p->sc = f->scope;
		VEC_PUSH(&p->m->arena, p->m->fn, p->m->nfn, p->m->cfn, f);
	}
	if (p_take(p, ';'))
		ok = true;
	else if (lex_is(&p->l, '{'))
		ok = p_body(p);
	else
		ok = p_want(p, '{');
	p->f = NULL;
	p->sc = p->m->scope;
	return ok;
}

/* .section .debug_info { ... }: ignored. */
static bool
skip_section(PtxParser *p)
{
	int deep = 1;

	lex_next(&p->l);
	if (p->l.tok != K_ID)
		return p_fail(p, "expected the name of a section");
	lex_next(&p->l);
	if (!p_want(p, '{'))
		return false;
	while (deep > 0 && p->l.tok != K_END) {
		deep += lex_is(&p->l, '{') - lex_is(&p->l, '}');
		lex_next(&p->l);
	}
	return deep == 0 || p_fail(p, "the section is not closed");
}

static bool
number(const PtxParser *p)
{
	return p->l.tok == K_INT || p->l.tok == K_F32 || p->l.tok == K_F64;
}

/* Skips the operands of .version, .address_size, .file or .loc: line ends are only white space. */
void
p_skip_numbers(PtxParser *p)
{
	while (number(p) || p->l.tok == K_STR || lex_is(&p->l, ',') || lex_is(&p->l, '+') ||
	       lex_word(&p->l, "inlined_at") || lex_word(&p->l, "function_name")) {
		bool label = lex_word(&p->l, "function_name");
		lex_next(&p->l);
		if (label && p->l.tok == K_ID)
			lex_next(&p->l);
	}
}

static bool
target(PtxParser *p)
{
	lex_next(&p->l);
	if (p->l.tok != K_ID || p->l.n < 4 || memcmp(p->l.s, "sm_", 3))
		return p_fail(p, "expected a target such as sm_80");
	snprintf(p->m->target, sizeof p->m->target, "%.*s", (int)(p->l.n < 15 ? p->l.n : 15), p->l.s);
	lex_next(&p->l);
	while (p_take(p, ','))          /* debug, texmode_unified, further targets */
		lex_next(&p->l);
	return true;
}

/* .alias declared, defined; */
static bool
alias(PtxParser *p)
{
	char *name, *of;
	Bucket *b;

	lex_next(&p->l);
	if (!(name = p_name(p)) || !p_want(p, ',') || !(of = p_name(p)))
		return false;
	b = scope_find(p->m->scope, name, strlen(name));
	if (!b || b->what != SYM_FN || ((Fn *)b->p)->entry || ((Fn *)b->p)->has_body)
		return p_fail(p, "%.80s is not a function that is only declared", name);
	((Fn *)b->p)->alias = of;
	return p_want(p, ';');
}

static bool
directive(PtxParser *p)
{
	bool is_extern = false;

	while (lex_word(&p->l, ".visible") || lex_word(&p->l, ".extern") || lex_word(&p->l, ".weak") ||
	       lex_word(&p->l, ".common")) {
		is_extern |= lex_word(&p->l, ".extern");
		lex_next(&p->l);
	}
	if (lex_word(&p->l, ".entry"))
		return function(p, true);
	if (lex_word(&p->l, ".func"))
		return function(p, false);
	if (lex_word(&p->l, ".global"))
		return lex_next(&p->l), p_var_list(p, SIM_SPACE_GLOBAL, is_extern);
	if (lex_word(&p->l, ".const"))
		return lex_next(&p->l), p_var_list(p, SIM_SPACE_CONST, is_extern);
	if (lex_word(&p->l, ".shared"))
		return lex_next(&p->l), p_var_list(p, SIM_SPACE_SHARED, is_extern);
	if (lex_word(&p->l, ".target"))
		return target(p);
	if (lex_word(&p->l, ".version") || lex_word(&p->l, ".address_size")) {
		lex_next(&p->l);
		p_skip_numbers(p);
		return true;
	}
	if (lex_word(&p->l, ".file"))
		return p_file(p), true;
	if (lex_word(&p->l, ".loc"))
		return p_loc(p), true;
	if (lex_word(&p->l, ".alias"))
		return alias(p);
	if (lex_word(&p->l, ".pragma")) {
		p_skip(p);
		return true;
	}
	if (lex_word(&p->l, ".section"))
		return skip_section(p);
	return p_fail(p, "expected a directive, found '%.*s'", (int)(p->l.n < 40 ? p->l.n : 40), p->l.s);
}

bool
parse_module(Ptx *m, const char *text, size_t len)
{
	PtxParser p = { 0 };

	p.m = m;
	m->scope = p_scope(&p, NULL);
	p.sc = m->scope;
	lex_init(&p.l, text, len);
	while (p.l.tok != K_END && m->nerr < MAX_ERRORS) {
		const char *before = p.l.s;
		if (directive(&p))
			continue;
		p_skip(&p);
		if (p.l.s == before || lex_is(&p.l, '}'))
			lex_next(&p.l);
	}
	if (!m->nerr && !m->target[0])
		ptx_error(m, 1, "no .target directive; the text is not PTX");
	return m->nerr == 0;
}
