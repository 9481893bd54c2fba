/* read.c - parses the printer's text into a Kernel (kernel_read) or a unit; grammar: IR.md. Arbitrary input
 * is allowed: errors are reported with their location in the text. */
#include "hexc/ir/pack.h"
#include "hexc/ir/text/read.h"
#include <string.h>

/* Sizes and strides precede the ops that compute them: stored as ids until the body is parsed. */
typedef struct ForwardRef {
	uint32_t size[DIM_MAX], stride[DIM_MAX];
} ForwardRef;

typedef struct Header {
	ForwardRef *late;     /* by parameter */
	ForwardRef *late_map; /* by tensor map */
	int clate, clate_map, cparam, cmap, cassume, cconstants;
	Define *constants;
	bool grid, body;
} Header;

static bool
read_ids(IrReader *r, const char *word, int rank, uint32_t *out)
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
read_kind(IrReader *r, ParamKind *kind)
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
read_pack(IrReader *r, Param *p)
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
read_param(IrReader *r, Header *h)
{
	Kernel *k = r->k;
	Param p;
	ForwardRef late;
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
read_constant(IrReader *r, Header *h)
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
read_assume(IrReader *r, Header *h)
{
	Assume a;

	memset(&a, 0, sizeof a);
	if (!want_val(r, &a.cond) || !want_quoted(r, &a.text) || !read_source(r, &a.src))
		return false;
	VEC_PUSH(r->arena, r->k->assume, r->k->nassume, h->cassume, a);
	return true;
}

static bool
want_small(IrReader *r, int64_t lo, int64_t hi, int *out)
{
	int64_t x;

	if (!want_int(r, lo, hi, &x))
		return false;
	*out = (int)x;
	return true;
}

static bool
want_param(IrReader *r, int *out)
{
	Val *v;

	if (!want_val(r, &v))
		return false;
	for (*out = 0; *out < r->k->nparam; ++*out)
		if (v && r->k->param[*out].val == v)
			return true;
	return read_error(r, "expected a parameter");
}

static bool
want_dtype(IrReader *r, DType *out)
{
	Type t;

	if (!want_type(r, &t))
		return false;
	*out = t.dtype;
	return t.space == S_scalar || read_error(r, "expected an element type");
}

static bool
want_box(IrReader *r, TensorMap *m)
{
	if (!want_word(r, "box"))
		return false;
	do {
		if (m->rank == MAP_RANK_MAX)
			return read_error(r, "more than %d dimensions of a tensor map", MAP_RANK_MAX);
		if (!want_int(r, 1, INT32_MAX, &m->box[m->rank++]))
			return false;
	} while (read_sign(r, ","));
	return !r->bad;
}

static bool
read_tensor_map(IrReader *r, Header *h)
{
	Kernel *k = r->k;
	TensorMap m;
	ForwardRef late;
	int nlate = k->nmap;

	memset(&m, 0, sizeof m);
	memset(&late, 0, sizeof late);
	if (!want_param(r, &m.param) || !want_dtype(r, &m.dtype) || !want_box(r, &m) ||
	    !read_ids(r, "size", m.rank, late.size) || !read_ids(r, "stride", m.rank - 1, late.stride + 1) ||
	    !want_word(r, "swizzle") || !want_small(r, 0, 128, &m.swizzle) || !want_word(r, "l2") ||
	    !want_small(r, 0, 256, &m.l2))
		return false;
	VEC_PUSH(r->arena, h->late_map, nlate, h->clate_map, late);
	VEC_PUSH(r->arena, k->map, k->nmap, h->cmap, m);
	return true;
}

static bool
read_cluster(IrReader *r, int *cluster)
{
	for (int d = 0; d < 3; d++)
		if ((d && !want_sign(r, ",")) || !want_small(r, 0, 1024, &cluster[d]))
			return false;
	return true;
}

static bool
read_group(IrReader *r)
{
	GridOrder *o = &r->k->order;

	if (!want_int(r, 0, INT64_MAX, &o->group) || !want_word(r, "of"))
		return false;
	if (read_word(r, "others"))
		o->fast = GRID_OTHERS;
	else if (!want_small(r, 0, 2, &o->fast))
		return false;
	if (!want_sign(r, ",") || !want_small(r, 0, 2, &o->slow))
		return false;
	if (o->fast == GRID_OTHERS && read_word(r, "descending"))
		o->fast = GRID_OTHERS_DOWN;
	return true;
}

static bool
read_schedule(IrReader *r)
{
	for (int s = 0; s < SCHEDULES; s++)
		if (read_word(r, schedule_name[s])) {
			r->k->schedule = (Schedule)s;
			return true;
		}
	return read_error(r, "expected the name of a schedule");
}

/* Parses one line of the header, the grid or the body. */
static bool
read_item(IrReader *r, Header *h)
{
	if (read_word(r, "warps")) {
		if (!want_small(r, 0, 1024, &r->k->warps))
			return false;
		r->k->open_warps = read_word(r, "open");
		return true;
	}
	if (read_word(r, "masked"))
		return r->k->masked = true;
	if (read_word(r, "teams"))
		return want_small(r, 0, 1024, &r->k->teams);
	if (read_word(r, "producer_warps"))
		return want_small(r, 0, 1024, &r->k->producer_warps);
	if (read_word(r, "schedule"))
		return read_schedule(r);
	if (read_word(r, "registers"))
		return want_small(r, 0, 1024, &r->k->launch_registers);
	if (read_word(r, "cluster"))
		return read_cluster(r, r->k->cluster);
	if (read_word(r, "cluster_asked"))
		return read_cluster(r, r->k->cluster_asked);
	if (read_word(r, "map"))
		return read_tensor_map(r, h);
	if (read_word(r, "group"))
		return read_group(r);
	if (read_word(r, "after"))
		return (r->k->after = want_name(r)) != NULL;
	if (read_word(r, "smem"))
		return want_int(r, 0, INT64_MAX, &r->k->smem);
	if (read_word(r, "team_smem"))
		return want_int(r, 0, INT64_MAX, &r->k->team_smem);
	if (read_word(r, "const"))
		return read_constant(r, h);
	if (read_word(r, "param"))
		return h->grid || h->body ? read_error(r, "a parameter after the grid") : read_param(r, h);
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
	return read_error(r, "expected warps or another line of the header, grid, body or '}'");
}

/* Resolves ids that were read before their ops; NULL for id 0. */
static bool
find_late(IrReader *r, const char *name, const uint32_t *id, int n, Val **out)
{
	for (int d = 0; d < n; d++) {
		out[d] = id[d] < r->nval ? r->val[id[d]] : NULL;
		if (id[d] && !out[d])
			return read_error(r, "a size or stride of %.40s is not defined", name);
	}
	return true;
}

static bool
read_late(IrReader *r, const Header *h)
{
	Kernel *k = r->k;

	for (int i = 0; i < k->nparam; i++) {
		Param *p = &k->param[i];
		if (!find_late(r, p->name, h->late[i].size, DIM_MAX, p->size) ||
		    !find_late(r, p->name, h->late[i].stride, DIM_MAX, p->stride))
			return false;
	}
	for (int i = 0; i < k->nmap; i++) {
		TensorMap *m = &k->map[i];
		const char *name = k->param[m->param].name;
		if (!find_late(r, name, h->late_map[i].size, m->rank, m->size) ||
		    !find_late(r, name, h->late_map[i].stride, m->rank, m->stride))
			return false;
	}
	return true;
}

/* Parses one kernel up to its closing brace. */
static bool
read_kernel(IrReader *r)
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
		return read_error(r, "missing kernel body");
	if (!h.grid)
		r->k->grid = NULL;
	if (!read_late(r, &h))
		return false;
	r->k->nval = 0;
	for (size_t i = 0; i < r->nval; i++)
		if (r->val[i])
			r->k->nval = (uint32_t)i;
	return true;
}

