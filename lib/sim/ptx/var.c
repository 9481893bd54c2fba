/* var.c - parses constant expressions and variable declarations with initialisers. */
#include <string.h>
#include "lib/sim/ptx/parse.h"

static bool expr(PtxParser *p, int level, int deep, Opnd *out);

static bool
primary(PtxParser *p, int deep, Opnd *o)
{
	Lex *l = &p->l;

	memset(o, 0, sizeof *o);
	o->kind = O_IMM;
	if (deep > 40)
		return p_fail(p, "expression is nested too deeply");
	if (p_take(p, '-')) {
		if (!primary(p, deep + 1, o))
			return false;
		if (o->flt)
			o->imm ^= o->flt == 1 ? 1ull << 31 : 1ull << 63;
		else
			o->imm = 0 - o->imm;
		return true;
	}
	if (p_take(p, '+'))
		return primary(p, deep + 1, o);
	if (p_take(p, '~') || p_take(p, '!')) {
		if (!primary(p, deep + 1, o))
			return false;
		o->imm = ~o->imm;
		return true;
	}
	if (p_take(p, '('))
		return expr(p, 0, deep + 1, o) && p_want(p, ')');
	if (lex_word(l, "WARP_SZ")) {
		o->imm = WARP;
	} else if (l->tok == K_INT || l->tok == K_F32 || l->tok == K_F64) {
		o->imm = l->num;
		o->flt = l->tok == K_F32 ? 1 : l->tok == K_F64 ? 2 : 0;
	} else {
		return p_fail(p, "expected a number, found '%.*s'", (int)(l->n < 40 ? l->n : 40), l->s);
	}
	lex_next(l);
	return true;
}

static int
binary(const Lex *l)
{
	if (l->tok != K_PUNCT)
		return 0;
	switch (l->c) {
	case '|': return 1;
	case '^': return 2;
	case '&': return 3;
	case '<': case '>': return l->p < l->end && *l->p == l->c ? 4 : 0;
	case '+': case '-': return 5;
	case '*': case '/': case '%': return 6;
	default: return 0;
	}
}

static bool
expr(PtxParser *p, int level, int deep, Opnd *o)
{
	Opnd r;
	int pri;

	if (!primary(p, deep, o))
		return false;
	while (!o->flt && (pri = binary(&p->l)) > level) {
		char c = p->l.c;
		lex_next(&p->l);
		if (pri == 4)
			lex_next(&p->l);
		if (!expr(p, pri, deep + 1, &r))
			return false;
		switch (c) {
		case '|': o->imm |= r.imm; break;
		case '^': o->imm ^= r.imm; break;
		case '&': o->imm &= r.imm; break;
		case '<': o->imm = r.imm > 63 ? 0 : o->imm << r.imm; break;
		case '>': o->imm = r.imm > 63 ? 0 : o->imm >> r.imm; break;
		case '+': o->imm += r.imm; break;
		case '-': o->imm -= r.imm; break;
		case '*': o->imm *= r.imm; break;
		default:
			if (!r.imm)
				return p_fail(p, "division by zero in a constant");
			o->imm = c == '/' ? o->imm / r.imm : o->imm % r.imm;
		}
	}
	return true;
}

bool
p_const(PtxParser *p, Opnd *out)
{
	return expr(p, 0, 0, out);
}

static void
put(u8 *at, u32 bytes, u64 v)
{
	for (u32 i = 0; i < bytes && i < 8; i++)
		at[i] = (u8)(v >> 8 * i);
}

/* One scalar of an initialiser at byte `at`. */
static bool
init_item(PtxParser *p, Var *v, u64 at, u32 bytes)
{
	Opnd o;
	Fix *fx;
	bool generic;

	if (at + bytes > v->bytes)
		return p_fail(p, "too many values for %.80s", v->name);
	if (p->l.tok != K_ID || lex_word(&p->l, "WARP_SZ")) {
		if (!p_const(p, &o))
			return false;
		if (o.flt == 2 && bytes == 4) {         /* a decimal fraction for an f32 */
			double d;
			float f;
			memcpy(&d, &o.imm, 8);
			f = (float)d;
			o.imm = 0;
			memcpy(&o.imm, &f, 4);
		}
		put(v->init + at, bytes, o.imm);
		return true;
	}
	generic = lex_word(&p->l, "generic");
	if (lex_word(&p->l, "mask"))
		return p_fail(p, "mask() initializers are not supported");
	if (generic) {
		lex_next(&p->l);
		if (!p_want(p, '('))
			return false;
	}
	fx = NEW(&p->m->arena, Fix);
	fx->line = p->l.tline;
	fx->name = p_name(p);
	if (!fx->name || (generic && !p_want(p, ')')))
		return false;
	if (lex_is(&p->l, '+') || lex_is(&p->l, '-')) {
		if (!p_const(p, &o))
			return false;
		fx->add = (s64)o.imm;
	}
	fx->at = at;
	fx->bytes = bytes;
	fx->generic = generic;
	fx->next = v->fix;
	v->fix = fx;
	return true;
}

static bool
init_list(PtxParser *p, Var *v, u64 *at, u32 bytes, int deep)
{
	if (deep > 8)
		return p_fail(p, "initializer is nested too deeply");
	while (!lex_is(&p->l, '}')) {
		if (p_take(p, '{')) {
			if (!init_list(p, v, at, bytes, deep + 1))
				return false;
		} else {
			if (!init_item(p, v, *at, bytes))
				return false;
			*at += bytes;
		}
		if (!p_take(p, ','))
			break;
	}
	return p_want(p, '}');
}

