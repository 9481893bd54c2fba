/* sim.c - the public functions: devices, buffers, modules, results. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim_int.h"

const char *
sim_strerror(int code)
{
	switch (code) {
#define X(name, value, text) case SIM_##name: return text;
	SIM_ERRORS(X)
#undef X
	default: return "unknown code";
	}
}

static const char *const fault_names[SIM_NFAULTS] = {
#define X(id, name, text) name,
	SIM_FAULTS(X)
#undef X
};
static const char *const fault_helps[SIM_NFAULTS] = {
#define X(id, name, text) text,
	SIM_FAULTS(X)
#undef X
};
static const char *const class_names[SIM_NCLASSES] = {
#define X(id, name, text) #name,
	SIM_CLASSES(X)
#undef X
};

const char *
sim_fault_name(sim_fault_kind kind)
{
	return (u32)kind < SIM_NFAULTS ? fault_names[kind] : "unknown";
}

const char *
sim_fault_help(sim_fault_kind kind)
{
	return (u32)kind < SIM_NFAULTS ? fault_helps[kind] : "unknown";
}

const char *
sim_class_name(sim_class c)
{
	return (u32)c < SIM_NCLASSES ? class_names[c] : "unknown";
}

/* ---- devices and buffers ---- */

sim *
sim_open(void)
{
	sim *s = calloc(1, sizeof *s);

	if (s)
		s->next = GLOBAL_BASE;
	return s;
}

static void
alloc_drop(Alloc *al)
{
	free(al->data);
	free(al->init);
	al->data = al->init = NULL;
	al->freed = true;
}

static void
messages_free(sim *s)
{
	for (u32 i = 0; i < s->nmsg; i++)
		free(s->msg[i].text);
	s->nmsg = 0;
}

static void
module_free(sim_module *m)
{
	sim_arena_free(&m->arena);
	free(m);
}

void
sim_close(sim *s)
{
	sim_module *m, *next;

	if (!s)
		return;
	for (m = s->modules; m; m = next) {
		next = m->next;
		module_free(m);
	}
	for (u32 i = 0; i < s->nalloc; i++) {
		alloc_drop(s->alloc[i]);
		free(s->alloc[i]);
	}
	free(s->alloc);
	free(s->heap_block);
	messages_free(s);
	free(s->msg);
	free(s);
}

uint64_t
sim_alloc(sim *s, size_t bytes, const char *name)
{
	Alloc *al = mem_new(s, bytes, name);

	return al ? al->base : 0;
}

int
sim_free(sim *s, uint64_t ptr)
{
	if (!ptr)
		return SIM_OK;
	for (u32 i = 0; i < s->nalloc; i++)
		if (s->alloc[i]->base == ptr && !s->alloc[i]->freed) {
			alloc_drop(s->alloc[i]);
			return SIM_OK;
		}
	return SIM_E_INVALID;
}

static Alloc *
range(const sim *s, u64 ptr, size_t bytes)
{
	Alloc *al = mem_find(s, ptr);

	return al && bytes <= al->size && ptr - al->base <= al->size - bytes ? al : NULL;
}

int
sim_write(sim *s, uint64_t ptr, const void *src, size_t bytes)
{
	Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memcpy(al->data + (ptr - al->base), src, bytes);
	memset(al->init + (ptr - al->base), 1, bytes);
	return SIM_OK;
}

int
sim_read(sim *s, uint64_t ptr, void *dst, size_t bytes)
{
	const Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memcpy(dst, al->data + (ptr - al->base), bytes);
	return SIM_OK;
}

int
sim_fill(sim *s, uint64_t ptr, int byte, size_t bytes)
{
	Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memset(al->data + (ptr - al->base), byte, bytes);
	memset(al->init + (ptr - al->base), 1, bytes);
	return SIM_OK;
}

int
sim_mark(sim *s, uint64_t ptr, size_t bytes, int initialised)
{
	Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memset(al->init + (ptr - al->base), initialised != 0, bytes);
	al->full = al->full && initialised;
	return SIM_OK;
}

int
sim_uninitialised(sim *s, uint64_t ptr, size_t bytes, size_t *count)
{
	const Alloc *al = range(s, ptr, bytes);

	*count = 0;
	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	for (size_t i = 0; !al->full && i < bytes; i++)
		*count += !al->init[ptr - al->base + i];
	return SIM_OK;
}

/* ---- modules ---- */

void
sim_error(sim *s, u32 line, const char *fmt, ...)
{
	char buf[400];
	va_list ap;
	void *p;

	if (s->nmsg == s->cmsg) {
		u32 n = s->cmsg ? 2 * s->cmsg : 16;
		p = realloc(s->msg, n * sizeof *s->msg);
		if (!p)
			return;
		s->msg = p;
		s->cmsg = n;
	}
	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	for (char *c = buf; *c; c++)    /* text of the input may be in it: keep to one plain line */
		if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
			*c = '?';
	s->msg[s->nmsg].text = malloc(strlen(buf) + 1);
	if (!s->msg[s->nmsg].text)
		return;
	strcpy(s->msg[s->nmsg].text, buf);
	s->msg[s->nmsg++].line = line;
}

static int
msg_order(const void *x, const void *y)
{
	const struct Msg *a = x, *b = y;

	return a->line < b->line ? -1 : a->line > b->line;
}

