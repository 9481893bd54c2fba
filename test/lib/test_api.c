/* test_api.c - tests hexc.h: options, messages, properties of a module, the host's floating-point
 * environment. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
# include <xmmintrin.h>
#endif

/* ---- lists ------------------------------------------------------------------------------------ */

TEST(lists)
{
	size_t n = 0;
	bool sm_80 = false, infer = false;

	ck_assert_int_eq(hexc_version(), HEXC_VERSION);
	ck_assert_ptr_nonnull(strstr(hexc_build_info(), "hexc 0."));
	ck_assert_ptr_nonnull(strstr(hexc_build_info(), "LLVM "));
	for (; hexc_arch(n); n++)
		sm_80 = sm_80 || strcmp(hexc_arch(n), "sm_80") == 0;
	ck_assert(sm_80 && n >= 5);
	ck_assert_ptr_null(hexc_arch(n + 1000));
	for (n = 0; hexc_pass(n); n++) {
		infer = infer || strcmp(hexc_pass(n), "infer") == 0;
		ck_assert(strlen(hexc_pass_help(n)) > 10);
	}
	ck_assert(infer);
	ck_assert_ptr_null(hexc_pass_help(n));
#define PASS(name, former, when, help)                                                                 \
	ck_assert_str_eq(hexc_pass_named(#name), #name);                                               \
	ck_assert_str_eq(hexc_pass_named(#former), #name);
#include "hexc/pass/passes.def"
	ck_assert_str_eq(hexc_pass_named("sync"), "insert_barriers");
	ck_assert(!hexc_pass_named(NULL) && !hexc_pass_named("") && !hexc_pass_named("NONE") &&
	          !hexc_pass_named("parse") && !hexc_pass_named("insert_barrier"));
	for (int code = -100; code < 10; code++)
		ck_assert_ptr_nonnull(hexc_strerror(code));
	ck_assert_str_eq(hexc_strerror(HEXC_OK), "ok");
	ck_assert_str_eq(hexc_strerror(12345), "unknown result code");
}

TEST(dtypes)
{
	unsigned char buf[64] = { 0 };
	size_t n = 0;

	for (; hexc_dtype_at(n); n++) {
		const hexc_dtype *t = hexc_dtype_at(n);
		ck_assert_ptr_eq(hexc_dtype_find(t->name), t);
		if (strcmp(t->name, "e8m0") == 0) /* has no 0 */
			continue;
		for (uint64_t i = 0; i < 4; i++)
			hexc_put_int(t, buf, i, (int64_t)(i & 1));
		for (uint64_t i = 0; i < 4; i++) {
			int64_t bit = (int64_t)(i & 1), x = strcmp(t->name, "i1") ? bit : -bit; /* 0 and -1 */

			ck_assert_int_eq(hexc_get_int(t, buf, i), x);
			ck_assert(hexc_get(t, buf, i) == (double)x);
		}
	}
	ck_assert(n >= 15);
	ck_assert_ptr_null(hexc_dtype_find("f17"));
	ck_assert_ptr_null(hexc_dtype_find(NULL));
	memset(buf, 0, sizeof buf);
	hexc_put_int(hexc_dtype_find("u4"), buf, 3, 9);
	ck_assert_int_eq(buf[1], 0x90); /* least significant bits first */
	hexc_put(hexc_dtype_find("f16"), buf, 0, 1.0 / 3);
	ck_assert_int_eq(buf[0] | buf[1] << 8, 0x3555);
}

/* ---- options ---------------------------------------------------------------------------------- */

static int
open_with(const hexc_opts *o)
{
	hexc_ctx *c = (hexc_ctx *)1;
	int code = hexc_open(&c, o);

	ck_assert(code == HEXC_OK || c == NULL);
	if (code == HEXC_OK)
		hexc_close(c);
	return code;
}

TEST(options)
{
	static const hexc_opts none = HEXC_OPTS_INIT;
	const hexc_define two[2] = { { "BN", 128 }, { "BN", 256 } }, empty = { "", 1 }, null = { NULL, 1 };
	struct {
		hexc_opts o;
		char more[16];
	} newer = { HEXC_OPTS_INIT, { 0 } };
	hexc_opts o = none;

	ck_assert_int_eq(open_with(NULL), HEXC_OK);
	ck_assert_int_eq(open_with(&o), HEXC_OK);
	ck_assert_int_eq(hexc_open(NULL, &o), HEXC_E_INVALID);
	o.arch = "sm_12";
	ck_assert_int_eq(open_with(&o), HEXC_E_ARCH);
	o = none, o.size = 0;
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	o = none, o.size = offsetof(hexc_opts, max_steps); /* an older header */
	ck_assert_int_eq(open_with(&o), HEXC_OK);
	newer.o.size = sizeof newer;
	ck_assert_int_eq(open_with(&newer.o), HEXC_OK);
	newer.more[3] = 1; /* asks for what this library does not know */
	ck_assert_int_eq(open_with(&newer.o), HEXC_E_INVALID);
	o = none, o.flags = 1u << 30;
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	o = none, o.stop = "nosuch";
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	o = none, o.stop = "all";
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	o = none, o.schedule = "nosuch";
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	for (size_t i = 0; hexc_schedule(i); i++) {
		o = none, o.schedule = hexc_schedule(i);
		ck_assert_int_eq(open_with(&o), HEXC_OK);
	}
	o = none, o.dump = "all", o.stop = "parse";
	ck_assert_int_eq(open_with(&o), HEXC_OK);
	o = none, o.ndefine = 1;
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	o = none, o.ndefine = 2, o.define = two;
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	o = none, o.ndefine = 1, o.define = &empty;
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	o = none, o.ndefine = 1, o.define = &null;
	ck_assert_int_eq(open_with(&o), HEXC_E_INVALID);
	hexc_close(NULL);
	hexc_module_free(NULL);
	ck_assert_int_eq(hexc_configure(NULL, NULL), HEXC_E_INVALID);
}

/* The strings of the options may go away; a bad configure leaves the old options. */
TEST(configure)
{
	char name[] = "BN", arch[] = "sm_86";
	hexc_define d = { name, 256 };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	hexc_ctx *c;
	hexc_define got;

	o.arch = arch;
	o.define = &d;
	o.ndefine = 1;
	ck_assert_int_eq(hexc_open(&c, NULL), HEXC_OK);
	ck_assert_int_eq(hexc_configure(c, &o), HEXC_OK);
	name[0] = arch[0] = '!';
	o.arch = "none";
	ck_assert_int_eq(hexc_configure(c, &o), HEXC_E_ARCH);
	ck_assert_int_eq(hexc_compile(&m, c, NULL, lib_add, strlen(lib_add)), HEXC_OK);
	ck_assert_ptr_nonnull(strstr(hexc_ptx(m, NULL), ".target sm_86"));
	ck_assert_int_eq(hexc_const(m, 0, 0, &got), 1);
	ck_assert_str_eq(got.name, "BN");
	ck_assert_int_eq(got.value, 256);
	hexc_close(c);
	ck_assert_ptr_nonnull(strstr(hexc_ptx(m, NULL), ".entry add")); /* outlives its context */
	hexc_module_free(m);
}

/* ---- messages --------------------------------------------------------------------------------- */

/* Of N it promises nothing, and it computes too much to stand there twice. */
TEST(warnings)
{
	static const char product[] =
		"fn f(x) { return x * x + x; }\nfn g(x) { return f(f(f(x))); }\n"
		"fn h(x) { return g(g(g(x))); }\n"
		"kernel k(A: f16[64, N], C: out f32[64, 64]) const WARPS = 1 {\n"
		"    grid(1);\n    let a: shared = A[:, 0 :+ 64];\n"
		"    C[:, :] = h(h(dot(a, a.T)));\n}\n";
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_opts opts = HEXC_OPTS_INIT;
	hexc_module *m;
	hexc_ctx *c;
	size_t n = 0;

	for (; hexc_warning(n); n++)
		ck_assert_ptr_nonnull(hexc_warning_help(n));
	ck_assert_uint_ge(n, 7);
	ck_assert_ptr_null(hexc_warning_help(n));
	opts.warnings = "narrow";
	ck_assert_int_eq(hexc_open(&c, &opts), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, "y", product, strlen(product)), HEXC_OK);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 1);
	ck_assert_int_eq(d.severity, 1);
	ck_assert_str_eq(d.warning, "narrow");
	hexc_module_free(m);
	opts.flags = HEXC_WERROR;
	ck_assert_int_eq(hexc_configure(c, &opts), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, "y", product, strlen(product)), HEXC_E_SOURCE);
	ck_assert_ptr_null(m);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 1);
	ck_assert_int_eq(d.severity, 2);
	ck_assert_str_eq(d.warning, "narrow");
	opts.warnings = NULL; /* remarks are no errors */
	opts.flags = HEXC_WERROR | HEXC_REMARKS;
	ck_assert_int_eq(hexc_configure(c, &opts), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, "y", product, strlen(product)), HEXC_OK);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 1);
	ck_assert_int_eq(d.severity, 3);
	ck_assert_str_eq(d.warning, "narrow");
	hexc_module_free(m);
	opts.flags = HEXC_WERROR;
	opts.warnings = "narrow,no-unused,no-narrow";
	ck_assert_int_eq(hexc_configure(c, &opts), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, "y", product, strlen(product)), HEXC_OK);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 0);
	hexc_module_free(m);
	opts.warnings = "no-nosuch";
	ck_assert_int_eq(hexc_configure(c, &opts), HEXC_E_INVALID);
	hexc_close(c);
}

