/* gpu_family.c - implements hexc_gpu.h: launches of kernel families, with arguments that persist between
 * launches. */
#include "lib/gpu/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 16 }; /* largest alignment in bytes that any kernel requires */

/* The kernels of a line. */
typedef struct Chain {
	hexc_call *call[HEXC_FAMILY_STAGES];
	size_t n;
} Chain;

struct hexc_family_call {
	hexc_gpu *g;
	const hexc_family *f;
	hexc_family_info info;
	Chain *chain;               /* per line */
	hexc_gpu_module **module;   /* nmodule loaded modules, without duplicates */
	const hexc_module **of;     /* the modules that they were loaded from */
	size_t nmodule;
	hexc_arg arg[HEXC_MAX_PARAMS];
	uint64_t missing, numbers;  /* bit sets of parameters: without an argument; sizes and integers */
	uint64_t changes;           /* number of changed arguments */
	bool picked, given;         /* `line` is for the current sizes; its calls have the current
	                             * arguments */
	size_t line;
	void *space;
	uint64_t space_bytes, needs; /* bytes of workspace: available, and required by the line */
	char why[LOG_MAX + 300];
};

static int
told(hexc_family_call *c, int code, const char *text)
{
	snprintf(c->why, sizeof c->why, "family %s: %s", c->info.name, text);
	return code;
}

/* ---- loading --------------------------------------------------------------------------------------- */

static int
load_module(hexc_family_call *c, const hexc_module *m, hexc_gpu_module **out)
{
	int code;

	for (size_t i = 0; i < c->nmodule; i++)
		if (c->of[i] == m) {
			*out = c->module[i];
			return HEXC_OK;
		}
	code = hexc_gpu_load(c->g, m, out);
	if (code)
		return code;
	c->of[c->nmodule] = m;
	c->module[c->nmodule++] = *out;
	return HEXC_OK;
}

static int
load_line(hexc_family_call *c, size_t line)
{
	hexc_family_line l = HEXC_FAMILY_LINE_INIT;
	int code = HEXC_OK;

	hexc_family_at(c->f, line, &l);
	for (size_t s = 0; s < l.nstage && !code; s++) {
		Chain *chain = &c->chain[line];
		hexc_gpu_module *gm = NULL;
		const hexc_module *m;
		size_t k;

		hexc_family_stage(c->f, line, s, NULL, &m, &k);
		code = load_module(c, m, &gm);
		if (!code)
			code = hexc_call_new(&chain->call[s], gm, k);
		chain->n += !code;
	}
	return code;
}

static int
load_all(hexc_family_call *c)
{
	hexc_family_line l = HEXC_FAMILY_LINE_INIT;
	size_t stages = 0;
	int code = HEXC_OK;

	for (size_t i = 0; hexc_family_at(c->f, i, &l); i++, l.size = sizeof l)
		stages += l.nstage;
	c->chain = calloc(c->info.nline + 1, sizeof *c->chain);
	c->module = calloc(stages + 1, sizeof *c->module);
	c->of = calloc(stages + 1, sizeof *c->of);
	if (!c->chain || !c->module || !c->of)
		return gpu_error(c->g, HEXC_E_NOMEM, "out of memory");
	for (size_t i = 0; i < c->info.nline && !code; i++)
		code = load_line(c, i);
	return code;
}

int
hexc_family_call_new(hexc_family_call **out, hexc_gpu *g, const hexc_family *f)
{
	const hexc_family_info init = HEXC_FAMILY_INFO_INIT;
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_family_call *c;
	int code;

	if (out)
		*out = NULL;
	if (!out || !g || !f)
		return HEXC_E_INVALID;
	c = calloc(1, sizeof *c);
	if (!c)
		return gpu_error(g, HEXC_E_NOMEM, "out of memory");
	c->g = g;
	c->f = f;
	c->info = init;
	hexc_family_describe(f, &c->info);
	for (size_t i = 0; hexc_family_param(f, i, &p); i++, p.size = sizeof p) {
		uint64_t bit = UINT64_C(1) << i;

		c->missing |= bit;
		if (p.kind != HEXC_POINTER && hexc_dtype_find(p.dtype)->kind != 'f')
			c->numbers |= bit;
	}
	code = load_all(c);
	if (code)
		hexc_family_call_free(c);
	else
		*out = c;
	return code;
}

