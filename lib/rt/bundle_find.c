/* bundle_find.c - finds a kernel of a bundle by filtering on the caller's requirements; reports the one
 * that no kernel satisfies. */
#include "lib/rt/bundle.h"
#include <stdlib.h>
#include <string.h>

typedef struct BundleQuery {
	const hexc_bundle *b;
	hexc_want want;
	uint32_t capability; /* 0: any */
	unsigned char *in;   /* per kernel: it satisfies the requirements so far */
	int left;
	char *why;
	size_t n;
} BundleQuery;

/* ---- what there is, for sentences -------------------------------------------------------------------- */

typedef struct NameList {
	char s[400];
	size_t n;
} NameList;

/* Adds each word once, while there is space. */
static void
list_add(NameList *l, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = l->s; (at = strstr(at, word)) != NULL; at += n)
		if ((at == l->s || at[-1] == ' ') && (at[n] == 0 || at[n] == ','))
			return;
	if (l->n + n + 3 > sizeof l->s)
		return;
	if (l->n) {
		memcpy(l->s + l->n, ", ", 2);
		l->n += 2;
	}
	memcpy(l->s + l->n, word, n + 1);
	l->n += n;
}

static const BundleModule *
module_of(const BundleQuery *f, int i)
{
	return &f->b->x.module[f->b->x.kernel[i].module];
}

#define NONE(f, ...) why_error(HEXC_E_ARGS, (f)->why, (f)->n, __VA_ARGS__)

/* ---- demands ----------------------------------------------------------------------------------------- */

static void
leave(BundleQuery *f, int i)
{
	f->left -= f->in[i];
	f->in[i] = 0;
}

static int
by_name(BundleQuery *f)
{
	const BundleIndex *x = &f->b->x;
	NameList names = { "", 0 };
	const char *name = f->want.kernel ? f->want.kernel : x->nkernel ? x->kernel[0].name : "";
	bool several = false;

	for (int i = 0; i < x->nkernel; i++) {
		list_add(&names, x->kernel[i].name);
		if (strcmp(x->kernel[i].name, name) != 0) {
			several = true;
			leave(f, i);
		}
	}
	if (!f->want.kernel && several)
		return NONE(f, "the bundle has several kernels; select one of %s", names.s);
	return f->left ? HEXC_OK : NONE(f, "the bundle has no kernel %s; it has %s", name, names.s);
}

static int
by_arch(BundleQuery *f)
{
	const BundleIndex *x = &f->b->x;
	NameList archs = { "", 0 };
	uint32_t sm;

	for (int i = 0; i < x->nkernel; i++) {
		if (!f->in[i])
			continue;
		list_add(&archs, module_of(f, i)->arch);
		if (!arch_runs(f->capability, module_of(f, i)->arch, &sm))
			leave(f, i);
	}
	return f->left ? HEXC_OK
	               : NONE(f, "no module of the bundle runs on %s (it has %s); rebuild with that --arch",
	                      f->want.arch, archs.s);
}

static int
by_constant(BundleQuery *f, const hexc_define *d)
{
	const BundleIndex *x = &f->b->x;
	NameList values = { "", 0 };
	char text[200], want[200];

	bundle_constants_text(d, 1, want, sizeof want);
	for (int i = 0; i < x->nkernel; i++) {
		const BundleKernel *k = &x->kernel[i];
		bool same = false;

		for (int c = 0; f->in[i] && c < k->nconstant; c++) {
			if (strcmp(k->constant[c].name, d->name) != 0)
				continue;
			bundle_constants_text(&k->constant[c], 1, text, sizeof text);
			list_add(&values, text);
			same = k->constant[c].value == d->value;
		}
		if (!same)
			leave(f, i);
	}
	if (f->left)
		return HEXC_OK;
	return values.n ? NONE(f, "no such kernel of the bundle has %s; available: %s", want, values.s)
	                : NONE(f, "no such kernel of the bundle has a constant %s", d->name);
}

/* Filters by the sizes of the arguments. */
static int
by_shape(BundleQuery *f)
{
	char first[300] = "", why[300];

	for (int i = 0; i < f->b->x.nkernel; i++) {
		const BundleKernel *k = &f->b->x.kernel[i];
		const hexc_module *m;
		int code;

		if (!f->in[i])
			continue;
		if ((code = bundle_load(f->b, k->module, &m, f->why, f->n)))
			return code;
		code = hexc_check_sizes(m, (size_t)k->number, f->want.arg, why, sizeof why);
		if (code == HEXC_E_ARGS) {
			if (!*first)
				memcpy(first, why, sizeof first);
			leave(f, i);
		} else if (code) {
			return code;
		}
	}
	return f->left ? HEXC_OK
	               : NONE(f, "no such kernel of the bundle accepts these sizes: for the first, %s",
	                      first);
}

