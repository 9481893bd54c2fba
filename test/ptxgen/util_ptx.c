/* util_ptx.c - compiles IR text to PTX, assembles it with ptxas where available, and runs it on the
 * simulator. */
#include "test/ptxgen/util_ptx.h"
#include "hexc/interp/launch_query.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/verify/verify.h"
#include "ptxgen/ptxgen.h"
#include "test/interp/util_interp.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *
emit(Unit *u, const char *ir, Kernel **k)
{
	PtxGen *g = ptxgen_new(u->arena->realloc, u->arena->user);
	PtxOut out;

	*k = ir_read(u, ir);
	(*k)->masked = true; /* as after the passes that give layouts */
	ck_assert_msg(kernel_verify(*k, "reading"), "%s", ir_diags(u));
	u->kernel = k;
	u->nkernel = 1;
	ck_assert_msg(g && ptxgen_emit(g, u, &out), "%s", ir_diags(u));
	ptxgen_free(g);
	ck_assert_uint_eq(strlen(out.text), out.len);
	return out.text;
}

const char *
ptx_of(Unit *u, const char *ir)
{
	Kernel **k = NEW(u->arena, Kernel *);

	return emit(u, ir, k);
}

bool
ptx_assembles(Unit *u, const char *ptx)
{
	char path[] = "/tmp/hexc-test-XXXXXX", line[400], log[4000] = "";
	int fd = mkstemp(path), rc;
	FILE *f;
	bool spills = false;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, ptx, strlen(ptx)), (ssize_t)strlen(ptx));
	close(fd);
	snprintf(line, sizeof line,
	         "command -v ptxas >/dev/null || exit 77; ptxas -arch=%s -v -o /dev/null %s 2>&1",
	         u->target->name, path);
	f = popen(line, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f)) {
		if (strlen(log) + strlen(line) < sizeof log)
			strcat(log, line);
		spills = spills || strstr(line, "C75") ||
		         (strstr(line, "spill") && !strstr(line, " 0 bytes spill stores"));
	}
	rc = pclose(f) >> 8;
	remove(path);
	/* newer ptxas versions drop old targets */
	if (rc == 77 || strstr(log, "is not defined for option"))
		return false;
	ck_assert_msg(rc == 0 && !spills, "ptxas %s: %s", u->target->name, log);
	return true;
}

static void
report(const sim_result *r, const char *ptx)
{
	sim_fault f;

	for (size_t i = 0; i < 8 && sim_fault_at(r, i, &f); i++)
		fprintf(stderr, "line %u: %s\n", f.at.line, f.text);
	if (getenv("PTX"))
		fprintf(stderr, "%s\n", ptx);
}

static void
launch(sim *s, const sim_module *m, const Kernel *k, const sim_launch *l, const char *ptx,
       PtxCounts *counts)
{
	sim_result *r = NULL;
	int rc = sim_run(s, m, k->name, l, &r);

	if (rc != SIM_OK && r)
		report(r, ptx);
	ck_assert_msg(rc == SIM_OK, "%s: %s", sim_strerror(rc), r ? sim_result_text(r) : "");
	if (counts) {
		const sim_stats *n = sim_stats_of(r);

		counts->wavefronts = n->all.shared_wavefronts;
		counts->wavefronts_min = n->all.shared_min;
		counts->mma = n->mma;
	}
	sim_result_free(r);
}

/* A size of a map: a parameter, or a constant. */
static uint64_t
map_number(const Kernel *k, const PtxArg *arg, const Val *v)
{
	int64_t c;

	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].val == v)
			return (uint64_t)arg[i].value;
	ck_assert(val_is_const(v, &c));
	return (uint64_t)c;
}

static void
encode_map(const Kernel *k, int i, const PtxArg *arg, const uint64_t *at, sim_tmap *out)
{
	static const uint32_t swizzle[] = { [0] = SIM_SWIZZLE_NONE, [1] = SIM_SWIZZLE_32B,
		                            [2] = SIM_SWIZZLE_64B, [4] = SIM_SWIZZLE_128B };
	const TensorMap *m = &k->map[i];
	uint64_t bytes = (uint64_t)dtype_info[m->dtype].bits / 8;
	sim_tmap_desc d = SIM_TMAP_INIT;
	char why[200] = "";

	d.type = bytes == 1 ? SIM_TMAP_U8 : bytes == 2 ? SIM_TMAP_U16
	                                               : SIM_TMAP_U32;
	d.rank = (uint32_t)m->rank;
	d.address = at[m->param];
	d.swizzle = swizzle[m->swizzle / 32];
	for (int n = 0; n < m->rank; n++) {
		d.dim[n] = map_number(k, arg, m->size[n]);
		d.box[n] = (uint32_t)m->box[n];
		if (n)
			d.stride[n - 1] = map_number(k, arg, m->stride[n]) * bytes;
	}
	ck_assert_msg(sim_tmap_encode(out, &d, why, sizeof why) == SIM_OK, "%s", why);
}

