/* warn_unused.c - warns about unused names. */
#include "hexc/lang/warn.h"
#include <string.h>

/* A hash set of used names, with chaining. */
typedef struct Use Use;
struct Use {
	const char *name;
	Use *next;
};
enum { USE_BUCKETS = 512 };
typedef struct Uses {
	Unit *u;
	Use *bucket[USE_BUCKETS];
} Uses;

static unsigned
bucket_of(const char *name)
{
	unsigned h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h % USE_BUCKETS;
}

static bool
used(const Uses *s, const char *name)
{
	for (const Use *x = s->bucket[bucket_of(name)]; x; x = x->next)
		if (strcmp(x->name, name) == 0)
			return true;
	return false;
}

static void
use(Uses *s, const char *name)
{
	Use *x;

	if (!name || used(s, name))
		return;
	x = NEW(s->u->arena, Use);
	x->name = name;
	x->next = s->bucket[bucket_of(name)];
	s->bucket[bucket_of(name)] = x;
}

static void
use_expr(Uses *s, const Expr *e)
{
	if (!e)
		return;
	if (e->kind == EX_name || e->kind == EX_call)
		use(s, e->name);
	for (int i = 0; i < e->narg; i++)
		use_expr(s, e->arg[i]);
	for (int i = 0; i < e->nslice; i++) {
		use_expr(s, e->slice[i].at);
		use_expr(s, e->slice[i].extent);
		use_expr(s, e->slice[i].step);
		use_expr(s, e->slice[i].from);
		use_expr(s, e->slice[i].below);
	}
}

static void
use_type(Uses *s, const TypeSpec *t)
{
	use(s, t->name);
	for (int i = 0; i < t->ndim; i++)
		use_expr(s, t->dim[i]);
}

static void
use_stmts(Uses *s, const Stmt *st)
{
	for (; st; st = st->next) {
		const Expr *to = st->target;

		/* assigning a variable is not a use */
		if (to && to->kind != EX_name && to->kind != EX_tuple)
			use_expr(s, to);
		use_type(s, &st->type);
		use_expr(s, st->count);
		use_expr(s, st->value);
		for (int i = 0; i < st->narg; i++)
			use_expr(s, st->arg[i]);
		use_expr(s, st->lo);
		use_expr(s, st->hi);
		use_expr(s, st->step);
		use_expr(s, st->stages);
		use_expr(s, st->slot);
		for (int i = 0; i < 2; i++) {
			use_expr(s, st->role[i].warps);
			use_expr(s, st->role[i].teams);
			use_expr(s, st->role[i].registers);
		}
		use_stmts(s, st->body);
		use_stmts(s, st->other);
	}
}

static void
check(const Uses *s, Src src, const char *name, const char *what)
{
	if (name[0] != '_' && !used(s, name))
		diag_warn(s->u->diag, DW_unused, src, "unused %s `%s`; remove it or rename it `_%s`",
		          what, name, name);
}

static void
check_stmts(const Uses *s, const Stmt *st)
{
	for (; st; st = st->next) {
		const char *what = st->is_var ? "variable" : "value";

		if (st->kind == ST_let && !st->npart)
			check(s, st->src, st->name, what);
		for (int i = 0; i < st->npart; i++)
			check(s, st->part[i].src, st->part[i].name, what);
		check_stmts(s, st->body);
		check_stmts(s, st->other);
	}
}

static void
use_header(Uses *s, const KernelDecl *k)
{
	use(s, "WARPS"); /* read by name */
	use(s, "BLOCK_GROUP");
	use(s, "ALIGN");
	for (int i = 0; i < k->nparam; i++) {
		use_type(s, &k->param[i].type);
		for (int j = 0; j < k->param[i].nstride; j++)
			use_expr(s, k->param[i].stride[j]);
	}
	for (int i = 0; i < k->nclause; i++) {
		const Clause *c = &k->clause[i];

		use_expr(s, c->value);
		for (int j = 0; j < c->nrange; j++) {
			use_expr(s, c->range[j].lo);
			use_expr(s, c->range[j].hi);
		}
	}
}

void
warn_unused_kernel(Unit *u, const KernelDecl *k)
{
	Uses s = { .u = u };

	use_header(&s, k);
	use_stmts(&s, k->body);
	for (int i = 0; i < k->nparam; i++)
		check(&s, k->param[i].src, k->param[i].name, "parameter");
	for (int i = 0; i < k->nclause; i++)
		if (k->clause[i].kind != CL_assume)
			check(&s, k->clause[i].src, k->clause[i].name,
			      k->clause[i].kind == CL_tune ? "tunable" : "constant");
	check_stmts(&s, k->body);
}

void
warn_unused_fn(Unit *u, const FnDecl *f)
{
	Uses s = { .u = u };

	use_stmts(&s, f->body);
	for (int i = 0; i < f->nparam; i++)
		check(&s, f->param[i].src, f->param[i].name, "parameter");
	check_stmts(&s, f->body);
}
