/* read_op.c - parses ops and blocks of the IR's textual form. */
#include "hexc/ir/text/read.h"
#include <string.h>

/* The parts of an op before its regions. */
typedef struct ParsedOp {
	OpCode code;
	Name *out;
	Val **in;
	Type *type;
	int nout, cout, nin, cin, ntype, ctype;
	int64_t imm[DIM_MAX];
	double fimm;
	const char *text;
	Lowering *lowering;
	Src src;
} ParsedOp;

static bool
read_results(IrReader *r, ParsedOp *l)
{
	Name n;

	if (!read_id(r, &n))
		return !r->bad;
	VEC_PUSH(r->arena, l->out, l->nout, l->cout, n);
	while (read_sign(r, ",")) {
		if (!read_id(r, &n))
			return read_error(r, "expected a value");
		VEC_PUSH(r->arena, l->out, l->nout, l->cout, n);
	}
	return want_sign(r, "=");
}

static bool
want_op_code(IrReader *r, OpCode *code)
{
	size_t at;
	const char *name;

	read_end(r);
	at = r->at;
	name = want_name(r);
	if (!name)
		return false;
	*code = op_find(name, strlen(name));
	if (*code != O_none)
		return true;
	r->at = at;
	return read_error(r, "unknown op '%.40s'", name);
}

/* Is there a value on the same line? One on the next line would be a result. */
static bool
at_value(const IrReader *r)
{
	size_t at = r->at;

	while (at < r->n && (r->s[at] == ' ' || r->s[at] == '\t'))
		at++;
	return at < r->n && r->s[at] == '%';
}

static bool
read_operands(IrReader *r, ParsedOp *l)
{
	Val *v;

	if (!at_value(r))
		return true;
	do {
		if (!want_val(r, &v))
			return false;
		VEC_PUSH(r->arena, l->in, l->nin, l->cin, v);
	} while (read_sign(r, ","));
	return !r->bad;
}

/* Parses at most `most` numbers, separated by commas. */
static bool
want_ints(IrReader *r, int most, int64_t *out)
{
	int n = 0;

	do {
		if (n == most)
			return read_error(r, "more than %d numbers", most);
		if (!want_int(r, INT64_MIN, INT64_MAX, &out[n++]))
			return false;
	} while (read_sign(r, ","));
	return !r->bad;
}

/* Is the number at the cursor written as a float? */
static bool
at_float(const IrReader *r)
{
	size_t at = r->at;

	while (at < r->n && strchr("-.0123456789abcdefinpx+", r->s[at]))
		if (strchr(".pn", r->s[at++]))
			return true;
	return false;
}

/* Parses named immediates, in any order. */
static bool
read_named_imm(IrReader *r, ParsedOp *l)
{
	Imm name;

	while ((name = read_imm_name(r, l->code)) < IMM_COUNT) {
		int slot = imm_slot(name);

		read_end(r);
		if (imm_may_be_float(name) && at_float(r)) {
			if (!want_float(r, &l->fimm))
				return false;
			continue;
		}
		if (!want_ints(r, imm_is_list(name) ? DIM_MAX - slot : 1, l->imm + slot))
			return false;
	}
	return !r->bad;
}

static bool
read_imm(IrReader *r, ParsedOp *l)
{
	if (!read_named_imm(r, l) || (read_word(r, "imm") && !want_ints(r, DIM_MAX, l->imm)) ||
	    (read_word(r, "fimm") && !want_float(r, &l->fimm)))
		return false;
	if (!read_end(r) && r->s[r->at] == '"')
		return want_quoted(r, &l->text);
	return !r->bad;
}

static bool
read_types(IrReader *r, ParsedOp *l)
{
	Type t;

	if (read_sign(r, ":")) {
		do {
			if (!want_type(r, &t))
				return false;
			VEC_PUSH(r->arena, l->type, l->ntype, l->ctype, t);
		} while (read_sign(r, ","));
	}
	return l->ntype == l->nout || read_error(r, "%d results but %d types", l->nout, l->ntype);
}

/* Parses the word and the layout after it, if present. Returns false after an error. */
static bool
read_map(IrReader *r, const char *word, const Layout **out)
{
	return !read_word(r, word) || want_layout(r, out);
}

static bool
read_inst(IrReader *r, const char **out)
{
	return !read_word(r, "inst") || (*out = want_name(r)) != NULL;
}

/* Parses the word and the number after it, if present. Returns false after an error. */
static bool
read_number(IrReader *r, const char *word, int64_t least, int *out)
{
	int64_t x;

	if (!read_word(r, word))
		return !r->bad;
	if (!want_int(r, least, INT32_MAX, &x))
		return false;
	*out = (int)x;
	return true;
}

static bool
read_access(IrReader *r, LoweredAccess *a)
{
	int64_t vec = 1;

	if (!read_inst(r, &a->inst) || (read_word(r, "vec") && !want_int(r, 1, INT32_MAX, &vec)))
		return false;
	a->vec = (int)vec;
	return read_map(r, "map", &a->map) && read_number(r, "tensor_map", 1, &a->tensor_map);
}

