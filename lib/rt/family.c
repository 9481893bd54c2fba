/* family.c - opens kernel families: resolves the kernels that the text names, and which arguments they
 * share. */
#include "lib/rt/family.h"
#include <stdlib.h>
#include <string.h>

typedef struct FamilyOpen {
	hexc_family *f;
	const hexc_bundle *b;
	const char *text;
	size_t bytes;
	const char *name;    /* NULL: the only one */
	uint32_t capability; /* 0: any */
	FamilyText t;
	int code; /* HEXC_OK, or an error that is not in the text */
} FamilyOpen;

/* ---- kernels --------------------------------------------------------------------------------------- */

static bool
has_constants(const BundleKernel *k, const FamilyStage *s)
{
	for (int d = 0; d < s->ndefine; d++) {
		int c = 0;

		while (c < k->nconstant && (strcmp(k->constant[c].name, s->define[d].name) != 0 ||
		                            k->constant[c].value != s->define[d].value))
			c++;
		if (c == k->nconstant)
			return false;
	}
	return true;
}

/* Does the device run PTX for arch? *sm: the arch's capability. */
static bool
runs(const FamilyOpen *j, const char *arch, uint32_t *sm)
{
	return arch_runs(j->capability, arch, sm) || (!j->capability && *sm);
}

/* Does it have the default ALIGN, or does the stage specify ALIGN? */
static bool
is_usual(const BundleKernel *k, const FamilyStage *s)
{
	for (int d = 0; d < s->ndefine; d++)
		if (strcmp(s->define[d].name, "ALIGN") == 0)
			return true;
	for (int c = 0; c < k->nconstant; c++)
		if (strcmp(k->constant[c].name, "ALIGN") == 0)
			return k->constant[c].value == POINTER_ALIGN;
	return true;
}

/* Ranks kernel i for a stage: 0 if it does not match, else by its arch, then by whether it has the default
 * ALIGN. */
static uint32_t
suits(const FamilyOpen *j, const FamilyStage *s, int i)
{
	const BundleKernel *k = &j->b->x.kernel[i];
	const char *arch = j->b->x.module[k->module].arch;
	uint32_t sm = 0;

	if (strcmp(k->name, s->kernel) != 0 || !has_constants(k, s) ||
	    (s->candidate >= 0 && s->candidate != k->candidate))
		return 0;
	if (j->f->arch)
		sm = strcmp(arch, j->f->arch) == 0;
	else if (!runs(j, arch, &sm))
		sm = 0;
	return sm ? 2 * sm + is_usual(k, s) : 0;
}

static void
find_kernel(FamilyOpen *j, FamilyStage *s)
{
	uint32_t best = 0;
	int found = -1, twin = -1;
	char text[200];

	if (!s->kernel)
		s->kernel = j->f->name;
	for (int i = 0; i < j->b->x.nkernel; i++) {
		uint32_t is = suits(j, s, i);

		if (is == best)
			twin = is ? i : -1;
		if (is <= best)
			continue;
		best = is;
		found = i;
		twin = -1;
	}
	bundle_constants_text(s->define, (size_t)s->ndefine, text, sizeof text);
	if (found < 0) {
		family_wrong(&j->t, "the bundle has no kernel %s%s%s for %s; build it with --family",
		             s->kernel, *text ? " with " : "", text,
		             j->f->arch ? j->f->arch : "this device");
		j->code = HEXC_E_ARGS;
	} else if (twin >= 0) {
		family_wrong(&j->t,
		             "kernels %d and %d of the bundle both match %s%s%s; add distinguishing "
			     "constants",
		             found, twin, s->kernel, *text ? " with " : "", text);
	}
	if (j->t.bad)
		return;
	s->index = (size_t)found;
	s->k = (size_t)j->b->x.kernel[found].number;
	j->code = bundle_load(j->b, j->b->x.kernel[found].module, &s->m, j->t.why, j->t.n);
	if (j->code)
		j->t.bad = true;
}

/* ---- arguments ------------------------------------------------------------------------------------- */

static const ModParam *
param_at(const FamilyStage *s, int i)
{
	return &s->m->kernel[s->k].param[i];
}

static int
params_of(const FamilyStage *s)
{
	return s->m->kernel[s->k].nparam;
}

