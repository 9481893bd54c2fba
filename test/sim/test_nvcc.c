/* test_nvcc.c - CUDA C kernels compiled by nvcc for several targets, run with all checks on. */
#include <math.h>
#include <stdint.h>
#include <unistd.h>
#include "simtest.h"

static const int archs[] = { 75, 80, 90 };
enum { NARCH = sizeof archs / sizeof *archs };
static char dir[] = "/tmp/simnvccXXXXXX";
static char *ptx[NARCH];

static int
compile(void)
{
	char cmd[1200], src[600], file[100];
	char *slash;

	if (system("command -v nvcc >/dev/null 2>&1") != 0)
		return 0;
	snprintf(src, sizeof src, "%s", __FILE__);
	slash = strrchr(src, '/');
	snprintf(slash ? slash + 1 : src, 50, "kernels.cu");
	if (!mkdtemp(dir))
		return 0;
	for (int i = 0; i < NARCH; i++) {
		snprintf(file, sizeof file, "%s/k%d.ptx", dir, archs[i]);
		snprintf(cmd, sizeof cmd, "nvcc -Wno-deprecated-gpu-targets -ptx -arch=sm_%d -o %s %s", archs[i],
		         file, src);
		if (system(cmd) != 0)
			return -1;
		ptx[i] = read_text(file);
		unlink(file);
	}
	rmdir(dir);
	return 1;
}

typedef struct Run {
	sim *s;
	sim_module *m;
	sim_launch l;
	sim_stats st;
	unsigned smem;
} Run;

static Run
start(int arch)
{
	Run r = { 0 };
	sim_launch l = SIM_LAUNCH_INIT;

	r.s = sim_open();
	r.m = must_load(r.s, ptx[arch]);
	r.l = l;
	r.l.threads = 2;
	return r;
}

static uint64_t
buffer(Run *r, const void *data, size_t bytes, const char *name)
{
	uint64_t p = sim_alloc(r->s, bytes, name);

	if (data)
		ck_assert_int_eq(sim_write(r->s, p, data, bytes), SIM_OK);
	return p;
}

static void
go(Run *r, const char *entry, unsigned grid, unsigned gridy, unsigned bx, unsigned by,
   const void *const *args)
{
	sim_result *res;
	int rc;

	r->l.grid[0] = grid;
	r->l.grid[1] = gridy;
	r->l.block[0] = bx;
	r->l.block[1] = by;
	r->l.args = args;
	rc = sim_run(r->s, r->m, entry, &r->l, &res);
	if (rc != SIM_OK) {
		fprintf(stderr, "%s: %d %s\n", entry, rc, sim_result_text(res));
		print_faults(res);
	}
	ck_assert_int_eq(rc, SIM_OK);
	r->st = *sim_stats_of(res);
	sim_result_free(res);
}

static uint32_t seed = 1;
static uint32_t
rnd(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

START_TEST(vadd)
{
	Run r = start(_i);
	enum { N = 1000 };
	float a[N], b[N], c[N];
	int n = N;

	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = (float)rnd() / 77;
	}
	uint64_t pa = buffer(&r, a, sizeof a, "a"), pb = buffer(&r, b, sizeof b, "b");
	uint64_t pc = buffer(&r, NULL, sizeof c, "c");
	const void *args[] = { &pa, &pb, &pc, &n };
	go(&r, "vadd", 8, 1, 128, 1, args);
	sim_read(r.s, pc, c, sizeof c);
	for (int i = 0; i < N; i++)
		ck_assert_float_eq(c[i], a[i] + b[i]);
	/* 1000 floats are 125 sectors; 8 blocks of 16 sectors each but the last */
	ck_assert_uint_eq(r.st.all.global_sectors_read, 250);
	ck_assert_uint_eq(r.st.all.global_sectors_written, 125);
	ck_assert_uint_eq(r.st.block_sectors_read, 250);
	ck_assert_uint_eq(r.st.grid_sectors_written, 125);
	ck_assert_uint_eq(r.st.all.global_requests, 3 * 32);
	sim_close(r.s);
}
END_TEST

START_TEST(reduce)
{
	Run r = start(_i);
	enum { N = 5000, G = 7 };
	int in[N], n = N, sum = 0, got;

	for (int i = 0; i < N; i++)
		sum += in[i] = (int)(rnd() % 1000) - 300;
	uint64_t pi = buffer(&r, in, sizeof in, "in"), pp = buffer(&r, NULL, 4 * G, "partial");
	uint64_t po = buffer(&r, NULL, 4, "out");
	const void *args[] = { &pi, &pp, &po, &n };
	go(&r, "reduce", G, 1, 256, 1, args);
	sim_read(r.s, po, &got, 4);
	ck_assert_int_eq(got, sum);
	sim_close(r.s);
}
END_TEST