TEST(messages)
{
	static const char wrong[] = "kernel k(A: f32[N], C: out f32[N])\n"
	                            "{\n"
	                            "    grid(1);\n"
	                            "    C[0 :+ 16] = A[0 :+ 16] + nosuch;\n"
	                            "    C[0 :+ 16] = A[0 :+ 32];\n"
	                            "}\n";
	hexc_module *m = (hexc_module *)1;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_ctx *c;
	uint32_t line = 0;
	size_t n = 0;

	ck_assert_int_eq(hexc_open(&c, NULL), HEXC_OK);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 0);
	ck_assert_int_eq(hexc_compile(&m, c, "dir/x.hexc", wrong, strlen(wrong)), HEXC_E_SOURCE);
	ck_assert_ptr_null(m);
	for (; hexc_diag(c, n, &d); n++) {
		ck_assert_str_eq(d.file, "dir/x.hexc");
		ck_assert_ptr_null(strchr(d.text, '\n'));
		ck_assert(d.len >= 1);
		if (d.severity != 0) {
			ck_assert_uint_ge(d.line, line);
			line = d.line;
		}
	}
	ck_assert(n >= 1 && line >= 4);
	/* the next compile on the same context works and forgets them */
	ck_assert_int_eq(hexc_compile(&m, c, "y", lib_add, strlen(lib_add)), HEXC_OK);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 0);
	hexc_module_free(m);
	ck_assert_int_eq(hexc_compile(NULL, c, "y", lib_add, 10), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 1);
	ck_assert_int_eq(hexc_compile(&m, c, "y", NULL, 10), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_compile(&m, c, NULL, NULL, 0), HEXC_E_SOURCE);
	ck_assert_int_eq(hexc_diag(c, 0, &d), 1);
	ck_assert_str_eq(d.file, "<source>");
	ck_assert_int_eq(hexc_compile(&m, NULL, "y", lib_add, 10), HEXC_E_INVALID);
	hexc_close(c);
}