/* Starts a new kernel at the cursor. */
static void
read_start(IrReader *r)
{
	r->k = kernel_new(r->u, NULL);
	r->val = NULL;
	r->nval = 0;
}

Kernel *
kernel_read(Unit *u, const char *text, size_t n)
{
	IrReader r = { .u = u, .arena = u->arena, .s = text, .n = n };

	read_start(&r);
	if (!read_kernel(&r) || (!read_end(&r) && !read_error(&r, "unexpected text after the kernel")))
		return NULL;
	return r.k;
}

/* Is there a kernel of that name before the last one? */
static bool
named_before(const Unit *u, const char *name)
{
	for (int i = 0; i + 1 < u->nkernel; i++)
		if (strcmp(u->kernel[i]->name, name) == 0)
			return true;
	return false;
}

bool
unit_read(Unit *u, const char *text, size_t n)
{
	IrReader r = { .u = u, .arena = u->arena, .s = text, .n = n };
	int cap = 0;

	u->kernel = NULL;
	u->nkernel = 0;
	do {
		read_start(&r);
		if (!read_kernel(&r))
			return false;
		VEC_PUSH(u->arena, u->kernel, u->nkernel, cap, r.k);
		if (named_before(u, r.k->name))
			return read_error(&r, "two kernels named %.80s", r.k->name);
	} while (!read_end(&r));
	return true;
}
