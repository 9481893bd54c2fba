/* test_host.c - tests that results do not depend on the calling thread's rounding mode or handling of
 * subnormal numbers. */
#include "test/sim/simtest.h"
#include <fenv.h>
#ifdef __SSE__
# include <xmmintrin.h>
#endif

/* Constants, exact operations, approximate ones, a conversion, numbers of 64 bits. */
static const char text[] = HEADER
        ".visible .entry k(.param .u64 a) {\n"
        " .reg .b64 d; .reg .f32 x, y; .reg .f64 u; .reg .b32 h;\n"
        " ld.param.b64 d, [a];\n"
        " mov.f32 x, 0.1; st.global.f32 [d], x;\n"
        " mov.f64 u, 0.1; st.global.f64 [d+8], u;\n"
        " div.rn.f32 y, x, 0f40400000; st.global.f32 [d+16], y;\n"
        " mul.rn.f32 y, x, 0f00000801; st.global.f32 [d+20], y;\n"
        " ex2.approx.f32 y, x; st.global.f32 [d+24], y;\n"
        " sqrt.approx.f32 y, x; st.global.f32 [d+28], y;\n"
        " fma.rn.f64 u, u, u, u; st.global.f64 [d+32], u;\n"
        " cvt.rn.f32.f64 y, u; st.global.f32 [d+40], y;\n"
        " cvt.rn.f16x2.f32 h, x, y; st.global.b32 [d+44], h;\n"
        " add.rm.f32 y, x, 0f3F800000; st.global.f32 [d+48], y;\n"
        " div.full.f32 y, x, 0f40400000; st.global.f32 [d+52], y;\n"
        " ret;\n"
        "}\n";

enum { BYTES = 56 };

static void
run(uint32_t threads, unsigned char *out)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t a = sim_alloc(s, BYTES, "a");
	const void *args[] = { &a };
	sim_result *r;

	sim_fill(s, a, 0, BYTES);
	l.args = args;
	l.threads = threads;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
	sim_result_free(r);
	ck_assert_int_eq(sim_read(s, a, out, BYTES), SIM_OK);
	sim_close(s);
}

TEST(host_arithmetic)
{
	unsigned char want[BYTES], got[BYTES];

	run(1, want);
	fesetround(FE_UPWARD);
	run(1, got);
	ck_assert_int_eq(fegetround(), FE_UPWARD);
	fesetround(FE_TONEAREST);
	for (int i = 0; i < BYTES; i += 4)
		ck_assert_msg(memcmp(want + i, got + i, 4) == 0, "rounded upward at %d", i);
#ifdef __SSE__
	unsigned csr = _mm_getcsr();
	_mm_setcsr(csr | 0x8040); /* FTZ and DAZ */
	run(1, got);
	ck_assert_uint_eq(_mm_getcsr() & 0x8040, 0x8040);
	_mm_setcsr(csr);
	for (int i = 0; i < BYTES; i += 4)
		ck_assert_msg(memcmp(want + i, got + i, 4) == 0, "flushed to zero at %d", i);
#endif
}