/* Constants that are element types: told apart from numbers, in both directions. */
TEST(type_constants)
{
	static const char src[] = "kernel k(X: T[N], Y: out U[N])\n"
				  "    const T = u4, G = 8\n"
				  "    tune U = f32|f16\n"
				  "{\n"
				  "    grid(ceil(N, 64));\n"
				  "    Y[block.x * 64 :+ 64] = U(X[block.x * 64 :+ 64]);\n"
				  "}\n";
	static const struct {
		const char *name, *type;
		int64_t number;
		int code;
		const char *text;
	} row[] = {
		{ "T", "u3", 0, HEXC_OK, "" },
		{ "U", "f16", 0, HEXC_OK, "" },
		{ "T", NULL, 5, HEXC_E_SOURCE, "2:11: T=5 is invalid: `T` is an element type" },
		{ "G", "f16", 0, HEXC_E_SOURCE, "2:19: G=f16 is invalid: `G` is a number, 8 by default" },
		{ "U", "u4", 0, HEXC_E_SOURCE, "`U` is an element type, one of f32, f16" },
		{ "U", NULL, 2, HEXC_E_SOURCE, "U=2 is invalid" },
	};
	char why[300];

	ck_assert_int_eq(hexc_type_value("f17"), 0);
	ck_assert_int_eq(hexc_type_value(NULL), 0);
	for (size_t i = 0; hexc_dtype_at(i); i++)
		ck_assert_ptr_eq(hexc_value_type(hexc_type_value(hexc_dtype_at(i)->name)), hexc_dtype_at(i));
	for (int64_t x = -100; x < 100; x++)
		ck_assert_ptr_null(hexc_value_type(x));
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		hexc_define d = { row[i].name, row[i].number }, got;
		hexc_opts o = HEXC_OPTS_INIT;
		hexc_module *m;
		int code;

		if (row[i].type)
			d.value = hexc_type_value(row[i].type);
		o.define = &d;
		o.ndefine = 1;
		o.flags = HEXC_PARANOID | HEXC_NO_EMIT;
		m = lib_compile(src, &o, &code, why, sizeof why);
		ck_assert_msg(code == row[i].code && strstr(why, row[i].text), "%zu: %d %s", i, code, why);
		if (m) {
			ck_assert_int_eq(hexc_const(m, 0, row[i].name[0] == 'T' ? 0 : 2, &got), 1);
			ck_assert_str_eq(got.name, row[i].name);
			ck_assert_int_eq(got.value, d.value);
		}
		hexc_module_free(m);
	}
}

