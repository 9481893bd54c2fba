/* test_bundle.c - tests bundles: modules are read back as written, lookups find them, and damaged files are
 * rejected. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include "lib/hexc_bundle.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST_PROGRAM(.timeout = 300);

/* gemm for sm_80 with BM 32 and 64, for sm_90a with 64, and add. */
enum { MODULES = 4 };

static hexc_module *
gemm(const char *arch, int64_t bm)
{
	hexc_define d = { "BM", bm };
	hexc_opts o = HEXC_OPTS_INIT;

	o.arch = arch;
	o.define = &d;
	o.ndefine = 1;
	return lib_must(lib_gemm, &o);
}

static void
modules(const hexc_module **m)
{
	m[0] = gemm("sm_80", 32);
	m[1] = gemm("sm_80", 64);
	m[2] = gemm("sm_90a", 64);
	m[3] = lib_must(lib_add, NULL);
}

static void
free_modules(const hexc_module **m, int n)
{
	for (int i = 0; i < n; i++)
		hexc_module_free((hexc_module *)(uintptr_t)m[i]);
}

static unsigned char *
save(const hexc_module *const *m, size_t n, size_t *bytes)
{
	unsigned char *data;
	char why[500];

	ck_assert_msg(hexc_bundle_save(m, n, "me", NULL, 0, bytes, why, sizeof why) == HEXC_OK, "%s", why);
	data = malloc(*bytes);
	ck_assert_msg(hexc_bundle_save(m, n, "me", data, *bytes, bytes, why, sizeof why) == HEXC_OK, "%s",
	              why);
	return data;
}

static unsigned char *
four(size_t *bytes)
{
	const hexc_module *m[MODULES];
	unsigned char *data;

	modules(m);
	data = save(m, MODULES, bytes);
	free_modules(m, MODULES);
	return data;
}

static hexc_bundle *
in_memory(const void *data, size_t n)
{
	hexc_bundle *b = NULL;
	char why[300];

	ck_assert_msg(hexc_bundle_memory(&b, data, n, why, sizeof why) == HEXC_OK, "%s", why);
	return b;
}

/* ---- there and back --------------------------------------------------------------------------- */

static void
holds(const hexc_bundle *b, const hexc_module *const *m, size_t bytes)
{
	static const char *const name[] = { "gemm", "gemm", "gemm", "add" };
	static const char *const arch[] = { "sm_80", "sm_80", "sm_90a", "sm_80" };
	hexc_bundle_info info = HEXC_BUNDLE_INFO_INIT;
	hexc_bundle_entry e = HEXC_BUNDLE_ENTRY_INIT;
	hexc_module_info of = HEXC_MODULE_INFO_INIT;
	const hexc_module *got, *again;
	char why[300];
	size_t k = 9;

	ck_assert_int_eq(hexc_bundle_describe(b, &info), 1);
	ck_assert_uint_eq(info.nmodule, MODULES);
	ck_assert_uint_eq(info.nkernel, MODULES);
	ck_assert_uint_eq(info.bytes, bytes);
	ck_assert_str_eq(info.compiler, "me");
	for (size_t i = 0; i < MODULES; i++) {
		hexc_define d;

		ck_assert_int_eq(hexc_bundle_at(b, i, &e), 1);
		hexc_module_describe(m[i], &of);
		ck_assert_str_eq(e.name, name[i]);
		ck_assert_str_eq(e.arch, arch[i]);
		ck_assert_str_eq(e.file, of.file);
		ck_assert_uint_eq(e.source, of.source);
		for (size_t c = 0; c < e.ndefine; c++) {
			ck_assert_int_eq(hexc_const(m[i], 0, c, &d), 1);
			ck_assert_str_eq(e.define[c].name, d.name);
			ck_assert_int_eq(e.define[c].value, d.value);
		}
		ck_assert_int_eq(hexc_const(m[i], 0, e.ndefine, &d), 0);
		ck_assert_msg(hexc_bundle_module(b, i, &got, &k, why, sizeof why) == HEXC_OK, "%s", why);
		ck_assert_uint_eq(k, 0);
		lib_same(got, m[i]);
		ck_assert_int_eq(hexc_bundle_module(b, i, &again, NULL, NULL, 0), HEXC_OK);
		ck_assert_ptr_eq(got, again);
	}
	ck_assert_int_eq(hexc_bundle_at(b, MODULES, &e), 0);
	ck_assert_msg(hexc_bundle_verify(b, why, sizeof why) == HEXC_OK, "%s", why);
}

