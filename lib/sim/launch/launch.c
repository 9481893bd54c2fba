/* launch.c - runs one launch: sets up arguments and memory and collects faults; workers.c executes it,
 * result.c aggregates its results. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/sim/sanitizer/l2_model.h"
#include "lib/sim/launch/result.h"
#include "lib/sim/launch/sched.h"
#include "taskmap/support/fp_env.h"
#include "taskmap/support/thread_pool.h"

/* Paths and local memory of a warp: FULL_PATHS suffice for 32 lanes. The depth of recursion and calls through
 * pointers depends on the data; they get these limits, and a fault beyond. */
enum { FULL_PATHS = 160, DEEP_PATHS = 2048, STACK_BYTES = 8192 };

/* ---- memory of a launch ---- */

static bool
alloc_begin(Launch *l)
{
	for (u32 i = 0; i < l->s->nalloc; i++) {
		Alloc *al = l->s->alloc[i];
		u64 pages = al->size / 4 / PAGE_WORDS + 1;
		if (al->freed)
			continue;
		if (!al->full)
			al->full = !al->size || !memchr(al->init, 0, al->size);
		if (l->checks && !al->readonly) {
			al->page = calloc(pages, sizeof *al->page);
			al->granule = calloc(pages, sizeof *al->granule);
			al->lock = calloc(pages, 1);
			if (!al->page || !al->granule || !al->lock)
				return false;
		}
		if (l->counts) {
			al->sect[0] = calloc(al->size / 256 + 2, 1);
			al->sect[1] = calloc(al->size / 256 + 2, 1);
			if (!al->sect[0] || !al->sect[1])
				return false;
		}
	}
	return true;
}

static u64
count_bits(const u8 *p, u64 n)
{
	u64 c = 0;

	for (u64 i = 0; p && i < n; i++)
		c += popcount(p[i]);
	return c;
}

static void
alloc_end(Launch *l, sim_stats *st)
{
	for (u32 i = 0; i < l->s->nalloc; i++) {
		Alloc *al = l->s->alloc[i];
		if (l->counts && !al->freed) {
			st->grid_sectors_read += count_bits(al->sect[0], al->size / 256 + 2);
			st->grid_sectors_written += count_bits(al->sect[1], al->size / 256 + 2);
		}
		for (u64 p = 0; p < al->size / 4 / PAGE_WORDS + 1; p++) {
			free(al->page ? al->page[p] : NULL);
			free(al->granule ? al->granule[p] : NULL);
		}
		free(al->page);
		free(al->granule);
		free(al->lock);
		free(al->sect[0]);
		free(al->sect[1]);
		al->page = al->granule = NULL;
		al->lock = NULL;
		al->sect[0] = al->sect[1] = NULL;
	}
}

/* ---- arguments ---- */