/* What -D and its kin may ask for, and how it is refused. */
TEST(choices)
{
	static const struct {
		const char *name;
		int64_t value;
		int code;
		const char *text;
	} row[] = {
		{ "BN", 256, HEXC_OK, "" },
		{ "BN", 77, HEXC_E_SOURCE, "BN" },
		{ "NOSUCH", 1, HEXC_E_SOURCE, "NOSUCH" },
		{ "N", 64, HEXC_E_SOURCE, "N" },
	};
	char why[300];
	int code;

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		const hexc_define d = { row[i].name, row[i].value };
		hexc_opts o = HEXC_OPTS_INIT;
		hexc_module *m;
		o.define = &d;
		o.ndefine = 1;
		o.flags = HEXC_NO_EMIT;
		m = lib_compile(lib_add, &o, &code, why, sizeof why);
		ck_assert_msg(code == row[i].code && strstr(why, row[i].text), "%s: %d %s",
		              row[i].name, code, why);
		hexc_module_free(m);
	}
}

TEST(kernels_and_candidates)
{
	static const char both[] =
		"kernel a(C: out f32[N]) { grid(ceil(N, 64)); C[block.x * 64 :+ 64] = 1.0; }\n"
		"kernel b(C: out f32[N]) { grid(ceil(N, 32)); C[block.x * 32 :+ 32] = 2.0; }\n";
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	hexc_opts o = HEXC_OPTS_INIT;
	char why[300];
	int code;
	hexc_module *m = lib_must(both, NULL);

	ck_assert(hexc_kernel(m, 1, &k) && strcmp(k.name, "b") == 0);
	ck_assert_str_eq(k.grid[0], "ceil(N, 32)");
	ck_assert(strstr(hexc_ptx(m, NULL), ".entry a") && strstr(hexc_ptx(m, NULL), ".entry b"));
	ck_assert_int_eq(hexc_kernel(m, 2, &k), 0);
	hexc_module_free(m);
	o.kernel = "b";
	m = lib_must(both, &o);
	ck_assert(hexc_kernel(m, 0, &k) && strcmp(k.name, "b") == 0);
	ck_assert_ptr_null(strstr(hexc_ptx(m, NULL), ".entry a"));
	hexc_module_free(m);
	o.kernel = "c";
	ck_assert_ptr_null(lib_compile(both, &o, &code, why, sizeof why));
	ck_assert_int_eq(code, HEXC_E_SOURCE);
	o.kernel = NULL;
	o.candidate = 100000;
	ck_assert_ptr_null(lib_compile(lib_gemm, &o, &code, why, sizeof why));
	ck_assert_msg(code == HEXC_E_SOURCE && strstr(why, "candidate"), "%d %s", code, why);
}

