/* test_module_file.c - tests that a module's properties survive saving and loading, and that damaged files
 * are rejected. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include "test/util_file.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST_PROGRAM(.timeout = 900);

/* ---- what a module says ----------------------------------------------------------------------- */

typedef struct Said {
	char *s;
	size_t n, cap;
} Said;

static void __attribute__((format(printf, 2, 3)))
say(Said *t, const char *fmt, ...)
{
	va_list ap;

	if (t->cap - t->n < 70000) {
		t->cap = t->cap * 2 + 100000;
		t->s = realloc(t->s, t->cap);
		ck_assert_ptr_nonnull(t->s);
	}
	va_start(ap, fmt);
	t->n += (size_t)vsnprintf(t->s + t->n, t->cap - t->n, fmt, ap);
	va_end(ap);
	ck_assert_uint_lt(t->n, t->cap);
}

static const char *
or_none(const char *s)
{
	return s ? s : "(none)";
}

static void
say_params(Said *t, const hexc_module *m, size_t k)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_define def;

	for (size_t i = 0; hexc_param(m, k, i, &p); i++) {
		say(t, "param %s %s %d %u %u ", p.name, p.dtype, (int)p.kind, p.bits, p.bytes);
		say(t, "%u %u%u %u %s\n", p.rank,
		    p.read, p.written, p.align, or_none(hexc_module_pack(m, k, i)));
		say(t, "found %d\n", hexc_param_find(m, k, p.name));
		for (uint32_t d = 0; d < p.rank; d++)
			say(t, " %s:%s", p.dim[d], p.stride[d]);
	}
	for (size_t i = 0; hexc_assume(m, k, i); i++)
		say(t, "assume %s\n", hexc_assume(m, k, i));
	for (size_t i = 0; hexc_const(m, k, i, &def); i++)
		say(t, "const %s %" PRId64 " %d\n", def.name, def.value, hexc_const_find(m, k, def.name));
}

static void
say_choices(Said *t, const hexc_module *m, size_t k)
{
	hexc_tunable_info tune = HEXC_TUNABLE_INFO_INIT;
	hexc_candidate_info c = HEXC_CANDIDATE_INFO_INIT;

	for (size_t i = 0; hexc_tunable(m, k, i, &tune); i++) {
		say(t, "tune %s %" PRId64 " %" PRId64, tune.name, tune.value, tune.preset);
		for (size_t j = 0; j < tune.nchoice; j++)
			say(t, " %" PRId64, tune.choice[j]);
	}
	for (size_t i = 0; hexc_condition(m, k, i); i++)
		say(t, "where %s\n", hexc_condition(m, k, i));
	for (size_t i = 0; hexc_candidate(m, k, i, &c); i++)
		say(t, "candidate %a %a %u %u %s\n", c.cycles, c.alone, c.together, c.registers, c.text);
}

static void
say_map(Said *t, const hexc_module *m, size_t k, size_t i, const hexc_arg *arg)
{
	hexc_tensor_map_info map = HEXC_TENSOR_MAP_INFO_INIT;
	const char *dim[5], *stride[5];

	if (!hexc_tensor_map_form(m, k, i, &map, dim, stride))
		return;
	say(t, "map %u %u %u", map.param, map.type, map.rank);
	say(t, " %u %u %u %u %u", map.interleave, map.swizzle, map.l2, map.fill, map.optional);
	for (uint32_t d = 0; d < map.rank; d++)
		say(t, " %u %u %s %s", map.box[d], map.step[d], dim[d], stride[d]);
	say(t, " = %d", hexc_tensor_map(m, k, i, arg, &map));
	for (uint32_t d = 0; d < map.rank; d++)
		say(t, " %" PRIu64 " %" PRIu64, map.dim[d], d ? map.stride[d - 1] : 0);
	say(t, " %p\n", map.address);
}

