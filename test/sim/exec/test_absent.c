/* test_absent.c - tests instructions that the simulated device lacks: several devices, textures, surfaces.
 * They load, so a module's other kernels run, and raise a fault that names them where they run. */
#include "test/check.h"
#include "test/sim/simtest.h"

static const char *const absent[] = {
	"multimem.ld_reduce.relaxed.gpu.global.add.u32 %r1, [%d0]",
	"multimem.st.weak.global.b32 [%d0], %r1",
	"multimem.red.release.sys.global.add.v2.f16x2 [%d0], {%r1, %r2}",
	"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f0, %f1}]",
	"tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f0, %f1}]",
	"txq.width.b32 %r1, [%d0]",
	"suld.b.1d.b32.trap %r1, [%d0, {%r1}]",
	"sust.b.2d.v2.b32.clamp [%d0, {%r1, %r2}], {%r1, %r2}",
	"sured.b.add.1d.u32.zero [%d0, {%r1}], %r2",
	"suq.height.b32 %r1, [%d0]",
};
enum { NABSENT = sizeof absent / sizeof *absent };

static int
run(const char *ins, const char *entry, unsigned *out, char *fault, size_t cap)
{
	char text[2000];
	sim *s = sim_open();
	sim_launch a = SIM_LAUNCH_INIT;
	uint64_t p = sim_alloc(s, 4, "p");
	const void *args[] = { &p };
	sim_result *r;
	sim_fault f;
	int rc;

	snprintf(text, sizeof text,
	         ".version 8.6\n.target sm_90\n.address_size 64\n"
	         ".visible .entry lacking(.param .u64 p) {\n"
	         ".reg .pred %%p0; .reg .b32 %%r<4>; .reg .f32 %%f<4>; .reg .b64 %%d0;\n"
	         "ld.param.u64 %%d0, [p]; mov.u32 %%r1, 5; mov.u32 %%r2, 6; mov.f32 %%f0, 0f00000000;\n"
	         "mov.f32 %%f1, %%f0;\n%s;\nst.global.u32 [%%d0], %%r1; ret; }\n"
	         ".visible .entry other(.param .u64 p) {\n.reg .b64 %%d0;\n"
	         "ld.param.u64 %%d0, [p]; st.global.u32 [%%d0], 7; ret; }\n",
	         ins);
	a.args = args;
	rc = sim_run(s, must_load(s, text), entry, &a, &r);
	*fault = 0;
	if (sim_fault_at(r, 0, &f))
		snprintf(fault, cap, "%s: %s", sim_fault_name(f.kind), f.text);
	sim_read(s, p, out, 4);
	sim_result_free(r);
	sim_close(s);
	return rc;
}

TEST_EACH(named_where_it_runs, NABSENT)
{
	unsigned out;
	char fault[400];

	ck_assert_int_eq(run(absent[_i], "other", &out, fault, sizeof fault), SIM_OK);
	ck_assert_uint_eq(out, 7);
	ck_assert_int_eq(run(absent[_i], "lacking", &out, fault, sizeof fault), SIM_E_FAULT);
	ck_assert_msg(strstr(fault, "out-of-bounds: ") == fault, "%s", fault);
	ck_assert_msg(strstr(fault, "is not simulated"), "%s", fault);
	ck_assert_msg(!strncmp(fault + 15, absent[_i], strcspn(absent[_i], " ")), "%s", fault);
}

/* No address is that of a texture. */
TEST(istypep)
{
	static const char *const kinds[] = { "texref", "samplerref", "surfref" };
	char ins[200], fault[400];
	unsigned out;

	for (int i = 0; i < 3; i++) {
		snprintf(ins, sizeof ins, "istypep.%s %%p0, %%d0; selp.u32 %%r1, 1, 2, %%p0", kinds[i]);
		ck_assert_int_eq(run(ins, "lacking", &out, fault, sizeof fault), SIM_OK);
		ck_assert_uint_eq(out, 2);
	}
}

/* fma.oob: +0 wherever an operand is the NaN that tensor copies fill with, for each half by itself. */
TEST(fma_out_of_bounds)
{
	static const struct { const char *op; unsigned a, b, c, d; } cases[] = {
		{ "fma.rn.oob.f16x2", 0x40003c00, 0x40004200, 0x3c003c00, 0x45004400 }, /* 2*2+1, 1*3+1 */
		{ "fma.rn.oob.f16x2", 0x7fff3c00, 0x40004200, 0x3c003c00, 0x00004400 },
		{ "fma.rn.oob.f16x2", 0x40003c00, 0x40007fff, 0x3c003c00, 0x45000000 },
		{ "fma.rn.oob.f16x2", 0x40003c00, 0x40004200, 0x7fff3c00, 0x00004400 },
		{ "fma.rn.oob.f16x2", 0xffff7e00, 0x40004200, 0x3c003c00, 0x7fff7fff }, /* other NaNs */
		{ "fma.rn.f16x2", 0x7fff3c00, 0x40004200, 0x3c003c00, 0x7fff4400 },
		{ "fma.rn.oob.bf16x2", 0x7fff3f80, 0x40004040, 0x3f803f80, 0x00004080 },
		{ "fma.rn.oob.relu.bf16x2", 0x7fffbf80, 0x40004040, 0x3f803f80, 0x00000000 },   /* -1*3+1 */
		{ "fma.rn.relu.oob.bf16x2", 0x3f803f80, 0x40004040, 0x3f803f80, 0x40404080 },
		{ "fma.relu.bf16x2.oob.rn", 0x7fc03f80, 0x40004040, 0x3f803f80, 0x7fff4080 },
		{ "fma.rn.sat.oob.f16x2", 0x7fff3c00, 0x40004200, 0x3c003c00, 0x00003c00 },
	};
	char ins[200], fault[400];
	unsigned out;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(ins, sizeof ins, "mov.b32 %%r1, 0x%x; mov.b32 %%r2, 0x%x; mov.b32 %%r3, 0x%x;\n"
		         "%s %%r1, %%r1, %%r2, %%r3", cases[i].a, cases[i].b, cases[i].c, cases[i].op);
		ck_assert_int_eq(run(ins, "lacking", &out, fault, sizeof fault), SIM_OK);
		ck_assert_msg(out == cases[i].d, "%zu %s: %08x, not %08x", i, cases[i].op, out, cases[i].d);
	}
}

TEST_PROGRAM(.timeout = 20);