/* ---- facts ------------------------------------------------------------------------------------ */

TEST(facts)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_candidate_info c = HEXC_CANDIDATE_INFO_INIT;
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	size_t n;

	o.flags = HEXC_EXPLAIN;
	m = lib_must(lib_gemm, &o);
	ck_assert_int_eq(hexc_kernel(m, 0, &k), 1);
	ck_assert_str_eq(k.name, "gemm");
	ck_assert_str_eq(k.grid[0], "ceil(M, 32)");
	ck_assert_str_eq(k.grid[1], "ceil(N, 32)");
	ck_assert_str_eq(k.grid[2], "1");
	ck_assert_uint_eq(k.block[0], 64);
	ck_assert_uint_eq(k.smem, 2 * 2 * 32 * 16 * 2);
	ck_assert_uint_eq(k.nparam, 6);
	ck_assert_uint_ge(k.ncandidate, 1);
	ck_assert(hexc_param(m, 0, 0, &p) && strcmp(p.name, "A") == 0 && p.kind == HEXC_POINTER);
	ck_assert(p.read && !p.written && p.bits == 16 && p.rank == 2 && p.align == 16);
	ck_assert_str_eq(p.dim[1], "K");
	ck_assert_str_eq(p.stride[0], "K");
	ck_assert_str_eq(p.stride[1], "1");
	ck_assert(hexc_param(m, 0, 2, &p) && !p.read && p.written);
	ck_assert(hexc_param(m, 0, 3, &p) && p.kind == HEXC_SIZE && strcmp(p.name, "M") == 0);
	ck_assert_int_eq(hexc_param(m, 0, 6, &p), 0);
	ck_assert_int_eq(hexc_param(m, 1, 0, &p), 0);
	ck_assert_uint_eq(k.nassume, 2);
	ck_assert_str_eq(hexc_assume(m, 0, 0), "K % 8 == 0");
	ck_assert_str_eq(hexc_assume(m, 0, 1), "N <= 4096");
	ck_assert(hexc_candidate(m, 0, 0, &c) && c.cycles > 0 && c.text[0]);
	ck_assert(strlen(hexc_explain(m, 0)) > 100);
	for (n = 0; hexc_time(m, n, NULL); n++)
		;
	ck_assert_uint_gt(n, 8);
	ck_assert_int_eq(hexc_ptx(m, &n)[n], 0);
	ck_assert_uint_eq(strlen(hexc_ptx(m, NULL)), n);
	hexc_module_free(m);
}

/* ---- the same bytes, and dumps ---------------------------------------------------------------- */

