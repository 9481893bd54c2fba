/* family_pick.c - selects the line of a family for given sizes, and computes the arguments of its
 * kernels. */
#include "lib/rt/family.h"
#include <string.h>

enum { WORKSPACE_ALIGN = 256 };

/* ---- what there is --------------------------------------------------------------------------------- */

int
hexc_family_describe(const hexc_family *f, hexc_family_info *out)
{
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;

	if (!f || !out)
		return 0;
	info.name = f->name;
	info.arch = f->arch;
	info.nline = (uint32_t)f->nline;
	info.nparam = (uint32_t)f->nparam;
	return hand_out(out, out->size, &info, sizeof info);
}

int
hexc_family_param(const hexc_family *f, size_t i, hexc_param_info *out)
{
	return f && i < (size_t)f->nparam && hexc_param(f->param[i].m, f->param[i].k, f->param[i].i, out);
}

int
hexc_family_param_find(const hexc_family *f, const char *name)
{
	for (int i = 0; f && name && i < f->nparam; i++)
		if (strcmp(f->param[i].name, name) == 0)
			return i;
	return -1;
}

static const FamilyLine *
line_at(const hexc_family *f, size_t i)
{
	return f && i < (size_t)f->nline ? &f->line[i] : NULL;
}

int
hexc_family_at(const hexc_family *f, size_t i, hexc_family_line *out)
{
	const FamilyLine *l = line_at(f, i);
	hexc_family_line line = HEXC_FAMILY_LINE_INIT;

	if (!l || !out)
		return 0;
	line.guard = l->guard;
	line.number = (uint32_t)l->number;
	line.nstage = (uint32_t)l->nstage;
	line.ntensor = (uint32_t)l->ntensor;
	return hand_out(out, out->size, &line, sizeof line);
}

int
hexc_family_stage(const hexc_family *f, size_t line, size_t s, size_t *kernel, const hexc_module **m,
                  size_t *k)
{
	const FamilyLine *l = line_at(f, line);

	if (!l || s >= (size_t)l->nstage)
		return HEXC_E_INVALID;
	if (kernel)
		*kernel = l->stage[s].index;
	if (m)
		*m = l->stage[s].m;
	if (k)
		*k = l->stage[s].k;
	return HEXC_OK;
}

/* ---- arguments ------------------------------------------------------------------------------------- */

/* Computes the stage's arguments except addresses in the workspace; returns false if a size has no value. */
static bool
stage_numbers(const FamilyLine *l, const FamilyStage *s, const hexc_arg *arg, const ExprValues *v,
              hexc_arg *out)
{
	for (int i = 0; i < s->m->kernel[s->k].nparam; i++) {
		const FamilySource *from = &s->from[i];

		memset(&out[i], 0, sizeof out[i]);
		if (from->kind == FROM_ARGUMENT)
			out[i] = arg[from->i];
		if (from->kind != FROM_SIZE)
			continue;
		if (v->bad[l->size[from->i].value])
			return false;
		out[i].i = v->value[l->size[from->i].value];
	}
	return true;
}