/* Returns the first stage in [from, to) that reads a tensor of this name; -1: none. */
static int
stage_reading(const FamilyLine *l, const char *name, int from, int to)
{
	for (int s = from; s < to; s++) {
		int i = hexc_param_find(l->stage[s].m, l->stage[s].k, name);
		const ModParam *p = i < 0 ? NULL : param_at(&l->stage[s], i);

		if (p && p->kind == HEXC_POINTER && p->read)
			return s;
	}
	return -1;
}

/* Finds the tensors that a stage writes and a later one reads, and no earlier one reads. */
static void
find_workspace(FamilyOpen *j, FamilyLine *l)
{
	for (int s = 0; s < l->nstage; s++)
		for (int i = 0; i < params_of(&l->stage[s]); i++) {
			const ModParam *p = param_at(&l->stage[s], i);
			FamilyTensor t = { p->name };
			bool known = false;

			for (int k = 0; k < l->ntensor; k++)
				known = known || strcmp(l->tensor[k].name, p->name) == 0;
			if (known || p->kind != HEXC_POINTER || !p->written || p->read ||
			    stage_reading(l, p->name, 0, s) >= 0 ||
			    stage_reading(l, p->name, s + 1, l->nstage) < 0)
				continue;
			if (l->ntensor == HEXC_MAX_PARAMS)
				family_wrong(&j->t, "the entry has more than %d tensors in its workspace",
				             HEXC_MAX_PARAMS);
			else
				VEC_PUSH(j->t.arena, l->tensor, l->ntensor, l->tensor_cap, t);
		}
}

/* Returns the index of the family's argument of this name; adds it if there is none. */
static int
argument(FamilyOpen *j, const FamilyStage *s, int i)
{
	hexc_family *f = j->f;
	const ModParam *p = param_at(s, i), *is;
	FamilyParam new = { p->name, s->m, s->k, (size_t)i };
	int at = hexc_family_param_find(f, p->name);

	if (at < 0) {
		if (f->nparam == HEXC_MAX_PARAMS)
			family_wrong(&j->t, "the family has more than %d arguments", HEXC_MAX_PARAMS);
		else
			VEC_PUSH(&f->arena, f->param, f->nparam, f->param_cap, new);
		return f->nparam - 1;
	}
	is = &f->param[at].m->kernel[f->param[at].k].param[f->param[at].i];
	if (is->kind != p->kind || is->dtype != p->dtype || (is->kind == HEXC_POINTER && is->rank != p->rank))
		family_wrong(&j->t, "%s of kernel %s is another kind of argument than that of %s; rename one",
		             p->name, s->kernel, f->param[at].m->kernel[f->param[at].k].name);
	else if (is->kind == HEXC_POINTER && (!is->packed != !p->packed ||
	                                      (is->packed && strcmp(is->pack, p->pack) != 0)))
		family_wrong(&j->t,
		             "%s of kernel %s has another pack than that of %s; one tensor cannot have both",
		             p->name, s->kernel, f->param[at].m->kernel[f->param[at].k].name);
	return at;
}

static FamilySource
source_of(FamilyOpen *j, const FamilyLine *l, const FamilyStage *s, int i)
{
	const char *name = param_at(s, i)->name;

	for (int k = 0; k < l->nsize; k++)
		if (strcmp(l->size[k].name, name) == 0)
			return (FamilySource){ FROM_SIZE, k };
	for (int k = 0; k < l->ntensor; k++)
		if (strcmp(l->tensor[k].name, name) == 0)
			return (FamilySource){ FROM_WORKSPACE, k };
	return (FamilySource){ FROM_ARGUMENT, argument(j, s, i) };
}

static void
find_sources(FamilyOpen *j, FamilyLine *l)
{
	for (int s = 0; s < l->nstage; s++) {
		FamilyStage *st = &l->stage[s];

		st->from = NEWN(&j->f->arena, FamilySource, params_of(st));
		for (int i = 0; i < params_of(st) && !j->t.bad; i++)
			st->from[i] = source_of(j, l, st, i);
	}
	for (int k = 0; k < l->nsize; k++) {
		bool used = false;

		for (int s = 0; s < l->nstage; s++) {
			int i = hexc_param_find(l->stage[s].m, l->stage[s].k, l->size[k].name);
			const ModParam *p = i < 0 ? NULL : param_at(&l->stage[s], i);

			used = used || p;
			if (p && (p->kind == HEXC_POINTER || dtype_is_float(p->dtype)))
				family_wrong(&j->t, "%s of kernel %s is not a size", p->name,
				             l->stage[s].kernel);
		}
		if (!used)
			family_wrong(&j->t, "no kernel of the entry has a size %s", l->size[k].name);
	}
}