TEST(same_bytes)
{
	static const char *const src[] = { lib_add, lib_gemm };

	for (int i = 0; i < 2; i++) {
		hexc_opts o = HEXC_OPTS_INIT;
		hexc_module *one = lib_must(src[i], &o), *two = lib_must(src[i], &o), *three;
		o.flags = HEXC_PARANOID; /* every pass on a copy that went through text */
		three = lib_must(src[i], &o);
		ck_assert_str_eq(hexc_ptx(one, NULL), hexc_ptx(two, NULL));
		ck_assert_str_eq(hexc_ptx(one, NULL), hexc_ptx(three, NULL));
		hexc_module_free(one);
		hexc_module_free(two);
		hexc_module_free(three);
	}
}

typedef struct Seen {
	int n;
	char last[32];
} Seen;

static void
see(void *user, const char *pass, const char *kernel, const char *ir)
{
	Seen *s = user;

	s->n++;
	snprintf(s->last, sizeof s->last, "%s", pass);
	ck_assert_str_eq(kernel, "gemm");
	ck_assert(strncmp(ir, "kernel gemm", 11) == 0);
}

TEST(dumps)
{
	hexc_opts o = HEXC_OPTS_INIT;
	Seen s = { 0, "" };
	hexc_module *m;

	o.text = see;
	o.user = &s;
	o.dump = "all";
	o.stop = "pipeline";
	m = lib_must(lib_gemm, &o);
	ck_assert_str_eq(s.last, "pipeline");
	ck_assert_int_eq(s.n, 17); /* passes.def */
	ck_assert_str_eq(hexc_ptx(m, NULL), "");
	hexc_module_free(m);
	s.n = 0;
	o.dump = "fold";
	o.stop = NULL;
	o.flags = HEXC_NO_EMIT;
	m = lib_must(lib_gemm, &o);
	ck_assert_int_eq(s.n, 1);
	hexc_module_free(m);
}

static void
see_bounded(void *user, const char *pass, const char *kernel, const char *ir)
{
	Seen *s = user;

	s->n++;
	snprintf(s->last, sizeof s->last, "%s", pass);
	ck_assert_str_eq(kernel, "gemm");
	ck_assert(strstr(ir, "tensor \"the bounds of C\" : global f64[?, ?]") != NULL);
	ck_assert(strstr(ir, "tensor doubt : global f64[2]") != NULL);
}

/* What hexc_run_tile runs for bounds; the kernel that is compiled stays as it is. */
TEST(dump_with_bounds)
{
	hexc_opts o = HEXC_OPTS_INIT;
	Seen s = { 0, "" };
	hexc_module *plain = lib_must(lib_gemm, NULL), *m;

	o.text = see_bounded;
	o.user = &s;
	o.dump = "bounded";
	m = lib_must(lib_gemm, &o);
	ck_assert_str_eq(s.last, "bounded");
	ck_assert_int_eq(s.n, 1);
	ck_assert_str_eq(hexc_ptx(m, NULL), hexc_ptx(plain, NULL));
	hexc_module_free(m);
	hexc_module_free(plain);
	o.stop = "bounded";
	m = lib_must(lib_gemm, &o);
	ck_assert_int_eq(s.n, 2);
	ck_assert_str_eq(hexc_ptx(m, NULL), "");
	hexc_module_free(m);
}

/* ---- by name ---------------------------------------------------------------------------------- */

TEST(names)
{
	hexc_module *m = lib_must(lib_gemm, NULL);
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_define d;

	ck_assert_int_eq(hexc_kernel_find(m, "gemm"), 0);
	ck_assert_int_eq(hexc_kernel_find(m, "gem"), -1);
	for (size_t i = 0; hexc_param(m, 0, i, &p); i++)
		ck_assert_int_eq(hexc_param_find(m, 0, p.name), (int)i);
	ck_assert_int_eq(hexc_param_find(m, 0, "BM"), -1);
	ck_assert_int_eq(hexc_param_find(m, 1, "A"), -1);
	for (size_t i = 0; hexc_const(m, 0, i, &d); i++)
		ck_assert_int_eq(hexc_const_find(m, 0, d.name), (int)i);
	ck_assert_int_eq(hexc_const_find(m, 0, NULL), -1);
	ck_assert_int_eq(hexc_kernel_find(NULL, "gemm"), -1);
	hexc_module_free(m);
}

