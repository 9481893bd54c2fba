/* test_wgmma.c - tests wgmma.mma_async against a plain matrix product: shapes, types, layouts of operands.
 *
 * Shared memory is filled here by the figures of the PTX ISA ("Shared Memory Matrix Layout"): atoms of 8
 * rows, in which the 16-byte chunk c of row r is at position c xor r (128 bytes), c xor r/2 (64), c xor r/4
 * (32) of its row. */
#include <math.h>
#include "test/check.h"
#include "test/sim/exec/numbers.h"

enum { MAXK = 256, SMEM = 65536, A_AT = 0, B_AT = 16384 };

typedef struct Case {
	Num a, b, c;
	int n, swa, swb;        /* swizzle: chunks in a row, 1, 2, 4, 8; swa 0: A in registers */
	int ta, tb;             /* 1: along m or n */
	int neg;                /* 1: imm-scale-a is -1, 2: imm-scale-b, 3: both */
	int acc;                /* scale-d */
	int step;               /* K-major: which slice of the row */
	int sparse, sel;
} Case;

static uint8_t smem[SMEM];
static int A[64][MAXK], P[64][MAXK], B[MAXK][256], C[64][256];
static uint32_t regs_a[128][4], meta[128];

static int
depth(const Case *c)
{
	return (nums[c->a].bits == 1 ? 256 : 256 / nums[c->a].bits) * (c->sparse ? 2 : 1);
}

static int
swizzled(int w, int r, int chunk)
{
	return w == 8 ? chunk ^ r % 8 : w == 4 ? chunk ^ r % 8 / 2 : w == 2 ? chunk ^ r % 8 / 4 : chunk;
}

/* Bytes from the start of a matrix to the chunk of a row, rows and chunks after the figures; lead and
 * stride: what the descriptor has to say. */
static int
place(int w, int mn, int row, int chunk, int rows, int *lead, int *stride)
{
	int atoms = rows / 8;

	if (w == 1) {           /* 8 rows of 16 bytes */
		int down = mn ? 128 : 144, right = mn ? 128 * atoms + 16 : 144 * atoms + 32;
		*lead = mn ? down : right;
		*stride = mn ? right : down;
		return row % 8 * 16 + row / 8 * down + chunk * right;
	}
	*stride = w * 128;
	*lead = *stride * atoms;
	return row % 8 * w * 16 + row / 8 * *stride + swizzled(w, row, chunk % w) * 16 + chunk / w * *lead;
}

static void
store(int at, int w, int mn, int row, int col, int rows, Num n, uint32_t v, int *lead, int *stride)
{
	int bits = nums[n].bits, byte = bits == 1 ? col / 8 : col * bits / 8;
	int o = at + place(w, mn, row, byte / 16, rows, lead, stride) + byte % 16;

	ck_assert_int_lt(o + 4, SMEM);
	if (bits == 1)
		smem[o] |= (uint8_t)(v << col % 8);
	else
		memcpy(&smem[o], &v, (size_t)bits / 8);
}