/* ---- opening --------------------------------------------------------------------------------------- */

/* Selects the family: the newest for the device. Sets *from and *end to its text; returns false if there
 * is none. */
static bool
choose_family(FamilyOpen *j, const char **from, const char **end)
{
	const char *at = j->text, *stop = j->text + j->bytes, *behind, *name, *arch, *begin;
	const char *only = NULL;
	uint32_t best = 0, sm;

	*from = NULL;
	while (at < stop && (begin = family_next(&j->t, at, stop, &name, &arch, &behind)) != NULL) {
		at = behind;
		if (!j->name && only && strcmp(only, name) != 0)
			family_wrong(&j->t, "several families, %s and %s; select one", only, name);
		if (j->name && strcmp(name, j->name) != 0)
			continue;
		only = name;
		sm = 1; /* without an arch it is for all archs, if none is for this one */
		if (arch && !runs(j, arch, &sm))
			continue;
		if (sm <= best)
			continue;
		best = sm;
		*from = begin;
		*end = behind;
		j->f->name = name;
		j->f->arch = arch;
	}
	return *from && !j->t.bad;
}

static void
read_lines(FamilyOpen *j, const char *from, const char *end)
{
	hexc_family *f = j->f;

	j->t.line = family_line_of(j->text, from);
	family_lines(&j->t, f, from, end);
	for (int i = 0; i < f->nline && !j->t.bad; i++) {
		FamilyLine *l = &f->line[i];

		family_size_names(&j->t, l);
		for (int s = 0; s < l->nstage && !j->t.bad; s++)
			find_kernel(j, &l->stage[s]);
		if (j->t.bad)
			return;
		find_workspace(j, l);
		find_sources(j, l);
	}
	f->param_name = NEWN(&f->arena, const char *, f->nparam);
	for (int i = 0; i < f->nparam; i++)
		f->param_name[i] = f->param[i].name;
	for (int i = 0; i < f->nline && !j->t.bad; i++)
		family_expressions(&j->t, f, &f->line[i]);
}

/* Runs under arena_protect. */
static void
read_family(void *user)
{
	FamilyOpen *j = user;
	const char *from, *end;

	if (choose_family(j, &from, &end))
		read_lines(j, from, end);
	else if (!j->t.bad)
		j->code = why_error(HEXC_E_ARGS, j->t.why, j->t.n, "no family %s%s",
		                    j->name ? j->name : "", j->capability ? " for this device" : "");
}

static int
open_family(hexc_family **out, FamilyOpen *j, const char *arch)
{
	char *why = j->t.why;
	size_t n = j->t.n;
	Arena *arena;
	int code;

	if (arch) {
		arch_runs(0, arch, &j->capability);
		if (!j->capability)
			return why_error(HEXC_E_INVALID, why, n,
					"unknown architecture %s (expected e.g. sm_80)", arch);
	}
	j->f = calloc(1, sizeof *j->f);
	if (!j->f)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	arena_init(&j->f->arena, NULL, NULL);
	arena = j->t.arena = &j->f->arena;
	code = arena_protect(&arena, 1, read_family, j);
	if (code)
		why_error(code, why, n, "%s", hexc_strerror(code));
	else
		code = j->code ? j->code : j->t.bad ? HEXC_E_FILE : HEXC_OK;
	if (code)
		hexc_family_close(j->f);
	else
		*out = j->f;
	return code;
}

int
hexc_family_read(hexc_family **out, const hexc_bundle *b, const char *text, size_t bytes, const char *name,
                 const char *arch, char *why, size_t n)
{
	FamilyOpen j = { .b = b, .text = text, .bytes = bytes, .name = name, .t = { .why = why, .n = n } };

	if (why && n)
		why[0] = 0;
	if (out)
		*out = NULL;
	if (!out || !b || !text || (!why && n))
		return HEXC_E_INVALID;
	return open_family(out, &j, arch);
}

int
hexc_family_open(hexc_family **out, const hexc_bundle *b, const char *name, const char *arch, char *why,
                 size_t n)
{
	if (out)
		*out = NULL;
	if (!b)
		return HEXC_E_INVALID;
	return hexc_family_read(out, b, b->x.families, strlen(b->x.families), name, arch, why, n);
}

void
hexc_family_close(hexc_family *f)
{
	if (!f)
		return;
	arena_free(&f->arena);
	free(f);
}