START_TEST(transpose)
{
	Run r = start(_i);
	enum { N = 64 };
	static float in[N * N], out[N * N];
	int n = N;

	for (int i = 0; i < N * N; i++)
		in[i] = (float)i;
	uint64_t pi = buffer(&r, in, sizeof in, "in"), po = buffer(&r, NULL, sizeof out, "out");
	const void *args[] = { &pi, &po, &n };
	for (int pad = 0; pad < 2; pad++) {
		go(&r, pad ? "transpose_padded" : "transpose_conflicts", 2, 2, 32, 8, args);
		sim_read(r.s, po, out, sizeof out);
		for (int i = 0; i < N * N; i++)
			ck_assert_float_eq(out[i], in[i % N * N + i / N]);
		/* 4 blocks x 8 warps x 4 stores and loads; unpadded loads hit one bank 32 times */
		ck_assert_uint_eq(r.st.all.shared_min, 256);
		ck_assert_uint_eq(r.st.all.shared_wavefronts, pad ? 256 : 128 + 128 * 32);
		ck_assert_uint_eq(r.st.all.global_sectors_read, N * N / 8);
		ck_assert_uint_eq(r.st.all.global_sectors_written, N * N / 8);
	}
	sim_close(r.s);
}
END_TEST

START_TEST(histogram)
{
	Run r = start(_i);
	enum { N = 4000 };
	uint8_t in[N];
	unsigned want[256] = { 0 }, got[256];
	int n = N;

	for (int i = 0; i < N; i++)
		want[in[i] = (uint8_t)(rnd() % 50)]++;
	uint64_t pi = buffer(&r, in, sizeof in, "in"), po = buffer(&r, NULL, sizeof got, "out");
	const void *args[] = { &pi, &po, &n };
	sim_fill(r.s, po, 0, sizeof got);
	go(&r, "histogram", 3, 1, 128, 1, args);
	sim_read(r.s, po, got, sizeof got);
	ck_assert_mem_eq(got, want, sizeof got);
	sim_close(r.s);
}
END_TEST

static int64_t
mulhi(int64_t a, int64_t b)
{
	__extension__ typedef __int128 wide;

	return (int64_t)((wide)a * b >> 64);
}

static uint64_t
reverse(uint64_t v)
{
	uint64_t r = 0;

	for (int i = 0; i < 64; i++)
		r |= (v >> i & 1) << (63 - i);
	return r;
}

static int64_t
misc_want(int i, int64_t x, int64_t y)
{
	switch (i % 7) {
	case 0: return y ? x % y : -1;
	case 1: return y ? x / y : 0;
	case 2: return (int64_t)((uint64_t)x * (uint64_t)y);
	case 3: return mulhi(x, y);
	case 4: return __builtin_popcountll((uint64_t)x) * 100 + (y ? __builtin_clzll((uint64_t)y) : 64);
	case 5: return (int64_t)reverse((uint64_t)x) ^ (x >> (y & 63));
	default: return x < y ? x - y : x ^ y;
	}
}

START_TEST(misc)
{
	Run r = start(_i);
	enum { N = 300 };
	int64_t a[N], b[N], out[N];
	double dout[N];
	int n = N;

	for (int i = 0; i < N; i++) {
		a[i] = (int64_t)((uint64_t)rnd() << 30 ^ rnd()) * (i % 2 ? 1 : -1);
		b[i] = i % 11 ? (int64_t)(rnd() % 100000) - 50000 : 0;
	}
	uint64_t pa = buffer(&r, a, sizeof a, "a"), pb = buffer(&r, b, sizeof b, "b");
	uint64_t po = buffer(&r, NULL, sizeof out, "out"), pd = buffer(&r, NULL, sizeof dout, "dout");
	const void *args[] = { &pa, &pb, &po, &pd, &n };
	go(&r, "misc", 3, 1, 128, 1, args);
	sim_read(r.s, po, out, sizeof out);
	sim_read(r.s, pd, dout, sizeof dout);
	for (int i = 0; i < N; i++) {
		double c[5], v = 0, x = 1.0 / (1 + i % 10);
		ck_assert_msg(out[i] == misc_want(i, a[i], b[i]), "i %d", i);
		for (int k = 0; k < 5; k++)
			c[(k + i) % 5] = (double)(a[i] % 1000 + k) / (double)(1 + (b[i] & 15));
		for (int k = 0; k < 5; k++)
			v = fma(v, x, c[k]);
		ck_assert_double_eq(dout[i], v + sqrt((double)i));
	}
	sim_close(r.s);
}
END_TEST