static void
run_kernel(Kernel *k, const char *ptx, const uint32_t grid[3], PtxArg *arg, int narg,
           PtxCounts *counts)
{
	sim *s = sim_open();
	sim_module *m = NULL;
	sim_message msg;
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t at[16];
	const void *args[16];
	sim_tmap map[4];

	ck_assert(narg + k->nmap <= 16 && k->nmap <= 4);
	if (sim_load(s, ptx, strlen(ptx), &m) != SIM_OK) {
		sim_message_at(s, 0, &msg);
		ck_abort_msg("simulator, line %u: %s", msg.line, msg.text);
	}
	for (int i = 0; i < narg; i++) {
		args[i] = &arg[i].value;
		if (!arg[i].data)
			continue;
		at[i] = sim_alloc(s, arg[i].bytes, k->param[i].name);
		ck_assert_int_eq(sim_write(s, at[i], arg[i].data, arg[i].bytes), SIM_OK);
		args[i] = &at[i];
	}
	for (int i = 0; i < k->nmap; i++) {
		encode_map(k, i, arg, at, &map[i]);
		args[narg + i] = &map[i];
	}
	memcpy(l.grid, grid, sizeof l.grid);
	l.block[0] = (uint32_t)kernel_warps(k) * WARP_SIZE;
	l.smem = (uint32_t)k->smem;
	l.args = args;
	launch(s, m, k, &l, ptx, counts);
	for (int i = 0; i < narg; i++)
		if (arg[i].data)
			sim_read(s, at[i], arg[i].data, arg[i].bytes);
	sim_close(s);
}

void
ptx_run(Unit *u, const char *ir, const uint32_t grid[3], PtxArg *arg, int narg, PtxCounts *counts)
{
	Kernel *k;
	const char *ptx = emit(u, ir, &k);

	ptx_assembles(u, ptx);
	run_kernel(k, ptx, grid, arg, narg, counts);
}

static bool
near(double x, double y, double tol)
{
	double d = x - y, m = y < 0 ? -y : y;

	if (x == y || (x != x && y != y))
		return true;
	return (d < 0 ? -d : d) <= tol * (m > 1 ? m : 1);
}

static void
compare(const Param *p, const void *got, const void *want, int64_t n, double tol, const char *ptx)
{
	DType d = p->val->type.dtype;

	for (int64_t i = 0; i < n; i++) {
		double x = num_get(d, got, i), y = num_get(d, want, i);

		if (!near(x, y, tol) && getenv("PTX"))
			fprintf(stderr, "%s\n", ptx);
		ck_assert_msg(near(x, y, tol), "%s[%lld]: %.9g, not %.9g", p->name, (long long)i, x, y);
	}
}

void
ptx_compare(Unit *u, const char *ir, const char *sizes, uint64_t seed, double tol)
{
	Kernel *k;
	const char *ptx = emit(u, ir, &k);
	bool assemble = seed % 8 == 1;
	PtxArg arg[RUN_ARGS];
	int64_t grid[3];
	Run r = { 0 };

	if (assemble)
		ptx_assembles(u, ptx);
	r.u = u;
	run_setup(&r, k, sizes, seed);
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind == P_scalar && dtype_is_float(k->param[i].val->type.dtype))
			r.arg[i].f = 0.5;
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];
		DType d = p->val->type.dtype;

		memset(&arg[i], 0, sizeof arg[i]);
		if (p->kind == P_tensor) {
			arg[i].bytes = num_bytes(d, r.arg[i].count);
			arg[i].data = arena_alloc(u->arena, arg[i].bytes);
			memcpy(arg[i].data, r.arg[i].data, arg[i].bytes);
		} else if (dtype_is_float(d)) {
			num_put_f(d, &arg[i].value, 0, r.arg[i].f);
		} else {
			arg[i].value = r.arg[i].i;
		}
	}
	ck_assert_int_eq(interp_grid(k, r.arg, k->nparam, grid), INTERP_OK);
	run_ok(&r, NULL);
	run_kernel(k, ptx,
	           (const uint32_t[3]){ (uint32_t)grid[0], (uint32_t)grid[1], (uint32_t)grid[2] },
	           arg, k->nparam, NULL);
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].written)
			compare(&k->param[i], arg[i].data, r.arg[i].data, r.arg[i].count, tol, ptx);
}

int
ptx_count(const char *text, const char *word)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, word)) != NULL; p += strlen(word))
		n++;
	return n;
}

uint16_t
half_of(double x)
{
	return (uint16_t)num_code(D_f16, x);
}

double
half_value(uint16_t h)
{
	return num_of_code(D_f16, h);
}

uint32_t
ptx_random(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(*state >> 8) * n) >> 24);
}