/* ---- which of those that are left -------------------------------------------------------------------- */

/* Predicts cycles for all blocks of the grid. An SM holds `together` blocks, each with `cycles` as its
 * share; an SM with few blocks takes at least the time of a block alone. */
static double
predicted(const hexc_module *m, size_t k, const hexc_arg *arg, uint32_t sms, bool by_sizes)
{
	const ModKernel *mk = &m->kernel[k];
	double each, full, rest, cycles, alone;
	uint32_t grid[3];
	int together;

	if (launch_cost(m, k, arg, by_sizes, grid, &cycles, &alone))
		return 0;
	together = mk->cand[mk->candidate].together;
	each = (double)grid[0] * grid[1] * grid[2] / sms;
	each = each > (double)(int64_t)each ? (double)(int64_t)each + 1 : each;
	full = (double)(int64_t)(each / together);
	rest = each - full * together;
	return full * together * cycles + (rest * cycles < alone && rest > 0 ? alone : rest * cycles);
}

/* Does kernel i satisfy the requirements, for the newest arch among those? */
static bool
is_newest(const BundleQuery *f, int i, uint32_t newest)
{
	uint32_t sm;

	arch_runs(UINT32_MAX, module_of(f, i)->arch, &sm);
	return f->in[i] && sm == newest;
}

/* Loads the modules to compare. *all: each has the cycles per iteration of its loops. If not, all are
 * compared with the default trip counts of their predictions. */
static int
know_turns(const BundleQuery *f, uint32_t newest, bool *all)
{
	*all = true;
	for (int i = 0; i < f->b->x.nkernel; i++) {
		const BundleKernel *k = &f->b->x.kernel[i];
		const hexc_module *m;
		int code;

		if (!is_newest(f, i, newest))
			continue;
		if ((code = bundle_load(f->b, k->module, &m, f->why, f->n)))
			return code;
		*all = *all && m->kernel[k->number].turns.known;
	}
	return HEXC_OK;
}

static int
choose(BundleQuery *f, size_t *out)
{
	uint32_t newest = 0, sm;
	double least = 0;
	bool found = false, by_sizes = false, compare = f->want.arg && f->want.sms;
	int code;

	for (int i = 0; i < f->b->x.nkernel; i++)
		if (f->in[i] && (arch_runs(UINT32_MAX, module_of(f, i)->arch, &sm), sm > newest))
			newest = sm;
	if (compare && (code = know_turns(f, newest, &by_sizes)))
		return code;
	for (int i = 0; i < f->b->x.nkernel; i++) {
		const BundleKernel *k = &f->b->x.kernel[i];
		const hexc_module *m;
		double time = 0;

		if (!is_newest(f, i, newest))
			continue;
		if (compare) {
			if ((code = bundle_load(f->b, k->module, &m, f->why, f->n)))
				return code;
			time = predicted(m, (size_t)k->number, f->want.arg, f->want.sms, by_sizes);
		}
		if (!found || time < least) {
			found = true;
			least = time;
			*out = (size_t)i;
		}
	}
	return HEXC_OK;
}

static int
find(BundleQuery *f, size_t *out)
{
	int code = by_name(f);

	if (!code && f->want.arch)
		code = by_arch(f);
	for (size_t i = 0; i < f->want.ndefine && !code; i++)
		code = by_constant(f, &f->want.define[i]);
	if (!code && f->want.arg)
		code = by_shape(f);
	return code ? code : choose(f, out);
}

static bool
want_right(const hexc_want *w)
{
	if (w->ndefine && !w->define)
		return false;
	for (size_t i = 0; i < w->ndefine; i++)
		if (!w->define[i].name)
			return false;
	return true;
}

int
hexc_bundle_find(const hexc_bundle *b, const hexc_want *want, size_t *out, char *why, size_t n)
{
	const hexc_want init = HEXC_WANT_INIT;
	BundleQuery f = { .b = b, .want = init, .why = why, .n = n };
	int code;

	if (why && n)
		why[0] = 0;
	if (!b || !want || !out || (!why && n) || !take_in(&f.want, sizeof f.want, want) ||
	    !want_right(&f.want))
		return HEXC_E_INVALID;
	if (f.want.arch) {
		arch_runs(0, f.want.arch, &f.capability);
		if (!f.capability)
			return why_error(HEXC_E_INVALID, why, n, "unknown architecture %s (expected e.g. "
			                                         "sm_80)",
			                 f.want.arch);
	}
	f.left = b->x.nkernel;
	f.in = malloc((size_t)f.left + 1);
	if (!f.in)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	memset(f.in, 1, (size_t)f.left);
	code = find(&f, out);
	free(f.in);
	return code;
}