static int
load(sim_module *m, const char *text, size_t len)
{
	jmp_buf fail;

	m->arena.fail = &fail;
	if (setjmp(fail))
		return SIM_E_NOMEM;
	if (!parse_module(m, text, len) || !place_vars(m) || !decode_module(m))
		return SIM_E_SOURCE;
	return SIM_OK;
}

int
sim_load(sim *s, const char *text, size_t len, sim_module **out)
{
	sim_module *m = calloc(1, sizeof *m);
	int code;

	*out = NULL;
	messages_free(s);
	if (!m)
		return SIM_E_NOMEM;
	m->s = s;
	code = load(m, text, len);
	if (code != SIM_OK) {
		for (u32 i = 0; i < m->nallocs; i++)
			sim_free(s, m->allocs[i]);
		module_free(m);
		if (s->nmsg)
			qsort(s->msg, s->nmsg, sizeof *s->msg, msg_order);
		return code;
	}
	m->arena.fail = NULL;
	m->next = s->modules;
	s->modules = m;
	*out = m;
	return SIM_OK;
}

void
sim_unload(sim *s, sim_module *m)
{
	sim_module **at = &s->modules;

	if (!m)
		return;
	while (*at && *at != m)
		at = &(*at)->next;
	if (*at)
		*at = m->next;
	for (u32 i = 0; i < m->nallocs; i++)
		sim_free(s, m->allocs[i]);
	module_free(m);
}

int
sim_message_at(const sim *s, size_t i, sim_message *out)
{
	if (i >= s->nmsg)
		return 0;
	out->line = s->msg[i].line;
	out->text = s->msg[i].text;
	return 1;
}

static void
entry_info(const Fn *f, sim_entry_info *out)
{
	out->name = f->name;
	out->nparam = f->nparam;
	out->param_bytes = f->param_bytes;
	out->static_smem = f->smem;
	memcpy(out->reqntid, f->reqntid, sizeof out->reqntid);
	memcpy(out->maxntid, f->maxntid, sizeof out->maxntid);
	memcpy(out->cluster, f->cluster, sizeof out->cluster);
	out->line = f->line;
	out->nins = f->nst;
}

int
sim_entry_at(const sim_module *m, size_t i, sim_entry_info *out)
{
	for (u32 k = 0; k < m->nfn; k++)
		if (m->fn[k]->entry && m->fn[k]->has_body && i-- == 0) {
			entry_info(m->fn[k], out);
			return 1;
		}
	return 0;
}

static const Fn *
entry_of(const sim_module *m, const char *name)
{
	for (u32 k = 0; k < m->nfn; k++)
		if (m->fn[k]->entry && m->fn[k]->has_body && !strcmp(m->fn[k]->name, name))
			return m->fn[k];
	return NULL;
}

int
sim_entry_find(const sim_module *m, const char *name, sim_entry_info *out)
{
	const Fn *f = entry_of(m, name);

	if (!f)
		return 0;
	entry_info(f, out);
	return 1;
}

static sim_type
public_type(Type t)
{
	switch (t) {
#define X(id, suffix, bytes) case T_##suffix: return SIM_##id;
	SIM_PARAM_TYPES(X)
#undef X
	default:
		return type_bits(t) == 64 ? SIM_B64 : type_bits(t) == 32 ? SIM_B32
		     : type_bits(t) == 16 ? SIM_B16 : SIM_B8;
	}
}

int
sim_param_at(const sim_module *m, const char *entry, size_t i, sim_param_info *out)
{
	const Fn *f = entry_of(m, entry);
	const Var *v;

	if (!f || i >= f->nparam)
		return 0;
	v = f->param[i];
	out->name = v->name;
	out->type = public_type(v->type);
	out->bytes = (u32)v->bytes;
	out->count = type_bits(v->type) ? (u32)v->bytes * 8 / type_bits(v->type) : 1;
	out->offset = (u32)v->addr;
	out->align = v->align;
	out->is_ptr = v->is_ptr;
	return 1;
}

int
sim_symbol(const sim_module *m, const char *name, uint64_t *ptr, size_t *bytes)
{
	for (u32 i = 0; i < m->nvar; i++) {
		const Var *v = m->var[i];
		if ((v->space == SIM_SPACE_GLOBAL || v->space == SIM_SPACE_CONST) && !v->is_extern
		    && !strcmp(v->name, name)) {
			*ptr = v->addr;
			*bytes = v->bytes;
			return 1;
		}
	}
	return 0;
}

const char *
sim_target(const sim_module *m)
{
	return m->target;
}

/* ---- results ---- */

void
sim_result_free(sim_result *r)
{
	FaultRec *f, *next;

	if (!r)
		return;
	for (f = r->recs; f; f = next) {
		next = f->next;
		free(f);
	}
	free(r->fault);
	free(r->hang);
	free(r->line);
	free(r->out);
	free(r);
}

const char *
sim_result_text(const sim_result *r)
{
	return r->text;
}

const char *
sim_result_hang(const sim_result *r)
{
	return r->hang ? r->hang : "";
}

int
sim_fault_at(const sim_result *r, size_t i, sim_fault *out)
{
	if (i >= r->nfault)
		return 0;
	*out = r->fault[i];
	return 1;
}

const sim_stats *
sim_stats_of(const sim_result *r)
{
	return &r->st;
}

int
sim_line_at(const sim_result *r, size_t i, sim_line *out)
{
	if (i >= r->nline)
		return 0;
	*out = r->line[i];
	return 1;
}
