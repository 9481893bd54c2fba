/* launch_args.c - checks launch arguments against a kernel and computes the grid, tensor maps and
 * parameters. */
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/pack.h"
#include "lib/rt/rt.h"
#include <stdio.h>
#include <string.h>

/* Buffer for one sentence. launch_error returns E_ARGS. */
typedef struct Sentence {
	char *s;
	size_t n;
} Sentence;

static int launch_error(const Sentence *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int
launch_error(const Sentence *w, const char *fmt, ...)
{
	va_list ap;

	if (w->s && w->n) {
		va_start(ap, fmt);
		vsnprintf(w->s, w->n, fmt, ap);
		va_end(ap);
	}
	return HEXC_E_ARGS;
}

/* Evaluates all launch-time expressions of k for these arguments. */
static int
launch_eval(const ModKernel *k, const hexc_arg *arg, ExprValues *v)
{
	int64_t small[HEXC_MAX_PARAMS];

	if (k->nparam > HEXC_MAX_PARAMS) /* module_declare rejects such kernels */
		return HEXC_E_INVALID;
	for (int i = 0; i < k->nparam; i++) {
		bool number = k->param[i].kind != HEXC_POINTER && !dtype_is_float(k->param[i].dtype);
		small[i] = number ? num_wrap(k->param[i].dtype, arg[i].i) : 0;
	}
	expr_eval(&k->expr, small, v);
	return HEXC_OK;
}

/* Returns the kernel; NULL if there is none, or if its arguments are of another version of hexc.h. */
static const ModKernel *
kernel_of(const hexc_module *m, size_t k, const hexc_arg *arg)
{
	if (!m || k >= (size_t)m->nkernel || (!arg && m->kernel[k].nparam))
		return NULL;
	for (int i = 0; i < m->kernel[k].nparam; i++)
		for (size_t r = 0; r < COUNT_OF(arg->reserved); r++)
			if (arg[i].reserved[r])
				return NULL;
	return &m->kernel[k];
}

/* ---- grid ------------------------------------------------------------------------------------------ */

static int
grid_of(const ModKernel *k, const ExprValues *v, uint32_t out[3], const Sentence *why)
{
	/* CUDA C Programming Guide, "Technical Specifications per Compute Capability" */
	static const int64_t most[3] = { INT32_MAX, 65535, 65535 };
	int64_t all = 1;

	for (int d = 0; d < 3; d++) {
		int64_t n = v->value[k->grid[d]];
		if (v->bad[k->grid[d]])
			return launch_error(
				why,
				"the grid %s cannot be computed for these sizes: overflow or division by 0",
				k->grid_text[d]);
		if (n > 0 && n <= most[d]) /* entire clusters */
			n = (n + k->cluster[d] - 1) / k->cluster[d] * k->cluster[d];
		if (n < 0 || n > most[d])
			return launch_error(why, "the grid has %s = %lld blocks in %c; a launch can have 0 "
			                         "to %lld",
			                    k->grid_text[d], (long long)n, "xyz"[d], (long long)most[d]);
		out[d] = (uint32_t)n;
		all = all > INT32_MAX ? all : all * n; /* at most 2^31 * 2^31 */
	}
	if (k->persistent && all > INT32_MAX)
		return launch_error(why, "the grid has %u x %u x %u blocks; a persistent kernel can have "
		                         "at most 2147483647",
		                    out[0], out[1], out[2]);
	return HEXC_OK;
}

int
hexc_grid(const hexc_module *m, size_t k, const hexc_arg *arg, uint32_t out[3])
{
	const ModKernel *mk = kernel_of(m, k, arg);
	const Sentence silent = { NULL, 0 };
	ExprValues v;
	int rc;

	if (!mk || !out)
		return HEXC_E_INVALID;
	rc = launch_eval(mk, arg, &v);
	return rc ? rc : grid_of(mk, &v, out, &silent);
}

/* ---- cycles ---------------------------------------------------------------------------------------- */

/* Trip count of the loop for the arguments; the assumed `turns` if they do not determine it. */
static double
loop_turns(const ModLoop *l, const ExprValues *v)
{
	int64_t lo, hi, step;
	double n = 0;

	if (!l->by_sizes || v->bad[l->lo] || v->bad[l->hi] || v->bad[l->step] || v->value[l->step] <= 0)
		return l->turns;
	lo = v->value[l->lo];
	hi = v->value[l->hi];
	step = v->value[l->step];
	if (hi > lo)
		n = (double)(((uint64_t)hi - (uint64_t)lo - 1) / (uint64_t)step + 1);
	return l->most > 0 && n > l->most ? l->most : n;
}

static void
cost_of(const ModKernel *k, const ExprValues *v, double *cycles, double *alone)
{
	const ModTurns *t = &k->turns;
	int together = k->cand[k->candidate].together;
	double runs[TURNS_LOOPS_MOST], busy = 0;

	*alone = 0;
	for (int i = 0; i < t->nloop; i++) {
		const ModLoop *l = &t->loop[i];

		runs[i] = (l->in >= 0 ? runs[l->in] : 1) * loop_turns(l, v) / l->turns;
	}
	for (int w = 0; w < t->nway; w++) {
		double sum = t->way[w].fixed, *most = t->way[w].alone ? alone : &busy;

		for (int i = 0; i < t->nloop; i++)
			sum += t->way[w].each[i] * runs[i];
		*most = sum > *most ? sum : *most;
	}
	*cycles = busy < *alone ? busy + (*alone - busy) / together : *alone;
}

int
launch_cost(const hexc_module *m, size_t k, const hexc_arg *arg, bool by_sizes, uint32_t grid[3],
            double *cycles, double *alone)
{
	const ModKernel *mk = kernel_of(m, k, arg);
	const Sentence silent = { NULL, 0 };
	ExprValues v;
	int rc;

	if (!mk || mk->candidate >= mk->ncand || mk->cand[mk->candidate].together < 1)
		return HEXC_E_INVALID;
	*cycles = mk->cand[mk->candidate].cycles;
	*alone = mk->cand[mk->candidate].alone;
	if ((rc = launch_eval(mk, arg, &v)) || (rc = grid_of(mk, &v, grid, &silent)))
		return rc;
	if (by_sizes && mk->turns.known)
		cost_of(mk, &v, cycles, alone);
	return HEXC_OK;
}

/* ---- parameters ------------------------------------------------------------------------------------ */

int
hexc_launch_params(const hexc_module *m, size_t k, const hexc_arg *arg, uint64_t *value, void **params)
{
	const ModKernel *mk = kernel_of(m, k, arg);
	Arithmetic host;

	if (!mk || (mk->nparam && (!value || !params)))
		return HEXC_E_INVALID;
	arithmetic_enter(&host);
	for (int i = 0; i < mk->nparam; i++) {
		DType t = mk->param[i].dtype;

		value[i] = 0;
		params[i] = &value[i];
		if (mk->param[i].kind == HEXC_POINTER)
			value[i] = (uintptr_t)arg[i].ptr;
		else if (dtype_is_float(t))
			num_put(t, params[i], 0, arg[i].f);
		else
			num_put_i(t, params[i], 0, arg[i].i);
	}
	arithmetic_leave(&host);
	return HEXC_OK;
}

/* ---- tensors --------------------------------------------------------------------------------------- */

static int
tensor_of(const ModParam *p, const ExprValues *v, int64_t *dim, int64_t *stride, const Sentence *why)
{
	for (int d = 0; d < p->rank; d++) {
		if (v->bad[p->dim[d]] || v->bad[p->stride[d]])
			return launch_error(why, "%s cannot be computed for these sizes: overflow or "
			                         "division by 0",
			                    v->bad[p->dim[d]] ? p->dim_text[d] : p->stride_text[d]);
		dim[d] = v->value[p->dim[d]];
		stride[d] = v->value[p->stride[d]];
		if (dim[d] < 0)
			return launch_error(why, "%s has %s = %lld elements in dimension %d",
			                    p->name, p->dim_text[d],
			                    (long long)dim[d], d);
		if (stride[d] < 0)
			return launch_error(why, "%s has stride %s = %lld in dimension %d; strides must "
			                         "not be negative",
			                    p->name, p->stride_text[d], (long long)stride[d], d);
	}
	return HEXC_OK;
}

/* Elements from the first to the last, or -1 if they exceed any address space. */
static int64_t
tensor_span(int rank, const int64_t *dim, const int64_t *stride)
{
	const int64_t most = INT64_MAX / 64; /* bits of the widest type */
	int64_t last = 0;

	for (int d = 0; d < rank; d++)
		if (dim[d] == 0)
			return 0;
	for (int d = 0; d < rank; d++) {
		if (stride[d] && dim[d] - 1 > (most - last) / stride[d])
			return -1;
		last += (dim[d] - 1) * stride[d];
	}
	return last + 1;
}

int
hexc_tensor(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg, int64_t dim[HEXC_MAX_RANK],
            int64_t stride[HEXC_MAX_RANK])
{
	const ModKernel *mk = kernel_of(m, k, arg);
	const Sentence silent = { NULL, 0 };
	ExprValues v;
	int rc;

	if (!mk || !dim || !stride || i >= (size_t)mk->nparam || mk->param[i].kind != HEXC_POINTER)
		return HEXC_E_INVALID;
	rc = launch_eval(mk, arg, &v);
	return rc ? rc : tensor_of(&mk->param[i], &v, dim, stride, &silent);
}

/* Bytes of the tensor's memory in that form, or -1 on overflow. */
static int64_t
tensor_bytes(const ModParam *p, const int64_t *dim, const int64_t *stride, bool packed)
{
	int64_t n = packed ? pack_words(p->packed, p->rank, dim) : tensor_span(p->rank, dim, stride);
	int64_t bits = packed ? 32 : dtype_info[p->dtype].bits;

	return n < 0 || n > (INT64_MAX - 7) / bits ? -1 : (n * bits + 7) / 8;
}

/* Same as tensor_align of ir.h. */
uint32_t
param_align(const ModKernel *k, const ModParam *p)
{
	uint32_t bits = dtype_info[p->dtype].bits, align = POINTER_ALIGN;

	for (int i = 0; i < k->nconstants && bits % 8 == 0 && !p->packed; i++)
		if (strcmp(k->constants[i].name, "ALIGN") == 0)
			align = (uint32_t)k->constants[i].value;
	return align * 8 < bits ? bits / 8 : align;
}

static int
check_address(const ModParam *p, const hexc_arg *arg, int64_t need, uint32_t align, const Sentence *why)
{
	if (need == 0)
		return HEXC_OK;
	if (!arg->ptr)
		return launch_error(why, "%s is NULL; expected %lld bytes", p->name,
		                    (long long)need);
	if (arg->bytes && (uint64_t)need > arg->bytes)
		return launch_error(why, "%s needs %lld bytes for these sizes%s; its buffer has %llu",
		                    p->name, (long long)need, p->packed ? ", packed" : "",
		                    (unsigned long long)arg->bytes);
	if ((uintptr_t)arg->ptr % align)
		return launch_error(why, "the address of %s is not a multiple of %u bytes", p->name,
		                    (unsigned)align);
	return HEXC_OK;
}

int
launch_address(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg, int64_t bytes, char *why,
               size_t n)
{
	const ModParam *p = &m->kernel[k].param[i];

	return check_address(p, arg, bytes, param_align(&m->kernel[k], p), &(Sentence){ why, n });
}

/* Checks a tensor argument. *need: bytes of the tensor in that form. */
static int
check_tensor(const ModKernel *k, const ModParam *p, const ExprValues *v, const hexc_arg *arg, ArgForm form,
             int64_t *need, const Sentence *why)
{
	int64_t dim[HEXC_MAX_RANK], stride[HEXC_MAX_RANK];
	bool packed = form == ARG_DEVICE && p->packed;
	int rc = tensor_of(p, v, dim, stride, why);

	if (rc)
		return rc;
	*need = tensor_bytes(p, dim, stride, packed);
	if (*need < 0)
		return launch_error(why, "size of %s overflows", p->name);
	return form == ARG_SIZES ? HEXC_OK : check_address(p, arg, *need, param_align(k, p), why);
}

int
hexc_tensor_bytes(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg, uint64_t *bytes)
{
	const ModKernel *mk = kernel_of(m, k, arg);
	int64_t dim[HEXC_MAX_RANK], stride[HEXC_MAX_RANK], need;
	const Sentence silent = { NULL, 0 };
	ExprValues v;
	int rc;

	if (!mk || !bytes || i >= (size_t)mk->nparam || mk->param[i].kind != HEXC_POINTER)
		return HEXC_E_INVALID;
	if ((rc = launch_eval(mk, arg, &v)) || (rc = tensor_of(&mk->param[i], &v, dim, stride, &silent)))
		return rc;
	need = tensor_bytes(&mk->param[i], dim, stride, mk->param[i].packed != NULL);
	*bytes = need < 0 ? 0 : (uint64_t)need;
	return need < 0 ? HEXC_E_ARGS : HEXC_OK;
}

/* ---- tensor maps ----------------------------------------------------------------------------------- */

/* cuTensorMapEncodeTiled accepts sizes of 1 .. 2^32, and strides that are multiples of 16 bytes below
 * 2^40. TMA coordinates are i32, so sizes must be below 2^31. */
static int
map_of(const ModKernel *k, const ModMap *map, const ExprValues *v, hexc_tensor_map_info *out,
       const Sentence *why)
{
	const char *name = k->param[map->param].name;
	bool empty = false;

	for (int d = 0; d < map->rank; d++)
		if (v->bad[map->dim[d]] || (d && v->bad[map->stride[d]]))
			return launch_error(why, "sizes of %s cannot be computed: overflow or division by 0",
			                    name);
		else
			empty = empty || v->value[map->dim[d]] == 0;
	for (int d = 0; d < map->rank; d++) {
		int64_t n = empty ? 1 : v->value[map->dim[d]];
		int64_t stride = empty || !d ? MAP_GRAIN : v->value[map->stride[d]];
		bool near = stride >= 0 && stride < (int64_t)1 << 40;
		int64_t bytes = !near            ? 0
		                : empty || !d ? stride
		                              : stride * dtype_info[map->dtype].bits / 8;

		if (map->optional) /* encodable; the kernel does not use the map then */
			bytes = align_up(bytes, MAP_GRAIN);
		if (n < 0 || n > INT32_MAX)
			return launch_error(why, "%s has %s = %lld elements in a dimension; its TMA copies "
			                         "allow 0 to 2^31 - 1",
			                    name, map->dim_text[d], (long long)n);
		if (!near || bytes >= (int64_t)1 << 40 || bytes % MAP_GRAIN)
			return launch_error(why, "%s has a stride of %s = %lld elements; its TMA copies "
			                         "require multiples of %d bytes below 2^40",
			                    name, map->stride_text[d], (long long)stride, MAP_GRAIN);
		out->dim[d] = (uint64_t)n;
		if (d)
			out->stride[d - 1] = (uint64_t)bytes;
	}
	return HEXC_OK;
}

int
hexc_tensor_map(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg, hexc_tensor_map_info *out)
{
	const ModKernel *mk = kernel_of(m, k, arg);
	const Sentence silent = { NULL, 0 };
	hexc_tensor_map_info info = HEXC_TENSOR_MAP_INFO_INIT;
	ExprValues v;
	int rc;

	if (!mk || !arg || !out || !hexc_tensor_map_form(m, k, i, &info, NULL, NULL))
		return HEXC_E_INVALID;
	rc = launch_eval(mk, arg, &v);
	if (rc || (rc = map_of(mk, &mk->map[i], &v, &info, &silent)))
		return rc;
	info.address = arg[info.param].ptr;
	hand_out(out, out->size, &info, sizeof info);
	return HEXC_OK;
}

int
hexc_tensor_maps(const hexc_module *m, size_t k, const hexc_arg *arg, hexc_encode encode, void *maps,
                 void **params, char *why, size_t n)
{
	enum { MAP_BYTES = 128 };
	const ModKernel *mk = kernel_of(m, k, arg);
	hexc_tensor_map_info t = HEXC_TENSOR_MAP_INFO_INIT;
	const Sentence silent = { why, n };
	ExprValues v;
	int rc;

	if (why && n)
		why[0] = 0;
	if (!mk || !encode || (!why && n) || (mk->nmap && !maps))
		return HEXC_E_INVALID;
	if (mk->nmap && (rc = launch_eval(mk, arg, &v)))
		return rc;
	for (int i = 0; i < mk->nmap; i++, t.size = sizeof t) {
		unsigned char *to = (unsigned char *)maps + MAP_BYTES * i;

		hexc_tensor_map_form(m, k, (size_t)i, &t, NULL, NULL);
		if ((rc = map_of(mk, &mk->map[i], &v, &t, &silent)))
			return rc;
		rc = encode(to, (int)t.type, t.rank, arg[t.param].ptr, t.dim, t.stride, t.box, t.step,
		            (int)t.interleave, (int)t.swizzle, (int)t.l2, (int)t.fill);
		if (rc) {
			launch_error(&silent,
			             "the tensor map of %s cannot be encoded: cuTensorMapEncodeTiled "
			             "returned %d",
			             mk->param[t.param].name, rc);
			return HEXC_E_DEVICE;
		}
		if (params)
			params[i] = to;
	}
	return HEXC_OK;
}

/* ---- assumptions ----------------------------------------------------------------------------------- */

static bool
assume_holds(const ModKernel *k, const ModAssume *as, const hexc_arg *arg, const ExprValues *v)
{
	const ModParam *p;

	if (as->param < 0)
		return !v->bad[as->cond] && v->value[as->cond];
	p = &k->param[as->param];
	switch (as->what) {
	case '%': return arg[as->param].i % p->mult == 0;
	case '>': return arg[as->param].i >= p->lo;
	default: return arg[as->param].i <= p->hi;
	}
}

/* Checks sizes and scalars individually. */
static int
check_numbers(const ModKernel *mk, const hexc_arg *arg, const Sentence *why)
{
	for (int i = 0; i < mk->nparam; i++) {
		const ModParam *p = &mk->param[i];
		if (p->kind == HEXC_SIZE && arg[i].i < 0)
			return launch_error(why, "the size %s is %lld; sizes must not be negative", p->name,
			                    (long long)arg[i].i);
		if (p->kind == HEXC_SIZE && arg[i].i > SIZE_LIMIT)
			return launch_error(why, "the size %s is %lld; the maximum is %lld", p->name,
			                    (long long)arg[i].i, (long long)SIZE_LIMIT);
		if (p->kind == HEXC_SCALAR && !dtype_is_float(p->dtype) &&
		    num_wrap(p->dtype, arg[i].i) != arg[i].i)
			return launch_error(why, "%s = %lld does not fit %s", p->name, (long long)arg[i].i,
			                    dtype_info[p->dtype].name);
	}
	return HEXC_OK;
}

static int
check_assumptions(const ModKernel *mk, const hexc_arg *arg, const ExprValues *v, const Sentence *why)
{
	for (int i = 0; i < mk->nassume; i++) {
		const ModAssume *as = &mk->assume[i];
		if (assume_holds(mk, as, arg, v))
			continue;
		if (as->param >= 0)
			return launch_error(why, "the kernel assumes %s, but %s is %lld", as->text,
			                    mk->param[as->param].name, (long long)arg[as->param].i);
		return launch_error(why, "assumption violated: %s", as->text);
	}
	return HEXC_OK;
}

int
launch_plan(const hexc_module *m, size_t k, const hexc_arg *arg, ArgForm form, LaunchPlan *plan,
            char *why_text, size_t n)
{
	const ModKernel *mk = kernel_of(m, k, arg);
	const Sentence why = { why_text, n };
	hexc_tensor_map_info map;
	ExprValues v;
	int64_t bytes;
	int rc;

	if (why_text && n)
		why_text[0] = 0;
	if (!mk)
		return HEXC_E_INVALID;
	if ((rc = launch_eval(mk, arg, &v)) || (rc = check_numbers(mk, arg, &why)) ||
	    (rc = check_assumptions(mk, arg, &v, &why)))
		return rc;
	for (int i = 0; i < mk->nparam; i++)
		if (mk->param[i].kind == HEXC_POINTER &&
		    (rc = check_tensor(mk, &mk->param[i], &v, &arg[i], form,
		                       plan->bytes ? &plan->bytes[i] : &bytes, &why)) != HEXC_OK)
			return rc;
	for (int i = 0; i < mk->nmap && form != ARG_NATURAL; i++)
		if ((rc = map_of(mk, &mk->map[i], &v, plan->map ? &plan->map[i] : &map, &why)) != HEXC_OK)
			return rc;
	return grid_of(mk, &v, plan->grid, &why);
}

int
launch_check(const hexc_module *m, size_t k, const hexc_arg *arg, ArgForm form, char *why, size_t n)
{
	return launch_plan(m, k, arg, form, &(LaunchPlan){ .bytes = NULL }, why, n);
}

int
hexc_check_args(const hexc_module *m, size_t k, const hexc_arg *arg, char *why, size_t n)
{
	return launch_check(m, k, arg, ARG_DEVICE, why, n);
}

int
hexc_check_sizes(const hexc_module *m, size_t k, const hexc_arg *arg, char *why, size_t n)
{
	return launch_check(m, k, arg, ARG_SIZES, why, n);
}