static int refuse(sim_result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int
refuse(sim_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
	return SIM_E_INVALID;
}

/* The blocks of a cluster, as specified by the launch or required by the kernel. */
static int
check_cluster(Launch *l, sim_result *r)
{
	const Fn *f = l->f;
	const u32 *a = l->a.cluster, *need = f->cluster;
	u32 n = 1;

	l->cexplicit = a[0] || a[1] || a[2] || need[0];
	l->ncluster = 1;
	if (f->cexplicit && !l->cexplicit)
		return refuse(r, "%.80s is .explicitcluster; the launch must specify cluster dimensions",
		              f->name);
	for (u32 i = 0; i < 3; i++) {
		u32 want = a[i] ? a[i] : 1, is = need[i] ? need[i] : 1;
		if (need[0] && (a[0] || a[1] || a[2]) && want != is)
			return refuse(r, "%.80s requires clusters of %u x %u x %u blocks", f->name, need[0],
			              need[1] ? need[1] : 1, need[2] ? need[2] : 1);
		l->cdim[i] = need[0] ? is : want;
		if (l->cdim[i] > MAX_CLUSTER || (n *= l->cdim[i]) > MAX_CLUSTER)
			return refuse(r, "a cluster has more than %u blocks", MAX_CLUSTER);
		if (l->a.grid[i] % l->cdim[i])
			return refuse(r,
			              "the grid has %u blocks in direction %c, not a multiple of the "
			              "cluster's %u",
			              l->a.grid[i], "xyz"[i], l->cdim[i]);
		l->cgrid[i] = l->a.grid[i] / l->cdim[i];
		l->ncluster *= l->cgrid[i];
	}
	if (f->max_rank && n > f->max_rank)
		return refuse(r, "%.80s allows clusters of at most %u blocks", f->name, f->max_rank);
	if (n > 1 && strtoul(l->m->ptx.target + 3, NULL, 10) < 90)
		return refuse(r, "clusters require a module for sm_90 or later, not %.20s",
		              l->m->ptx.target);
	return SIM_OK;
}

static int
check_shape(Launch *l, sim_result *r)
{
	const Fn *f = l->f;
	u64 threads = 1, blocks = 1;
	u32 limit = l->a.smem_limit ? l->a.smem_limit : 232448;

	for (u32 i = 0; i < 3; i++) {
		if (!l->a.grid[i] || !l->a.block[i])
			return refuse(r, "a grid or block dimension is 0");
		threads *= l->a.block[i];
		blocks *= l->a.grid[i];
		if (threads > 1024)
			return refuse(r, "a block has more than 1024 threads");
		if (blocks > 1u << 27)
			return refuse(r, "the grid has more than 2^27 blocks");
		if (f->reqntid[0] && f->reqntid[i] != l->a.block[i])
			return refuse(r, "%.80s requires blocks of %u x %u x %u", f->name, f->reqntid[0],
			              f->reqntid[1], f->reqntid[2]);
	}
	if (f->maxntid[0] && threads > (u64)f->maxntid[0] * f->maxntid[1] * f->maxntid[2])
		return refuse(r, "%.80s allows at most %u threads in a block", f->name,
		              f->maxntid[0] * f->maxntid[1] * f->maxntid[2]);
	l->smem = l->a.smem ? f->smem_dyn + l->a.smem : f->smem;
	if (l->smem > limit || l->a.smem > limit)
		return refuse(r, "%u bytes of shared memory exceed the maximum of %u", l->smem, limit);
	l->smem_user = l->smem;
	if (l->m->ptx.system_smem)
		l->smem = (u32)align_up(l->smem, 128) + SYSTEM_SMEM;
	l->nblock = (u32)blocks;
	if (l->a.cooperative && l->a.resident && l->nblock > l->a.resident)
		return refuse(r,
		              "the grid has %u blocks, and the device holds %u at a time; a cooperative "
		              "launch requires all of them",
		              l->nblock, l->a.resident);
	if (check_cluster(l, r) != SIM_OK)
		return SIM_E_INVALID;
	if (l->a.l2_bytes && (l->a.l2_bytes < 32 || !l->a.counts))
		return refuse(r, l->a.counts ? "the L2 cache is smaller than a sector of 32 bytes"
		                             : "an L2 cache requires counts");
	l->nwarp = ((u32)threads + WARP - 1) / WARP;
	l->nthread = workers_for(&(Workers){ .threads = l->a.threads }, l->ncluster);
	if (l->a.trace.hook || l->a.seed)
		l->nthread = 1;
	return SIM_OK;
}

static int
check_params(Launch *l, sim_result *r, u8 **block)
{
	const Fn *f = l->f;
	u8 *p = calloc(1, f->param_bytes + 16u);

	*block = p;
	if (!p)
		return SIM_E_NOMEM;
	if (l->a.params) {
		if (l->a.param_bytes != f->param_bytes)
			return refuse(r, "%.80s has %u bytes of parameters, got %zu", f->name,
			              f->param_bytes, l->a.param_bytes);
		memcpy(p, l->a.params, f->param_bytes);
	} else if (f->nparam) {
		if (!l->a.args)
			return refuse(r, "%.80s has %u parameters, got none", f->name, f->nparam);
		for (u32 i = 0; i < f->nparam; i++) {
			if (!l->a.args[i])
				return refuse(r, "argument %u is NULL", i);
			memcpy(p + f->param[i]->addr, l->a.args[i], f->param[i]->bytes);
		}
	}
	l->param = p;
	l->param_bytes = f->param_bytes;
	return SIM_OK;
}

/* ---- the launch ---- */

static int
execute(Launch *l, sim_result *r)
{
	Worker *k = calloc(l->nthread, sizeof *k);
	LaunchLocks sync;
	struct timespec t0, t1;
	Arithmetic host;
	bool ok = k != NULL;
	int code = SIM_E_NOMEM, c2;

	pthread_mutex_init(&sync.faults, NULL);
	pthread_mutex_init(&sync.sync, NULL);
	l->sync = &sync;
	l->why = r->text;
	for (u32 i = 0; ok && i < l->nthread; i++) {
		k[i].l = l;
		k[i].n = calloc(l->m->ncode + 1u, sizeof *k[i].n);
		k[i].hint = calloc(l->m->ncode + 1u, sizeof *k[i].hint);
		ok = k[i].n && k[i].hint;
	}
	if (ok && l->a.l2_bytes)
		ok = (l->l2 = l2_new(l->a.l2_bytes, l->a.l2_blocks, l->nblock)) != NULL;
	ok = ok && alloc_begin(l) && view_prepare(l);
	if (ok) {
		clock_gettime(CLOCK_MONOTONIC, &t0);
		arithmetic_enter(&host);
		run_workers(l, k);
		arithmetic_leave(&host);
		clock_gettime(CLOCK_MONOTONIC, &t1);
		r->st.seconds = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
		code = l->stop ? l->stop : l->nfault ? SIM_E_FAULT : SIM_OK;
		if ((c2 = collect_counts(l, r, k)) != SIM_OK)
			code = c2;
		if (l->l2)
			l2_end(l->l2, &r->l2);
		r->has_l2 = l->l2 != NULL;
	}
	l2_free(l->l2);
	alloc_end(l, &r->st);
	if ((c2 = collect_faults(l, r)) != SIM_OK)
		code = c2;
	for (u32 i = 0; k && i < l->nthread; i++) {
		while (k[i].free) {
			Cta *b = k[i].free;
			k[i].free = b->next;
			cta_free(b);
		}
		while (k[i].freec) {
			SimCluster *c = k[i].freec;
			k[i].freec = c->next;
			free(c);
		}
		free(k[i].n);
		free(k[i].hint);
	}
	if (!collect_output(l, r))
		code = SIM_E_NOMEM;
	free(k);
	free(l->shown);
	for (u32 i = 0; i < l->cgs; i++)
		for (u32 s = 0; s < NSCOPES; s++) {
			vec_drop(&l->gs[i].at[s].vec);
			vec_drop(&l->gs[i].at[s].old);
		}
	free(l->gs);
	pthread_mutex_destroy(&sync.faults);
	pthread_mutex_destroy(&sync.sync);
	return code;
}

int
sim_run(sim *s, const sim_module *m, const char *entry, const sim_launch *launch, sim_result **out)
{
	Launch l;
	sim_result *r = calloc(1, sizeof *r);
	u8 *block = NULL;
	int code;

	*out = r;
	if (!r)
		return SIM_E_NOMEM;
	memset(&l, 0, sizeof l);
	l.s = s;
	l.m = m;
	if (!launch || launch->size != sizeof *launch)
		return refuse(r, "sim_launch was not initialized by SIM_LAUNCH_INIT");
	for (u32 i = 0; i < m->ptx.nfn; i++)
		if (m->ptx.fn[i]->entry && m->ptx.fn[i]->has_body && !strcmp(m->ptx.fn[i]->name, entry))
			l.f = m->ptx.fn[i];
	if (!l.f)
		return refuse(r, "no kernel entry %.100s", entry);
	l.a = *launch;
	if ((code = check_shape(&l, r)) != SIM_OK)
		return code;
	code = check_params(&l, r, &block);
	if (code == SIM_OK) {
		l.units = l.f->unit0 + l.f->units;
		l.preds = l.f->pred0 + l.f->preds;
		l.frame = l.f->local;
		l.local = l.frame + (l.f->below == ~0u ? STACK_BYTES : l.f->below);
		l.paths = l.f->below == ~0u ? DEEP_PATHS : FULL_PATHS;
		l.out_end = &l.out;
		l.checks = launch->checks != 0;
		l.counts = launch->counts != 0;
		l.max_steps = launch->max_steps ? launch->max_steps : 1ull << 36;
		l.random = launch->seed;
		l.max_fault = launch->max_faults ? launch->max_faults : 16;
		code = execute(&l, r);
	}
	free(block);
	return code;
}