/* All that a tuner in an engine needs to know. */
TEST(tunables)
{
	static const char src[] = "kernel k(A: T[N], C: out T[N])\n"
				  "    const G = 256\n"
				  "    tune T = f32|f16 default f16\n"
				  "    tune BN = 128|256|512 default G\n"
				  "    tune WARPS = 1..3, X = 2*BN\n"
				  "    assume BN % WARPS == 0 && X > 1, N % 8 == 0\n"
				  "{\n"
				  "    grid(ceil(N, BN));\n"
				  "    C[block.x * BN :+ BN] = A[block.x * BN :+ BN];\n"
				  "}\n";
	hexc_define define[] = { { "BN", 128 }, { "WARPS", 2 } };
	hexc_tunable_info t = HEXC_TUNABLE_INFO_INIT;
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	int code;

	o.stop = "parse";
	o.define = define;
	o.ndefine = 2;
	m = lib_must(src, &o);
	ck_assert_int_eq(hexc_tunable(m, 0, 0, &t), 1);
	ck_assert_str_eq(t.name, "T");
	ck_assert(t.nchoice == 2 && t.choice[0] == hexc_type_value("f32") && t.preset == t.choice[1] &&
	          t.value == t.preset);
	ck_assert_int_eq(hexc_tunable(m, 0, 1, &t), 1);
	ck_assert_str_eq(t.name, "BN");
	ck_assert(t.nchoice == 3 && t.choice[2] == 512 && t.preset == 256 && t.value == 128);
	ck_assert_int_eq(hexc_tunable(m, 0, 2, &t), 1);
	ck_assert(t.nchoice == 3 && t.choice[2] == 3 && t.preset == 1 && t.value == 2);
	ck_assert_int_eq(hexc_tunable(m, 0, 3, &t), 1);
	ck_assert(t.nchoice == 1 && t.value == 256);
	ck_assert_int_eq(hexc_tunable(m, 0, 4, &t), 0);
	ck_assert_str_eq(hexc_condition(m, 0, 0), "BN % WARPS == 0");
	ck_assert_str_eq(hexc_condition(m, 0, 1), "X > 1");
	ck_assert_ptr_null(hexc_condition(m, 0, 2));
	ck_assert_ptr_null(hexc_condition(m, 1, 0));
	hexc_module_free(m);
	define[1].value = 3;
	ck_assert_ptr_null(lib_compile(src, &o, &code, NULL, 0));
	ck_assert_int_eq(code, HEXC_E_SOURCE);
}

/* As many kernels as the header says, and no more. */
TEST(many_kernels)
{
	static const char one[] = "kernel k%d(C: out f32[N]) { grid(1); C[0 :+ 128] = 1.0; }\n";
	char *src = malloc((HEXC_MAX_KERNELS + 1) * (sizeof one + 8));
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	size_t n = 0;
	int code;

	o.stop = "parse";
	for (int i = 0; i < HEXC_MAX_KERNELS; i++)
		n += (size_t)sprintf(src + n, one, i);
	m = lib_must(src, &o);
	ck_assert_int_eq(hexc_kernel_find(m, "k4095"), 4095);
	hexc_module_free(m);
	sprintf(src + n, one, HEXC_MAX_KERNELS);
	ck_assert_ptr_null(lib_compile(src, &o, &code, NULL, 0));
	ck_assert_int_eq(code, HEXC_E_SOURCE);
	free(src);
}

