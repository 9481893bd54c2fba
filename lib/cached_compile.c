/* cached_compile.c - looks up and stores compilations in hexc_opts.cache: builds their keys and serializes
 * their results. */
#include "lib/cached_compile.h"
#include "lib/cache/cache.h"
#include "lib/rt/bundle.h"
#include "lib/rt/module_serialize.h"
#include "ptxgen/ptxgen.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module's file has no results of these flags and options. */
static bool
may_be_cached(const hexc_opts *o)
{
	return o->cache && !o->stop && !o->trace && !(o->dump && o->text) &&
	       !(o->flags & (HEXC_NO_EMIT | HEXC_EXPLAIN | HEXC_DRAW));
}

/* ---- keys ------------------------------------------------------------------------------------------ */

/* Serializes everything that the result depends on. */
static void
wire_key(Wire *w, CompileJob *j)
{
	const Options *opt = &j->ctx->opt;
	const hexc_opts *o = &opt->o;
	const char *text[] = { "module", hexc_build_id(), opt->target->name, j->unit.file, o->kernel,
	                       o->schedule, o->assemble ? o->assembler : "no assembler" };
	uint64_t llvm = (uint64_t)ptxgen_llvm_version();
	uint64_t number[] = { llvm, o->candidate, o->flags, opt->warnings, opt->remarks, o->max_steps,
		              o->max_values, o->cluster[0], o->cluster[1], o->cluster[2], o->ndefine };
	const void *src = j->src;
	size_t n = j->len;

	for (size_t i = 0; i < COUNT_OF(text); i++)
		wire_text(w, &text[i]);
	for (size_t i = 0; i < COUNT_OF(number); i++)
		wire_u64(w, &number[i]);
	for (size_t i = 0; i < o->ndefine; i++) {
		const char *name = o->define[i].name;
		int64_t value = o->define[i].value;

		wire_text(w, &name);
		wire_i64(w, &value, INT64_MIN, INT64_MAX);
	}
	wire_bytes(w, &src, &n);
}

static void
make_key(CompileJob *j)
{
	Wire w = { .arena = NULL };
	unsigned char *key;

	wire_key(&w, j);
	key = NEWN(&j->arena, unsigned char, w.at);
	w = (Wire){ .out = key, .room = w.at };
	wire_key(&w, j);
	j->key = key;
	j->nkey = w.at;
}

/* ---- results --------------------------------------------------------------------------------------- */

static void
wire_message(Wire *w, DiagMsg *m)
{
	const char *warning = w->arena ? NULL : warning_name[m->warning];
	uint64_t place[] = { m->src.line, m->src.col, m->src.len };

	wire_int(w, &m->severity, DIAG_NOTE, DIAG_REMARK);
	wire_text(w, &warning);
	for (size_t i = 0; i < COUNT_OF(place); i++)
		wire_u64(w, &place[i]);
	wire_text(w, &m->text);
	if (!w->arena)
		return;
	m->warning = warning ? warning_find(warning, strlen(warning)) : DW_none;
	m->src = (Src){ (uint32_t)place[0], (uint32_t)place[1], (uint32_t)place[2] };
	if (!m->text || (warning && m->warning == DW_none))
		wire_bad(w, "a message is none");
}

/* Serializes the assembler's results, which module files lack. */
static void
wire_asked(Wire *w, ModAsked *a)
{
	int known = a->known;

	wire_int(w, &known, 0, 1);
	a->known = known;
	if (!a->known)
		return;
	wire_int(w, &a->used, 0, INT_MAX);
	wire_int(w, &a->spilled, 0, INT_MAX);
	wire_int(w, &a->together, 0, INT_MAX);
	wire_f64(w, &a->cycles);
}

/* Serializes messages, the module's fields as in hexc-module(5), and the assembler's results. */
static void
wire_result(Wire *w, hexc_module *m, Diag *d)
{
	Arena *of_module = w->arena;

	wire_count(w, &d->n, INT_MAX);
	if (w->arena) {
		w->arena = d->arena;
		d->msg = NEWN(d->arena, DiagMsg, d->n);
		d->cap = d->n;
	}
	for (int i = 0; i < d->n; i++)
		wire_message(w, &d->msg[i]);
	w->arena = of_module;
	wire_module(w, m, MODULE_VERSION);
	for (int i = 0; i < m->nkernel; i++)
		for (int k = 0; k < m->kernel[i].ncand; k++)
			wire_asked(w, &m->kernel[i].cand[k].asked);
}

/* Reads an entry whose checksum is correct. If it cannot be parsed (another program wrote it), restores
 * the empty module. */
static bool
take_result(CompileJob *j, const void *data, size_t n)
{
	Wire w = { .arena = &j->m->arena, .in = data, .n = n };
	hexc_module fresh = *j->m;

	wire_result(&w, j->m, &j->ctx->diag);
	if (!w.why && w.at == w.n)
		return true;
	fresh.arena = j->m->arena;
	*j->m = fresh;
	j->ctx->diag.n = 0;
	return false;
}

bool
cached_find(CompileJob *j)
{
	hexc_cache *cache = j->ctx->opt.o.cache;
	CacheKey key = { .label = "" };
	size_t n;

	if (!may_be_cached(&j->ctx->opt.o))
		return false;
	make_key(j);
	key.data = j->key;
	key.n = j->nkey;
	j->answer = cache_get(cache, &key, &n);
	j->hit = j->answer && take_result(j, j->answer, n);
	if (j->hit)
		module_part(j->m, "cache"); /* as the only part it gets the entire time at the end */
	module_part(j->m, NULL);
	return j->hit;
}

/* Formats "module sm_80 gemm.hexc BM=64". */
static void
label_of(const CompileJob *j, char *out, size_t room)
{
	const hexc_opts *o = &j->ctx->opt.o;
	char constants[200];

	bundle_constants_text(o->define, o->ndefine, constants, sizeof constants);
	snprintf(out, room, "module %s %s%s%s%s%s", j->ctx->opt.target->name, j->m->file,
	         o->kernel ? " " : "",
	         o->kernel ? o->kernel : "", *constants ? " " : "", constants);
}

void
cached_keep(const CompileJob *j)
{
	CacheKey key = { .data = j->key, .n = j->nkey };
	Wire w = { .arena = NULL };
	char label[ENTRY_LABEL_MAX];
	unsigned char *data;

	if (!j->key || j->hit)
		return;
	label_of(j, label, sizeof label);
	key.label = label;
	wire_result(&w, j->m, &j->ctx->diag);
	data = malloc(w.at);
	if (!data)
		return;
	w = (Wire){ .out = data, .room = w.at };
	wire_result(&w, j->m, &j->ctx->diag);
	cache_put(j->ctx->opt.o.cache, &key, data, w.at);
	free(data);
}
