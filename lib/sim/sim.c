/* sim.c - the public functions: devices, buffers, modules, results. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "module.h"

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
		mem_drop(s->alloc[i]);
		free(s->alloc[i]);
	}
	free(s->alloc);
	free(s->heap_block);
	messages_free(s);
	free(s->msg);
	free(s);
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
		                              : type_bits(t) == 16 ? SIM_B16
		                                                   : SIM_B8;
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
		if ((v->space == SIM_SPACE_GLOBAL || v->space == SIM_SPACE_CONST) && !v->is_extern &&
		    !strcmp(v->name, name)) {
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
