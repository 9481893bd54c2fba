/* test_each_failure.c - tests the runtime's functions with the n-th allocation, or the n-th file system call,
 * failing, for every n: the documented code, a message, nothing leaked. */
#define _GNU_SOURCE
#include "test/lib/util_lib.h"
#include "test/ops/util_op.h"
#include "lib/hexc_cache.h"
#include "lib/hexc_plan.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Its malloc is not the sanitizers'. */
static int
start(int argc, char **argv)
{
	if (!SANITIZED)
		return op_start(argc, argv);
	puts("malloc is this program's own");
	return SKIPPED;
}

TEST_PROGRAM(.start = start, .timeout = 200);

/* ---- what fails ---------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);
extern char __executable_start, etext;

/* Of this thread: others wait while there is one. */
static _Thread_local struct {
	bool memory, files; /* which is counted */
	long calls, fail_at, live;
} sys;

/* Asked for by hexc's code, which is in this program, not by the C library or the simulator beside it? */
static bool
ours(const void *caller)
{
	return (const char *)caller >= &__executable_start && (const char *)caller < &etext;
}

static bool
refused(const void *caller)
{
	if (!sys.memory || !ours(caller) || ++sys.calls != sys.fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

static void *
counted(void *p)
{
	sys.live += sys.memory && p;
	return p;
}

void *
malloc(size_t n)
{
	void *caller = __builtin_return_address(0);

	return refused(caller) ? NULL : ours(caller) ? counted(__libc_malloc(n)) : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	void *caller = __builtin_return_address(0);

	if (refused(caller))
		return NULL;
	return ours(caller) ? counted(__libc_calloc(n, size)) : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	void *caller = __builtin_return_address(0);

	if (n && refused(caller))
		return NULL;
	return ours(caller) && !p ? counted(__libc_realloc(p, n)) : __libc_realloc(p, n);
}

void *
aligned_alloc(size_t align, size_t n)
{
	return refused(__builtin_return_address(0)) ? NULL : counted(__libc_memalign(align, n));
}

void
free(void *p)
{
	if (p && ours(__builtin_return_address(0)))
		sys.live -= sys.memory;
	__libc_free(p);
}

static bool
no_file(void)
{
	if (!sys.files || ++sys.calls != sys.fail_at)
		return false;
	errno = EIO;
	return true;
}

ssize_t
write(int fd, const void *data, size_t n)
{
	return no_file() ? -1 : syscall(SYS_write, fd, data, n);
}

ssize_t
read(int fd, void *data, size_t n)
{
	return no_file() ? -1 : syscall(SYS_read, fd, data, n);
}

ssize_t
pread(int fd, void *data, size_t n, off_t at)
{
	return no_file() ? -1 : syscall(SYS_pread64, fd, data, n, at);
}

int
fsync(int fd)
{
	return no_file() ? -1 : (int)syscall(SYS_fsync, fd);
}

int
rename(const char *from, const char *to)
{
	return no_file() ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
open(const char *path, int how, ...)
{
	va_list ap;
	int mode;

	va_start(ap, how);
	mode = how & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return no_file() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, how, mode);
}

/* ---- what is tried ------------------------------------------------------------------------------------- */

static struct {
	const hexc_module *m[3];
	hexc_cubin cubin;
	void *whole; /* of m[0] */
	size_t nwhole;
	void *bundle;
	size_t nbundle;
	char path[3][100]; /* a module, a bundle, what is written */
	hexc_gpu *gpu;     /* one that was there before */
	void *buffer[3];
	char why[400];
} t;

static const char table[] = "hexc-family 1\n"
                            "family product\n"
                            "take gemm BM=32 BK=32 when M <= 64\n"
                            "take gemm BM=32 BK=16 when 1\n";

static void
must(int code)
{
	ck_assert_msg(code == HEXC_OK, "%d: %s", code, t.why);
}

static void
setup(void)
{
	static const hexc_define wide[] = { { "BK", 32 } };
	static const char zero[4096];
	hexc_opts o = HEXC_OPTS_INIT;

	t.m[0] = lib_must(lib_add, NULL);
	t.m[1] = lib_must(lib_gemm, NULL);
	o.define = wide;
	o.ndefine = 1;
	t.m[2] = lib_must(lib_gemm, &o);
	t.cubin = (hexc_cubin){ "sm_80", "\177ELF", 4 };
	must(hexc_module_save(t.m[0], &t.cubin, 1, NULL, 0, &t.nwhole));
	t.whole = malloc(t.nwhole);
	must(hexc_module_save(t.m[0], &t.cubin, 1, t.whole, t.nwhole, &t.nwhole));
	must(hexc_bundle_save_families(t.m, 3, "me", table, NULL, 0, &t.nbundle, t.why, sizeof t.why));
	t.bundle = malloc(t.nbundle);
	must(hexc_bundle_save_families(t.m, 3, "me", table, t.bundle, t.nbundle, &t.nbundle, t.why,
	                               sizeof t.why));
	for (int i = 0; i < 3; i++)
		snprintf(t.path[i], sizeof t.path[i], "/tmp/hexc-each-%ld.%d", (long)getpid(), i);
	must(hexc_module_save_file(t.m[0], NULL, 0, t.path[0], t.why, sizeof t.why));
	must(hexc_bundle_save_file(t.m, 3, "me", t.path[1], t.why, sizeof t.why));
	must(hexc_gpu_open(&t.gpu, HEXC_SIMULATOR(80), t.why, sizeof t.why));
	for (int i = 0; i < 3; i++) {
		must(hexc_gpu_alloc(t.gpu, sizeof zero, &t.buffer[i]));
		must(hexc_gpu_write(t.gpu, t.buffer[i], zero, sizeof zero));
	}
}

static void
teardown(void)
{
	for (int i = 0; i < 3; i++) {
		unlink(t.path[i]);
		hexc_module_free((hexc_module *)(uintptr_t)t.m[i]);
	}
	hexc_gpu_close(t.gpu);
	free(t.whole);
	free(t.bundle);
}

/* Each returns the first code that is none of success, after which it has freed what it took. */
static int
save_module(void)
{
	size_t n;
	int code = hexc_module_save(t.m[1], &t.cubin, 1, NULL, 0, &n);

	if (code)
		snprintf(t.why, sizeof t.why, "no memory"); /* it has no room for a sentence */
	return code ? code : hexc_module_save_file(t.m[1], &t.cubin, 1, t.path[2], t.why, sizeof t.why);
}

static int
load_module(void)
{
	hexc_module *m = NULL, *n = NULL;
	int code = hexc_module_load(&m, t.whole, t.nwhole, t.why, sizeof t.why);

	if (!code)
		code = hexc_module_load_file(&n, t.path[0], t.why, sizeof t.why);
	hexc_module_free(m);
	hexc_module_free(n);
	return code;
}

static int
save_bundle(void)
{
	size_t n;
	int code = hexc_bundle_save_families(t.m, 3, "me", table, NULL, 0, &n, t.why, sizeof t.why);

	return code ? code : hexc_bundle_save_file(t.m, 3, "me", t.path[2], t.why, sizeof t.why);
}

static int
read_bundle(void)
{
	hexc_arg arg[6];
	hexc_want want = HEXC_WANT_INIT;
	const hexc_module *m;
	hexc_bundle *b = NULL;
	size_t i, k;
	int code = hexc_bundle_open(&b, t.path[1], t.why, sizeof t.why);

	memset(arg, 0, sizeof arg);
	for (int n = 0; n < 6; n++)
		arg[n].i = 64;
	want.kernel = "gemm";
	want.arg = arg;
	want.sms = 108;
	if (!code)
		code = hexc_bundle_find(b, &want, &i, t.why, sizeof t.why);
	if (!code)
		code = hexc_bundle_module(b, i, &m, &k, t.why, sizeof t.why);
	if (!code)
		code = hexc_bundle_verify(b, t.why, sizeof t.why);
	hexc_bundle_close(b);
	return code;
}

static int
never(void *user, const hexc_family_want *w)
{
	(void)user;
	(void)w;
	return 0;
}

static int
family(void)
{
	hexc_bundle *b = NULL;
	hexc_family *f = NULL;
	int code = hexc_bundle_memory(&b, t.bundle, t.nbundle, t.why, sizeof t.why);

	if (!code)
		code = hexc_family_open(&f, b, NULL, "sm_86", t.why, sizeof t.why);
	if (!code)
		code = hexc_family_wants(table, sizeof table - 1, never, NULL, t.why, sizeof t.why);
	hexc_family_close(f);
	hexc_bundle_close(b);
	return code;
}

/* Two launches in a plan, by a call and by a family. */
static int
plan_of(hexc_gpu *g, hexc_call *c)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan *p = NULL;
	uint32_t buffer = 0, node = 0;
	void *stream[2] = { NULL, NULL };
	int code;

	o.gpu = g;
	o.streams = 2;
	w.us = 1;
	w.call = c;
	code = hexc_plan_new(&p, &o);
	for (int i = 0; i < 2; i++) {
		code = code ? code : hexc_plan_outside(p, t.buffer[2], 4096, &buffer);
		code = code ? code : hexc_plan_node(p, &w, &node);
		code = code ? code : hexc_plan_arg(p, node, 2, buffer);
		code = code ? code : hexc_stream_new(&stream[i], g);
	}
	code = code ? code : hexc_plan_solve(p);
	if (!code && hexc_plan_describe(p, &info))
		code = hexc_plan_bind(p, NULL, info.bytes);
	code = code ? code : hexc_plan_launch(p, stream, 2);
	code = code ? code : hexc_plan_capture(p, stream, 2);
	code = code ? code : hexc_plan_replay(p, stream[0]);
	if (code)
		snprintf(t.why, sizeof t.why, "%s%s", p ? hexc_plan_why(p) : "no plan", hexc_gpu_why(g));
	hexc_plan_free(p);
	hexc_stream_free(g, stream[0]);
	hexc_stream_free(g, stream[1]);
	return code;
}

static int
calls_of(hexc_gpu *g)
{
	hexc_gpu_module *gm = NULL;
	hexc_call *c = NULL;
	hexc_event *e = NULL;
	hexc_arg arg[4];
	double us[2];
	int code = hexc_gpu_load(g, t.m[0], &gm);

	memset(arg, 0, sizeof arg);
	for (int i = 0; i < 3; i++) {
		arg[i].ptr = t.buffer[i];
		arg[i].bytes = 4096;
	}
	arg[3].i = 100;
	code = code ? code : hexc_gpu_launch(gm, 0, arg);
	code = code ? code : hexc_gpu_time(gm, 0, arg, 2, 1, us);
	code = code ? code : hexc_call_new(&c, gm, 0);
	code = code ? code : hexc_event_new(&e, g);
	for (int i = 0; !code && i < 3; i++)
		hexc_call_ptr(c, i, t.buffer[i], 4096);
	code = code ? code : hexc_call_int(c, 3, 100);
	code = code ? code : hexc_call_launch(c, NULL);
	code = code ? code : hexc_event_record(e, NULL);
	if (code)
		snprintf(t.why, sizeof t.why, "%s%s", hexc_gpu_why(g), c ? hexc_call_why(c) : "");
	else
		code = plan_of(g, c);
	hexc_event_free(e);
	hexc_call_free(c);
	hexc_gpu_unload(gm);
	return code;
}

static int
calls(void)
{
	return calls_of(t.gpu);
}

static int
device(void)
{
	hexc_gpu *g = NULL;
	void *p = NULL;
	int code = hexc_gpu_open(&g, HEXC_SIMULATOR(80), t.why, sizeof t.why);

	if (!code && (code = hexc_gpu_alloc(g, 100, &p)))
		snprintf(t.why, sizeof t.why, "%s", hexc_gpu_why(g));
	hexc_gpu_close(g);
	return code;
}

static int
family_call(void)
{
	hexc_bundle *b = NULL;
	hexc_family *f = NULL;
	hexc_family_call *c = NULL;
	int code = hexc_bundle_memory(&b, t.bundle, t.nbundle, t.why, sizeof t.why);

	code = code ? code : hexc_family_open(&f, b, NULL, "sm_80", t.why, sizeof t.why);
	if (!code && (code = hexc_family_call_new(&c, t.gpu, f)))
		snprintf(t.why, sizeof t.why, "%s", hexc_gpu_why(t.gpu));
	for (int i = 0; !code && i < 6; i++)
		code = i < 3 ? hexc_family_call_ptr(c, i, t.buffer[i], 4096) : hexc_family_call_int(c, i, 16);
	if (!code && (code = hexc_family_call_launch(c, NULL)))
		snprintf(t.why, sizeof t.why, "%s", hexc_family_call_why(c));
	hexc_family_call_free(c);
	hexc_family_close(f);
	hexc_bundle_close(b);
	return code;
}

/* Of files, of blocks in memory, and by rounding. */
static int
weights(void)
{
	static const unsigned char blocks[4 * 144];
	static float x[64 * 128];
	hexc_file *f = NULL;
	hexc_weight *w = NULL, *r = NULL;
	char name[2][40] = { "blk.1.q4_k", "blk.0.mxfp4" };
	int code = hexc_file_open(&f, "test/weights/fixtures/blocks.gguf", t.why, sizeof t.why);

	for (int i = 0; !code && i < 2; i++) {
		hexc_weight_free(w);
		code = hexc_weight_load(&w, f, name[i], NULL, t.why, sizeof t.why);
	}
	hexc_weight_free(w);
	w = NULL;
	if (!code)
		code = hexc_weight_blocks(&w, "Q4_K", blocks, sizeof blocks, 4, 256, NULL, t.why,
		                          sizeof t.why);
	for (int i = 0; i < 64 * 128; i++)
		x[i] = (float)(i % 17) - 8;
	code = code ? code : hexc_weight_quantize(&r, "GPTQ-4", x, 64, 128, 64, NULL, t.why, sizeof t.why);
	code = code ? code : hexc_weight_float(r, x, NULL, t.why, sizeof t.why);
	hexc_weight_free(w);
	hexc_weight_free(r);
	hexc_file_close(f);
	return code;
}

static int
file_of_tensors(void)
{
	hexc_file *f = NULL;
	hexc_weight *w = NULL;
	int code = hexc_file_open(&f, "test/weights/fixtures/gptq4.safetensors", t.why, sizeof t.why);

	code = code ? code : hexc_weight_load(&w, f, "l.0", NULL, t.why, sizeof t.why);
	hexc_weight_free(w);
	hexc_file_close(f);
	return code;
}

static int
cache(void)
{
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	hexc_cache *c = NULL;
	int code;

	o.path = "/tmp";
	o.read_only = 1;
	code = hexc_cache_open(&c, &o, t.why, sizeof t.why);
	hexc_cache_close(c);
	return code;
}

static int
file_in_memory(void)
{
	static const char empty[] = "\2\0\0\0\0\0\0\0{}";
	hexc_file *f = NULL;
	int code = hexc_file_memory(&f, empty, sizeof empty - 1, t.why, sizeof t.why);

	hexc_file_close(f);
	return code;
}

/* ---- each ---------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*go)(void);
	int files; /* at least so many calls for files; 0: that is not tried */
	int memory;
	bool room; /* some memory is for a better sentence alone: it does without */
} tried[] = {
	{ "save_module", save_module, 3, 3, false }, { "load_module", load_module, 1, 4, false },
	{ "save_bundle", save_bundle, 4, 3, false }, { "read_bundle", read_bundle, 3, 4, false },
	{ "family", family, 0, 5, false },           { "calls", calls, 0, 5, false },
	{ "device", device, 0, 2, false },           { "family_call", family_call, 0, 8, false },
	{ "weights", weights, 1, 6, true },         { "tensors", file_of_tensors, 1, 4, true },
	{ "cache", cache, 0, 2, false },            { "file_in_memory", file_in_memory, 0, 1, false },
};
enum { TRIED = sizeof tried / sizeof tried[0] };

