/* util_infer.c - runs the passes up to inference, and queries their results. */
#include "hexc/lang/lang.h"
#include "hexc/pass/pass.h"
#include "test/infer/util_infer.h"
#include "infer/search_single.h"
#include "infer/explain/explain_internal.h"
#include "infer/explain/explain.h"
#include "test/check.h"
#include <string.h>

static const struct {
	PassWhen when;
	bool (*run)(Kernel *);
} passes[] = {
#define PASS(name, former, when, help) { PASS_##when, pass_##name },
#include "hexc/pass/passes.def"
};

/* What indices choose from register tiles is gathered from these, where it can be. */
static void
gather_tables(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_alloc && IMM(o, table) == TABLE_OPEN)
			IMM_SET(o, table, TABLE_REGISTERS);
}

/* Kernel 0 and its solutions, NULL if there are none. */
static Candidates *
infer_all(Unit *unit, const char *source, const char *arch, int candidate)
{
	Candidates *c;

	*unit = (Unit){
		.arena = unit->arena,
		.diag = unit->diag,
		.target = target_find(arch),
		.file = "test.hexc",
		.text = source,
		.len = strlen(source),
		.candidate = candidate,
	};
	ck_assert_msg(unit_parse(unit, NULL, 0, NULL), "%s", unit->diag->n ? unit->diag->msg[0].text : "");
	for (size_t i = 0; passes[i].when != PASS_SEARCH; i++) {
		gather_tables(unit->kernel[0]);
		passes[i].run(unit->kernel[0]);
	}
	c = infer_search(unit->kernel[0]);
	if (c)
		infer_apply(c);
	return c;
}

void
infer_source(Inferred *x, const char *source, const char *arch, int candidate, bool wrong)
{
	memset(x, 0, sizeof *x);
	test_arena(&x->arena);
	x->diag.arena = &x->arena;
	x->unit.arena = &x->arena;
	x->unit.diag = &x->diag;
	x->cands = infer_all(&x->unit, source, arch, candidate);
	x->k = x->unit.kernel[0];
	ck_assert_msg((x->diag.nerror != 0) == wrong, "%s", x->diag.n ? x->diag.msg[0].text : source);
}

Candidates *
infer_solved(Arena *a, const char *source, const char *arch, int candidate)
{
	Unit *unit = NEW(a, Unit);
	Candidates *c;

	unit->arena = a;
	unit->diag = NEW(a, Diag);
	unit->diag->arena = a;
	c = infer_all(unit, source, arch, candidate);
	ck_assert_msg(unit->diag->nerror == 0, "%s", unit->diag->n ? unit->diag->msg[0].text : source);
	return c;
}

void
infer_free(Inferred *x)
{
	arena_free(&x->arena);
}

Op *
infer_op(const Inferred *x, OpCode code, int nth)
{
	OpWalk w;

	for (Op *o = walk_first(&w, x->k->body); o; o = walk_next(&w))
		if (o->code == code && nth-- == 0)
			return o;
	return NULL;
}

Op *
infer_loop(const Kernel *k, SplitKind kind)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_for && IMM(o, split) == kind)
			return o;
	return NULL;
}

bool
infer_any(const Inferred *x, const char *text)
{
	for (int i = 0; i < infer_ncand(x->cands); i++)
		if (strstr(infer_describe(x->cands, i), text))
			return true;
	return false;
}

int
infer_violations(Inferred *x)
{
	int before = x->diag.nerror;

	pass_validate(x->k);
	return x->diag.nerror - before;
}

void
infer_waves(const Inferred *x, const char *tile, int64_t *waves, int64_t *least)
{
	OpWalk w;

	*waves = *least = 0;
	for (Op *o = walk_first(&w, x->k->body); o; o = walk_next(&w)) {
		int64_t n, m;
		Val *root;
		SmemAccess a;

		if (!explain_access(o, &root, &a) || !root->name || strcmp(root->name, tile) != 0)
			continue;
		access_waves(x->unit.arena, &a, root->type.layout, x->k->warps, &n, &m);
		*waves += n;
		*least += m;
	}
}