START_TEST(by_struct)
{
	Run r = start(_i);
	static const float table[16] = { 1, 2, 4, 8, 16, 32, 64, 128, .5f, .25f, .125f, 3, 5, 7, 9, 11 };
	struct { float a, b; int shift; short tag; } s = { 1.5f, -2, 5, 3 };
	float in[96], out[96];

	for (int i = 0; i < 96; i++)
		in[i] = (float)i * 0.25f;
	uint64_t pi = buffer(&r, in, sizeof in, "in"), po = buffer(&r, NULL, sizeof out, "out");
	const void *args[] = { &s, &pi, &po };
	r.l.smem = 96 * 4;
	go(&r, "by_struct", 1, 1, 96, 1, args);
	sim_read(r.s, po, out, sizeof out);
	for (int i = 0; i < 96; i++)
		ck_assert_float_eq(out[i], fmaf(in[(i + 5) % 96], 1.5f, -2) * table[(i + 3) & 15]);
	sim_close(r.s);
}
END_TEST

static float
half_value(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

	return (float)(h & 0x8000 ? -v : v);
}

/* Nearest f16 of a double, by search over all finite values: slow and plain. */
static uint16_t
half_of(double v)
{
	uint16_t best = 0;
	double err = INFINITY;

	for (uint32_t h = 0; h < 0x7c00; h++) {
		double e = fabs(fabs(v) - (double)half_value((uint16_t)h));
		if (e < err || (e == err && !(h & 1))) {
			err = e;
			best = (uint16_t)h;
		}
	}
	return signbit(v) ? best | 0x8000 : best;
}

START_TEST(halves)
{
	Run r = start(_i);
	enum { N = 64 };
	uint16_t a[N], b[N], c[N], d[N];
	int n = N;

	for (int i = 0; i < N; i++) {
		a[i] = half_of((double)(rnd() % 2000) / 100 - 10);
		b[i] = half_of((double)(rnd() % 2000) / 300 - 3);
	}
	uint64_t pa = buffer(&r, a, sizeof a, "a"), pb = buffer(&r, b, sizeof b, "b");
	uint64_t pc = buffer(&r, NULL, sizeof c, "c"), pd = buffer(&r, NULL, sizeof d, "d");
	const void *args[] = { &pa, &pb, &pc, &pd, &n };
	go(&r, "halves", 1, 1, 32, 1, args);
	sim_read(r.s, pc, c, sizeof c);
	sim_read(r.s, pd, d, sizeof d);
	for (int i = 0; i < N; i++) {
		double x = half_value(a[i]), y = half_value(b[i]);
		double z = half_value(half_of(x * y + half_value(half_of(x * 0.5))));
		ck_assert_float_eq(half_value(c[i]), (float)fmax(z, -y));
		float f = i % 2 ? (float)x / 3.0f : (float)x * 1.37f;
		uint32_t bits;
		memcpy(&bits, &f, 4);
		bits += 0x7fff + (bits >> 16 & 1);
		ck_assert_uint_eq(d[i], bits >> 16);
	}
	sim_close(r.s);
}
END_TEST

START_TEST(votes)
{
	Run r = start(_i);
	int in[32], sum = 0;
	uint32_t got[32], ball = 0, two = 0, match[4] = { 0 };
	int any = 0, all = 1;

	for (int i = 0; i < 32; i++) {
		in[i] = (int)(rnd() % 90);
		ball |= (uint32_t)(in[i] & 1) << i;
		two |= (uint32_t)(in[i] >> 1 & 1) << i;
		match[in[i] & 3] |= 1u << i;
		any |= in[i] > 100;
		all &= in[i] >= 0;
		sum += in[i];
	}
	uint64_t pi = buffer(&r, in, sizeof in, "in"), po = buffer(&r, NULL, sizeof got, "out");
	const void *args[] = { &pi, &po };
	go(&r, "votes", 1, 1, 32, 1, args);
	sim_read(r.s, po, got, sizeof got);
	for (int i = 0; i < 32; i++) {
		uint32_t v = (uint32_t)in[i], w = ball + (uint32_t)any * 3 + (uint32_t)all * 5, dot = 1, perm;
		w ^= v & 2 ? w + (uint32_t)__builtin_popcount(two) : 0x5555u;
		w += match[v & 3] ^ 0xffffffffu;
		w += (uint32_t)sum * 7;
		for (int k = 0; k < 4; k++)
			dot += (uint32_t)((int8_t)(v >> 8 * k) * (int8_t)(v * 3 >> 8 * k));
		uint64_t vw = (uint64_t)w << 32 | v;
		perm = (uint32_t)(vw >> 8 & 255) | (uint32_t)(vw >> 16 & 255) << 8
		     | (uint32_t)(vw >> 32 & 255) << 16 | (uint32_t)(vw >> 48 & 255) << 24;
		ck_assert_uint_eq(got[i], w + dot + perm % 97);
	}
	sim_close(r.s);
}
END_TEST

