/* test_wmma.c - tests wmma.load, wmma.mma and wmma.store: fragments are opaque, so all three together against
 * a plain matrix product, for every shape, type and layout. */
#include "test/check.h"
#include "test/sim/exec/numbers.h"

static const struct Case {
	const char *name;
	Num t;
	int bits, m, n, k, na, nb;
	const char *c;
	Num ct;
	int nc;
        } t[] = {
	{ "f16", F16, 16, 16, 16, 16, 8, 8, "f32", F32, 8 },
	        { "f16", F16, 16, 8, 32, 16, 8, 8, "f32", F32, 8 },
	{ "f16", F16, 16, 32, 8, 16, 8, 8, "f32", F32, 8 },
	        { "f16", F16, 16, 16, 16, 16, 8, 8, "f16", F16, 4 },
	{ "f16", F16, 16, 8, 32, 16, 8, 8, "f16", F16, 4 },
	        { "f16", F16, 16, 32, 8, 16, 8, 8, "f16", F16, 4 },
	{ "bf16", BF16, 16, 16, 16, 16, 4, 4, "f32", F32, 8 },
	        { "bf16", BF16, 16, 8, 32, 16, 2, 8, "f32", F32, 8 },
	{ "bf16", BF16, 16, 32, 8, 16, 8, 2, "f32", F32, 8 },
	        { "tf32", TF32, 32, 16, 16, 8, 4, 4, "f32", F32, 8 },
	{ "s8", S8, 8, 16, 16, 16, 2, 2, "s32", S32, 8 }, { "u8", U8, 8, 8, 32, 16, 1, 4, "s32", S32, 8 },
	{ "s8", S8, 8, 32, 8, 16, 4, 1, "s32", S32, 8 }, { "u8", U8, 8, 16, 16, 16, 2, 2, "s32", S32, 8 },
	{ "s4", S4, 4, 8, 8, 32, 1, 1, "s32", S32, 2 }, { "u4", U4, 4, 8, 8, 32, 1, 1, "s32", S32, 2 },
	{ "b1", B1, 1, 8, 8, 128, 1, 1, "s32", S32, 2 },
};
enum { NCASE = sizeof t / sizeof *t, LDM = 160 /* elements, but accumulators: 40 */, LDC = 40 };

static char *
list(char *p, char name, int n)
{
	p += sprintf(p, "{");
	for (int i = 0; i < n; i++)
		p += sprintf(p, "%s%%%c%d", i ? "," : "", name, i);
	return p + sprintf(p, "}");
}