static bool
want_side(IrReader *r, const char *word, LoweredAccess *a)
{
	return (read_word(r, word) || read_error(r, "expected `%s`", word)) && want_sign(r, "{") &&
	       read_access(r, a) && want_sign(r, "}");
}

static bool
read_staging(IrReader *r, Staging *s)
{
	return want_side(r, "write", &s->write) && want_side(r, "read", &s->read) &&
	       read_map(r, "tile", &s->tile) &&
	       (!read_word(r, "bytes") || want_int(r, INT64_MIN, INT64_MAX, &s->bytes)) &&
	       (!read_word(r, "off") || want_int(r, INT64_MIN, INT64_MAX, &s->off));
}

static bool
read_part(IrReader *r, Lowering *p)
{
	int64_t from, to;

	if (!read_word(r, "part"))
		return !r->bad;
	if (!want_int(r, 0, INT32_MAX, &from) || !want_sign(r, ",") || !want_int(r, from + 1, INT32_MAX, &to))
		return false;
	p->dot.from = (int)from;
	p->dot.to = (int)to;
	return read_number(r, "sets", 1, &p->dot.sets);
}

static bool
read_matrix(IrReader *r, const char *word, LoweredMatrix *m)
{
	if (!read_word(r, word))
		return !r->bad;
	if (!want_sign(r, "{"))
		return false;
	m->mn = read_word(r, "mn");
	if (!m->mn && !read_word(r, "k"))
		return read_error(r, "expected `k` or `mn`");
	return read_number(r, "width", 16, &m->width) && read_number(r, "lead", 0, &m->lead) &&
	       read_number(r, "stride", 0, &m->stride) && want_sign(r, "}");
}

static bool
read_lowered_dot(IrReader *r, Lowering *p)
{
	if (!read_inst(r, &p->dot.inst) || !read_number(r, "n", 1, &p->dot.n))
		return false;
	p->dot.swap = read_word(r, "swap");
	return read_map(r, "rows", &p->dot.rows) && read_map(r, "cols", &p->dot.cols) &&
	       read_map(r, "k", &p->dot.k) && read_part(r, p) && read_matrix(r, "a", &p->dot.matrix[0]) &&
	       read_matrix(r, "b", &p->dot.matrix[1]);
}

static bool
want_kind(IrReader *r, LoweringKind *out)
{
	for (*out = LW_none + 1; *out < LW_COUNT; ++*out)
		if (read_word(r, lowering_kind_name[*out]))
			return true;
	return read_error(r, "expected a kind of lowering");
}

static bool
read_lowering(IrReader *r, Lowering **out)
{
	Lowering *p;

	if (!read_word(r, "lowering"))
		return !r->bad;
	p = *out = NEW(r->arena, Lowering);
	if (!want_sign(r, "{") || !want_kind(r, &p->kind))
		return false;
	if ((p->kind == LW_access && !read_access(r, &p->access)) ||
	    (p->kind == LW_dot && !read_lowered_dot(r, p)) ||
	    (lowering_is_staged(p) && !read_staging(r, &p->staged)) ||
	    (read_word(r, "cost") && !want_float(r, &p->cost)))
		return false;
	return want_sign(r, "}") && !r->bad;
}

/* "{ (%1 : i64, ..) ops }" */
static bool
read_region(IrReader *r, Op *o, int which)
{
	Block *b = block_new(r->k, o);
	Type t;
	Name n;

	o->blk[which] = b;
	if (!want_sign(r, "{"))
		return false;
	if (read_sign(r, "(")) {
		do {
			if (!read_id(r, &n) || !want_sign(r, ":") || !want_type(r, &t))
				return read_error(r, "expected an argument");
			if (!read_define(r, n, block_arg(b, t)))
				return false;
		} while (read_sign(r, ","));
		if (!want_sign(r, ")"))
			return false;
	}
	return read_block(r, b);
}

static bool
read_op(IrReader *r, Block *b)
{
	ParsedOp l;
	Op *o;

	memset(&l, 0, sizeof l);
	if (!read_results(r, &l) || !want_op_code(r, &l.code) || !read_operands(r, &l) || !read_imm(r, &l) ||
	    !read_types(r, &l) || !read_lowering(r, &l.lowering) || !read_source(r, &l.src))
		return false;
	o = op_new(b, NULL, l.code, l.src, l.nin, l.in, l.nout, l.type);
	memcpy(o->imm, l.imm, sizeof o->imm);
	o->fimm = l.fimm;
	o->text = l.text;
	o->lowering = l.lowering;
	if (!read_end(r) && r->s[r->at] == '{') {
		if (!read_region(r, o, 0))
			return false;
		if (read_word(r, "else") && !read_region(r, o, 1))
			return false;
	}
	/* results are not visible inside the regions */
	for (int i = 0; i < l.nout; i++)
		if (!read_define(r, l.out[i], o->out[i]))
			return false;
	return !r->bad;
}

bool
read_block(IrReader *r, Block *b)
{
	if (r->depth == READ_DEPTH)
		return read_error(r, "more than %d nested regions", READ_DEPTH);
	r->depth++;
	while (!read_sign(r, "}")) {
		if (r->bad || read_end(r))
			return read_error(r, "unclosed block");
		if (!read_op(r, b))
			return false;
	}
	r->depth--;
	return true;
}
