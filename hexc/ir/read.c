/* read.c - kernel_read: the printer's text back to a Kernel.  The grammar is in IR.md.
 * Input may be anything: what does not parse gets a diagnostic with its place in the text. */
#include "hexc/ir/pack.h"
#include "hexc/ir/read.h"
#include <string.h>

/* Sizes and strides come before the ops that compute them: kept as ids until the body is read. */
typedef struct Late {
	uint32_t size[DIM_MAX], stride[DIM_MAX];
} Late;

typedef struct Header {
	Late *late;
	int clate, cparam, cassume, cconstants;
	Define *constants;
	bool grid, body;
} Header;

static bool
read_ids(Read *r, const char *word, int rank, uint32_t *out)
{
	Name n;

	if (rank == 0)
		return true;
	if (!want_word(r, word))
		return false;
	for (int d = 0; d < rank; d++) {
		if (d && !want_sign(r, ","))
			return false;
		if (!read_id(r, &n))
			return read_error(r, "expected a value");
		out[d] = n.id;
	}
	return true;
}

static bool
read_kind(Read *r, ParamKind *kind)
{
	if (read_word(r, "tensor"))
		*kind = P_tensor;
	else if (read_word(r, "size"))
		*kind = P_size;
	else if (read_word(r, "scalar"))
		*kind = P_scalar;
	else
		return read_error(r, "expected tensor, size or scalar");
	return true;
}

/* pack "description" */
static bool
read_pack(Read *r, Param *p)
{
	const char *text, *why;
	Pack *pack;

	if (p->kind != P_tensor || !read_word(r, "pack"))
		return true;
	if (!want_quoted(r, &text))
		return false;
	pack = NEW(r->arena, Pack);
	if (!pack_parse_open(r->arena, text, strlen(text), pack, &why))
		return read_error(r, "the pack of %.40s: %s", p->name, why);
	p->pack = pack;
	return true;
}

static bool
read_param(Read *r, Header *h)
{
	Kernel *k = r->k;
	Param p;
	Late late;
	Type t;
	Name n;
	int nlate;

	memset(&p, 0, sizeof p);
	memset(&late, 0, sizeof late);
	if (!read_id(r, &n) || !read_kind(r, &p.kind) || !(p.name = want_name(r)) || !want_sign(r, ":") ||
	    !want_type(r, &t))
		return read_error(r, "expected a parameter");
	p.read = read_word(r, "read");
	p.written = read_word(r, "written");
	if (p.kind == P_tensor && (!read_ids(r, "size", t.rank, late.size) ||
	                           !read_ids(r, "stride", t.rank, late.stride)))
		return false;
	if (read_word(r, "mult") &&
	    (!want_int(r, INT64_MIN, INT64_MAX, &p.mult) || !want_word(r, "lo") ||
	     !want_int(r, INT64_MIN, INT64_MAX, &p.lo) || !want_word(r, "hi") ||
	     !want_int(r, INT64_MIN, INT64_MAX, &p.hi)))
		return false;
	if (!read_pack(r, &p) || !read_source(r, &p.src))
		return false;
	p.val = block_arg(k->body, t);
	if (!read_define(r, n, p.val))
		return false;
	nlate = k->nparam;
	VEC_PUSH(r->arena, h->late, nlate, h->clate, late);
	VEC_PUSH(r->arena, k->param, k->nparam, h->cparam, p);
	return true;
}

static bool
read_constant(Read *r, Header *h)
{
	Define d;

	d.name = want_name(r);
	if (!d.name || !want_sign(r, "=") || !want_value(r, &d.value))
		return false;
	VEC_PUSH(r->arena, h->constants, r->k->nconstants, h->cconstants, d);
	r->k->constants = h->constants;
	return true;
}

static bool
read_assume(Read *r, Header *h)
{
	Assume a;

	memset(&a, 0, sizeof a);
	if (!want_val(r, &a.cond) || !want_quoted(r, &a.text) || !read_source(r, &a.src))
		return false;
	VEC_PUSH(r->arena, r->k->assume, r->k->nassume, h->cassume, a);
	return true;
}

static bool
read_group(Read *r)
{
	GridOrder *o = &r->k->order;
	int64_t fast, slow;

	if (!want_int(r, 0, INT64_MAX, &o->group) || !want_word(r, "of") || !want_int(r, 0, 2, &fast) ||
	    !want_sign(r, ",") || !want_int(r, 0, 2, &slow))
		return false;
	o->fast = (int)fast;
	o->slow = (int)slow;
	return true;
}

/* One line of the header, the grid or the body. */
static bool
read_item(Read *r, Header *h)
{
	int64_t x;

	if (read_word(r, "warps")) {
		if (!want_int(r, 0, 1024, &x))
			return false;
		r->k->warps = (int)x;
		r->k->open_warps = read_word(r, "open");
		return true;
	}
	if (read_word(r, "group"))
		return read_group(r);
	if (read_word(r, "registers")) {
		if (!want_int(r, 1, LANE_REGISTERS, &x))
			return false;
		r->k->registers = (int)x;
		return true;
	}
	if (read_word(r, "smem"))
		return want_int(r, 0, INT64_MAX, &r->k->smem);
	if (read_word(r, "const"))
		return read_constant(r, h);
	if (read_word(r, "param"))
		return h->grid || h->body ? read_error(r, "a parameter behind the grid") : read_param(r, h);
	if (read_word(r, "assume"))
		return read_assume(r, h);
	if (!h->grid && !h->body && read_word(r, "grid")) {
		h->grid = true;
		return want_sign(r, "{") && read_block(r, r->k->grid);
	}
	if (!h->body && read_word(r, "body")) {
		h->body = true;
		return want_sign(r, "{") && read_block(r, r->k->body);
	}
	return read_error(r, "expected warps, group, registers, smem, const, param, grid, assume, body "
	                     "or '}'");
}

static bool
read_late(Read *r, const Header *h)
{
	for (int i = 0; i < r->k->nparam; i++) {
		Param *p = &r->k->param[i];
		for (int d = 0; d < DIM_MAX; d++) {
			uint32_t size = h->late[i].size[d], stride = h->late[i].stride[d];
			p->size[d] = size < r->nval ? r->val[size] : NULL;
			p->stride[d] = stride < r->nval ? r->val[stride] : NULL;
			if ((size && !p->size[d]) || (stride && !p->stride[d]))
				return read_error(r, "a size or stride of %.40s is not defined", p->name);
		}
	}
	return true;
}

static bool
read_kernel(Read *r)
{
	Header h;

	memset(&h, 0, sizeof h);
	if (!want_word(r, "kernel") || !(r->k->name = want_name(r)) || !read_source(r, &r->k->src) ||
	    !want_sign(r, "{"))
		return false;
	while (!read_sign(r, "}"))
		if (!read_item(r, &h))
			return false;
	if (!h.body)
		return read_error(r, "a kernel without a body");
	if (!h.grid)
		r->k->grid = NULL;
	return read_late(r, &h) && (read_end(r) || read_error(r, "something behind the kernel"));
}

Kernel *
kernel_read(Unit *u, const char *text, size_t n)
{
	Read r;

	memset(&r, 0, sizeof r);
	r.u = u;
	r.arena = u->arena;
	r.s = text;
	r.n = n;
	r.k = kernel_new(u, NULL);
	if (!read_kernel(&r))
		return NULL;
	r.k->nval = 0;
	for (size_t i = 0; i < r.nval; i++)
		if (r.val[i])
			r.k->nval = (uint32_t)i;
	return r.k;
}