static void
each(int i, bool files)
{
	long n = 0;

	setup();
	for (bool failed = true; failed;) {
		int code, want = HEXC_OK;

		*t.why = 0;
		sys.calls = sys.live = 0;
		sys.fail_at = ++n;
		sys.files = files;
		sys.memory = !files;
		code = tried[i].go();
		sys.files = sys.memory = false;
		failed = sys.calls >= n;
		if (failed && !(tried[i].room && !code))
			want = files ? HEXC_E_FILE : HEXC_E_NOMEM;
		ck_assert_msg(code == want,
		              "%s, %s %ld: %d: %s", tried[i].name, files ? "file" : "memory", n, code, t.why);
		ck_assert_msg(!code || *t.why, "%s, %ld: no reason", tried[i].name, n);
		ck_assert_msg(sys.live == 0, "%s, %ld: %ld blocks are left", tried[i].name, n, sys.live);
		ck_assert_msg(!files || !failed || tried[i].go != save_bundle || access(t.path[2], F_OK) != 0,
		              "half a file at call %ld", n);
		ck_assert_int_lt(n, 5000);
	}
	ck_assert_msg(n > (files ? tried[i].files : tried[i].memory), "%s: only %ld calls", tried[i].name, n);
	printf("%s: %ld calls\n", tried[i].name, n - 1);
	teardown();
}