static void
kernel(const struct Case *c, int la, int lb, int lc, int ld, int shared, char *p)
{
	static const char *const lay[] = { "row", "col" };
	const char *sp = shared ? ".shared" : ".global";
	int ldm = c->bits < 8 ? c->k : LDM;
	char sh[20];

	sprintf(sh, "m%dn%dk%d", c->m, c->n, c->k);
	p += sprintf(p, ".version 8.4\n.target sm_80\n.address_size 64\n"
	                ".entry k(.param .u64 a, .param .u64 b, .param "
	             ".u64 c, .param .u64 d)\n{\n"
	             ".reg .b32 %%a<8>, %%b<8>, %%c<8>, %%d<8>, %%v<4>, %%t<4>; .reg .b64 %%p<5>;\n"
	             ".reg .pred %%q;\n.shared .align 128 .b8 sm[20480];\n"
	             "ld.param.u64 %%p0, [a]; ld.param.u64 %%p1, [b];\n"
	             "ld.param.u64 %%p2, [c]; ld.param.u64 %%p3, [d];\n");
	if (shared)     /* A by way of shared memory */
		p += sprintf(p,
		             "mov.u32 %%t0, %%laneid; shl.b32 %%t0, %%t0, 4; cvt.u64.u32 %%p4, %%t0; add.u64 "
		             "%%p4, %%p0, %%p4;\n"
		             "mov.u32 %%t1, sm; add.u32 %%t0, %%t0, %%t1; mov.u32 %%t2, 0;\n"
		             "L: ld.global.v4.b32 {%%v0,%%v1,%%v2,"
		             "%%v3}, [%%p4];\nst.shared.v4.b32 [%%t0], {%%v0,%%v1,%%v2,%%v3};\n"
		             "add.u32 %%t0, %%t0, 512; add.u64 "
		             "%%p4, %%p4, 512; add.u32 %%t2, %%t2, 1;\nsetp.lt.u32 %%q, %%t2, 40;\n"
		             "@%%q bra L;\nbar.sync 0;\n"
		             "cvt.u64.u32 %%p0, %%t1;\n");
	p += sprintf(p, "wmma.load.a.sync.aligned.%s.%s%s.%s ", lay[la], sh, sp, c->name);
	p = list(p, 'a', c->na);
	p += sprintf(p, ", [%%p0], %d;\nwmma.load.b.sync.aligned.%s.%s.%s ", ldm, lay[lb], sh, c->name);
	p = list(p, 'b', c->nb);
	p += sprintf(p, ", [%%p1], %d;\nwmma.load.c.sync.aligned.%s.%s.global.%s ", ldm, lay[lc], sh, c->c);
	p = list(p, 'c', c->nc);
	p += sprintf(p, ", [%%p2], %d;\nwmma.mma%s.sync.aligned.%s.%s.%s.%s", LDC,
	             c->bits == 1 ? ".and.popc" : "", lay[la],
	             lay[lb], sh, c->c);
	p += c->t == F16 ? sprintf(p, ".%s ", c->c) : sprintf(p, ".%s.%s.%s ", c->name, c->name, c->c);
	p = list(p, 'd', c->nc);
	p += sprintf(p, ", ");
	p = list(p, 'a', c->na);
	p += sprintf(p, ", ");
	p = list(p, 'b', c->nb);
	p += sprintf(p, ", ");
	p = list(p, 'c', c->nc);
	p += sprintf(p, ";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%p3], ", lay[ld], sh, c->c);
	p = list(p, 'd', c->nc);
	sprintf(p, ", %d;\nret;\n}\n", LDC);
}

static void
put_at(uint8_t *buf, int index, int bits, uint32_t v)
{
	uint32_t w = 0;

	memcpy(&w, buf + index * bits / 32 * 4, 4);
	w |= v << index * bits % 32;
	memcpy(buf + index * bits / 32 * 4, &w, 4);
}

/* An element for A or B: small enough for sums that are exact in the accumulator's type. */
static int
some(const struct Case *c)
{
	if (c->t == B1)
		return rnd(2);
	return c->ct == F16 ? rnd(7) - 3 : value(c->t);
}

