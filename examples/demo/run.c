/* run.c - compiles an example, runs it and compares the result, as an inference engine does with libhexc, but
 * on the simulator instead of a GPU. */
#include "examples/demo/demo.h"
#include "lib/sim/sim.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool
wrong(Row *row, const char *what, const char *why)
{
	snprintf(row->verdict, sizeof row->verdict, "%s%s%s", what, why && *why ? ": " : "",
	         why ? why : "");
	return false;
}

hexc_module *
compile(const char *arch, const char *file, const char *src, Row *row)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_ctx *ctx;
	hexc_module *m = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	double ms[4];
	int rc;

	o.arch = arch;
	if ((rc = hexc_open(&ctx, &o)) != HEXC_OK) {
		wrong(row, hexc_strerror(rc), arch);
		return NULL;
	}
	for (int i = 0; i < 4 && rc == HEXC_OK; i++) {
		hexc_module_free(m);
		ms[i] = now_ms();
		rc = hexc_compile(&m, ctx, file, src, strlen(src));
		ms[i] = now_ms() - ms[i];
	}
	if (rc != HEXC_OK)
		wrong(row, hexc_strerror(rc), hexc_diag(ctx, 0, &d) ? d.text : NULL);
	qsort(ms + 1, 3, sizeof *ms, by_value);
	row->ms = ms[2];
	hexc_close(ctx);
	return m;
}

/* Append a word unless it is there. */
static void
word(Row *row, const char *w)
{
	size_t n = strlen(row->inst), len = strlen(w);

	for (const char *p = row->inst; *p; p += strcspn(p, " "), p += *p == ' ') {
		if (!strncmp(p, w, len) && (p[len] == ' ' || p[len] == 0))
			return;
	}
	snprintf(row->inst + n, sizeof row->inst - n, "%s%s", n ? " " : "", w);
}

/* A line that ran, in short: tensor cores, ldmatrix, cp.async with its bytes, global accesses with their
 * bits.  False: not of interest. */
static bool
short_name(const sim_line *l, const char *ptx, char *out, size_t n)
{
	const char *p;
	int x[3];

	switch (l->cls) {
	case SIM_CLASS_MMA:
		if (!(p = strstr(l->opcode, ".m")) || sscanf(p, ".m%dn%dk%d", &x[0], &x[1], &x[2]) != 3)
			return false;
		snprintf(out, n, "mma.m%dn%dk%d", x[0], x[1], x[2]);
		return true;
	case SIM_CLASS_LDSM:
		p = strstr(l->opcode, ".x");
		snprintf(out, n, "%.8s%.3s%s", l->opcode, p ? p : "",
		         strstr(l->opcode, ".trans") ? ".trans" : "");
		return true;
	case SIM_CLASS_CPASYNC: /* cp.async [to], [from], bytes ...; commit and wait have no brackets */
		for (uint32_t line = 1; line < l->line && (ptx = strchr(ptx, '\n')); line++)
			ptx++;
		if (!ptx || strcspn(ptx, "]") > strcspn(ptx, "\n"))
			return false;
		p = strchr(strchr(ptx, ']') + 1, ']');
		if (!p || sscanf(p + 1, " , %d", &x[0]) != 1)
			return false;
		snprintf(out, n, "cp.async.%d", x[0]);
		return true;
	case SIM_CLASS_LDG:
	case SIM_CLASS_STG:
		x[0] = (p = strstr(l->opcode, ".v")) ? p[2] - '0' : 1;
		p = strrchr(l->opcode, '.');
		snprintf(out, n, "%.2s.global.%d", l->opcode, x[0] * (p ? atoi(p + 2) : 0));
		return true;
	default:
		return false;
	}
}

static void
instructions(const sim_result *r, const char *ptx, Row *row)
{
	static const sim_class order[] = { SIM_CLASS_MMA, SIM_CLASS_LDSM, SIM_CLASS_CPASYNC,
	                                   SIM_CLASS_LDG, SIM_CLASS_STG };
	char text[40];
	sim_line l;

	for (size_t c = 0; c < sizeof order / sizeof *order; c++) {
		for (size_t i = 0; sim_line_at(r, i, &l); i++) {
			if (l.cls == order[c] && l.n.threads && short_name(&l, ptx, text, sizeof text))
				word(row, text);
		}
	}
}