void
hexc_family_call_free(hexc_family_call *c)
{
	if (!c)
		return;
	/* calls keep their modules allocated if the GPU was closed before */
	for (size_t i = c->nmodule; i > 0; i--)
		hexc_gpu_unload(c->module[i - 1]);
	for (size_t i = 0; c->chain && i < c->info.nline; i++)
		for (size_t s = 0; s < c->chain[i].n; s++)
			hexc_call_free(c->chain[i].call[s]);
	free(c->chain);
	free(c->module);
	free(c->of);
	free(c);
}

const char *
hexc_family_call_why(const hexc_family_call *c)
{
	return c ? c->why : "";
}

int
hexc_family_call_find(const hexc_family_call *c, const char *name)
{
	return c ? hexc_family_param_find(c->f, name) : -1;
}

/* ---- arguments ------------------------------------------------------------------------------------- */

/* Checks that parameter i is of this kind: 'p' a tensor, 'i' an integer, 'f' a float. */
static int
argument(hexc_family_call *c, int i, char kind)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	char is, text[200];

	if (!c)
		return HEXC_E_INVALID;
	if (i < 0 || !hexc_family_param(c->f, (size_t)i, &p))
		return told(c, HEXC_E_INVALID, "no such argument");
	is = p.kind == HEXC_POINTER ? 'p' : c->numbers >> i & 1 ? 'i' : 'f';
	if (is != kind) {
		snprintf(text, sizeof text, "%s is %s", p.name,
		         is == 'p' ? "a tensor" : is == 'i' ? "an integer" : "a float");
		return told(c, HEXC_E_INVALID, text);
	}
	c->missing &= ~(UINT64_C(1) << i);
	c->given = false;
	c->changes++;
	return HEXC_OK;
}

/* Does parameter i have an argument? */
static bool
has(const hexc_family_call *c, int i)
{
	return c && i >= 0 && (uint32_t)i < c->info.nparam && !(c->missing >> i & 1);
}

int
hexc_family_call_ptr(hexc_family_call *c, int i, void *ptr, uint64_t bytes)
{
	bool was = has(c, i) && c->arg[i].ptr == ptr && c->arg[i].bytes == bytes && ptr;
	int code = was ? HEXC_OK : argument(c, i, 'p');

	if (was || code)
		return code;
	if (((uintptr_t)c->arg[i].ptr ^ (uintptr_t)ptr) % WIDEST)
		c->picked = false; /* another line may accept the new alignment */
	c->arg[i].ptr = ptr;
	c->arg[i].bytes = bytes;
	return HEXC_OK;
}

int
hexc_family_call_int(hexc_family_call *c, int i, int64_t x)
{
	bool was = has(c, i) && c->numbers >> i & 1 && c->arg[i].i == x;
	int code = was ? HEXC_OK : argument(c, i, 'i');

	if (was || code)
		return code;
	c->arg[i].i = x;
	c->picked = false;
	return HEXC_OK;
}

int
hexc_family_call_float(hexc_family_call *c, int i, double x)
{
	int code = argument(c, i, 'f');

	if (code)
		return code;
	c->arg[i].f = x;
	return HEXC_OK;
}

static int
name_missing(hexc_family_call *c, uint64_t missing)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	char text[200];

	hexc_family_param(c->f, (size_t)CTZ64((int64_t)missing), &p);
	snprintf(text, sizeof text, "%s has no argument yet", p.name);
	return told(c, HEXC_E_ARGS, text);
}

/* Selects the line for the current sizes. */
static int
pick(hexc_family_call *c)
{
	char text[400];
	int code;

	if (c->missing & c->numbers)
		return name_missing(c, c->missing & c->numbers);
	if (c->picked)
		return HEXC_OK;
	code = hexc_family_pick(c->f, c->arg, &c->line, text, sizeof text);
	if (!code && (code = hexc_family_workspace(c->f, c->line, c->arg, &c->needs)) != HEXC_OK)
		snprintf(text, sizeof text, "its workspace size cannot be computed for these sizes");
	if (code)
		return told(c, code, text);
	c->picked = true;
	c->given = false;
	return HEXC_OK;
}

