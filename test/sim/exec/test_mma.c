/* test_mma.c - tests every mma shape and type against a plain matrix product.
 *
 * The element positions are written here independently, element by element as the PTX ISA gives them ("Matrix
 * Fragments for mma.m16n8k16 with ..."): row and column of a_i, b_i, c_i by groupID = lane / 4 and
 * threadID_in_group = lane % 4. */
#include <math.h>
#include <stdint.h>
#include "test/check.h"
#include "test/sim/random.h"
#include "test/sim/simtest.h"

typedef enum Num { F16, BF16, TF32, F64, S8, U8, S4, U4, E4M3, E5M2, F32, S32 } Num;
static const struct { const char *name; int bits; int range; } nums[] = {
	{ "f16", 16, 0 }, { "bf16", 16, 0 }, { "tf32", 32, 0 }, { "f64", 64, 0 }, { "s8", 8, 100 },
	{ "u8", 8, 200 }, { "s4", 4, 7 }, { "u4", 4, 15 }, { "e4m3", 8, 8 }, { "e5m2", 8, 4 },
	{ "f32", 32, 0 }, { "s32", 32, 0 },
};

typedef struct Case { int m, n, k; Num a, b, c; int acc16; } Case;
static const Case cases[] = {
	{ 16, 8, 8, F16, F16, F32, 0 }, { 16, 8, 16, F16, F16, F32, 0 },
	{ 16, 8, 8, F16, F16, F16, 1 }, { 16, 8, 16, F16, F16, F16, 1 },
	{ 16, 8, 8, BF16, BF16, F32, 0 }, { 16, 8, 16, BF16, BF16, F32, 0 },
	{ 16, 8, 4, TF32, TF32, F32, 0 }, { 16, 8, 8, TF32, TF32, F32, 0 },
	{ 8, 8, 16, S8, S8, S32, 0 }, { 8, 8, 16, U8, S8, S32, 0 }, { 16, 8, 16, S8, U8, S32, 0 },
	{ 16, 8, 32, S8, S8, S32, 0 }, { 16, 8, 32, U8, U8, S32, 0 },
	{ 8, 8, 32, S4, S4, S32, 0 }, { 16, 8, 32, U4, S4, S32, 0 }, { 16, 8, 64, S4, U4, S32, 0 },
	{ 16, 8, 64, U4, U4, S32, 0 },
	{ 8, 8, 4, F64, F64, F64, 0 }, { 16, 8, 4, F64, F64, F64, 0 }, { 16, 8, 8, F64, F64, F64, 0 },
	{ 16, 8, 16, F64, F64, F64, 0 },
	{ 16, 8, 32, E4M3, E4M3, F32, 0 }, { 16, 8, 32, E5M2, E4M3, F32, 0 },
	{ 16, 8, 32, E4M3, E5M2, F16, 1 }, { 16, 8, 16, E4M3, E4M3, F32, 0 },
};

/* ---- places, after the ISA ---- */

static void
place_a(const Case *c, int g, int t, int i, int *row, int *col)
{
	int bits = nums[c->a].bits;

	*row = g;
	if (bits == 64) {
		if (c->m == 8) {                        /* m8n8k4 */
			*col = t;
		} else if (c->k == 4) {
			*row = i == 0 ? g : g + 8;
			*col = t;
		} else if (c->k == 8) {
			*row = i == 0 || i == 2 ? g : g + 8;
			*col = i < 2 ? t : t + 4;
		} else {
			*row = i % 2 == 0 ? g : g + 8;
			*col = i * 2 - i % 2 * 2 + t;
		}
	} else if (bits == 32) {
		if (c->k == 4) {
			*row = i == 0 ? g : g + 8;
			*col = t;
		} else {
			*row = i == 0 || i == 2 ? g : g + 8;
			*col = i == 0 || i == 1 ? t : t + 4;
		}
	} else if (bits == 16) {
		if (c->k == 8) {
			*row = i == 0 || i == 1 ? g : g + 8;
			*col = t * 2 + (i & 1);
		} else {
			*row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? g : g + 8;
			*col = i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8;
		}
	} else if (bits == 8) {
		if (c->m == 8) {
			*col = t * 4 + i;
		} else if (c->k == 16) {
			*row = i < 4 ? g : g + 8;
			*col = t * 4 + (i & 3);
		} else {
			*row = (i >= 0 && i < 4) || (i >= 8 && i < 12) ? g : g + 8;
			*col = i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16;
		}
	} else {
		if (c->m == 8) {
			*col = t * 8 + i;
		} else if (c->k == 32) {
			*row = i < 8 ? g : g + 8;
			*col = t * 8 + (i & 7);
		} else {
			*row = (i >= 0 && i < 8) || (i >= 16 && i < 24) ? g : g + 8;
			*col = i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32;
		}
	}
}