START_TEST(mma_tile)
{
	Run r = start(_i);
	enum { K = 48 };
	uint16_t a[16 * K], b[K * 8];
	float c[128];
	int k = K;

	for (int i = 0; i < 16 * K; i++)
		a[i] = half_of((double)(rnd() % 100) - 50);
	for (int i = 0; i < K * 8; i++)
		b[i] = half_of((double)(rnd() % 100) - 50);
	uint64_t pa = buffer(&r, a, sizeof a, "a"), pb = buffer(&r, b, sizeof b, "b");
	uint64_t pc = buffer(&r, NULL, sizeof c, "c");
	const void *args[] = { &pa, &pb, &pc, &k };
	go(&r, "mma_tile", 1, 1, 32, 1, args);
	sim_read(r.s, pc, c, sizeof c);
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 8; j++) {
			float s = 0;
			for (int x = 0; x < K; x++)
				s += half_value(a[i * K + x]) * half_value(b[x * 8 + j]);
			ck_assert_float_eq(c[i * 8 + j], s);
		}
	ck_assert_uint_eq(r.st.mma, archs[_i] >= 80 ? 3 : 6);
	ck_assert_uint_eq(r.st.mma_macs, 16 * 8 * K);
	sim_close(r.s);
}
END_TEST

START_TEST(pipeline)
{
	Run r;
	enum { N = 2301 };
	static float in[N], out[128];
	int n = N;

	if (archs[_i] < 80)
		return;
	r = start(_i);
	for (int i = 0; i < N; i++)
		in[i] = (float)(rnd() % 1000);
	uint64_t pi = buffer(&r, in, sizeof in, "in"), po = buffer(&r, NULL, sizeof out, "out");
	const void *args[] = { &pi, &po, &n };
	go(&r, "pipeline", 1, 1, 128, 1, args);
	sim_read(r.s, po, out, sizeof out);
	for (int t = 0; t < 128; t++) {
		float s = 0;
		for (int k = 0; k < 5; k++)
			for (int i = 0; i < 4; i++) {
				int at = k * 512 + (t * 4 + i + 37) % 512;
				s += at < N ? in[at] : 0;
			}
		ck_assert_float_eq(out[t], s);
	}
	/* zero-filled lanes read nothing */
	ck_assert_uint_eq(r.st.all.global_sectors_read, (N * 4 + 31) / 32);
	sim_close(r.s);
}
END_TEST

START_TEST(collatz)
{
	Run r = start(_i);
	enum { N = 100 };
	unsigned in[N], out[N];
	int n = N;

	for (int i = 0; i < N; i++)
		in[i] = (unsigned)i + 1;
	uint64_t pi = buffer(&r, in, sizeof in, "in"), po = buffer(&r, NULL, sizeof out, "out");
	const void *args[] = { &pi, &po, &n };
	go(&r, "collatz", 2, 1, 64, 1, args);
	sim_read(r.s, po, out, sizeof out);
	for (int i = 0; i < N; i++) {
		unsigned v = in[i], steps = 0;
		while (v != 1) {
			v = v & 1 ? 3 * v + 1 : v / 2;
			steps++;
		}
		ck_assert_uint_eq(out[i], steps);
	}
	sim_close(r.s);
}
END_TEST

START_TEST(locks)
{
	Run r = start(_i);
	int got;
	uint64_t pc = buffer(&r, NULL, 4, "counter");
	const void *args[] = { &pc };

	sim_fill(r.s, pc, 0, 4);
	r.l.threads = 1 + (unsigned)_i % 2;
	go(&r, "locks", 4, 1, 64, 1, args);
	sim_read(r.s, pc, &got, 4);
	ck_assert_int_eq(got, 4 * 64 * 2);
	sim_close(r.s);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sim nvcc");
	TCase *t = tcase_create("nvcc");
	int have = compile();

	if (have == 0) {
		puts("nvcc is not installed");
		return 77;
	}
	if (have < 0)
		return 1;
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, vadd, 0, NARCH);
	tcase_add_loop_test(t, reduce, 0, NARCH);
	tcase_add_loop_test(t, transpose, 0, NARCH);
	tcase_add_loop_test(t, histogram, 0, NARCH);
	tcase_add_loop_test(t, misc, 0, NARCH);
	tcase_add_loop_test(t, by_struct, 0, NARCH);
	tcase_add_loop_test(t, halves, 0, NARCH);
	tcase_add_loop_test(t, votes, 0, NARCH);
	tcase_add_loop_test(t, mma_tile, 0, NARCH);
	tcase_add_loop_test(t, pipeline, 0, NARCH);
	tcase_add_loop_test(t, collatz, 0, NARCH);
	tcase_add_loop_test(t, locks, 0, NARCH);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
