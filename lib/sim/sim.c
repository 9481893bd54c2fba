/* sim.c - implements the public functions of sim.h: devices, buffers, modules, results. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/decode/decode.h"
#include "taskmap/support/fp_env.h"

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
module_free(sim_module *m)
{
	arena_free(&m->ptx.arena);
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
	messages_free(&s->messages);
	free(s);
}

/* ---- modules ---- */

static int
load(sim_module *m, const char *text, size_t len)
{
	jmp_buf fail;

	m->ptx.arena.fail = &fail;
	if (setjmp(fail))
		return SIM_E_NOMEM;
	if (!parse_module(&m->ptx, text, len) || !place_vars(m) || !decode_module(m))
		return SIM_E_SOURCE;
	return SIM_OK;
}

int
sim_load(sim *s, const char *text, size_t len, sim_module **out)
{
	sim_module *m = calloc(1, sizeof *m);
	Arithmetic host;
	int code;

	*out = NULL;
	messages_clear(&s->messages);
	if (!m)
		return SIM_E_NOMEM;
	m->s = s;
	m->ptx.messages = &s->messages;
	arena_init(&m->ptx.arena, NULL, NULL);
	arithmetic_enter(&host); /* constants are rounded */
	code = load(m, text, len);
	arithmetic_leave(&host);
	if (code != SIM_OK) {
		for (u32 i = 0; i < m->nallocs; i++)
			sim_free(s, m->allocs[i]);
		module_free(m);
		messages_sort(&s->messages);
		return code;
	}
	m->ptx.arena.fail = NULL;
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
	if (i >= s->messages.n)
		return 0;
	out->line = s->messages.v[i].line;
	out->text = s->messages.v[i].text;
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
	for (u32 k = 0; k < m->ptx.nfn; k++)
		if (m->ptx.fn[k]->entry && m->ptx.fn[k]->has_body && i-- == 0) {
			entry_info(m->ptx.fn[k], out);
			return 1;
		}
	return 0;
}

static const Fn *
entry_of(const sim_module *m, const char *name)
{
	for (u32 k = 0; k < m->ptx.nfn; k++)
		if (m->ptx.fn[k]->entry && m->ptx.fn[k]->has_body && !strcmp(m->ptx.fn[k]->name, name))
			return m->ptx.fn[k];
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
public_type(PtxType t)
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
	for (u32 i = 0; i < m->ptx.nvar; i++) {
		const Var *v = m->ptx.var[i];
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
	return m->ptx.target;
}