int
hexc_family_call_line(hexc_family_call *c, size_t *line, uint64_t *workspace)
{
	int code = c ? pick(c) : HEXC_E_INVALID;

	if (code)
		return code;
	if (line)
		*line = c->line;
	if (workspace)
		*workspace = c->needs;
	return HEXC_OK;
}

int
hexc_family_call_workspace(hexc_family_call *c, void *ptr, uint64_t bytes)
{
	if (!c)
		return HEXC_E_INVALID;
	bytes = ptr ? bytes : 0;
	if (c->space == ptr && c->space_bytes == bytes)
		return HEXC_OK;
	c->space = ptr;
	c->space_bytes = bytes;
	c->given = false;
	c->changes++;
	return HEXC_OK;
}

hexc_call *
hexc_family_call_at(hexc_family_call *c, size_t s)
{
	return c && c->picked && s < c->chain[c->line].n ? c->chain[c->line].call[s] : NULL;
}

/* ---- launches -------------------------------------------------------------------------------------- */

static int
give_stage(hexc_family_call *c, size_t s)
{
	hexc_call *call = c->chain[c->line].call[s];
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_arg of[HEXC_MAX_PARAMS];
	const hexc_module *m;
	size_t k;
	int code = hexc_family_args(c->f, c->line, s, c->arg, c->space, of);

	if (code)
		return told(c, code, "a size of the dispatch entry cannot be computed");
	hexc_family_stage(c->f, c->line, s, NULL, &m, &k);
	for (int i = 0; hexc_param(m, k, (size_t)i, &p) && !code; i++, p.size = sizeof p) {
		if (p.kind == HEXC_POINTER)
			code = hexc_call_ptr(call, i, of[i].ptr, of[i].bytes);
		else if (hexc_dtype_find(p.dtype)->kind == 'f')
			code = hexc_call_float(call, i, of[i].f);
		else
			code = hexc_call_int(call, i, of[i].i);
	}
	return code ? told(c, code, hexc_call_why(call)) : HEXC_OK;
}

/* Passes everything that changed since the last launch to the calls. */
static int
give(hexc_family_call *c)
{
	char text[200];
	int code = pick(c);

	if (code)
		return code;
	if (c->missing)
		return name_missing(c, c->missing);
	if (c->needs > c->space_bytes) {
		snprintf(text, sizeof text,
		         "it requires a workspace of %llu bytes for these sizes; set one with "
		         "hexc_family_call_workspace",
		         (unsigned long long)c->needs);
		return told(c, HEXC_E_ARGS, text);
	}
	for (size_t s = 0; s < c->chain[c->line].n && !code; s++)
		code = give_stage(c, s);
	c->given = !code;
	return code;
}

uint32_t
family_touches(const hexc_family_call *c, int i)
{
	hexc_family_line l = HEXC_FAMILY_LINE_INIT;
	hexc_param_info p = HEXC_PARAM_INFO_INIT, of;
	uint32_t touched = 0;

	if (i < 0 || !hexc_family_param(c->f, (size_t)i, &p) || p.kind != HEXC_POINTER)
		return 0;
	for (size_t n = 0; hexc_family_at(c->f, n, &l); n++, l.size = sizeof l)
		for (size_t s = 0; s < l.nstage; s++) {
			const hexc_module *m;
			size_t k;
			int at;

			hexc_family_stage(c->f, n, s, NULL, &m, &k);
			at = hexc_param_find(m, k, p.name);
			of.size = sizeof of;
			if (at >= 0 && hexc_param(m, k, (size_t)at, &of))
				touched |= (of.written ? 2u : 0u) + (of.read || !of.written ? 1u : 0u);
		}
	return touched;
}

uint64_t
family_changes(const hexc_family_call *c)
{
	return c->changes;
}

int
family_give(hexc_family_call *c)
{
	return c->given && c->picked ? HEXC_OK : give(c);
}

int
hexc_family_call_launch(hexc_family_call *c, void *stream)
{
	const Chain *chain;
	int code;

	if (!c)
		return HEXC_E_INVALID;
	if ((code = family_give(c)) != HEXC_OK)
		return code;
	chain = &c->chain[c->line];
	for (size_t s = 0; s < chain->n; s++)
		if ((code = hexc_call_launch(chain->call[s], stream)) != HEXC_OK)
			return told(c, code, hexc_call_why(chain->call[s]));
	return HEXC_OK;
}
