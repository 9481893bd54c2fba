/* linear.c - implements hexc_linear: plans the operator for a weight and uploads its planes to device
 * memory. */
#include "lib/gpu/gpu.h"
#include "lib/ops/linear.h"
#include <string.h>

struct hexc_linear {
	Arena arena;
	void *(*realloc)(void *user, void *p, size_t n);
	void *user;
	GpuChild of;
	hexc_op *own;      /* NULL: another weight owns `op` */
	const hexc_op *op;
	const char *key;   /* everything that op was planned with */
	struct {
		const char *name;
		void *ptr;
		uint64_t bytes;
	} tensor[LINEAR_TENSORS];
	int ntensor;
	int64_t n, k;
	double factor;
	uint64_t bytes;
};

/* State of hexc_linear_new. */
typedef struct LinearBuild {
	hexc_linear *l;
	LinearPlan plan;       /* temporary data */
	Arena arena, *scratch;
	const hexc_linear *like;
	const hexc_op_set *set;
	size_t nset;
	hexc_op_opts o;
	const hexc_workers *workers;
} LinearBuild;

static bool
fail(LinearBuild *j, int code, const char *text)
{
	j->plan.code = why_error(code, j->plan.why, j->plan.n, "weight %s: %s",
	                         j->plan.w.name ? j->plan.w.name : "without a name", text);
	return false;
}

/* ---- the operator ---------------------------------------------------------------------------------- */

/* Returns the properties that weights must share to share kernels. */
static const char *
key_of(const LinearBuild *j)
{
	Text t = { .arena = &j->l->arena };

	text_printf(&t, "%s %s %u", j->plan.op, j->o.arch, j->o.flags);
	for (size_t i = 0; i < j->plan.nset; i++)
		text_printf(&t, "\n%s = %s", j->plan.set[i].name, j->plan.set[i].value);
	if (j->o.families)
		text_printf(&t, "\n%s", j->o.families);
	return t.s;
}

static bool
take_operator(LinearBuild *j)
{
	hexc_linear *l = j->l;

	l->key = key_of(j);
	if (j->like && strcmp(j->like->key, l->key) == 0) {
		l->op = j->like->op;
		return true;
	}
	j->plan.code = hexc_op_plan(&l->own, j->plan.op, j->plan.set, j->plan.nset, &j->o, j->plan.why,
	                            j->plan.n);
	l->op = l->own;
	return !j->plan.code;
}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Returns the pack that the operator's kernels require for the argument; NULL: unpacked. */
static const char *
pack_of(const hexc_op *op, const char *name)
{
	const hexc_module *m;
	size_t k;
	int at;

	if (hexc_family_stage(hexc_op_family(op), 0, 0, NULL, &m, &k))
		return NULL;
	at = hexc_param_find(m, k, name);
	return at < 0 ? NULL : hexc_module_pack(m, k, (size_t)at);
}

static bool
upload(LinearBuild *j, const char *name, const void *data, uint64_t bytes)
{
	hexc_linear *l = j->l;
	void *ptr;
	int code = hexc_gpu_alloc(l->of.g, bytes, &ptr);

	if (!code) {
		l->tensor[l->ntensor].name = arena_strndup(&l->arena, name, strlen(name));
		l->tensor[l->ntensor].ptr = ptr;
		l->tensor[l->ntensor++].bytes = bytes;
		l->bytes += bytes;
		code = hexc_gpu_write(l->of.g, ptr, data, bytes);
	}
	return code ? fail(j, code, hexc_gpu_why(l->of.g)) : true;
}

static bool
give_tensor(LinearBuild *j, const LinearTensor *t)
{
	const char *pack = pack_of(j->l->op, t->name);
	int64_t dim[2] = { t->plane.rows, t->plane.cols };
	uint64_t bytes;
	void *to;

	if (!pack)
		return upload(j, t->name, t->plane.data, t->plane.bytes);
	j->plan.code = hexc_pack_bytes(pack, 2, dim, &bytes, j->plan.why, j->plan.n);
	if (j->plan.code)
		return false;
	to = arena_alloc(j->scratch, bytes + 4);
	memset(to, 0, bytes);
	j->plan.code = hexc_pack(pack, 2, dim, t->plane.data, to, j->workers, j->plan.why, j->plan.n);
	return !j->plan.code && upload(j, t->name, to, bytes);
}

/* Runs under arena_protect. */
static void
make(void *user)
{
	LinearBuild *j = user;
	LinearPlan *p = &j->plan;

	p->arena = j->scratch;
	for (size_t i = 0; i < j->nset; i++)
		p->set[i] = j->set[i];
	p->nset = p->nhost = j->nset;
	if (!linear_scheme(p) || !take_operator(j))
		return;
	for (int i = 0; i < p->ntensor; i++)
		if (!give_tensor(j, &p->tensor[i]))
			return;
	j->l->n = p->w.n;
	j->l->k = p->w.k;
	j->l->factor = p->factor;
}

/* ---- hexc_ops.h ------------------------------------------------------------------------------------- */