static void
place_b(const Case *c, int g, int t, int i, int *row, int *col)
{
	*col = g;
	switch (nums[c->b].bits) {
	case 64: *row = c->k == 16 ? t + i * 4 : c->k == 8 ? (i == 0 ? t : t + 4) : t; break;
	case 32: *row = i == 0 ? t : t + 4; break;
	case 16: *row = i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8; break;
	case 8: *row = i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16; break;
	default: *row = i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32; break;
	}
}

static void
place_c(int g, int t, int i, int *row, int *col)
{
	*row = i < 2 ? g : g + 8;
	*col = t * 2 + (i & 1);
}

/* ---- numbers: small integers only, so plain conversions do ---- */

static uint64_t
encode(double v, Num n)
{
	float f = (float)v;
	uint32_t b;
	uint64_t d;
	int e;
	double m;

	memcpy(&b, &f, 4);
	memcpy(&d, &v, 8);
	switch (n) {
	case F64: return d;
	case F32: case TF32: return b;
	case BF16: return b >> 16;
	case S8: case U8: return (uint64_t)(int64_t)v & 255;
	case S4: case U4: return (uint64_t)(int64_t)v & 15;
	case S32: return (uint32_t)(int32_t)v;
	default: break;
	}
	if (v == 0)
		return 0;
	m = frexp(fabs(v), &e);         /* |v| = m 2^e, m in [1/2, 1) */
	if (n == F16)
		return (v < 0 ? 0x8000u : 0) | (uint32_t)(e - 1 + 15) << 10 | ((uint32_t)(m * 2048) & 1023);
	if (n == E4M3)
		return (v < 0 ? 0x80u : 0) | (uint32_t)(e - 1 + 7) << 3 | ((uint32_t)(m * 16) & 7);
	return (v < 0 ? 0x80u : 0) | (uint32_t)(e - 1 + 15) << 2 | ((uint32_t)(m * 8) & 3);
}

static double
decode(uint64_t b, Num n)
{
	float f;
	double d;
	uint32_t w = (uint32_t)b;

	switch (n) {
	case F64: memcpy(&d, &b, 8); return d;
	case F32: memcpy(&f, &w, 4); return (double)f;
	case S32: return (int32_t)w;
	default: break;
	}
	d = w & 0x7c00 ? ldexp(1024 + (w & 1023), (int)(w >> 10 & 31) - 25) : ldexp(w & 1023, -24);
	return w & 0x8000 ? -d : d;
}

/* ---- the kernel: registers of each lane from memory, mma, registers to memory ---- */

static void
regs(char *out, const char *p, int n)
{
	strcpy(out, "{");
	for (int i = 0; i < n; i++)
		sprintf(out + strlen(out), "%s%s%d", i ? "," : "", p, i);
	strcat(out, "}");
}