/* Structs of an older or a newer hexc.h. */
TEST(other_versions)
{
	struct {
		hexc_run_opts o;
		uint64_t later;
	} later = { HEXC_RUN_OPTS_INIT, 0 };
	struct {
		size_t size;
		int severity;
		uint32_t line;
	} before = { sizeof before, 0, 0 };
	hexc_module *m = lib_must(lib_add, NULL), *none;
	hexc_arg arg[4];
	hexc_ctx *ctx;

	memset(arg, 0, sizeof arg);
	later.o.size = offsetof(hexc_run_opts, print);
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &later.o), HEXC_OK);
	later.o.size = sizeof later;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &later.o), HEXC_OK);
	later.later = 1;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &later.o), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_open(&ctx, NULL), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&none, ctx, NULL, "kernel", 6), HEXC_E_SOURCE);
	ck_assert_int_eq(hexc_diag(ctx, 0, (hexc_diag_info *)(void *)&before), 1);
	ck_assert(before.size == sizeof before && before.severity == 2 && before.line == 1);
	hexc_close(ctx);
	hexc_module_free(m);
}

/* ---- arithmetic -------------------------------------------------------------------------------- */

/* Numbers of every type, put and read by a thread that computes in another way. */
TEST(host_numbers)
{
	static const double x[] = { 1.0 / 3, -1.0 / 3, 1e-40, 0x1p-1074, 6.1e-5, 1e30, 0.7 };
	const hexc_dtype *t;

	for (size_t d = 0; (t = hexc_dtype_at(d)) != NULL; d++)
		for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
			uint64_t want = 0, got = 0;
			double back, again;

			hexc_put(t, &want, 0, x[i]);
			back = hexc_get(t, &want, 0);
			fesetround(FE_UPWARD);
#ifdef __SSE__
			_mm_setcsr(_mm_getcsr() | 0x8040);
#endif
			hexc_put(t, &got, 0, x[i]);
			again = hexc_get(t, &want, 0);
			fesetenv(FE_DFL_ENV);
			ck_assert_msg(want == got, "%s of %g", t->name, x[i]);
			ck_assert_msg(memcmp(&back, &again, sizeof back) == 0, "%s of %g", t->name, x[i]);
		}
	ck_assert(hexc_get(NULL, x, 0) == 0 && hexc_get_int(hexc_dtype_find("f32"), NULL, 0) == 0);
	hexc_put(NULL, NULL, 0, 1);
	hexc_put_int(hexc_dtype_find("u8"), NULL, 0, 1);
}

/* How the host's thread rounds, and whether it flushes subnormal numbers, is its own business. */
TEST(host_arithmetic)
{
	static const char src[] = "kernel k(C: out f32[N], D: out f64[N]) {\n"
				  "    grid(ceil(N, 128));\n"
				  "    C[block.x * 128 :+ 128] = f32(1e-40) * 0.5 + f32(f64(0.1) + 0.2);\n"
				  "    D[block.x * 128 :+ 128] = f64(1e-310) / 3;\n"
				  "}\n";
	hexc_module *m = lib_must(src, NULL), *up;

	ck_assert_int_eq(fesetround(FE_UPWARD), 0);
	up = lib_must(src, NULL);
	ck_assert_int_eq(fegetround(), FE_UPWARD);
	fesetround(FE_TONEAREST);
	ck_assert_msg(strcmp(hexc_ptx(m, NULL), hexc_ptx(up, NULL)) == 0, "constants are rounded otherwise");
	hexc_module_free(up);
#ifdef __SSE__
	unsigned csr = _mm_getcsr(), flush = csr | 0x8040; /* FTZ and DAZ */
	_mm_setcsr(flush);
	up = lib_must(src, NULL);
	ck_assert_uint_eq(_mm_getcsr() & 0x8040, 0x8040);
	_mm_setcsr(csr);
	ck_assert_msg(strcmp(hexc_ptx(m, NULL), hexc_ptx(up, NULL)) == 0, "constants are rounded otherwise");
	hexc_module_free(up);
#endif
	hexc_module_free(m);
}