static bool
good_arguments(LinearBuild *j, const hexc_gpu *g, const hexc_weight *w, const hexc_op_opts *opts)
{
	if (!g || !w || (j->nset && !j->set) || (j->like && j->like->of.g != g) ||
	    (!j->plan.why && j->plan.n) ||
	    j->nset > LINEAR_SETS - 20 || !take_in(&j->plan.w, sizeof j->plan.w, w) ||
	    (opts && !take_in(&j->o, sizeof j->o, opts)))
		return false;
	for (size_t i = 0; i < j->nset; i++)
		if (!j->set[i].name || !j->set[i].value)
			return false;
	return true;
}

static bool
take_arch(LinearBuild *j, const hexc_gpu *g)
{
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;

	hexc_gpu_describe(g, &info);
	if (!j->o.arch)
		j->o.arch = info.arch;
	return j->o.arch ? true : fail(j, HEXC_E_ARCH, "the device supports no architecture that hexc "
	                                               "compiles for");
}

int
hexc_linear_new(hexc_linear **out, hexc_gpu *g, const hexc_weight *w, const hexc_linear *like,
                const hexc_op_set *set, size_t nset, const hexc_op_opts *opts, const hexc_workers *workers,
                char *why, size_t n)
{
	LinearBuild j = { .like = like, .set = set, .nset = nset, .o = HEXC_OP_OPTS_INIT,
			  .workers = workers };
	void *(*take)(void *, void *, size_t);
	HostWorkers threads;
	Arena *both[2];

	if (why && n)
		*why = 0;
	if (out)
		*out = NULL;
	j.plan.w = (hexc_weight)HEXC_WEIGHT_INIT;
	j.plan.why = why;
	j.plan.n = n;
	if (!out || !good_arguments(&j, g, w, opts) || !workers_of(&threads, workers))
		return HEXC_E_INVALID;
	if (!take_arch(&j, g))
		return j.plan.code;
	take = j.o.realloc ? j.o.realloc : libc_realloc;
	j.l = take(j.o.user, NULL, sizeof *j.l);
	if (!j.l)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	memset(j.l, 0, sizeof *j.l);
	j.l->realloc = take;
	j.l->user = j.o.user;
	gpu_child_join(&j.l->of, g);
	j.plan.workers = &threads.workers;
	j.scratch = &j.arena;
	arena_init(&j.l->arena, j.o.realloc, j.o.user);
	arena_init(&j.arena, j.o.realloc, j.o.user);
	both[0] = &j.l->arena;
	both[1] = &j.arena;
	int code = arena_protect(both, 2, make, &j);

	if (code)
		j.plan.code = why_error(code, why, n, "weight: %s", hexc_strerror(code));
	arena_free(&j.arena);
	if (j.plan.code)
		hexc_linear_free(j.l);
	else
		*out = j.l;
	return j.plan.code;
}

void
hexc_linear_free(hexc_linear *l)
{
	if (!l)
		return;
	for (int i = 0; i < l->ntensor && l->of.g; i++) /* otherwise closing the GPU freed them */
		hexc_gpu_free(l->of.g, l->tensor[i].ptr);
	gpu_child_leave(&l->of);
	hexc_op_free(l->own);
	arena_free(&l->arena);
	l->realloc(l->user, l, 0);
}

int
hexc_linear_bind(const hexc_linear *l, hexc_family_call *c)
{
	const struct {
		const char *name;
		int64_t x;
	} size[] = { { "N", l ? l->n : 0 }, { "K", l ? l->k : 0 } };
	int at, code = HEXC_OK;

	if (!l || !c || !l->of.g)
		return HEXC_E_INVALID;
	for (int i = 0; i < l->ntensor && !code; i++) {
		at = hexc_family_call_find(c, l->tensor[i].name);
		code = HEXC_E_INVALID;
		if (at >= 0)
			code = hexc_family_call_ptr(c, at, l->tensor[i].ptr, l->tensor[i].bytes);
	}
	for (size_t i = 0; i < COUNT_OF(size) && !code; i++) {
		at = hexc_family_call_find(c, size[i].name);
		if (at >= 0)
			code = hexc_family_call_int(c, at, size[i].x);
	}
	at = hexc_family_call_find(c, "factor");
	if (at >= 0 && !code)
		code = hexc_family_call_float(c, at, l->factor);
	return code;
}

int
hexc_linear_call(const hexc_linear *l, hexc_family_call **out)
{
	int code;

	if (out)
		*out = NULL;
	if (!l || !out || !l->of.g)
		return HEXC_E_INVALID;
	code = hexc_family_call_new(out, l->of.g, hexc_op_family(l->op));
	if (!code)
		code = hexc_linear_bind(l, *out);
	if (code) {
		hexc_family_call_free(*out);
		*out = NULL;
	}
	return code;
}

const hexc_op *
hexc_linear_op(const hexc_linear *l)
{
	return l ? l->op : NULL;
}

uint64_t
hexc_linear_bytes(const hexc_linear *l)
{
	return l ? l->bytes : 0;
}