TEST_EACH(products, NCASE)
{
	const struct Case *c = &t[_i];

	for (int mode = 0; mode < 32; mode++) {
		static uint8_t buf[4][20480];
		static int A[32][128], B[128][32], C[32][32];
		static char text[4000];
		int la = mode & 1, lb = mode >> 1 & 1, lc = mode >> 2 & 1, ld = mode >> 3 & 1,
		    ldm = c->bits < 8 ? c->k : LDM;
		int cb = c->ct == F16 ? 16 : 32, rc;
		sim *s = sim_open();
		uint64_t p[4];
		const void *args[] = { &p[0], &p[1], &p[2], &p[3] };
		sim_launch l = SIM_LAUNCH_INIT;
		sim_result *r;
		sim_module *m;
		if (c->bits < 8 && (la || !lb)) {
			sim_close(s);
			continue;
		}
		memset(buf, 0, sizeof buf);
		for (int i = 0; i < c->m * c->k; i++) {
			int row = i / c->k, q = i % c->k, v = some(c);
			A[row][q] = v;
			put_at(buf[0], la ? q * ldm + row : row * ldm + q, c->bits,
			       c->t == B1 ? (uint32_t)v : encode(v, c->t));
		}
		for (int i = 0; i < c->k * c->n; i++) {
			int q = i / c->n, col = i % c->n, v = some(c);
			B[q][col] = v;
			put_at(buf[1], lb ? col * ldm + q : q * ldm + col, c->bits,
			       c->t == B1 ? (uint32_t)v : encode(v, c->t));
		}
		for (int i = 0; i < c->m * c->n; i++) {
			int row = i / c->n, col = i % c->n;
			C[row][col] = rnd(200) - 100;
			put_at(buf[2], lc ? col * LDC + row : row * LDC + col, cb,
			       encode(C[row][col], c->ct));
		}
		kernel(c, la, lb, lc, ld, mode >> 4, text);
		m = must_load(s, text);
		for (int i = 0; i < 4; i++) {
			p[i] = sim_alloc(s, sizeof buf[i], "matrix");
			sim_write(s, p[i], buf[i], sizeof buf[i]);
		}
		l.block[0] = 32;
		l.args = args;
		rc = sim_run(s, m, "k", &l, &r);
		print_faults(r);
		ck_assert_msg(rc == SIM_OK, "%s", text);
		ck_assert_uint_eq(sim_stats_of(r)->mma_macs, (uint64_t)(c->m * c->n * c->k));
		sim_result_free(r);
		sim_read(s, p[3], buf[3], sizeof buf[3]);
		for (int i = 0; i < c->m * c->n; i++) {
			int row = i / c->n, col = i % c->n, sum = C[row][col];
			uint32_t got = 0, want;
			memcpy(&got, buf[3] + (ld ? col * LDC + row : row * LDC + col) * cb / 8,
			       (size_t)cb / 8);
			for (int q = 0; q < c->k; q++)
				sum += A[row][q] * B[q][col];
			want = encode(sum, c->ct);
			ck_assert_msg(got == want, "%s: row %d col %d: %x, not %x", text, row, col, got,
			              want);
		}
		sim_close(s);
	}
}

/* f64, saturation, and the fault of a fragment beyond its buffer. */
TEST(doubles)
{
	static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a)\n"
	                           "{\n"
		".reg .f64 %d<9>;\n.reg .b64 %p;\nld.param.u64 %p, [a];\n"
		"wmma.load.a.sync.aligned.row.m8n8k4.f64 {%d0}, [%p], 8;\n"
		"wmma.load.b.sync.aligned.row.m8n8k4.f64 {%d1}, [%p], 8;\n"
		"wmma.load.c.sync.aligned.row.m8n8k4.f64 {%d2,%d3}, [%p];\n"
		"wmma.mma.sync.aligned.row.row.m8n8k4.f64.f64.f64.f64.rn {%d4,%d5}, {%d0}, {%d1}, "
		"{%d2,%d3};\n"
		"wmma.store.d.sync.aligned.col.m8n8k4.f64 [%p+512], {%d4,%d5}, 8;\nret;\n}\n";
	double v[128];
	sim *s = sim_open();
	uint64_t a = sim_alloc(s, sizeof v, "v"), b = sim_alloc(s, sizeof v - 8, "v");
	const void *args[] = { &a };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_module *m = must_load(s, text);
	sim_result *r;
	sim_fault f;

	for (int i = 0; i < 64; i++)
		v[i] = i * 3 % 17 - 8;
	sim_write(s, a, v, 512);
	sim_write(s, b, v, 512);
	l.block[0] = 32;
	l.args = args;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
	sim_result_free(r);
	sim_read(s, a, v, sizeof v);
	for (int i = 0; i < 64; i++) {
		double sum = v[i];
		for (int k = 0; k < 4; k++)
			sum += v[i / 8 * 8 + k] * v[k * 8 + i % 8];
		ck_assert_double_eq(v[64 + i % 8 * 8 + i / 8], sum);
	}
	args[0] = &b;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_E_FAULT);
	ck_assert(sim_fault_at(r, 0, &f) && f.kind == SIM_FAULT_BOUNDS);
	sim_result_free(r);
	sim_close(s);
}

TEST_PROGRAM(.timeout = 60);
