/* test_mutated.c - tests that the validator detects every changed field of the wgmma descriptors and TMA
 * boxes: each field, of all examples on sm_90a, is changed to the next value. In C: thousands of changes
 * are judged, by the rule of one op. */
#include "infer/validate/validate.h"
#include "test/check.h"
#include "test/ir/util_unit.h"
#include "test/validate/util_dump.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const file[] = {
	"attention", "conv", "conv2d", "gemm_act_order", "gemm_epilogue", "gemm_f16", "gemm_fp8", "gemm_int8",
	"gemm_roles", "gemm_schemes", "gemm_w4_roles", "gemm_w4a16", "gemm_wNa16", "gemm_wNa8", "lora", "moe",
	"split_k", "swiglu",
};

static int tried, missed;

/* What the rule of o says of it now. */
static bool
is_right(Kernel *k, const Op *o)
{
	Prove p = { .k = k, .arena = k->unit->arena, .ok = true, .op = o };

	p.nval = k->nval;
	p.held = NEWN(p.arena, const Ownership *, k->nval + 1);
	p.threads = op_warps(o) * WARP_SIZE;
	if (o->code == O_wgmma)
		prove_wgmma(&p, o);
	else
		prove_copy(&p, o);
	k->unit->diag->nerror = k->unit->diag->n = 0;
	return p.ok;
}

static void
try(Kernel *k, const Op *o, const char *field, int i)
{
	tried++;
	if (!is_right(k, o))
		return;
	missed++;
	fprintf(stderr, "line %u, %s: nobody misses %s %d\n", o->src.line, op_info[o->code].name, field, i);
}

static const int widths[] = { 16, 32, 64, 128 }, swizzles[] = { 0, 32, 64, 128 };

/* PTX ISA, "Strides": along k a row of the swizzle holds all that an instance reads; along m or n one may.
 * Then nothing goes by the leading dimension's offset. */
static bool
has_no_lead(const Op *o, int i)
{
	const LoweredMatrix *m = &o->lowering->dot.matrix[i];
	const Type *t = &o->in[o->lowering->dot.swap ? 1 - i : i]->type;
	int64_t mn = i ? o->lowering->dot.n : 64;

	return m->width > 16 && (!m->mn || mn * dtype_info[t->dtype].bits / 8 <= m->width);
}

static void
descriptor(Kernel *k, const Op *o, int i)
{
	LoweredMatrix *m = &o->lowering->dot.matrix[i], was = *m;

	if (!m->width)
		return;
	for (size_t j = 0; j < COUNT_OF(widths); j++)
		if (widths[j] != was.width) {
			m->width = widths[j];
			try(k, o, "width", m->width);
		}
	*m = was;
	m->mn = !was.mn;
	try(k, o, "mn", i);
	*m = was;
	for (int by = -16; by <= 16; by += 32) {
		m->lead = was.lead + by;
		if (!has_no_lead(o, i))
			try(k, o, "lead", m->lead);
		*m = was;
		m->stride = was.stride + by;
		try(k, o, "stride", m->stride);
		*m = was;
	}
}

static void
product(Kernel *k, const Op *o)
{
	int n = o->lowering->dot.n;

	for (int i = 0; i < 2; i++)
		descriptor(k, o, i);
	for (int by = -8; by <= 8; by += 16) {
		o->lowering->dot.n = n + by;
		if (n + by == 0 || n % (n + by)) /* two of half as many columns are as good */
			try(k, o, "n", n + by);
	}
	o->lowering->dot.n = n;
	o->lowering->dot.swap ^= 1;
	try(k, o, "swap", 0);
	o->lowering->dot.swap ^= 1;
}

static void
boxes(Kernel *k, const Op *o)
{
	LoweredAccess *a = &o->lowering->access;
	TensorMap *m = &k->map[a->tensor_map - 1], was = *m;

	for (size_t j = 0; j < COUNT_OF(swizzles); j++)
		if (swizzles[j] != was.swizzle) {
			m->swizzle = swizzles[j];
			try(k, o, "swizzle", m->swizzle);
		}
	*m = was;
	for (int d = 0; d < was.rank; d++)
		for (int by = -1; by <= 1; by += 2) {
			m->box[d] = was.box[d] + by;
			if (m->box[d] == 0 || was.box[d] % m->box[d]) /* so many smaller ones are as good */
				try(k, o, "box", d);
			*m = was;
		}
	for (int d = 0; d < was.rank; d++) {
		m->size[d] = m->size[(d + 1) % was.rank];
		if (m->size[d] != was.size[d])
			try(k, o, "size", d);
		*m = was;
	}
	m->rank--;
	try(k, o, "rank", m->rank);
	*m = was;
	for (int by = -1; by <= 1; by += 2) {
		a->tensor_map += by;
		try(k, o, "map", a->tensor_map);
		a->tensor_map -= by;
	}
}

static bool
is_mutated(const Op *o)
{
	return (o->code == O_wgmma && o->lowering) || (o->code == O_copy && op_access(o)->tensor_map);
}

static void
mutate(Kernel *k)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (!is_mutated(o))
			continue;
		ck_assert_msg(is_right(k, o), "line %u", o->src.line);
		if (o->code == O_wgmma)
			product(k, o);
		else
			boxes(k, o);
	}
}

TEST_EACH(examples, COUNT_OF(file))
{
	static const char *const schedule[] = { NULL, "roles", "roles2" };

	if (getenv("QUICK") && _i % 4)
		return;
	for (size_t s = 0; s < COUNT_OF(schedule); s++) {
		Dump d = { .file = arena_printf(u->arena, "examples/%s.hexc", file[_i]), .arch = "sm_90a",
		           .schedule = schedule[s] };

		dump_make(&d, "prefetch_fragments");
		for (int i = 0; i < d.n; i++) {
			Unit *own = ir_unit();

			mutate(dump_read(&d, i, own));
			ir_unit_free(own);
		}
		dump_free(&d);
	}
	ck_assert_int_ge(tried, 50);
	ck_assert_msg(!missed, "%s: of %d changes %d are not missed", file[_i], tried, missed);
	if (getenv("VERBOSE"))
		fprintf(stderr, "%s: %d\n", file[_i], tried);
}
TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