/* Array bounds; the first may be empty and is then found from the initialiser. */
static bool
bounds(PtxParser *p, Var *v, u64 *count, bool *open)
{
	Opnd o;

	while (p_take(p, '[')) {
		v->is_array = true;
		if (p_take(p, ']')) {
			*open = true;
			continue;
		}
		if (!p_const(p, &o) || !p_want(p, ']'))
			return false;
		if (o.flt || o.imm > 1u << 30 || *count * o.imm > 1ull << 30)
			return p_fail(p, "array of %.80s is too large", v->name);
		*count *= o.imm;
	}
	return true;
}

/* Number of scalars in the initialiser that starts at the current token. */
static u64
count_init(PtxParser *p)
{
	Lex save = p->l;
	u64 n = 0;
	int deep = 0;

	do {
		if (lex_is(&p->l, '{'))
			deep++;
		else if (lex_is(&p->l, '}'))
			deep--;
		else if (lex_is(&p->l, ',') || n == 0)
			n++;
		lex_next(&p->l);
	} while (deep > 0 && p->l.tok != K_END);
	p->l = save;
	return n;
}

static bool
declarator(PtxParser *p, Var *v, u32 vec)
{
	u64 count = vec, at = 0;
	u32 bytes = type_bits(v->type) / 8;
	bool open = false;

	v->line = p->l.tline;
	v->name = p_name(p);
	if (!v->name || !bounds(p, v, &count, &open))
		return false;
	if (lex_is(&p->l, '=') && v->space != SIM_SPACE_PARAM) {
		lex_next(&p->l);
		if (open)
			count *= count_init(p);
		v->has_init = true;
		v->bytes = count * bytes;
		if (v->bytes > 1u << 28)
			return p_fail(p, "initializer of %.80s is too large", v->name);
		v->init = arena_alloc(&p->m->arena, v->bytes + 1);
		if (p_take(p, '{'))
			return init_list(p, v, &at, bytes, 0);
		return init_item(p, v, 0, bytes);
	}
	v->bytes = open ? 0 : count * bytes;
	return true;
}

static bool
attributes(PtxParser *p, Var *v, u32 *vec)
{
	*vec = 1;
	v->align = 0;
	while (p->l.tok == K_ID && *p->l.s == '.') {
		if (lex_word(&p->l, ".align")) {
			lex_next(&p->l);
			if (!p_uint(p, &v->align))
				return false;
			if (!v->align || v->align > 4096 || (v->align & (v->align - 1)))
				return p_fail(p, "alignment must be a power of two up to 4096");
			continue;
		}
		if (lex_word(&p->l, ".attribute"))
			return p_fail(p, ".attribute is not supported");
		if (lex_word(&p->l, ".ptr"))
			v->is_ptr = true;
		else if (lex_word(&p->l, ".v2"))
			*vec = 2;
		else if (lex_word(&p->l, ".v4"))
			*vec = 4;
		else if (lex_word(&p->l, ".v8"))
			*vec = 8;
		else if (v->is_ptr && (lex_word(&p->l, ".global") || lex_word(&p->l, ".const") ||
		                       lex_word(&p->l, ".shared") || lex_word(&p->l, ".local")))
			;
		else if (lex_word(&p->l, ".texref") || lex_word(&p->l, ".samplerref") ||
		         lex_word(&p->l, ".surfref"))
			return p_fail(p, "textures and surfaces are not supported");
		else if (!type_find(p->l.s + 1, p->l.n - 1, &v->type))
			return p_fail(p, "unknown type %.*s", (int)(p->l.n < 40 ? p->l.n : 40), p->l.s);
		lex_next(&p->l);
	}
	return true;
}

/* The alignment of a parameter's pointer target is not the parameter's own. */
static void
settle_align(Var *v, u32 vec)
{
	u32 natural = type_bits(v->type) / 8 * vec;

	if (v->is_ptr || !v->align)
		v->align = natural;
}

static Var *
finish_var(PtxParser *p, Var *v, u32 vec)
{
	if (v->type == T_none || type_bits(v->type) < 8) {
		p_fail(p, "variable has no memory type");
		return NULL;
	}
	settle_align(v, vec);
	if (!declarator(p, v, vec))
		return NULL;
	if (!v->bytes && !v->is_extern && v->space != SIM_SPACE_PARAM) {
		p_fail(p, "%.80s has no size", v->name);
		return NULL;
	}
	if (!p_define(p, v->name, SYM_VAR, v))
		return NULL;
	return v;
}

Var *
p_var(PtxParser *p, sim_space space, bool is_extern)
{
	Var *v = NEW(&p->m->arena, Var);
	u32 vec;

	v->space = space;
	v->is_extern = is_extern;
	if (!attributes(p, v, &vec))
		return NULL;
	return finish_var(p, v, vec);
}

bool
p_var_list(PtxParser *p, sim_space space, bool is_extern)
{
	Var head = { 0 }, *v;
	u32 vec;

	head.space = space;
	head.is_extern = is_extern;
	if (!attributes(p, &head, &vec))
		return false;
	do {
		v = NEW(&p->m->arena, Var);
		*v = head;
		if (!finish_var(p, v, vec))
			return false;
		VEC_PUSH(&p->m->arena, p->m->var, p->m->nvar, p->m->cvar, v);
		v->user = p->f;
	} while (p_take(p, ','));
	return p_want(p, ';');
}