/* Computes the aligned bytes of each tensor of the workspace. */
static int
tensor_bytes(const FamilyLine *l, const hexc_arg *arg, const ExprValues *v, uint64_t *bytes)
{
	hexc_arg of[HEXC_MAX_PARAMS];

	for (int t = 0; t < l->ntensor; t++)
		bytes[t] = 0;
	for (int s = 0; s < l->nstage; s++) {
		const FamilyStage *st = &l->stage[s];

		if (!stage_numbers(l, st, arg, v, of))
			return HEXC_E_ARGS;
		for (int i = 0; i < st->m->kernel[st->k].nparam; i++) {
			uint64_t n, *all;

			if (st->from[i].kind != FROM_WORKSPACE)
				continue;
			all = &bytes[st->from[i].i];
			if (hexc_tensor_bytes(st->m, st->k, (size_t)i, of, &n) != HEXC_OK) /* n < 2^60 */
				return HEXC_E_ARGS;
			n = (n + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
			*all = n > *all ? n : *all;
		}
	}
	return HEXC_OK;
}

static bool
arguments_right(const hexc_family *f, const hexc_arg *arg)
{
	return arg || !f->nparam;
}

int
hexc_family_workspace(const hexc_family *f, size_t line, const hexc_arg *arg, uint64_t *bytes)
{
	const FamilyLine *l = line_at(f, line);
	uint64_t each[HEXC_MAX_PARAMS];
	ExprValues v;
	int code;

	if (!l || !bytes || !arguments_right(f, arg))
		return HEXC_E_INVALID;
	*bytes = 0;
	if (!l->ntensor)
		return HEXC_OK;
	family_eval(f, l, arg, &v);
	code = tensor_bytes(l, arg, &v, each);
	for (int t = 0; t < l->ntensor && !code; t++)
		if (each[t] > UINT64_MAX - *bytes)
			code = HEXC_E_ARGS;
		else
			*bytes += each[t];
	return code;
}

int
hexc_family_args(const hexc_family *f, size_t line, size_t s, const hexc_arg *arg, void *workspace,
                 hexc_arg *out)
{
	const FamilyLine *l = line_at(f, line);
	uint64_t each[HEXC_MAX_PARAMS], at = 0;
	const FamilyStage *st;
	ExprValues v;
	int code;

	if (!l || s >= (size_t)l->nstage || !out || !arguments_right(f, arg))
		return HEXC_E_INVALID;
	st = &l->stage[s];
	family_eval(f, l, arg, &v);
	if (!stage_numbers(l, st, arg, &v, out))
		return HEXC_E_ARGS;
	if (!l->ntensor)
		return HEXC_OK;
	if ((code = tensor_bytes(l, arg, &v, each)))
		return code;
	for (int t = 0; t < l->ntensor; at += each[t], t++)
		for (int i = 0; i < st->m->kernel[st->k].nparam; i++)
			if (st->from[i].kind == FROM_WORKSPACE && st->from[i].i == t) {
				out[i].ptr = workspace ? (unsigned char *)workspace + at : NULL;
				out[i].bytes = each[t];
			}
	return HEXC_OK;
}

/* ---- which line ------------------------------------------------------------------------------------ */

/* Does the kernel accept the given addresses? Those of the workspace are aligned by the line. */
static int
stage_takes(const FamilyStage *s, const hexc_arg *of, char *why, size_t n)
{
	const ModKernel *k = &s->m->kernel[s->k];

	for (int i = 0; i < k->nparam; i++) {
		const ModParam *p = &k->param[i];

		if (p->kind == HEXC_POINTER && (uintptr_t)of[i].ptr % param_align(k, p))
			return why_error(HEXC_E_ARGS, why, n,
			                 "the address of %s is not a multiple of %u bytes",
			                 p->name, (unsigned)param_align(k, p));
	}
	return HEXC_OK;
}

/* Do all its kernels accept the sizes and addresses? */
static int
line_takes(const FamilyLine *l, const hexc_arg *arg, const ExprValues *v, char *why, size_t n)
{
	hexc_arg of[HEXC_MAX_PARAMS];
	int code = HEXC_OK;

	for (int s = 0; s < l->nstage && !code; s++) {
		if (!stage_numbers(l, &l->stage[s], arg, v, of))
			return why_error(HEXC_E_ARGS, why, n,
			                 "a size cannot be computed: overflow or division by 0");
		code = hexc_check_sizes(l->stage[s].m, l->stage[s].k, of, why, n);
		if (!code)
			code = stage_takes(&l->stage[s], of, why, n);
	}
	return code;
}

int
hexc_family_pick(const hexc_family *f, const hexc_arg *arg, size_t *line, char *why, size_t n)
{
	char text[300] = "";
	int against = -1;

	if (why && n)
		why[0] = 0;
	if (!f || !line || (!why && n) || !arguments_right(f, arg))
		return HEXC_E_INVALID;
	for (int i = 0; i < f->nline; i++) {
		const FamilyLine *l = &f->line[i];
		ExprValues v;
		int code;

		family_eval(f, l, arg, &v);
		if (v.bad[l->cond] || !v.value[l->cond])
			continue;
		code = line_takes(l, arg, &v, text, sizeof text);
		*line = (size_t)i;
		if (code != HEXC_E_ARGS)
			return code ? why_error(code, why, n, "%s", text) : HEXC_OK;
		against = l->number;
	}
	if (against < 0)
		return why_error(HEXC_E_ARGS, why, n, "no entry of family %s matches these sizes", f->name);
	return why_error(HEXC_E_ARGS, why, n, "family %s: no entry matches these sizes; line %d fails: %s",
	                 f->name, against, text);
}
