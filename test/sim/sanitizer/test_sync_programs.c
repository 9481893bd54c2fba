/* test_sync_programs.c - tests random kernels that are correct in every access (syncgen.h): nothing may be
 * reported, and every value must be as predicted. The same kernels without one of their synchronisations
 * certainly have a conflict, which must be reported at the locations given by the model.
 *
 * SYNC_KERNELS=N runs N small kernels instead of a few; SYNC_SEED=N starts at another seed; SYNC_OPS=N makes
 * the large ones larger, SYNC_LARGE=N runs fewer of them; SYNC_VERBOSE=1 lists missed conflicts and leaves
 * the last such text in /tmp/sync.ptx. test_sync_programs --dump DIR writes a kernel of each shape as
 * DIR/TARGET-sync-N.ptx, for ptxas. */
#include "test/sim/simtest.h"
#include "test/sim/sanitizer/syncgen.h"
#include "test/check.h"

static unsigned
setting(const char *name, unsigned or)
{
	const char *s = getenv(name);

	return s ? (unsigned)strtoul(s, NULL, 0) : or;
}

static const SgShape shapes[] = {
	{ 1, 4, false, false, 0, 0 }, { 1, 8, false, false, 0, 0 }, { 2, 3, false, false, 0, 0 },
	{ 1, 4, false, true, 0, 0 }, { 2, 2, true, true, 0, 0 }, { 2, 4, true, true, 0, 0 },
	{ 1, 2, false, true, 0, 0 }, { 1, 1, false, false, 0, 0 },
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

static SgShape
shape(unsigned which, unsigned ops, uint64_t seed)
{
	SgShape s = shapes[which % NSHAPES];

	s.ops = ops;
	s.seed = seed;
	return s;
}

typedef struct Ran { int rc; sim_result *r; uint32_t *acc, *global; } Ran;

static Ran
run(SgList *l, int missing, unsigned threads)
{
	static uint32_t in[SG_IN], g[32 * SG_GLOBAL + SG_FLAGS];
	size_t nt = 32 * l->s.blocks * l->s.warps;
	sim *s = sim_open();
	char *text = sg_text(l, missing);
	sim_module *m = must_load(s, text);
	uint64_t din = sim_alloc(s, sizeof in, "in"), dg = sim_alloc(s, sizeof g, "g"),
		 out = sim_alloc(s, 4 * nt, "out");
	const void *args[] = { &din, &dg, &out };
	sim_launch a = SIM_LAUNCH_INIT;
	Ran ran = { 0, NULL, calloc(nt, 4), calloc(SG_GLOBAL, 128) };

	for (unsigned i = 0; i < SG_IN; i++)
		in[i] = sg_input(l->s.seed, i);
	for (unsigned i = 0; i < 32 * SG_GLOBAL; i++)
		g[i] = sg_input(l->s.seed, SG_IN + 64 * SG_SHARED + i);
	memset(g + 32 * SG_GLOBAL, 0, 4 * SG_FLAGS);
	sim_write(s, din, in, sizeof in);
	sim_write(s, dg, g, sizeof g);
	a.args = args;
	a.block[0] = 32 * l->s.warps;
	a.grid[0] = l->s.blocks;
	a.cluster[0] = l->s.cluster ? 2 : 0;
	a.threads = threads;
	a.max_steps = 1000 * (uint64_t)(l->n + 1000) * 100;
	ran.rc = sim_run(s, m, "k", &a, &ran.r);
	sim_read(s, out, ran.acc, 4 * nt);
	sim_read(s, dg, ran.global, 128 * SG_GLOBAL);
	sim_close(s);
	free(text);
	return ran;
}

static void
drop(Ran *r)
{
	sim_result_free(r->r);
	free(r->acc);
	free(r->global);
}

static SgModel *
model(const SgList *l, int missing)
{
	SgModel *m = sg_model_new(&l->s);

	for (unsigned i = 0; i < l->n; i++)
		sg_apply(m, l->op, i, (int)i == missing);
	return m;
}

static void
save(SgList *l, int missing, const char *path)
{
	char *text = sg_text(l, missing);
	FILE *f = fopen(path, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
	free(text);
}

/* Nothing is said, and all values are right. */
static void
check_right(SgList *l, unsigned threads)
{
	SgModel *m = model(l, -1);
	const SgConflict *c;
	Ran r = run(l, -1, threads);
	unsigned bad = 0;

	ck_assert_uint_eq(sg_conflicts(m, &c), 0);
	if (r.rc != SIM_OK) {
		fprintf(stderr, "seed %llu: %s\n", (unsigned long long)l->s.seed, sim_result_text(r.r));
		print_faults(r.r);
		if (getenv("SYNC_VERBOSE"))
			save(l, -1, "/tmp/sync.ptx");
	}
	ck_assert_int_eq(r.rc, SIM_OK);
	for (unsigned t = 0; t < 32 * l->s.blocks * l->s.warps; t++)
		bad += r.acc[t] != sg_acc(m, t);
	for (unsigned i = 0; i < 32 * SG_GLOBAL; i++)
		bad += r.global[i] != sg_value(m, 2 * SG_SHARED + i / 32, i % 32);
	ck_assert_msg(!bad, "seed %llu: %u values are wrong", (unsigned long long)l->s.seed, bad);
	sg_model_free(m);
	drop(&r);
}

TEST_EACH(large, setting("SYNC_LARGE", NSHAPES))
{
	SgShape s = shape((unsigned)_i, setting("SYNC_OPS", 10000), setting("SYNC_SEED", 1) + 1000);
	SgList l = sg_generate(&s);
	unsigned n[SG_NKINDS] = { 0 };

	for (unsigned i = 0; i < l.n; i++)
		n[l.op[i].kind]++;
	ck_assert_uint_ge(l.n, 10000);
	for (int k = 0; k < SG_NKINDS; k++)
		if (s.cluster)
			ck_assert_msg(n[k] >= 5, "only %u of %s", n[k], sg_kind_name[k]);
	check_right(&l, 2);
	free(l.op);
}

TEST(small)
{
	unsigned n = setting("SYNC_KERNELS", 64);

	for (unsigned i = 0; i < n; i++) {
		unsigned seed = setting("SYNC_SEED", 1) + i;
		SgShape s = shape(seed - 1, 100 + 20 * ((seed - 1) % 20), seed);
		SgList l = sg_generate(&s);
		check_right(&l, 1 + (seed - 1) % 3);
		free(l.op);
	}
}

/* ---- one synchronisation is missing ----
 *
 * Some of these are not reported (about one in fifty), because the simulator knows less than the model: a
 * fence, an acquire or an arrival of one lane counts for its whole warp; ldmatrix reads for the lanes that
 * name rows only, here for all lanes; a word remembers two readers. */

typedef struct Tally { unsigned tried, caught, placed; } Tally;

static bool
line_is(const SgOp *op, unsigned line)
{
	for (unsigned w = 0; w < SG_WARPS; w++)
		if (op->line[w] == line)
			return true;
	return false;
}

/* Is one of the faults one of the conflicts? */
static bool
in_place(const SgList *l, const Ran *r, const SgConflict *c, unsigned n)
{
	sim_fault f;

	for (size_t i = 0; sim_fault_at(r->r, i, &f); i++)
		for (unsigned k = 0; k < n; k++) {
			const SgOp *a = &l->op[c[k].first], *b = &l->op[c[k].second];
			if ((line_is(a, f.at.line) && line_is(b, f.other.line)) ||
			    (line_is(b, f.at.line) && line_is(a, f.other.line)))
				return true;
		}
	return false;
}

static void
try_without(SgList *l, unsigned missing, Tally *t)
{
	SgModel *m = model(l, (int)missing);
	const SgConflict *c;
	unsigned n = sg_conflicts(m, &c);
	Ran r;

	if (n) {
		r = run(l, (int)missing, 1);
		t->tried++;
		t->caught += r.rc != SIM_OK;
		t->placed += in_place(l, &r, c, n);
		if (getenv("SYNC_VERBOSE") && !in_place(l, &r, c, n)) {
			const SgOp *a = &l->op[c[0].first], *b = &l->op[c[0].second];
			fprintf(stderr,
			        "seed %llu without op %u %s: %u conflicts, first op %u %s (warp %u line %u) "
			        "and op %u %s "
			        "(warp %u line %u)%s\n", (unsigned long long)l->s.seed, missing,
			        sg_kind_name[l->op[missing].kind], n, c[0].first, sg_kind_name[a->kind],
			        a->warp,
			        a->line[a->warp], c[0].second, sg_kind_name[b->kind], b->warp,
			        b->line[b->warp],
			        r.rc == SIM_OK ? " NOT CAUGHT" : "");
			print_faults(r.r);
			if (r.rc == SIM_OK)
				save(l, (int)missing, "/tmp/sync.ptx");
		}
		drop(&r);
	}
	sg_model_free(m);
}

TEST(mutated)
{
	Tally t[SG_NKINDS] = { { 0, 0, 0 } }, all = { 0, 0, 0 };
	unsigned n = setting("SYNC_KERNELS", 64), seed = setting("SYNC_SEED", 1);

	for (unsigned i = 0; i < n; i++) {
		SgShape s = shape(seed + i - 1, 150, seed + i);
		SgList l = sg_generate(&s);
		for (unsigned k = i % 3; k < l.n; k++)
			if (sg_orders[l.op[k].kind] && (k * 7 + i) % 4 == 0)
				try_without(&l, k, &t[l.op[k].kind]);
		free(l.op);
	}
	for (int k = 0; k < SG_NKINDS; k++) {
		if (t[k].tried)
			fprintf(stderr,
			        "without %-10s %4u conflicts, %4u reported, %4u of them where the model has "
			        "one\n",
			        sg_kind_name[k], t[k].tried, t[k].caught, t[k].placed);
		all.tried += t[k].tried;
		all.caught += t[k].caught;
		all.placed += t[k].placed;
	}
	fprintf(stderr, "%u of %u reported\n", all.caught, all.tried);
	ck_assert_uint_ge(all.tried, n);
	if (all.tried >= 50)
		ck_assert_uint_ge(100 * all.caught, 95 * all.tried);
}

static int
dump(const char *dir)
{
	for (unsigned i = 0; i < NSHAPES; i++) {
		SgShape s = shape(i, 400, i);
		SgList l = sg_generate(&s);
		char path[400];
		snprintf(path, sizeof path, "%.300s/%s-sync-%u.ptx", dir, s.hopper ? "sm_90a" : "sm_80", i);
		save(&l, -1, path);
		free(l.op);
	}
	return 0;
}

static int
start(int argc, char **argv)
{
	return argc == 3 && !strcmp(argv[1], "--dump") ? dump(argv[2]) : RUN_TESTS;
}

TEST_PROGRAM(.start = start);