/* All that it answers to these arguments. */
static void
say_answers(Said *t, const hexc_module *m, size_t k, const hexc_kernel_info *info, const hexc_arg *arg)
{
	uint64_t value[HEXC_MAX_PARAMS] = { 0 };
	int64_t dim[HEXC_MAX_RANK] = { 0 }, stride[HEXC_MAX_RANK] = { 0 };
	void *params[HEXC_MAX_PARAMS];
	uint32_t grid[3] = { 0 };
	char why[300];

	say(t, "check %d", hexc_check_args(m, k, arg, why, sizeof why));
	say(t, " %s\nsizes %d", why, hexc_check_sizes(m, k, arg, why, sizeof why));
	say(t, " %s\ngrid %d", why, hexc_grid(m, k, arg, grid));
	say(t, " %u %u %u", grid[0], grid[1], grid[2]);
	say(t, " params %d", hexc_launch_params(m, k, arg, value, params));
	for (uint32_t i = 0; i < info->nparam; i++) {
		say(t, " %" PRIx64, value[i]);
		say(t, " %d", hexc_tensor(m, k, i, arg, dim, stride));
		for (int d = 0; d < HEXC_MAX_RANK; d++)
			say(t, ",%" PRId64 ":%" PRId64, dim[d], stride[d]);
	}
	for (uint32_t i = 0; i < info->nmap; i++)
		say_map(t, m, k, i, arg);
}

static void
say_kernel(Said *t, const hexc_module *m, size_t k)
{
	static const int64_t sizes[] = { 0, 1, 7, 64, 128, 1000, 4096, 1 << 20, -1, INT64_MAX };
	hexc_kernel_info i = HEXC_KERNEL_INFO_INIT;

	ck_assert_int_eq(hexc_kernel(m, k, &i), 1);
	say(t, "found %d\n", hexc_kernel_find(m, i.name));
	say(t, "kernel %s [%s, %s, %s]", i.name, i.grid[0], i.grid[1], i.grid[2]);
	say(t, " %u %u %u", i.block[0], i.block[1], i.block[2]);
	say(t, " cluster %u %u %u smem %u", i.cluster[0], i.cluster[1], i.cluster[2], i.smem);
	say(t, " persistent %u pdl %u", i.persistent, i.pdl);
	say(t, " n %u %u %u %u", i.nparam, i.nassume, i.nconst, i.nmap);
	say(t, " candidate %u of %u", i.candidate, i.ncandidate);
	say(t, " order %u %u %u\n", i.group, i.group_dim[0], i.group_dim[1]);
	say_params(t, m, k);
	say_choices(t, m, k);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		hexc_arg arg[HEXC_MAX_PARAMS];

		for (uintptr_t p = 0; p < HEXC_MAX_PARAMS; p++) {
			arg[p] = (hexc_arg)HEXC_ARG_INIT;
			arg[p].ptr = (void *)((p + 1) << 8);
			arg[p].bytes = s % 3 == 2 ? 4096 : 0;
			arg[p].i = sizes[s];
			arg[p].f = 0.3;
		}
		say_answers(t, m, k, &i, arg);
	}
}

/* The caller frees it. */
static char *
said(const hexc_module *m)
{
	hexc_module_info info = HEXC_MODULE_INFO_INIT;
	Said t = { NULL, 0, 0 };
	size_t n;

	ck_assert_int_eq(hexc_module_describe(m, &info), 1);
	say(&t, "%s %s %" PRIx64 " %u\n", info.arch, info.file, info.source, info.nkernel);
	for (size_t k = 0; k < info.nkernel; k++)
		say_kernel(&t, m, k);
	ck_assert_uint_eq(strlen(hexc_ptx(m, &n)), n);
	return t.s;
}

/* ---- there and back --------------------------------------------------------------------------- */

static unsigned char *
save(const hexc_module *m, size_t *n)
{
	unsigned char *data;

	ck_assert_int_eq(hexc_module_save(m, NULL, 0, NULL, 0, n), HEXC_OK);
	data = malloc(*n);
	ck_assert_ptr_nonnull(data);
	ck_assert_int_eq(hexc_module_save(m, NULL, 0, data, *n, n), HEXC_OK);
	return data;
}

static hexc_module *
load(const void *data, size_t n)
{
	char why[200];
	hexc_module *m = NULL;
	int code = hexc_module_load(&m, data, n, why, sizeof why);

	ck_assert_msg(m && !code, "%s", why);
	return m;
}

/* Loaded it says what it said, and saves as the same bytes. */
static void
same_again(const hexc_module *m)
{
	size_t n, again;
	unsigned char *data = save(m, &n), *twice;
	hexc_module *back = load(data, n);
	char *one = said(m), *two = said(back);

	ck_assert_str_eq(one, two);
	ck_assert_str_eq(hexc_ptx(m, NULL), hexc_ptx(back, NULL));
	twice = save(back, &again);
	ck_assert_uint_eq(n, again);
	ck_assert(memcmp(data, twice, n) == 0);
	free(one);
	free(two);
	free(data);
	free(twice);
	hexc_module_free(back);
}

