/* util_fault.c - removes one of the instructions that order threads and async units from a PTX text. */
#define _GNU_SOURCE /* memmem */
#include "test/examples/util_fault.h"
#include "test/examples/util_launch.h"
#include "taskmap/support/support.h"
#include "ptxgen/ptxgen.h"
#include "test/check.h"
#include "test/ir/util_ir.h"
#include "test/validate/util_ring.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What makes somebody wait, tells who waits, or shows one proxy what another did.  `pending`: it waits
 * until so many groups are under way, the number behind it. */
static const struct {
	const char *op;
	bool pending;
} ordering[] = {
	{ "bar.sync ", false },
	{ "barrier.cluster.arrive", false },
	{ "fence.", false },
	{ "mbarrier.arrive", false },
	{ "mbarrier.expect_tx", false },
	{ "mbarrier.try_wait", false },
	{ "cp.async.commit_group", false },
	{ "cp.async.wait_group ", true },
	{ "cp.async.mbarrier.arrive", false },
	{ "cp.async.bulk.commit_group", false },
	{ "cp.async.bulk.wait_group ", true },
	{ "cp.async.bulk.wait_group.read ", true },
	{ "wgmma.fence", false },
	{ "wgmma.commit_group", false },
	{ "wgmma.wait_group.sync.aligned ", true },
};

/* One fault: the line is blank, or waits until one more is under way. */
typedef struct Site {
	uint64_t text; /* hash of the PTX */
	uint32_t line;
	bool less, missed;
	char what[120], op[120];
} Site;

static Site *site;
static int nsite;

static uint64_t
hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3;
	return h;
}

static Site *
site_of(uint64_t text, uint32_t line, bool less, const char *what, const char *op)
{
	int i = 0;

	while (i < nsite && (site[i].text != text || site[i].line != line || site[i].less != less))
		i++;
	if (i == nsite) {
		if ((nsite & (nsite - 1)) == 0)
			site = realloc(site, sizeof *site * (size_t)(nsite ? 2 * nsite : 1));
		ck_assert_ptr_nonnull(site);
		nsite++;
		site[i] = (Site){ .text = text, .line = line, .less = less };
		snprintf(site[i].what, sizeof site[i].what, "%s", what);
		snprintf(site[i].op, sizeof site[i].op, "%.*s", (int)strcspn(op, "\n"), op);
	}
	return &site[i];
}

/* ---- the text ---------------------------------------------------------------------------------- */

/* The instruction of the line at p that orders something; *number: of the groups that it lets be under way,
 * NULL: it has none.  NULL: no line of these. */
static const char *
ordering_in(const char *p, const char **number)
{
	size_t n = strcspn(p, "\n");

	for (size_t i = 0; i < COUNT_OF(ordering) && p[0] != '/'; i++) {
		const char *op = ordering[i].op;
		size_t len = strlen(op);

		for (const char *at = p; (at = memmem(at, (size_t)(p + n - at), op, len)) != NULL; at++)
			if (at == p || strchr(" \t", at[-1])) {
				*number = ordering[i].pending ? at + len : NULL;
				return at;
			}
	}
	return NULL;
}

/* How often warps executed a line. */
static uint64_t
executed(const sim_result *r, uint32_t line)
{
	sim_line l;

	for (size_t i = 0; sim_line_at(r, i, &l); i++)
		if (l.line == line)
			return l.n.warps;
	return 0;
}

/* Is the line at p, of number `line`, in a loop that never had a second turn?  What is behind the label in
 * front, where loops ask whether there is another, was executed once more for each. */
static bool
turns_once(const sim_result *r, const char *ptx, const char *p, uint32_t line)
{
	uint64_t n = executed(r, line), first = 0;

	while (p > ptx && strncmp(p, "$L_", 3) != 0) {
		first = executed(r, line) ? executed(r, line) : first;
		for (p--; p > ptx && p[-1] != '\n'; p--)
			;
		line--;
	}
	return p > ptx && first >= 2 * n;
}

/* What keeps turns of a loop apart, and nothing where there is one: a wait for all products but some of the
 * turn before; groups of these; the fence in front of such a product. */
static bool
parts_turns(const char *op)
{
	static const char wait[] = "wgmma.wait_group.sync.aligned ";

	return (!strncmp(op, wait, sizeof wait - 1) && op[sizeof wait - 1] != '0') ||
	       !strncmp(op, "wgmma.commit_group", 18);
}

/* A wait for all groups of cp.async right behind a pipeline's loop.  It is redundant: turn t has waited for
 * the group of its own copies, so those with copies have landed, and the groups of turns that there are not
 * are empty. */
