/* lower.c - implements unit_parse: lowers source to kernels of tile IR. */
#include "hexc/lang/lang.h"
#include "hexc/lang/lower.h"
#include "hexc/lang/warn.h"
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

static unsigned
hash_of(const char *name)
{
	unsigned h = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h ^ h >> 15;
}

Sym *
sym_find(const Lower *l, const char *name)
{
	unsigned h = hash_of(name);

	for (Sym *s = l->bucket[h % SYM_BUCKETS]; s; s = s->chain)
		if (s->hash == h && s->frame == l->frame && strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

void
scope_leave(Lower *l, Sym *scope)
{
	for (; l->scope != scope; l->scope = l->scope->next)
		l->bucket[l->scope->hash % SYM_BUCKETS] = l->scope->chain;
}

SavedScope
scope_enter_call(Lower *l)
{
	SavedScope o = { l->scope, l->frame };

	l->scope = NULL;
	l->frame = ++l->nframe;
	return o;
}

void
scope_leave_call(Lower *l, SavedScope o)
{
	scope_leave(l, NULL);
	l->scope = o.scope;
	l->frame = o.frame;
}

Sym *
sym_add(Lower *l, const char *name, SymKind kind, Src src, LoweredValue v)
{
	const Sym *old = sym_find(l, name);
	Sym *s = NEW(l->arena, Sym);

	if (old) {
		diag_error(l->diag, src, "`%s` is already declared; choose another name", name);
		if (old->src.line)
			diag_note(l->diag, old->src, "`%s` is declared here", name);
	} else if (kind == SY_const && dtype_find(name, strlen(name)) != D_COUNT) {
		/* constants may be element types, so their names would be ambiguous */
		diag_error(l->diag, src,
		           "`%s` is an element type; choose another name", name);
	} else if (strcmp(name, "block") == 0 || strcmp(name, "inf") == 0 || strcmp(name, "newaxis") == 0) {
		diag_error(l->diag, src, "`%s` is a built-in name; choose another name", name);
	}
	s->depth = l->scope ? l->scope->depth + 1 : 1;
	if (s->depth > NAMES_MAX) {
		diag_error(l->diag, src, "more than %d names in scope; split the kernel", NAMES_MAX);
		return s;
	}
	s->name = name;
	s->kind = kind;
	s->src = src;
	s->val = v;
	s->next = l->scope;
	l->scope = s;
	s->hash = hash_of(name);
	s->frame = l->frame;
	s->chain = l->bucket[s->hash % SYM_BUCKETS];
	l->bucket[s->hash % SYM_BUCKETS] = s;
	return s;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void
finish_grid(Lower *l)
{
	Val *one[3];

	if (l->has_grid)
		return;
	if (!l->decl->broken_body)
		diag_error(l->diag, l->decl->src,
		           "kernel `%s` has no `grid(..)` statement; start its body with one", l->decl->name);
	for (int i = 0; i < 3; i++)
		one[i] = ir_const(l->k->grid, NULL, 1);
	op_new(l->k->grid, NULL, O_yield, l->decl->src, 3, one, 0, NULL);
}

/* The grid's yield must be last, but assumptions and the grid are lowered in source order. */
static void
end_blocks(Lower *l)
{
	Op *y = NULL;

	finish_grid(l);
	for (Op *o = l->k->grid->first; o; o = o->next)
		if (o->code == O_yield)
			y = o;
	if (y != l->k->grid->last) {
		op_unlink(y);
		op_new(l->k->grid, NULL, O_yield, y->src, y->nin, y->in, 0, NULL);
	}
	op_new(l->k->body, NULL, O_yield, l->decl->end, 0, NULL, 0, NULL);
}

static Kernel *
lower_kernel(Unit *u, const File *file, const KernelDecl *d, const Define *def, int ndef)
{
	Lower l = { .u = u, .arena = u->arena, .diag = u->diag, .decl = d, .def = def, .ndef = ndef };
	KernelDecl own = *d; /* with types in place of names of types */
	const char *bad;
	const Op *at;

	l.bucket = NEWN(u->arena, Sym *, SYM_BUCKETS);
	l.fns = file->fn;
	l.lost = file->lost;
	l.k = kernel_new(u, d->name);
	l.k->src = d->src;
	lower_consts(&l);
	own.param = NEWN(u->arena, ParamDecl, d->nparam + 1);
	for (int i = 0; i < d->nparam; i++) {
		own.param[i] = d->param[i];
		own.param[i].type.dtype = lower_dtype(&l, &d->param[i].type);
		if (own.param[i].type.dtype == D_COUNT) { /* reported; continue */
			own.param[i].type.dtype = D_i32;
			own.param[i].packed = false;
		}
	}
	l.decl = &own;
	lower_params(&l);
	lower_assumes(&l);
	l.mode = MODE_BODY;
	l.b = l.k->body;
	lower_kernel_body(&l, d->body);
	end_blocks(&l);
	if (!u->diag->nerror && (bad = role_rules(l.k, &at)) != NULL)
		diag_error(u->diag, at->src, "%s", bad);
	return l.k;
}

static bool
wanted(const KernelDecl *d, const char *only)
{
	return !only || strcmp(only, d->name) == 0;
}

static void
check_kernels(Unit *u, const KernelDecl *first, const char *only)
{
	Text names = { .arena = u->arena };
	bool found = false;

	for (const KernelDecl *d = first; d; d = d->next) {
		found |= wanted(d, only);
		text_printf(&names, "%s`%s`", names.n ? ", " : "", d->name);
		for (const KernelDecl *e = first; e != d; e = e->next) {
			if (strcmp(e->name, d->name) != 0)
				continue;
			diag_error(u->diag, d->src, "redefinition of kernel `%s`", d->name);
			diag_note(u->diag, e->src, "first definition is here");
			break;
		}
	}
	if (!found)
		diag_error(u->diag, (Src){ 0 }, "unknown kernel `%s`; the file has %s", only, names.s);
}

/* Every -D must name a constant or tunable of some kernel compiled. */
static void
check_define(Unit *u, const KernelDecl *first, const char *only, const char *name)
{
	Text names = { .arena = u->arena };

	for (const KernelDecl *d = first; d; d = d->next) {
		for (int i = 0; wanted(d, only) && i < d->nclause; i++) {
			const Clause *c = &d->clause[i];
			if (c->kind == CL_assume)
				continue;
			if (strcmp(c->name, name) == 0)
				return;
			text_printf(&names, "%s%s", names.n ? ", " : "", c->name);
		}
	}
	diag_error(u->diag, (Src){ 0 }, "no constant `%s` to set; the program has %s", name,
	           names.n ? names.s : "none");
}

bool
unit_parse(Unit *u, const Define *def, int ndef, const char *only)
{
	enum { SOURCE_MAX = 1 << 20 };
	File file;
	const KernelDecl *first;
	int cap = 0;

	if (u->len > SOURCE_MAX) {
		diag_error(u->diag, (Src){ 0 }, "the source is longer than %d bytes", SOURCE_MAX);
		return false;
	}
	file = parse_file(u);
	first = file.kernel;
	if (file.stop)
		return false;
	if (!u->diag->nerror) {
		lower_check_fns(u, &file);
		check_kernels(u, first, only);
		for (int i = 0; u->diag->nerror == 0 && i < ndef; i++)
			check_define(u, first, only, def[i].name);
		if (u->diag->nerror)
			return false;
	}
	for (const KernelDecl *d = first; d; d = d->next)
		if (wanted(d, only) && !d->broken_header)
			VEC_PUSH(u->arena, u->kernel, u->nkernel, cap, lower_kernel(u, &file, d, def, ndef));
	if (u->diag->nerror)
		return false;
	for (int i = 0; i < u->nkernel; i++)
		check_grid_barriers(u->kernel[i]);
	if (u->diag->nerror)
		return false;
	for (const KernelDecl *d = first; d; d = d->next)
		if (wanted(d, only))
			warn_unused_kernel(u, d);
	for (const FnDecl *f = file.fn; f; f = f->next)
		warn_unused_fn(u, f);
	for (int i = 0; i < u->nkernel; i++)
		warn_memory(u->kernel[i]);
	return true;
}
