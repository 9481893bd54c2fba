/* test_workers.c - tests host-provided threads that execute the library's work. */
#include "lib/base/base.h"
#include "lib/hexc_weights.h"
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <fenv.h>
#include <pthread.h>
#include <string.h>

/* What a host was asked for; it calls piece 0 twice, the last one never, and rounds upward. */
typedef struct Host {
	int calls;
	uint32_t n;
} Host;

typedef struct Piece {
	void (*piece)(void *job, uint32_t i);
	void *job;
	uint32_t i;
} Piece;

static void *
do_piece(void *user)
{
	const Piece *p = user;

	fesetround(FE_UPWARD);
	p->piece(p->job, p->i);
	ck_assert_int_eq(fegetround(), FE_UPWARD);
	return NULL;
}

static void
host_runs(void *user, uint32_t n, void (*piece)(void *job, uint32_t i), void *job)
{
	Host *h = user;
	Piece p = { piece, job, 0 };
	pthread_t id;

	h->calls++;
	h->n = n;
	for (uint32_t i = 0; i + 1 < n; i++) {
		p.i = i;
		ck_assert_int_eq(pthread_create(&id, NULL, do_piece, &p), 0);
		pthread_join(id, NULL);
	}
	piece(job, 0);
}

/* Which threads did the work. */
typedef struct Round {
	pthread_t who[8];
	int times[8], rounding[8];
} Round;

static void
look_round(void *user, int64_t lo, int64_t hi)
{
	Round *r = user;

	for (int64_t i = lo; i < hi; i++) {
		r->who[i] = pthread_self();
		r->times[i]++;
		r->rounding[i] = fegetround();
	}
}

TEST(host_threads)
{
	Host h = { 0, 0 };
	const hexc_workers host = { sizeof host, 5, host_runs, &h };
	HostWorkers w;
	Round r;

	memset(&r, 0, sizeof r);
	ck_assert(workers_of(&w, &host));
	parallel_for(&w.workers, 8, 1, look_round, &r);
	ck_assert_int_eq(h.calls, 1);
	ck_assert_uint_eq(h.n, 5);
	for (int i = 0; i < 8; i++) {
		ck_assert_int_eq(r.times[i], 1);
		ck_assert_int_eq(r.rounding[i], FE_TONEAREST);
		ck_assert(!pthread_equal(r.who[i], pthread_self()));
	}
	parallel_for(&w.workers, 8, 8, look_round, &r);
	ck_assert_int_eq(h.calls, 1); /* one piece needs nobody */
	ck_assert(pthread_equal(r.who[0], pthread_self()));
}

/* A host whose pool is closed. */
static void
host_refuses(void *user, uint32_t n, void (*piece)(void *job, uint32_t i), void *job)
{
	(void)piece, (void)job;
	*(uint32_t *)user = n;
}

static const char by_rows[] = "kernel k(A: f32[M, 64], C: out f32[M, 64]) {\n"
			      "    grid(M);\n"
			      "    C[block.x, :] = A[block.x, :] / 3;\n"
			      "}\n";

static void
run_asking(const hexc_workers *host, uint32_t *asked)
{
	enum { ROWS = 64 };
	static float a[ROWS * 64], c[2][ROWS * 64];
	hexc_module *m = lib_must(by_rows, NULL);
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	hexc_arg arg[3];

	for (size_t i = 0; i < COUNT_OF(a); i++)
		a[i] = (float)i;
	memset(arg, 0, sizeof arg);
	arg[0].ptr = a;
	arg[0].bytes = arg[1].bytes = sizeof a;
	arg[2].i = ROWS;
	for (int i = 0; i < 2; i++) {
		arg[1].ptr = c[i];
		o.workers = i ? host : NULL;
		ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_OK);
	}
	ck_assert_uint_eq(*asked, 3);
	ck_assert_mem_eq(c[0], c[1], sizeof c[0]);
	hexc_module_free(m);
}