static bool
is_drain(const char *ptx, const char *op)
{
	static const char commit[] = "cp.async.commit_group", wait[] = "cp.async.wait_group";
	uint32_t line = 1, last = 0;
	bool *loop, waits = false;

	if (strncmp(op, "cp.async.wait_group 0", 21) != 0)
		return false;
	loop = loop_lines(ptx, 1);
	for (const char *p = ptx; p < op && *p; p = strchr(p, '\n') + 1, line++) {
		size_t n = strcspn(p, "\n");
		const char *c = strstr(p, commit), *w = strstr(p, wait);

		if (c && c < p + n)
			last = line;
		if (w && w < p + n && w < op)
			waits = loop[line];
	}
	waits = waits && last && loop[last];
	free(loop);
	return waits;
}

/* A group of bulk stores where all waits are for all groups and the next group follows, of the same way: its
 * stores are of that one without it. */
static bool
is_joined(const char *ptx, const char *op)
{
	static const char commit[] = "cp.async.bulk.commit_group", wait[] = "cp.async.bulk.wait_group";
	const char *next = strstr(op + 1, commit), *label = strstr(op, "\n$L_"), *w = strstr(op, wait);

	if (strncmp(op, commit, sizeof commit - 1) != 0 || !next || (label && label < next) ||
	    (w && w < next))
		return false;
	for (w = strstr(ptx, wait); w; w = strstr(w + 1, wait))
		if (strchr(w, ' ')[1] != '0')
			return false;
	return true;
}

/* ---- runs -------------------------------------------------------------------------------------- */

static struct {
	void (*call)(void *user);
	void *user;
} reset;

void
fault_reset(void (*call)(void *user), void *user)
{
	reset.call = call;
	reset.user = user;
}

/* Does the kernel of this text still run without a word? */
static bool
runs(sim *s, const char *text, const char *kernel, sim_launch l)
{
	sim_module *m = NULL;
	sim_result *r = NULL;
	sim_fault f;
	bool silent;

	ck_assert_int_eq(sim_load(s, text, strlen(text), &m), SIM_OK);
	if (reset.call)
		reset.call(reset.user);
	l.max_faults = 1;
	l.counts = 0;
	silent = sim_run(s, m, kernel, &l, &r) != SIM_E_FAULT && !sim_fault_at(r, 0, &f);
	sim_result_free(r);
	sim_unload(s, m);
	return silent;
}

/* .. when line `at` of its text is blank, or has another number at `number`? */
static bool
runs_without(sim *s, const char *ptx, const char *at, const char *number, const char *kernel,
             const sim_launch *l)
{
	char *text = strdup(ptx);
	bool silent;

	ck_assert_ptr_nonnull(text);
	if (number)
		text[number - ptx]++;
	else
		memset(text + (at - ptx), ' ', strcspn(at, "\n"));
	silent = runs(s, text, kernel, *l);
	free(text);
	return silent;
}

/* What others go on with is right again. */
static void
run_again(sim *s, const char *ptx, const char *kernel, const sim_launch *l)
{
	runs(s, ptx, kernel, *l);
}

void
fault_try(sim *s, const char *ptx, const char *kernel, const sim_launch *l, const sim_result *clean,
          const char *what)
{
	uint64_t text = hash(ptx);
	uint32_t line = 1;

	for (const char *p = ptx; *p; p = strchr(p, '\n') + 1, line++) {
		const char *number, *op = ordering_in(p, &number);

		if (op && (is_drain(ptx, op) || is_joined(ptx, op) ||
		           (parts_turns(op) && turns_once(clean, ptx, p, line))))
			continue;
		for (int less = 0; op && less <= (number && *number < '9') && executed(clean, line); less++) {
			Site *x = site_of(text, line, less, what, op);

			x->missed = x->missed || !runs_without(s, ptx, p, less ? number : NULL, kernel, l);
		}
	}
	run_again(s, ptx, kernel, l);
}

static void *
grow(void *user, void *p, size_t n)
{
	(void)user;
	if (n)
		return realloc(p, n);
	free(p);
	return NULL;
}

void
fault_stages(sim *s, const char *ir, const char *arch, const char *kernel, const sim_launch *l,
             const char *what)
{
	PtxGen *g = ptxgen_new(grow, NULL);
	Unit *u = ir_unit();
	uint64_t text = hash(ir);
	Ring *r = malloc(sizeof *r);
	const Op *o = NULL;
	Kernel *k;

	ck_assert(g && r);
	u->target = target_find(arch);
	k = ir_read(u, ir);
	u->kernel = &k;
	u->nkernel = 1;
	for (uint32_t n = 0; (o = ring_next(k, o)) != NULL; n++) {
		Site *x = site_of(text, n, false, what, "one of a ring's stages");
		PtxOut out;

		if (x->missed)
			continue;
		ring_narrow(k, o, r);
		ck_assert(ptxgen_emit(g, u, &out));
		x->missed = !runs(s, out.text, kernel, *l);
		ring_restore(r);
	}
	free(r);
	ir_unit_free(u);
	ptxgen_free(g);
}