TEST_EACH(memory, TRIED)
{
	each(_i, false);
}

TEST_EACH(files, TRIED)
{
	if (tried[_i].files)
		each(_i, true);
}

/* ---- launches ------------------------------------------------------------------------------------------ */

/* Again, with another address, with another size: by a call and by a family's, whose lines take turns. */
TEST(launches_take_no_memory)
{
	hexc_bundle *b = NULL;
	hexc_family *f = NULL;
	hexc_family_call *c = NULL;
	hexc_gpu_module *gm = NULL;
	hexc_call *add = NULL;

	setup();
	must(hexc_bundle_memory(&b, t.bundle, t.nbundle, t.why, sizeof t.why));
	must(hexc_family_open(&f, b, NULL, "sm_80", t.why, sizeof t.why));
	must(hexc_family_call_new(&c, t.gpu, f));
	must(hexc_gpu_load(t.gpu, t.m[0], &gm));
	must(hexc_call_new(&add, gm, 0));
	for (int i = 0; i < 12; i++) {
		void *first = t.buffer[i / 2 % 2];
		int code[2] = { 0, 0 };

		sys.calls = sys.live = 0;
		sys.fail_at = -1;
		sys.memory = true;
		for (int k = 0; k < 6; k++)
			code[0] |= k < 3 ? hexc_family_call_ptr(c, k, k ? t.buffer[k] : first, 4096)
			                 : hexc_family_call_int(c, k, 16);
		code[0] |= hexc_family_call_int(c, 3, i % 2 ? 100 : 8) | hexc_family_call_launch(c, NULL);
		for (int k = 0; k < 3; k++)
			code[1] |= hexc_call_ptr(add, k, k ? t.buffer[k] : first, 4096);
		code[1] |= hexc_call_int(add, 3, 50 * i) | hexc_call_launch(add, NULL);
		sys.memory = false;
		ck_assert_msg(!code[0], "%s", hexc_family_call_why(c));
		ck_assert_msg(!code[1], "%s", hexc_call_why(add));
		ck_assert_int_eq(sys.calls, 0);
		ck_assert_int_eq(sys.live, 0);
	}
	hexc_call_free(add);
	hexc_gpu_unload(gm);
	hexc_family_call_free(c);
	hexc_family_close(f);
	hexc_bundle_close(b);
	teardown();
}