static void
pack_asking(const hexc_workers *host, uint32_t *asked)
{
	static const char pack[] = "hexc-pack 1 u4 block 32x64 spread 16 streams 32 "
				   "place ((8,2,2),(2,4,2,4)):((256,4,32),(1,64,2,8))";
	static unsigned char natural[512 * 1024], packed[2][512 * 1024] __attribute__((aligned(4)));
	const int64_t dim[2] = { 512, 2048 };
	char why[300];

	for (size_t i = 0; i < COUNT_OF(natural); i++)
		natural[i] = (unsigned char)(i * 7 + i / 1024);
	for (int i = 0; i < 2; i++) {
		*asked = 0;
		ck_assert_msg(hexc_pack(pack, 2, dim, natural, packed[i], i ? host : NULL, why, sizeof why) ==
		                      HEXC_OK,
		              "%s", why);
	}
	ck_assert_uint_eq(*asked, 3);
	ck_assert_mem_eq(packed[0], packed[1], sizeof natural);
	*asked = 0;
	ck_assert_int_eq(hexc_unpack(pack, 2, dim, packed[0], packed[1], host, why, sizeof why), HEXC_OK);
	ck_assert_uint_eq(*asked, 3);
	ck_assert_mem_eq(natural, packed[1], sizeof natural);
}

/* A weight of 256 x 256, loaded from a file that holds it. */
static hexc_weight *
load_asking(const hexc_weight *w, const hexc_workers *host)
{
	static unsigned char file[256 + 256 * 256];
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight *back;
	hexc_file *f;
	char why[300];
	size_t n;

	/* one tensor of type 2 (Q4_0), no metadata; its data begins at a multiple of 32 */
	static const unsigned char head[] = { 'G', 'G', 'U', 'F', 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		                              0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		                              'w', 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0,
		                              0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	memcpy(file, head, sizeof head);
	n = (sizeof head + 31) / 32 * 32;
	ck_assert_int_eq(hexc_weight_tensor(w, 0, &t, file + n, sizeof file - n), 1);
	ck_assert_int_eq(hexc_file_memory(&f, file, n + t.bytes, why, sizeof why), HEXC_OK);
	ck_assert_msg(hexc_weight_load(&back, f, "w", host, why, sizeof why) == HEXC_OK, "%s", why);
	hexc_file_close(f);
	return back;
}

static void
weights_asking(const hexc_workers *host, uint32_t *asked)
{
	enum { SIDE = 256 };
	static float x[SIDE * SIDE], y[2][SIDE * SIDE];
	hexc_weight *w[2], *back;
	char why[300];

	for (int i = 0; i < SIDE * SIDE; i++)
		x[i] = (float)(i * 37 % 1001) - 500;
	for (int i = 0; i < 2; i++) {
		*asked = 0;
		ck_assert_int_eq(hexc_weight_quantize(&w[i], "Q4_0", x, SIDE, SIDE, 0, i ? host : NULL, why,
		                                      sizeof why),
		                 HEXC_OK);
		ck_assert_uint_eq(*asked, i ? 3 : 0);
		ck_assert_int_eq(hexc_weight_float(w[i], y[i], i ? host : NULL, why, sizeof why), HEXC_OK);
		ck_assert_uint_eq(*asked, i ? 3 : 0);
	}
	ck_assert_mem_eq(y[0], y[1], sizeof x);
	*asked = 0;
	back = load_asking(w[0], host);
	ck_assert_uint_eq(*asked, 3);
	ck_assert_int_eq(hexc_weight_float(back, y[1], NULL, why, sizeof why), HEXC_OK);
	ck_assert_mem_eq(y[0], y[1], sizeof x);
	hexc_weight_free(w[0]);
	hexc_weight_free(w[1]);
	hexc_weight_free(back);
}

/* Every function that takes workers asks the host, and where that does nothing does all by itself. */
TEST(functions_ask_the_host)
{
	uint32_t asked = 0;
	const hexc_workers host = { sizeof host, 3, host_refuses, &asked };

	run_asking(&host, &asked);
	pack_asking(&host, &asked);
	weights_asking(&host, &asked);
}

/* One of a newer hexc.h that says what this library does not know. */
TEST(newer_workers)
{
	struct {
		hexc_workers w;
		uint64_t later;
	} newer = { HEXC_WORKERS_INIT, 0 };
	HostWorkers w;

	newer.w.size = sizeof newer;
	ck_assert(workers_of(&w, &newer.w));
	newer.later = 1;
	ck_assert(!workers_of(&w, &newer.w));
	ck_assert(workers_of(&w, NULL) && !w.workers.run && !w.workers.threads);
}