/* What of examples was seen. */
typedef struct Seen {
	int modules, maps, packs;
} Seen;

static void
count(Seen *seen, const hexc_module *m)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;

	seen->modules++;
	for (size_t i = 0; hexc_kernel(m, i, &k); i++) {
		seen->maps += (int)k.nmap;
		for (uint32_t p = 0; p < k.nparam; p++)
			seen->packs += hexc_module_pack(m, i, p) != NULL;
	}
}

/* Every example that this arch runs. */
static Seen
examples(const char *arch)
{
	hexc_opts o = HEXC_OPTS_INIT;
	DIR *dir = opendir("examples");
	struct dirent *e;
	Seen seen = { 0, 0, 0 };

	o.arch = arch;
	ck_assert_ptr_nonnull(dir);
	while ((e = readdir(dir)) != NULL) {
		const char *end = strrchr(e->d_name, '.');
		char path[300], why[300];
		hexc_module *m;
		int code;

		if (!end || strcmp(end, ".hexc") != 0)
			continue;
		snprintf(path, sizeof path, "examples/%s", e->d_name);
		m = lib_compile(file_read(path, NULL), &o, &code, why, sizeof why);
		if (!m)
			continue;
		same_again(m);
		count(&seen, m);
		hexc_module_free(m);
	}
	closedir(dir);
	return seen;
}

TEST(examples_answer_the_same_for_sm_80)
{
	Seen seen = examples("sm_80");

	ck_assert_msg(seen.modules > 25 && seen.packs, "%d modules, %d packs", seen.modules, seen.packs);
}

TEST(examples_answer_the_same_for_sm_90a)
{
	Seen seen = examples("sm_90a");

	ck_assert_msg(seen.modules > 25 && seen.maps, "%d modules, %d maps", seen.modules, seen.maps);
}

/* ---- damage ----------------------------------------------------------------------------------- */