void
fault_needs(sim *s, const char *ptx, const char *text, const char *kernel, const sim_launch *l,
            const char *what)
{
	const char *p = strstr(ptx, text);

	ck_assert_msg(p, "%s: no %s", what, text);
	for (; p; p = strstr(p + 1, text)) {
		const char *line = p;
		sim_launch other = *l;

		while (line > ptx && line[-1] != '\n')
			line--;
		while (other.seed < 8 && runs_without(s, ptx, line, NULL, kernel, &other))
			other.seed++;
		ck_assert_msg(other.seed < 8, "%s: right without %.*s", what, (int)strcspn(line, "\n"), line);
	}
	run_again(s, ptx, kernel, l);
}

/* ---- what is left ------------------------------------------------------------------------------ */

/* Sites that nobody misses, and why that is so. */
static const struct {
	const char *kernel, *op, *why;
	int most; /* such sites of a kernel; 0: any number */
} known[] = {
	{ "attention.hexc sm_80", "cp.async.commit_group",
	  "redundant: without it Q's copies are in the group behind, K's first, whose wait "
	  "comes before either is read", 0 },
	{ "attention.hexc sm_90a groups", "cp.async.commit_group", "redundant, likewise", 0 },
	{ "attention.hexc sm_80", "cp.async.wait_group 0",
	  "redundant: the loop's first wait is for the group behind, and groups are done in order", 0 },
	{ "attention.hexc sm_90a groups", "cp.async.wait_group 0", "redundant, likewise", 0 },
	{ "attention.hexc sm_120a", "cp.async.bulk.wait_group 0",
	  "redundant: a slab where Q was before, whose copy has waited for the slab of the turn before", 0 },
	{ "attention.hexc sm_120a", "bar.sync 1", "redundant, likewise", 0 },
	{ "attention.hexc sm_90a roles", "cp.async.bulk.wait_group 0", "redundant, likewise", 0 },
	{ "attention.hexc sm_90a roles", "bar.sync 1", "redundant, likewise", 0 },
	{ "attention.hexc sm_90a roles2", "bar.sync 2", "redundant, likewise", 0 },
	{ "attention.hexc sm_90a roles", "wgmma.fence",
	  "redundant before Q K': the fence before P V follows all accesses to its last result", 1 },
	{ "lora.hexc sm_90a roles", "cp.async.bulk.wait_group 0",
	  "redundant, likewise, of the first product's slab", 0 },
	{ "lora.hexc sm_90a roles", "bar.sync 1", "redundant, likewise", 0 },
	{ "lora.hexc sm_90a roles2", "bar.sync 2", "redundant, likewise", 0 },
	{ "mla_decode.hexc", "cp.async.commit_group",
	  "redundant: Q's as in attention; in the loop behind the one without masks no turn has another", 0 },
	{ "mla_decode.hexc", "cp.async.wait_group 0", "redundant: Q's, as in attention", 0 },
	{ "mla_decode.hexc sm_90a roles", "cp.async.bulk.wait_group 0", "redundant, as in attention", 0 },
	{ "mla_decode.hexc sm_90a roles", "fence.mbarrier_init.release.cluster",
	  "redundant: producers copy lane by lane, and no other proxy sees the mbarriers", 0 },
	{ "gather.hexc sm_90a groups", "cp.async.commit_group",
	  "redundant where rows begin anywhere: lanes copy them, groups are empty", 0 },
	{ "gather.hexc sm_90a groups", "cp.async.wait_group 1", "redundant, likewise", 0 },
	{ "control.hexc sm_120a", "bar.sync 0",
	  "redundant in `down`: the turn that leaves the loop runs no pipeline, and has "
	  "passed a barrier", 0 },
	{ "control.hexc sm_90a groups", "bar.sync 0", "redundant in `down`, likewise", 0 },
};

/* How many sites of the kernel, with that op, does nobody miss? */
static int
missed_like(const Site *s, const char *op)
{
	int n = 0;

	for (int i = 0; i < nsite; i++)
		n += !site[i].missed && !strcmp(site[i].what, s->what) &&
		     !strncmp(site[i].op, op, strlen(op));
	return n;
}

static bool
is_known(const Site *s)
{
	size_t i = 0;

	while (i < COUNT_OF(known) && !(strstr(s->what, known[i].kernel) &&
	                                !strncmp(s->op, known[i].op, strlen(known[i].op))))
		i++;
	return i < COUNT_OF(known) && (!known[i].most || missed_like(s, known[i].op) <= known[i].most);
}

int
fault_sites(void)
{
	return nsite;
}

const char *
fault_missed(int *i, uint32_t *line, const char **op)
{
	for (; *i < nsite; ++*i)
		if (!site[*i].missed && !is_known(&site[*i])) {
			*line = site[*i].line;
			*op = site[*i].op;
			return site[(*i)++].what;
		}
	return NULL;
}