static uint64_t
descriptor(int at, int w, int lead, int stride)
{
	static const uint64_t mode[] = { 0, 0, 3, 0, 2, 0, 0, 0, 1 };

	return (uint64_t)at >> 4 | (uint64_t)(lead >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
	       mode[w] << 62;
}

static uint32_t
bits_of(int v, Num n)
{
	return nums[n].bits == 1 ? (uint32_t)v : encode(v, n);
}

static void
fill(const Case *c, uint64_t *da, uint64_t *db)
{
	int k = depth(c), ka = c->sparse ? k / 2 : k, bits = nums[c->a].bits, per = 32 / bits;
	int lead = 0, stride = 0, first, chunk = bits == 32 ? 2 : 4, lanes = bits >= 16 ? 2 : 4;

	memset(smem, 0xee, sizeof smem);
	if (bits == 1)
		memset(smem, 0, sizeof smem);
	memset(A, 0, sizeof A);
	memset(regs_a, 0, sizeof regs_a);
	memset(meta, 0xff, sizeof meta);
	for (int i = 0; i < 64 * ka; i++)
		P[i / ka][i % ka] = bits == 1 ? rnd(2) : c->c == F16 ? rnd(7) - 3 : value(c->a);
	for (int i = 0; i < k * c->n; i++)
		B[i / c->n][i % c->n] = bits == 1 ? rnd(2) : c->c == F16 ? rnd(7) - 3 : value(c->b);
	for (int i = 0; i < 64 * c->n; i++)
		C[i / c->n][i % c->n] = rnd(200) - 100;
	for (int i = 0; i < 64 && !c->sparse; i++)
		memcpy(A[i], P[i], sizeof A[i]);
	for (int i = 0; c->sparse && i < 64 * k / chunk; i++) {
		int row = i / (k / chunk), q = i % (k / chunk), p0 = rnd(4), p1 = rnd(4), t, bit;
		uint32_t *m;
		if (p1 == p0)
			p1 = (p0 + 1) % 4;
		if (bits == 32) {
			p0 = rnd(2) * 2;
			p1 = p0 + 1;
		}
		t = bits >= 16 ? q / 4 : q / 8 * 2 + row % 16 / 8;
		bit = bits >= 16 ? row % 16 / 8 * 16 + q % 4 * 4 : q % 8 * 4;
		m = &meta[row / 16 * 32 + row % 8 * 4 + c->sel * lanes + t];
		*m = (*m & ~(15u << bit)) | (uint32_t)(p0 | p1 << 2) << bit;
		if (bits == 32) {
			A[row][q * 2 + p0 / 2] = P[row][q];
		} else {
			A[row][q * 4 + p0] = P[row][q * 2];
			A[row][q * 4 + p1] = P[row][q * 2 + 1];
		}
	}
	/* A: 64 rows along m, or ka rows along k */
	first = c->ta ? 0 : c->step * ka;
	for (int i = 0; i < 64 * ka && c->swa; i++) {
		int m = i / ka, q = i % ka;
		store(A_AT, c->swa, c->ta, c->ta ? q : m, c->ta ? m : q + first, c->ta ? ka : 64, c->a,
		      bits_of(P[m][q], c->a), &lead, &stride);
	}
	*da = descriptor(A_AT + first * bits / 8, c->swa ? c->swa : 1, lead, stride);
	for (int i = 0; i < 64 * ka; i++) {     /* each warp has 16 rows, as in mma */
		int m = i / ka, q = i % ka;
		put(&regs_a[m / 16 * 32 + m % 8 * 4 + q / per % 4][q / (4 * per) * 2 + m % 16 / 8], q % per,
		    bits,
		    bits_of(P[m][q], c->a));
	}
	first = c->tb ? 0 : c->step * k;
	for (int i = 0; i < k * c->n; i++) {
		int q = i / c->n, n = i % c->n;
		store(B_AT, c->swb, c->tb, c->tb ? q : n, c->tb ? n : q + first, c->tb ? k : c->n, c->b,
		      bits_of(B[q][n], c->b), &lead, &stride);
	}
	*db = descriptor(B_AT + first * bits / 8, c->swb, lead, stride);
}

static void
kernel(const Case *c, char *p)
{
	int nd = c->n * nums[c->c].bits / 64, k = depth(c);

	p += sprintf(p, ".version 8.4\n.target sm_90a\n.address_size 64\n"
	                ".extern .shared .align 1024 .b8 sm[];\n"
	             ".entry k(.param .u64 io, .param .u64 img, .param .u64 da, .param .u64 db)\n{\n"
	             ".reg .b32 %%c<128>, %%a<4>, %%t<4>, %%i, %%s, %%m, %%v<4>;\n"
	             ".reg .b64 %%io, %%p, %%d<2>;\n"
	             ".reg .pred %%q, %%l;\nmov.u32 %%t0, %%tid.x;\nld.param.u64 %%io, [io];\n"
	             "mad.wide.u32 %%io, %%t0, %d, %%io;\nld.param.u64 %%p, [img];\n"
	             "mad.wide.u32 %%p, %%t0, 16, %%p;\n"
	             "ld.param.u64 %%d0, [da];\nld.param.u64 %%d1, [db];\nmov.u32 %%i, 0;\nmov.u32 %%s, sm;\n"
	             "mad.lo.u32 %%s, %%t0, 16, %%s;\nL:\nld.global.v4.b32 {%%v0,%%v1,%%v2,%%v3}, [%%p];\n"
	             "st.shared.v4.b32 [%%s], {%%v0,%%v1,%%v2,%%v3};\nadd.u32 %%s, %%s, 2048;\n"
	             "add.u64 %%p, %%p, 2048;\n"
	             "add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%l, %%i, %d;\n@%%l bra L;\n"
	             "fence.proxy.async;\nbar.sync 0;\n", 136 * 4, SMEM / 2048);
	for (int i = 0; i < nd; i++)
		p += sprintf(p, "ld.global.b32 %%c%d, [%%io+%d];\n", i, 4 * i);
	for (int i = 0; i < 4; i++)
		p += sprintf(p, "ld.global.b32 %%a%d, [%%io+%d];\n", i, 512 + 4 * i);
	p += sprintf(p, "ld.global.b32 %%m, [%%io+528];\nsetp.ne.u32 %%q, 0, %d;\nwgmma.fence.sync.aligned;\n"
	             "wgmma.mma_async%s.sync.aligned.m64n%dk%d.%s.%s.%s%s {", c->acc, c->sparse ? ".sp" : "",
	             c->n, k,
	             nums[c->c].name, nums[c->a].name, nums[c->b].name,
	             nums[c->a].bits == 1 ? ".and.popc" : "");
	for (int i = 0; i < nd; i++)
		p += sprintf(p, "%s%%c%d", i ? "," : "", i);
	p += sprintf(p, "}, %s, %%d1", c->swa ? "%d0" : "{%a0,%a1,%a2,%a3}");
	if (c->sparse)
		p += sprintf(p, ", %%m, %d", c->sel);
	p += sprintf(p, ", %%q");
	if (c->c != S32)
		p += sprintf(p, ", %d, %d", c->neg & 1 ? -1 : 1, c->neg & 2 ? -1 : 1);
	if (nums[c->a].bits == 16)
		p += c->swa ? sprintf(p, ", %d, %d", c->ta, c->tb) : sprintf(p, ", %d", c->tb);
	p += sprintf(p, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
	for (int i = 0; i < nd; i++)
		p += sprintf(p, "st.global.b32 [%%io+%d], %%c%d;\n", 4 * i, i);
	sprintf(p, "ret;\n}\n");
}

static void
try(const Case *c)
{
	static char text[32768];
	static uint32_t io[128][136];
	sim *s = sim_open();
	uint64_t pio = sim_alloc(s, sizeof io, "io"), pimg = sim_alloc(s, SMEM, "image"), da, db;
	const void *args[] = { &pio, &pimg, &da, &db };
	sim_launch l = SIM_LAUNCH_INIT;
	int k = depth(c), cb = nums[c->c].bits, sign = c->neg == 1 || c->neg == 2 ? -1 : 1;
	sim_module *m;
	sim_result *r;
	int rc;

	fill(c, &da, &db);
	kernel(c, text);
	m = must_load(s, text);
	memset(io, 0, sizeof io);
	for (int t = 0; t < 128; t++) {
		for (int i = 0; i < c->n / 2;
		     i++) {    /* "row = 16 (warp) + group + 8 if i & 2; col = i / 4 * 8 ..." */
			int row = t / 32 * 16 + t % 32 / 4 + (i & 2 ? 8 : 0),
			    col = i / 4 * 8 + t % 4 * 2 + (i & 1);
			put(io[t], i, cb, encode(C[row][col], c->c));
		}
		memcpy(io[t] + 128, regs_a[t], 16);
		io[t][132] = meta[t];
	}
	sim_write(s, pio, io, sizeof io);
	sim_write(s, pimg, smem, SMEM);
	l.block[0] = 128;
	l.smem = SMEM;
	l.threads = 1;
	l.args = args;
	rc = sim_run(s, m, "k", &l, &r);
	print_faults(r);
	ck_assert_msg(rc == SIM_OK, "%s", sim_result_text(r));
	ck_assert_uint_eq(sim_stats_of(r)->mma_macs, (uint64_t)(64 * c->n * k));
	sim_result_free(r);
	sim_read(s, pio, io, sizeof io);
	for (int t = 0; t < 128; t++)
		for (int i = 0; i < c->n / 2; i++) {
			int row = t / 32 * 16 + t % 32 / 4 + (i & 2 ? 8 : 0),
			    col = i / 4 * 8 + t % 4 * 2 + (i & 1);
			int sum = c->acc ? C[row][col] : 0;
			uint32_t got = io[t][i * cb / 32] >> i * cb % 32 & (cb == 16 ? 0xffff : ~0u), want;
			for (int q = 0; q < k; q++)
				sum += sign * A[row][q] * B[q][col];
			want = encode(sum, c->c);
			if (sum == 0)   /* of either sign */
				got &= cb == 16 ? 0x7fff : 0x7fffffff;
			ck_assert_msg(got == want,
			              "n %d %s swizzle %d %d along %d %d step %d: row %d col %d: %x, not %x",
			              c->n,
			              nums[c->a].name, c->swa, c->swb, c->ta, c->tb, c->step, row, col, got,
			              want);
		}
	sim_close(s);
}

TEST_RANGE(every_n, 1, 33)
{
	Case c = { F16, F16, F32, 8 * _i, 8, 8, 0, 0, 0, 1, _i % 4, 0, 0 };

	try(&c);
	c.a = c.b = BF16;
	c.swa = 0;
	c.acc = 0;
	try(&c);
	c = (Case){ F16, F16, F16, 8 * _i, 4, 2, 0, 0, 0, 1, 0, 0, 0 };
	try(&c);
	if (_i < 4 || _i % 2 == 0) {
		c = (Case){ S8, U8, S32, 8 * _i, 2, 4, 0, 0, 0, 1, 0, 0, 0 };
		try(&c);
		c = (Case){ B1, B1, S32, 8 * _i, 4, 8, 0, 0, 0, 1, 0, 0, 0 };
		try(&c);
	}
}

TEST_SAMPLED(layouts, 14, 2)
{
	static const int w[] = { 0, 1, 2, 4, 8 };
	static const Num t[] = { F16, BF16, TF32, E4M3, E5M2, S8, U8 };
	Num n = t[_i % 7];

	for (int i = 0; i < 5; i++)
		for (int j = 1; j < 5; j++)
			for (int tr = 0; tr < 4; tr++) {
				Case c = { n, n, n == S8 || n == U8 ? S32 : F32, 32 + 8 * (_i / 7 * 8 + j),
				        w[i], w[j], tr & 1, tr >> 1,
					(i + j + tr) % 4, tr != 2, 0, 0, 0 };
				if (tr && nums[n].bits != 16)
					continue;
				if (c.c == S32) {
					c.neg = 0;
					c.n = 64;
				}
				if (c.ta && !c.swa)
					continue;
				try(&c);
				for (c.step = 1; tr == 0 && c.step < (w[i] && w[i] < w[j] ? w[i] : w[j]) / 2;
				     c.step++)
					try(&c);
			}
}

TEST_EACH(mixed, 6)
{
	static const Num t[][3] = { { E4M3, E5M2, F32 }, { E5M2, E4M3, F32 }, { E4M3, E4M3, F16 },
	        { E5M2, E5M2, F16 },
		{ S8, U8, S32 }, { U8, S8, S32 } };
	Case c = { t[_i][0], t[_i][1], t[_i][2], 48, _i % 2 ? 8 : 0, 8, 0, 0, 0, 1, _i % 2, 0, 0 };

	try(&c);
}

TEST_SAMPLED(sparse, 8, 2)
{
	static const Num t[][3] = { { F16, F16, F32 }, { BF16, BF16, F32 }, { TF32, TF32, F32 },
	        { E4M3, E5M2, F32 },
		{ S8, S8, S32 }, { U8, S8, S32 }, { F16, F16, F16 }, { E5M2, E4M3, F16 } };

	for (int sel = 0; sel < (nums[t[_i][0]].bits >= 16 ? 2 : 1); sel++)
		for (int swa = 0; swa < 9; swa = swa ? 2 * swa : 1)
			for (int swb = 1; swb < 9; swb *= 2)
				for (int tr = 0; tr < (nums[t[_i][0]].bits == 16 ? 2 : 1); tr++) {
					Case c = { t[_i][0], t[_i][1], t[_i][2], 8 + 16 * swb % 40, swa, swb,
					        0, tr, 0, 1, 0, 1, sel };
					if (c.c == S32)
						c.n = 32;
					try(&c);
				}
}

/* The warps of a group wait for each other at the fence: what each wrote before is in the products of all. */
TEST(written_without_a_barrier)
{
	static const char text[] =
		".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
		".reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %d<4>, %o; .reg .pred %p<4>;\n"
		".shared .align 1024 .b8 sm[4096];\nld.param.u64 %o, [out]; mov.u32 %r0, %tid.x;\n"
		"mad.wide.u32 %o, %r0, 16, %o; mov.u32 %r5, sm; mad.lo.u32 %r1, %r0, 32, %r5;\n"
		"mov.u32 %r3, 0x3c003c00; setp.lt.u32 %p2, %r0, 32; @%p2 bra W; nanosleep.u32 100;\n"
		"W: st.shared.v4.b32 [%r1], {%r3,%r3,%r3,%r3};\n"
		"st.shared.v4.b32 [%r1+16], {%r3,%r3,%r3,%r3};\n"
		"fence.proxy.async; setp.ne.u32 %p1, 1, 0;\n"
		"mov.b64 %d0, 0x0000001000080000; mov.b64 %d1, 0x00000010000800c0; shr.u32 %r4, %r5, 4;\n"
		"cvt.u64.u32 %d2, %r4; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
		"mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
		"wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
		"{%f0,%f1,%f2,%f3}, %d0, %d1, %p1, 1, 1, 0, 0;\n"
		"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
		"st.global.v4.f32 [%o], {%f0,%f1,%f2,%f3}; ret;\n}\n";
	float out[512];

	for (uint64_t seed = 0; seed < 8; seed++) {
		sim *s = sim_open();
		sim_launch l = SIM_LAUNCH_INIT;
		uint64_t p = sim_alloc(s, sizeof out, "out");
		const void *args[] = { &p };
		sim_result *r;
		l.args = args;
		l.block[0] = 128;
		l.seed = seed;
		ck_assert_int_eq(sim_run(s, must_load(s, text), "k", &l, &r), SIM_OK);
		sim_read(s, p, out, sizeof out);
		for (int i = 0; i < 512; i++)
			ck_assert_float_eq(out[i], 16.0f);
		sim_result_free(r);
		sim_close(s);
	}
}

TEST_PROGRAM(.timeout = 120);
