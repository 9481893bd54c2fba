#include "hexc/lang/lang.h"
#include "hexc/pass/pass.h"
#include "test/infer/util_infer.h"
#include "infer/alone.h"
#include "infer/explain/impl.h"
#include <check.h>
#include <string.h>

static jmp_buf fail;

static const struct {
	PassWhen when;
	bool (*run)(Kernel *);
} passes[] = {
#define PASS(name, when, help) { PASS_##when, pass_##name },
#include "hexc/pass/passes.def"
};

void
infer_source(Inferred *x, const char *source, const char *arch, int candidate, bool wrong)
{
	memset(x, 0, sizeof *x);
	arena_init(&x->arena, NULL, NULL);
	x->arena.fail = &fail;
	ck_assert_int_eq(setjmp(fail), 0);
	x->diag.arena = &x->arena;
	x->unit = (Unit){
		.arena = &x->arena,
		.diag = &x->diag,
		.target = target_find(arch),
		.file = "test.hexc",
		.text = source,
		.len = strlen(source),
		.candidate = candidate,
	};
	ck_assert_msg(unit_parse(&x->unit, NULL, 0, NULL), "%s", x->diag.n ? x->diag.msg[0].text : "");
	x->k = x->unit.kernel[0];
	for (size_t i = 0; passes[i].when != PASS_search; i++)
		passes[i].run(x->k);
	x->cands = infer_search(x->k);
	if (x->cands)
		infer_apply(x->cands);
	ck_assert_msg((x->diag.nerror != 0) == wrong, "%s", x->diag.n ? x->diag.msg[0].text : source);
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

	pass_prove(x->k);
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
		Access a;

		if (!explain_access(o, &root, &a) || !root->name || strcmp(root->name, tile) != 0)
			continue;
		access_waves(x->unit.arena, &a, root->type.layout, x->k->warps, &n, &m);
		*waves += n;
		*least += m;
	}
}