/* The launch's arguments by the names of the parameters: device addresses and sizes. */
static bool
arguments(sim *s, const hexc_module *m, Case *c, uint32_t nparam, hexc_arg *arg, Row *row)
{
	for (uint32_t i = 0; i < nparam; i++) {
		hexc_param_info p = HEXC_PARAM_INFO_INIT;
		bool found = false;
		hexc_param(m, 0, i, &p);
		memset(&arg[i], 0, sizeof arg[i]);
		for (int j = 0; j < c->nt && p.kind == HEXC_POINTER && !found; j++) {
			Tensor *t = &c->t[j];
			if (strcmp(t->name, p.name))
				continue;
			t->dev = sim_alloc(s, t->bytes, t->name);
			if (!t->dev || (!t->out && sim_write(s, t->dev, t->mem, t->bytes)))
				return wrong(row, "no memory for", t->name);
			arg[i].ptr = (void *)(uintptr_t)t->dev;
			arg[i].bytes = t->bytes;
			found = true;
		}
		for (int j = 0; j < c->nsize && p.kind != HEXC_POINTER && !found; j++) {
			if (strcmp(c->size[j].name, p.name))
				continue;
			arg[i].i = c->size[j].i;
			arg[i].f = c->size[j].f;
			found = true;
		}
		if (!found)
			return wrong(row, "the demo has no value for parameter", p.name);
	}
	return true;
}

static bool
compare(sim *s, Case *c, Row *row)
{
	char why[120];

	for (int j = 0; j < c->nt; j++) {
		Tensor *t = &c->t[j];
		size_t unwritten = 0;
		if (!t->out)
			continue;
		sim_uninitialised(s, t->dev, t->bytes, &unwritten);
		if (unwritten) {
			snprintf(why, sizeof why, "%zu bytes of %s", unwritten, t->name);
			return wrong(row, "not written", why);
		}
		sim_read(s, t->dev, t->mem, t->bytes);
		for (size_t i = 0; i < t->n; i++) {
			double is = load(t, i), err = fabs(is - t->v[i]);
			if (!(err <= t->allow[i])) {
				snprintf(why, sizeof why, "%s[%zu] is %.9g, not %.9g", t->name, i, is,
				         t->v[i]);
				return wrong(row, why, NULL);
			}
			row->err = fmax(row->err, err);
		}
	}
	return true;
}

bool
simulate(const hexc_module *m, Case *c, Row *row)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	sim_launch l = SIM_LAUNCH_INIT;
	hexc_arg arg[HEXC_MAX_PARAMS];
	uint64_t value[HEXC_MAX_PARAMS];
	void *params[HEXC_MAX_PARAMS];
	const void *args[HEXC_MAX_PARAMS];
	sim_tmap map[HEXC_MAX_PARAMS];
	char why[200] = "";
	sim *s = sim_open();
	sim_module *sm;
	sim_result *r = NULL;
	const sim_stats *st;
	sim_message msg;
	sim_fault fault;
	bool ok = false;
	int rc;

	if (!s || !hexc_kernel(m, 0, &k)) {
		wrong(row, "no kernel or no memory", NULL);
	} else if (!arguments(s, m, c, k.nparam, arg, row)) {
		;
	} else if (hexc_check_args(m, 0, arg, why, sizeof why) || hexc_grid(m, 0, arg, l.grid) ||
	           hexc_launch_params(m, 0, arg, value, params) ||
	           hexc_tensor_maps(m, 0, arg, sim_tmap_tiled, map, params + k.nparam, why, sizeof why)) {
		wrong(row, "arguments", why);
	} else if (sim_load(s, hexc_ptx(m, NULL), strlen(hexc_ptx(m, NULL)), &sm)) {
		wrong(row, "PTX", sim_message_at(s, 0, &msg) ? msg.text : NULL);
	} else {
		memcpy(l.block, k.block, sizeof l.block);
		memcpy(l.cluster, k.cluster, sizeof l.cluster);
		l.smem = k.smem;
		for (uint32_t i = 0; i < k.nparam + k.nmap; i++)
			args[i] = params[i];
		l.args = args;
		rc = sim_run(s, sm, k.name, &l, &r);
		if (rc != SIM_OK) {
			wrong(row, r && *sim_result_text(r) ? sim_result_text(r) : sim_strerror(rc),
			      r && sim_fault_at(r, 0, &fault) ? fault.text : NULL);
		} else {
			uint64_t least, took;
			st = sim_stats_of(r);
			least = st->block_sectors_read + st->block_sectors_written;
			took = st->all.global_sectors_read + st->all.global_sectors_written;
			row->conflicts = st->all.shared_wavefronts - st->all.shared_min;
			row->sectors = least ? 100 * ((double)took / (double)least - 1) : 0;
			instructions(r, hexc_ptx(m, NULL), row);
			ok = compare(s, c, row);
		}
	}
	sim_result_free(r);
	sim_close(s);
	return ok;
}
