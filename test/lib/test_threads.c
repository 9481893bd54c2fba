/* test_threads.c - tests that eight threads compiling different kernels concurrently get the same bytes as
 * one. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include "test/util_file.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 3 };

/* What each thread compiles: a program, and one tunable where it matters. */
static const struct {
	const char *path;
	hexc_define def[3];
	size_t ndef;
} work[THREADS] = {
	{ "examples/vector_add.hexc", { { "BN", 128 } }, 1 },
	{ "examples/vector_add.hexc", { { "BN", 1024 } }, 1 },
	{ "examples/softmax.hexc", { { NULL, 0 } }, 0 },
	{ "examples/layer_norm.hexc", { { NULL, 0 } }, 0 },
	{ "examples/gemm_f16.hexc", { { "BM", 32 }, { "BN", 32 }, { "STAGES", 2 } }, 3 },
	{ "examples/gemm_f16.hexc", { { "BM", 16 }, { "BN", 64 }, { "WARPS", 2 } }, 3 },
	{ "examples/gemm_w4a16.hexc", { { "BM", 16 }, { "STAGES", 2 } }, 2 },
	{ "examples/vector_add.hexc", { { "WARPS", 8 } }, 1 },
};

typedef struct Job {
	int i;
	const char *src;
	size_t n;
	char *ptx; /* what one thread alone got */
	int wrong;
	pthread_t thread;
} Job;

static hexc_module *
compile(const Job *j)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_ctx *c;

	o.define = work[j->i].def;
	o.ndefine = work[j->i].ndef;
	if (hexc_open(&c, &o) != HEXC_OK)
		return NULL;
	if (hexc_compile(&m, c, work[j->i].path, j->src, j->n) != HEXC_OK && hexc_diag(c, 0, &d))
		fprintf(stderr, "%s:%u: %s\n", work[j->i].path, d.line, d.text);
	hexc_close(c);
	return m;
}

static void *
thread(void *user)
{
	Job *j = user;

	for (int r = 0; r < ROUNDS; r++) {
		hexc_module *m = compile(j);
		if (!m || strcmp(hexc_ptx(m, NULL), j->ptx) != 0)
			j->wrong++;
		hexc_module_free(m);
	}
	return NULL;
}

TEST(threads)
{
	Job job[THREADS];

	for (int i = 0; i < THREADS; i++) {
		Job *j = &job[i];
		hexc_module *m;
		memset(j, 0, sizeof *j);
		j->i = i;
		j->src = file_read(work[i].path, &j->n);
		m = compile(j);
		ck_assert_ptr_nonnull(m);
		j->ptx = strdup(hexc_ptx(m, NULL));
		hexc_module_free(m);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&job[i].thread, NULL, thread, &job[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(job[i].thread, NULL);
		ck_assert_msg(job[i].wrong == 0, "%s: %d of %d differ", work[i].path, job[i].wrong,
		              (int)ROUNDS);
		free(job[i].ptx);
	}
}

/* A child goes on with what its parent had. */
TEST(fork_between_calls)
{
	hexc_module *one = lib_must(lib_gemm, NULL), *two;
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		two = lib_compile(lib_gemm, NULL, &status, NULL, 0);
		_exit(!two || strcmp(hexc_ptx(one, NULL), hexc_ptx(two, NULL)) != 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	hexc_module_free(one);
}

/* ---- the stack that hexc.h promises to do with --------------------------------------------------- */

enum { STACK = SANITIZED ? 8 << 20 : 1 << 20 };

static void *
deepest(void *user)
{
	static const char head[] = "kernel k(A: f32[N], C: out f32[N]) {\n    grid(ceil(N, 128));\n"
				   "    var x: register f32[128] = A[block.x * 128 :+ 128];\n";
	enum { LOOPS = 30, DEPTH = 65 };
	char *src = malloc(1 << 16);
	static float a[128], c[128];
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	hexc_arg arg[3];
	int *bad = user, code;
	char why[300];
	size_t n;

	n = (size_t)sprintf(src, "%s", head);
	for (int i = 0; i < LOOPS; i++)
		n += (size_t)sprintf(src + n, "for loop%d in 0..N %s {\n", i, i % 2 ? "step 5" : "");
	n += (size_t)sprintf(src + n, "x = x * 0.5 + ");
	for (int i = 0; i < DEPTH; i++)
		n += (size_t)sprintf(src + n, "(1.0 + x * ");
	n += (size_t)sprintf(src + n, "x");
	for (int i = 0; i < DEPTH; i++)
		src[n++] = ')';
	src[n++] = ';';
	for (int i = 0; i < LOOPS; i++)
		src[n++] = '}';
	sprintf(src + n, "\n    C[block.x * 128 :+ 128] = x;\n}\n");
	o.flags = HEXC_PROVE | HEXC_PARANOID | HEXC_EXPLAIN | HEXC_DRAW;
	m = lib_compile(src, &o, &code, why, sizeof why);
	if (!m)
		fprintf(stderr, "%d: %s\n", code, why);
	memset(arg, 0, sizeof arg);
	arg[0].ptr = a;
	arg[1].ptr = c;
	arg[0].bytes = arg[1].bytes = sizeof a;
	arg[2].i = 1;
	*bad = !m || hexc_run_tile(m, 0, arg, NULL) != HEXC_OK;
	hexc_module_free(m);
	free(src);
	for (int i = 0; i < THREADS; i++) {
		Job j = { .i = i };

		j.src = file_read(work[i].path, &j.n);
		m = compile(&j);
		*bad |= !m;
		hexc_module_free(m);
	}
	return NULL;
}

TEST(small_stack)
{
	pthread_attr_t attr;
	pthread_t id;
	int bad = 0;

	pthread_attr_init(&attr);
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, STACK), 0);
	ck_assert_int_eq(pthread_create(&id, &attr, deepest, &bad), 0);
	pthread_join(id, NULL);
	ck_assert(!bad);
}