static void
kernel(const Case *c, char *text, int na, int nb, int nc)
{
	const char *at = nums[c->a].bits == 64 ? "d" : "r", *cn = c->c == F64 ? "d" : "r";
	int aw = *at == 'd' ? 8 : 4, cw = *cn == 'd' ? 8 : 4;
	char ra[200], rb[100], rc[200], rd[200], pa[8], pb[8], pc[8], pd[8];

	sprintf(pa, "%%%sa", at);
	sprintf(pb, "%%%sb", at);
	sprintf(pc, "%%%sc", cn);
	sprintf(pd, "%%%sd", cn);
	regs(ra, pa, na);
	regs(rb, pb, nb);
	regs(rc, pc, nc);
	regs(rd, pd, nc);
	sprintf(text, ".version 8.4\n.target sm_90a\n.address_size 64\n"
	        ".entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n"
	        ".reg .b32 %%ra<8>, %%rb<8>, %%rc<8>, %%rd<8>, %%l;\n"
	        ".reg .b64 %%da<8>, %%db<8>, %%dc<8>, %%dd<8>, %%p<9>;\nmov.u32 %%l, %%laneid;\n");
	static const char names[] = "abcd";
	for (int k = 0; k < 4; k++) {
		int n = k == 0 ? na : k == 1 ? nb : nc, w = k < 2 ? aw : cw;
		sprintf(text + strlen(text), "ld.param.u64 %%p0, [%c];\nmul.wide.u32 %%p1, %%l, %d;\n"
		        "add.s64 %%p%d, %%p0, %%p1;\n", names[k], n * w, k + 2);
		for (int i = 0; k < 3 && i < n; i++)
			sprintf(text + strlen(text), "ld.global.b%d %%%s%c%d, [%%p%d+%d];\n", w * 8,
			        k < 2 ? at : cn, names[k], i, k + 2, i * w);
	}
	sprintf(text + strlen(text), "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s %s, %s, %s, %s;\n",
	        c->m, c->n, c->k, nums[c->c].name, nums[c->a].name, nums[c->b].name, nums[c->c].name, rd,
	        ra, rb, rc);
	for (int i = 0; i < nc; i++)
		sprintf(text + strlen(text), "st.global.b%d [%%p5+%d], %%%sd%d;\n", cw * 8, i * cw, cn, i);
	strcat(text, "ret;\n}\n");
}

static uint32_t state = 99;
static int
rnd(int n)
{
	return (int)(congruential(&state) % (uint32_t)n);
}

static double
random_value(Num n, int round, int index)
{
	int r = nums[n].range;

	if (n == U8 || n == U4)
		return rnd(r + 1);
	if (r)
		return rnd(2 * r + 1) - r;
	return round == 0 ? index : rnd(9) - 4;         /* first all different */
}

/* Element values into the register words of all lanes. */
static void
pack(const Case *c, int which, const double *mat, int cols, uint8_t *out, int nreg)
{
	Num n = which == 0 ? c->a : which == 1 ? c->b : c->c;
	int bits = nums[n].bits, word = bits == 64 ? 64 : 32, per = word / bits;

	memset(out, 0, (size_t)(32 * nreg * word / 8));
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < nreg * per; i++) {
			int row, col;
			uint64_t w = 0, v;
			uint8_t *at = out + (lane * nreg + i / per) * word / 8;
			if (which == 0)
				place_a(c, lane / 4, lane % 4, i, &row, &col);
			else if (which == 1)
				place_b(c, lane / 4, lane % 4, i, &row, &col);
			else
				place_c(lane / 4, lane % 4, i, &row, &col);
			v = encode(mat[row * cols + col], n);
			memcpy(&w, at, (size_t)word / 8);
			w |= v << i % per * bits % 64;
			memcpy(at, &w, (size_t)word / 8);
		}
}

TEST_EACH(shapes, sizeof cases / sizeof *cases)
{
	const Case *c = &cases[_i];
	int abits = nums[c->a].bits, aw = abits == 64 ? 64 : 32, cbits = nums[c->c].bits;
	int cw = cbits == 64 ? 64 : 32;
	int na = c->m * c->k * abits / 32 / aw, nb = c->n * c->k * abits / 32 / aw;
	int nc = c->m * c->n * cbits / 32 / cw;
	static char text[16384];
	sim *s = sim_open();
	sim_module *m;
	uint64_t p[4];
	const void *args[] = { &p[0], &p[1], &p[2], &p[3] };
	sim_launch l = SIM_LAUNCH_INIT;

	kernel(c, text, na, nb, nc);
	m = must_load(s, text);
	for (int i = 0; i < 4; i++)
		p[i] = sim_alloc(s, 4096, "fragments");
	l.block[0] = 32;
	l.args = args;
	for (int round = 0; round < 12; round++) {
		double a[16 * 64], b[64 * 8], cc[128];
		uint8_t buf[4096];
		sim_result *r;
		for (int i = 0; i < c->m * c->k; i++)
			a[i] = random_value(c->a, c->acc16 ? 1 : round, i);
		for (int i = 0; i < c->k * c->n; i++)
			b[i] = random_value(c->b, c->acc16 ? 1 : round, i % 256);
		for (int i = 0; i < c->m * c->n; i++)
			cc[i] = rnd(100) - 50;
		pack(c, 0, a, c->k, buf, na);
		sim_write(s, p[0], buf, (size_t)(32 * na * aw / 8));
		pack(c, 1, b, c->n, buf, nb);
		sim_write(s, p[1], buf, (size_t)(32 * nb * aw / 8));
		pack(c, 2, cc, c->n, buf, nc);
		sim_write(s, p[2], buf, (size_t)(32 * nc * cw / 8));
		ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
		ck_assert_uint_eq(sim_stats_of(r)->mma, 1);
		sim_result_free(r);
		sim_read(s, p[3], buf, (size_t)(32 * nc * cw / 8));
		for (int lane = 0; lane < 32; lane++)
			for (int i = 0; i < nc * cw / cbits; i++) {
				int row, col, per = cw / cbits;
				uint64_t w = 0;
				double want, got;
				place_c(lane / 4, lane % 4, i, &row, &col);
				memcpy(&w, buf + (lane * nc + i / per) * cw / 8, (size_t)cw / 8);
				got = decode(w >> i % per * cbits % 64, c->c);
				want = cc[row * c->n + col];
				for (int k = 0; k < c->k; k++)
					want += a[row * c->k + k] * b[k * c->n + col];
				ck_assert_msg(got == want, "m%dn%dk%d %s: row %d col %d: %g, not %g", c->m,
				              c->n,
				              c->k, nums[c->a].name, row, col, got, want);
			}
	}
	sim_close(s);
}