TEST(what_is_saved_is_there)
{
	const hexc_module *m[MODULES];
	char path[] = "/tmp/hexc_bundleXXXXXX", why[300];
	int fd = mkstemp(path);
	unsigned char *data;
	hexc_bundle *b;
	size_t n;

	close(fd);
	modules(m);
	data = save(m, MODULES, &n);
	b = in_memory(data, n);
	holds(b, m, n);
	hexc_bundle_close(b);
	ck_assert_int_eq(hexc_bundle_save_file(m, MODULES, "me", path, why, sizeof why), HEXC_OK);
	ck_assert_msg(hexc_bundle_open(&b, path, why, sizeof why) == HEXC_OK, "%s", why);
	unlink(path); /* it stays open */
	holds(b, m, n);
	hexc_bundle_close(b);
	free_modules(m, MODULES);
	free(data);
}

TEST(an_empty_bundle_is_one)
{
	size_t n;
	unsigned char *data = save(NULL, 0, &n);
	hexc_bundle *b = in_memory(data, n);
	hexc_want want = HEXC_WANT_INIT;
	char why[300];
	size_t i;

	ck_assert_int_eq(hexc_bundle_verify(b, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_bundle_find(b, &want, &i, why, sizeof why), HEXC_E_ARGS);
	hexc_bundle_close(b);
	free(data);
}

/* ---- finding ---------------------------------------------------------------------------------- */

static void
found(const hexc_bundle *b, const hexc_want *want, size_t is)
{
	size_t i = 99;
	char why[400];

	ck_assert_msg(hexc_bundle_find(b, want, &i, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_uint_eq(i, is);
}

static void
not_found(const hexc_bundle *b, const hexc_want *want, const char *says)
{
	size_t i;
	char why[400];

	ck_assert_int_eq(hexc_bundle_find(b, want, &i, why, sizeof why), HEXC_E_ARGS);
	ck_assert_msg(strstr(why, says) != NULL, "'%s' does not say '%s'", why, says);
}

TEST(kernels_are_found_by_name_arch_and_constants)
{
	size_t n;
	unsigned char *data = four(&n);
	hexc_bundle *b = in_memory(data, n);
	hexc_want want = HEXC_WANT_INIT;
	hexc_define d = { "BM", 64 };

	want.kernel = "add";
	found(b, &want, 3);
	want.kernel = "gemm";
	found(b, &want, 2); /* the newest arch */
	want.arch = "sm_86";
	found(b, &want, 0);
	want.arch = "sm_90a";
	found(b, &want, 2);
	want.arch = "sm_100"; /* that of a letter runs on its own capability alone */
	found(b, &want, 0);
	want.define = &d;
	want.ndefine = 1;
	want.arch = "sm_80";
	found(b, &want, 1);
	want.arch = NULL;
	found(b, &want, 2);
	want.arch = "sm_75";
	not_found(b, &want, "no module of the bundle runs on sm_75 (it has sm_80, sm_90a)");
	want.arch = "sm_80";
	d.value = 128;
	not_found(b, &want, "no such kernel of the bundle has BM=128; available: BM=32, BM=64");
	d.name = "BX";
	not_found(b, &want, "has a constant BX");
	want.kernel = "gem";
	not_found(b, &want, "no kernel gem; it has gemm, add");
	want.kernel = NULL;
	not_found(b, &want, "the bundle has several kernels; select one of gemm, add");
	hexc_bundle_close(b);
	free(data);
}

/* Tiles of 32 rows do 32 rows at once, those of 64 compute as much for nothing; a grid that fills the
 * device takes the larger ones, of which there are half as many. */
TEST(kernels_are_found_by_shape)
{
	size_t n;
	unsigned char *data = four(&n);
	hexc_bundle *b = in_memory(data, n);
	hexc_want want = HEXC_WANT_INIT;
	hexc_arg arg[6];

	for (int i = 0; i < 6; i++)
		arg[i] = (hexc_arg)HEXC_ARG_INIT;
	arg[3].i = 32; /* M, K, N: in the order in which the program names them */
	arg[4].i = arg[5].i = 4096;
	want.kernel = "gemm";
	want.arch = "sm_80";
	want.arg = arg;
	want.sms = 108;
	found(b, &want, 0);
	arg[3].i = 1 << 20;
	found(b, &want, 1);
	want.sms = 0;
	found(b, &want, 0); /* the first */
	arg[4].i = 12;
	not_found(b, &want, "no such kernel of the bundle accepts these sizes: for the first, the kernel "
	                    "assumes K % 8 == 0, but K is 12");
	hexc_bundle_close(b);
	free(data);
}

/* ---- damage ----------------------------------------------------------------------------------- */

static void
refused(const void *data, size_t n)
{
	hexc_bundle *b = (hexc_bundle *)(uintptr_t)1;
	char why[300] = "";

	ck_assert_int_eq(hexc_bundle_memory(&b, data, n, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_null(b);
	ck_assert_str_ne(why, "");
}

static size_t
index_end(const unsigned char *data)
{
	size_t n = 0;

	for (int i = 7; i >= 0; i--)
		n = n << 8 | data[32 + i];
	return 40 + n;
}

TEST(every_truncation_is_refused)
{
	size_t n;
	unsigned char *data = four(&n);

	for (size_t i = 0; i < n; i += i < 2000 ? 1 : 97) {
		unsigned char *part = malloc(i + 1); /* so that reading too far is seen */

		memcpy(part, data, i);
		refused(part, i);
		free(part);
	}
	free(data);
}

/* A byte of the index is noticed by opening, any other by verifying. */
TEST(every_flipped_byte_is_noticed)
{
	size_t n, end;
	unsigned char *data = four(&n);
	char why[300];

	end = index_end(data);
	for (size_t i = 0; i < n; i += i < end + 64 ? 1 : 41) {
		data[i] ^= (unsigned char)(1 << i % 8);
		if (i < end) {
			refused(data, n);
		} else {
			hexc_bundle *b = in_memory(data, n);

			ck_assert_int_eq(hexc_bundle_verify(b, why, sizeof why), HEXC_E_FILE);
			ck_assert_str_ne(why, "");
			hexc_bundle_close(b);
		}
		data[i] ^= (unsigned char)(1 << i % 8);
	}
	free(data);
}

/* All that a host may ask of it. */
static void
ask(const hexc_bundle *b)
{
	hexc_bundle_entry e = HEXC_BUNDLE_ENTRY_INIT;
	hexc_want want = HEXC_WANT_INIT;
	const hexc_module *m;
	char why[300];
	size_t k;

	want.arch = "sm_90";
	for (size_t i = 0; hexc_bundle_at(b, i, &e); i++) {
		want.kernel = e.name;
		want.define = e.define;
		want.ndefine = e.ndefine;
		hexc_bundle_find(b, &want, &k, why, sizeof why);
		if (hexc_bundle_module(b, i, &m, &k, why, sizeof why) == HEXC_OK)
			ck_assert_ptr_nonnull(m);
	}
	hexc_bundle_verify(b, why, sizeof why);
}

TEST(sealed_damage_does_no_harm)
{
	static const unsigned char other[] = { 0x01, 0xff };
	size_t n, end;
	unsigned char *data = four(&n);
	int taken = 0;

	end = index_end(data);
	for (size_t i = 32; i < end; i++)
		for (size_t j = 0; j < sizeof other; j++) {
			hexc_bundle *b;

			data[i] ^= other[j];
			lib_seal(data, end);
			if (hexc_bundle_memory(&b, data, n, NULL, 0) == HEXC_OK) {
				ask(b);
				hexc_bundle_close(b);
				taken++;
			}
			data[i] ^= other[j];
		}
	ck_assert_int_gt(taken, 0);
	free(data);
}

TEST(another_version_is_refused_with_its_reason)
{
	hexc_bundle *b;
	char why[300];
	size_t n;
	unsigned char *data = four(&n);

	data[8] = 1;
	lib_seal(data, index_end(data));
	ck_assert_int_eq(hexc_bundle_memory(&b, data, n, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_nonnull(strstr(why, "another format version"));
	free(data);
}

/* The file becomes shorter while it is open. */
TEST(a_file_that_shrinks_is_told)
{
	char path[] = "/tmp/hexc_bundleXXXXXX", why[300];
	const hexc_module *m[MODULES], *got;
	int fd = mkstemp(path);
	hexc_bundle *b;

	modules(m);
	ck_assert_int_eq(hexc_bundle_save_file(m, MODULES, "me", path, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_bundle_open(&b, path, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(truncate(path, 2000), 0);
	ck_assert_int_eq(hexc_bundle_module(b, 3, &got, NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_nonnull(strstr(why, "it was truncated since it was opened"));
	ck_assert_ptr_null(got);
	hexc_bundle_close(b);
	unlink(path);
	close(fd);
	free_modules(m, MODULES);
}

/* ---- what breaks the rules -------------------------------------------------------------------- */

TEST(twins_are_refused)
{
	const hexc_module *m[2] = { lib_must(lib_add, NULL), lib_must(lib_add, NULL) };
	char why[500];
	size_t n;

	ck_assert_int_eq(hexc_bundle_save(m, 2, "me", NULL, 0, &n, why, sizeof why), HEXC_E_INVALID);
	ck_assert_ptr_nonnull(strstr(why, "duplicate kernel add for sm_80 with BN=128, WARPS=1, from "));
	free_modules(m, 2);
}

TEST(what_breaks_the_rules_is_invalid)
{
	const hexc_module *m[1] = { lib_must(lib_add, NULL) }, *got, *none[1] = { NULL };
	hexc_want want = HEXC_WANT_INIT, later;
	hexc_opts parsed = HEXC_OPTS_INIT;
	hexc_bundle *b, *open;
	unsigned char few[40], *data;
	char why[300];
	size_t n, i;

	data = save(m, 1, &n);
	b = in_memory(data, n);
	ck_assert_int_eq(hexc_bundle_save(m, 1, NULL, NULL, 0, &i, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_save(m, 1, "me", NULL, 0, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_save(none, 1, "me", NULL, 0, &i, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_save(NULL, 1, "me", NULL, 0, &i, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_save(m, 1, "me", few, sizeof few, &i, why, sizeof why), HEXC_E_INVALID);
	ck_assert_ptr_nonnull(strstr(why, "bytes, but the buffer has 40"));
	ck_assert_int_eq(hexc_bundle_save_file(m, 1, "me", NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_save_file(m, 1, "me", "/nowhere/x", why, sizeof why), HEXC_E_FILE);
	ck_assert_int_eq(hexc_bundle_memory(NULL, data, n, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_memory(&open, NULL, n, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_open(&open, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_open(NULL, "x", NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_open(&open, "/nowhere/x", why, sizeof why), HEXC_E_FILE);
	ck_assert_int_eq(hexc_bundle_open(&open, "/tmp", why, sizeof why), HEXC_E_FILE);
	ck_assert_int_eq(hexc_bundle_find(NULL, &want, &i, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_find(b, NULL, &i, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_find(b, &want, NULL, NULL, 0), HEXC_E_INVALID);
	want.arch = "80";
	ck_assert_int_eq(hexc_bundle_find(b, &want, &i, why, sizeof why), HEXC_E_INVALID);
	later = (hexc_want)HEXC_WANT_INIT;
	later.ndefine = 1;
	ck_assert_int_eq(hexc_bundle_find(b, &later, &i, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_module(NULL, 0, &got, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_module(b, 1, &got, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_module(b, 0, NULL, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_verify(NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_bundle_describe(NULL, NULL), 0);
	ck_assert_int_eq(hexc_bundle_at(NULL, 0, NULL), 0);
	hexc_bundle_close(NULL);
	hexc_bundle_close(b);
	free_modules(m, 1);
	parsed.stop = "parse";
	m[0] = lib_must(lib_add, &parsed);
	ck_assert_int_eq(hexc_bundle_save(m, 1, "me", NULL, 0, &i, why, sizeof why), HEXC_E_INVALID);
	ck_assert_ptr_nonnull(strstr(why, "no PTX"));
	free_modules(m, 1);
	free(data);
}
