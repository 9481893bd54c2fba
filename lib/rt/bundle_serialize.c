/* bundle_serialize.c - serializes the index of a bundle, field by field, in file order: hexc-bundle(5). */
#include "lib/rt/bundle.h"
#include <stdio.h>
#include <string.h>

enum { LIST_MOST = 1 << 20 };

const char bundle_magic[8] = "HEXCBUN\n";

static void
wire_there(Wire *w, const char **s)
{
	wire_text(w, s);
	if (w->arena && !*s) {
		wire_bad(w, "a name is missing");
		*s = "";
	}
}

static void
wire_kernel(Wire *w, BundleKernel *k)
{
	wire_there(w, &k->name);
	wire_int(w, &k->candidate, 0, INT32_MAX);
	wire_count(w, &k->nconstant, LIST_MOST);
	if (w->arena)
		k->constant = NEWN(w->arena, hexc_define, k->nconstant);
	for (int i = 0; i < k->nconstant; i++) {
		wire_there(w, &k->constant[i].name);
		wire_i64(w, &k->constant[i].value, INT64_MIN, INT64_MAX);
	}
}

static void
wire_module_entry(Wire *w, BundleIndex *x, int i)
{
	BundleModule *m = &x->module[i];

	wire_there(w, &m->arch);
	wire_there(w, &m->file);
	wire_u64(w, &m->source);
	wire_u64(w, &m->at);
	wire_u64(w, &m->bytes);
	wire_count(w, &m->ncubin, LIST_MOST);
	if (w->arena)
		m->cubin = NEWN(w->arena, const char *, m->ncubin);
	for (int c = 0; c < m->ncubin; c++)
		wire_there(w, &m->cubin[c]);
	wire_count(w, &m->nkernel, HEXC_MAX_KERNELS);
	if (w->arena)
		m->first = x->nkernel;
	for (int k = 0; k < m->nkernel; k++) {
		BundleKernel read = { .module = i, .number = k };

		wire_kernel(w, w->arena ? &read : &x->kernel[m->first + k]);
		if (w->arena)
			VEC_PUSH(w->arena, x->kernel, x->nkernel, x->kernel_cap, read);
	}
}

void
bundle_wire(Wire *w, BundleIndex *x)
{
	wire_there(w, &x->compiler);
	wire_count(w, &x->nmodule, LIST_MOST);
	if (w->arena)
		x->module = NEWN(w->arena, BundleModule, x->nmodule);
	for (int i = 0; i < x->nmodule; i++)
		wire_module_entry(w, x, i);
	wire_there(w, &x->families);
}

void
bundle_index(Arena *a, BundleIndex *x, const hexc_module *const *m, size_t n, const char *compiler,
             const char *families)
{
	memset(x, 0, sizeof *x);
	x->compiler = compiler;
	x->families = families;
	x->nmodule = (int)n;
	x->module = NEWN(a, BundleModule, n);
	for (int i = 0; i < x->nmodule; i++) {
		BundleModule *to = &x->module[i];

		to->arch = m[i]->target->name;
		to->file = m[i]->file;
		to->source = m[i]->digest;
		to->ncubin = m[i]->ncubin;
		to->cubin = NEWN(a, const char *, to->ncubin);
		for (int c = 0; c < to->ncubin; c++)
			to->cubin[c] = m[i]->cubin[c].arch;
		to->first = x->nkernel;
		to->nkernel = m[i]->nkernel;
		for (int k = 0; k < to->nkernel; k++) {
			const ModKernel *mk = &m[i]->kernel[k];
			BundleKernel new = { mk->name, mk->constants, mk->nconstants, mk->candidate, i, k };

			VEC_PUSH(a, x->kernel, x->nkernel, x->kernel_cap, new);
		}
	}
}

bool
bundle_same_choice(const BundleKernel *a, const BundleKernel *b)
{
	if (a->nconstant != b->nconstant || a->candidate != b->candidate)
		return false;
	for (int i = 0; i < a->nconstant; i++) {
		int j = 0;

		while (j < b->nconstant && strcmp(a->constant[i].name, b->constant[j].name) != 0)
			j++;
		if (j == b->nconstant || a->constant[i].value != b->constant[j].value)
			return false;
	}
	return true;
}

void
bundle_constants_text(const hexc_define *d, size_t n, char *out, size_t room)
{
	size_t at = 0;

	if (room)
		out[0] = 0;
	for (size_t i = 0; i < n && at < room; i++) {
		const hexc_dtype *t = hexc_value_type(d[i].value);
		int more;

		if (t)
			more = snprintf(out + at, room - at, "%s%s=%s", i ? ", " : "", d[i].name, t->name);
		else
			more = snprintf(out + at, room - at, "%s%s=%lld", i ? ", " : "", d[i].name,
			                (long long)d[i].value);
		at += more > 0 ? (size_t)more : 0;
	}
}