static void
refused(const void *data, size_t n)
{
	hexc_module *m = (hexc_module *)(uintptr_t)1;
	char why[200] = "";

	ck_assert_int_eq(hexc_module_load(&m, data, n, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_null(m);
	ck_assert_str_ne(why, "");
}

TEST(every_truncation_is_refused)
{
	hexc_module *m = lib_must(lib_gemm, NULL);
	size_t n;
	unsigned char *data = save(m, &n);

	for (size_t i = 0; i < n; i++) {
		unsigned char *part = malloc(i + 1); /* so that reading too far is seen */
		memcpy(part, data, i);
		refused(part, i);
		free(part);
	}
	free(data);
	hexc_module_free(m);
}

TEST(every_flipped_byte_is_refused)
{
	hexc_module *m = lib_must(lib_gemm, NULL);
	size_t n;
	unsigned char *data = save(m, &n);

	for (size_t i = 0; i < n; i++) {
		data[i] ^= (unsigned char)(1 << i % 8);
		refused(data, n);
		data[i] ^= (unsigned char)(1 << i % 8);
	}
	hexc_module_free(load(data, n));
	free(data);
	hexc_module_free(m);
}

/* Under a checksum that fits each byte of what is not PTX gets other values; what is taken must answer. */
static void
flip_sealed(const char *src, const hexc_opts *o)
{
	static const unsigned char other[] = { 0x01, 0xff };
	hexc_module *m = lib_must(src, o), *got;
	size_t n, nptx;
	unsigned char *data = save(m, &n);
	int taken = 0;

	hexc_ptx(m, &nptx);
	for (size_t i = 32; i < n; i++)
		for (size_t j = 0; j < sizeof other; j++) {
			if (i > 100 && i < 32 + nptx) /* PTX is any bytes */
				break;
			data[i] ^= other[j];
			lib_seal(data, n);
			if (hexc_module_load(&got, data, n, NULL, 0) == HEXC_OK) {
				hexc_module_info info = HEXC_MODULE_INFO_INIT;
				Said t = { NULL, 0, 0 };

				hexc_module_describe(got, &info);
				for (size_t k = 0; k < info.nkernel; k++)
					say_kernel(&t, got, k);
				free(t.s);
				hexc_module_free(got);
				taken++;
			}
			data[i] ^= other[j];
		}
	ck_assert_int_gt(taken, 0);
	free(data);
	hexc_module_free(m);
}

TEST(sealed_damage_does_no_harm)
{
	flip_sealed(lib_gemm, NULL);
}

TEST(sealed_damage_does_no_harm_to_maps)
{
	hexc_opts o = HEXC_OPTS_INIT;

	o.arch = "sm_90a";
	flip_sealed(lib_mapped, &o);
}

TEST(another_version_is_refused_with_its_reason)
{
	hexc_module *m = lib_must(lib_add, NULL), *got;
	char why[200];
	size_t n;
	unsigned char *data = save(m, &n);

	for (int step = -3; step <= 1; step += 4) { /* an older one than is read, and a newer */
		data[8] = (unsigned char)(data[8] + step);
		lib_seal(data, n);
		ck_assert_int_eq(hexc_module_load(&got, data, n, why, sizeof why), HEXC_E_FILE);
		ck_assert_ptr_nonnull(strstr(why, "another format version"));
		data[8] = (unsigned char)(data[8] - step);
	}
	free(data);
	hexc_module_free(m);
}

/* ---- files and cubins ------------------------------------------------------------------------- */

TEST(files_keep_cubins)
{
	hexc_module *m = lib_must(lib_add, NULL), *back, *more, *none;
	hexc_cubin cubin[2] = { { "sm_80", "one", 3 }, { "sm_86", "\0two", 4 } }, got;
	char path[] = "/tmp/hexc_moduleXXXXXX", why[200];
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(hexc_module_save_file(m, cubin, 1, path, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_module_load_file(&back, path, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_module_save_file(back, cubin + 1, 1, path, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_module_load_file(&more, path, why, sizeof why), HEXC_OK);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(hexc_module_cubin(more, i, &got), 1);
		ck_assert_str_eq(got.arch, cubin[i].arch);
		ck_assert_uint_eq(got.bytes, cubin[i].bytes);
		ck_assert(memcmp(got.data, cubin[i].data, got.bytes) == 0);
	}
	ck_assert_int_eq(hexc_module_cubin(more, 2, &got), 0);
	unlink(path);
	ck_assert_int_eq(hexc_module_load_file(&none, path, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_nonnull(strstr(why, path));
	ck_assert_int_eq(hexc_module_save_file(m, NULL, 0, "/nowhere/x", why, sizeof why), HEXC_E_FILE);
	ck_assert_int_eq(hexc_module_load_file(&none, "/tmp", why, sizeof why), HEXC_E_FILE);
	hexc_module_free(m);
	hexc_module_free(back);
	hexc_module_free(more);
}

TEST(a_loaded_module_has_no_source_to_run)
{
	hexc_module *m = lib_must(lib_add, NULL);
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	char why[200];
	size_t n;
	unsigned char *data = save(m, &n);
	hexc_module *back = load(data, n);
	hexc_arg arg[4] = { HEXC_ARG_INIT, HEXC_ARG_INIT, HEXC_ARG_INIT, HEXC_ARG_INIT };

	o.why = why;
	o.why_size = sizeof why;
	ck_assert_int_eq(hexc_run_tile(back, 0, arg, &o), HEXC_E_INVALID);
	ck_assert_ptr_nonnull(strstr(why, "no source"));
	hexc_module_free(back);
	hexc_module_free(m);
	free(data);
}

TEST(what_breaks_the_rules_is_invalid)
{
	hexc_module *m = lib_must(lib_add, NULL), *got;
	hexc_cubin nameless = { NULL, "x", 1 };
	unsigned char few[40];
	size_t n;

	ck_assert_int_eq(hexc_module_save(NULL, NULL, 0, NULL, 0, &n), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_save(m, NULL, 0, NULL, 0, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_save(m, NULL, 1, NULL, 0, &n), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_save(m, &nameless, 1, NULL, 0, &n), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_save(m, NULL, 0, few, sizeof few, &n), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_load(NULL, few, 1, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_load(&got, NULL, 1, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_load_file(&got, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_module_save_file(m, NULL, 0, NULL, NULL, 0), HEXC_E_INVALID);
	hexc_module_free(m);
}