/* ldmatrix, stmatrix and movmatrix: element (row, col) of matrix i has the value 100 i + 10 row + col. */
TEST_EACH(matrices, 4)
{
	static const char head[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	                           ".entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .b32 %r<20>;\n.reg .b64 %d<10>;\n.shared .align 16 .b8 sm[1024];\n"
		"mov.u32 %r1, %laneid;\nmov.u32 %r2, sm;\nld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\n"
		"shl.b32 %r3, %r1, 4;\nadd.s32 %r4, %r2, %r3;\nmul.wide.u32 %d3, %r1, 16;\n"
		"add.s64 %d4, %d1, %d3;\nadd.s64 %d5, %d2, %d3;\n"
		"ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%d4];\nst.shared.v4.u32 [%r4], {%r5,%r6,%r7,%r8};\n"
		"bar.warp.sync -1;\n";
	static const char *const body[] = {
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5,%r6,%r7,%r8}, [%r4];\n",
		"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r5,%r6,%r7,%r8}, [%r4];\n",
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5,%r6,%r7,%r8}, [%r4];\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r5;\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r6;\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 %r7, %r7;\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r8;\n",
		/* stored transposed and loaded transposed: as the first */
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5,%r6,%r7,%r8}, [%r4];\nbar.warp.sync -1;\n"
		"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r4], {%r5,%r6,%r7,%r8};\n"
		"bar.warp.sync -1;\n"
		"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r5,%r6,%r7,%r8}, [%r4];\n",
	};
	uint16_t in[4][8][8], out[32][4][2];
	char text[4000];
	sim *s = sim_open();
	uint64_t pi = sim_alloc(s, sizeof in, "in"), po = sim_alloc(s, sizeof out, "out");
	const void *args[] = { &pi, &po };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	int trans = _i == 1 || _i == 2;

	for (int i = 0; i < 256; i++)
		in[i / 64][i / 8 % 8][i % 8] = (uint16_t)(i / 64 * 100 + i / 8 % 8 * 10 + i % 8);
	sprintf(text, "%s%sst.global.v4.u32 [%%d5], {%%r5,%%r6,%%r7,%%r8};\nret;\n}\n", head, body[_i]);
	sim_module *m = must_load(s, text);
	sim_write(s, pi, in, sizeof in);
	l.block[0] = 32;
	l.args = args;
	int rc = sim_run(s, m, "k", &l, &r);
	print_faults(r);
	ck_assert_int_eq(rc, SIM_OK);
	sim_read(s, po, out, sizeof out);
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 4; i++)
			for (int h = 0; h < 2; h++) {
				int row = lane / 4, col = lane % 4 * 2 + h;
				ck_assert_int_eq(out[lane][i][h], i * 100 + (trans ? col : row) * 10 +
				                                          (trans ? row : col));
			}
	/* rows of 16 bytes side by side: no conflicts */
	ck_assert_uint_eq(sim_stats_of(r)->all.shared_wavefronts, sim_stats_of(r)->all.shared_min);
	sim_result_free(r);
	sim_close(s);
}
