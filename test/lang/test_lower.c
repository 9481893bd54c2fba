/* test_lower.c - tests that programs, examples and the manual's fragments are lowered to valid IR, whose
 * text parses back to itself. In C: fragments come from the manual. Programs in test/lang/valid say in
 * comments what their IR has. */
#include "test/check.h"
#include "hexc/ir/verify/verify.h"
#include "test/lang/util_lang.h"
#include "test/util_file.h"
#include <stdlib.h>
#include <string.h>

/* The printed kernel parses back to itself. */
static void
check_round_trip(const char *path, Lang *l, int i)
{
	const char *s = lang_print(l, i);
	Text t = { .arena = &l->arena };
	Kernel *k = kernel_read(&l->unit, s, strlen(s));

	ck_assert_msg(k != NULL, "%s: kernel %d does not parse back: %s\n%.4000s", path, i,
	              lang_messages(l), s);
	kernel_print(&t, k);
	ck_assert_msg(strcmp(t.s, s) == 0, "%s: kernel %d changes when parsed back\n%.3000s\n%.3000s",
	              path, i, s, t.s);
}

static void
check_program(const char *path)
{
	size_t len;
	const char *source = file_read(path, &len);
	Lang l;

	lang_compile(&l, source, len, NULL, 0, NULL);
	ck_assert_msg(l.ok && l.code == 0, "%s: %s", path, lang_messages(&l));
	ck_assert_int_eq(l.diag.n, 0);
	for (int i = 0; i < l.unit.nkernel; i++) {
		ck_assert_msg(kernel_verify(l.unit.kernel[i], "lower"), "%s: %s\n%.4000s", path,
		              lang_messages(&l), lang_print(&l, i));
		check_round_trip(path, &l, i);
	}
	lang_free(&l);
}

static const char *const dirs[] = { "test/lang/valid", "examples" };

TEST_EACH(programs, COUNT_OF(dirs))
{
	int n;
	char **list = lang_list(dirs[_i], &n);

	for (int i = 0; i < n; i++) {
		check_program(list[i]);
		free(list[i]);
	}
	free(list);
}

/* ---- the manual -------------------------------------------------------------------------------- */

/* The kernel in whose body the manual says that its fragments stand. */
static const char frame[] =
	"kernel example(A: f16[M, K], B: f16[N, K], X: f32[M, N], W: u4[N, K], L: i64[M],\n"
	"    C: inout f32[M, N], T: inout i32[N], alpha: f32, count: i32)\n"
	"    const BM = 64, BN = 64, BK = 32\n"
	"    assume K % 32 == 0\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n";

static void
check_fragment(const char *s, size_t n)
{
	bool whole = !strncmp(s, "kernel ", 7) || !strncmp(s, "fn ", 3) || !strncmp(s, "//", 2);
	char *text = malloc(sizeof frame + n + 4);
	Lang l;

	ck_assert_ptr_nonnull(text);
	strcpy(text, whole ? "" : frame);
	strncat(text, s, n);
	strcat(text, whole ? "" : "}\n");
	lang_compile(&l, text, strlen(text), NULL, 0, NULL);
	ck_assert_msg(l.ok, "%s\n%.4000s", lang_messages(&l), text);
	for (int i = 0; i < l.unit.nkernel; i++)
		ck_assert_msg(kernel_verify(l.unit.kernel[i], "lower"), "%s\n%.4000s",
		              lang_messages(&l), text);
	lang_free(&l);
	free(text);
}

TEST(manual)
{
	static const char open[] = "\n```hexc\n";
	const char *text = file_read("hexc/LANGUAGE.md", NULL);
	int n = 0;

	for (const char *s = text; (s = strstr(s, open)); n++) {
		const char *end = strstr(s += strlen(open), "\n```");

		ck_assert_ptr_nonnull(end);
		check_fragment(s, (size_t)(end - s) + 1);
		s = end;
	}
	ck_assert_int_ge(n, 25);
}

/* ---- choices of the examples ------------------------------------------------------------------ */

static void
check_choice(const char *path, int n, const Define *def, const char *error)
{
	size_t len;
	const char *source = file_read(path, &len);
	Lang l;

	lang_compile(&l, source, len, def, n, NULL);
	if (error)
		ck_assert_msg(!l.ok && strstr(lang_messages(&l), error), "%s: %s", path, lang_messages(&l));
	else
		ck_assert_msg(l.ok && kernel_verify(l.unit.kernel[0], "lower"), "%s: %s", path,
		              lang_messages(&l));
	lang_free(&l);
}

TEST(gemm_choices)
{
	static const int64_t b[] = { 16, 32, 64, 128 };

	for (int i = 0; i < 4 * 4 * 3 * 4; i++) {
		Define def[] = { { "BM", 0 }, { "BN", 0 }, { "BK", 0 }, { "STAGES", i / 48 + 1 } };

		def[0].value = b[i % 4];
		def[1].value = b[i / 4 % 4];
		def[2].value = b[i / 16 % 3];
		check_choice("examples/gemm_f16.hexc", 4, def, NULL);
	}
}

TEST(group_sizes)
{
	static const char *const file[] = { "examples/gemm_w4a16.hexc", "examples/gemm_w4a16_sym.hexc" };

	for (int i = 0; i < 2; i++) {
		for (int64_t g = 32; g <= 512; g += 32) {
			const Define def[] = { { "G", g }, { "BK", 64 } };

			check_choice(file[i], 1, def, NULL);
			check_choice(file[i], 2, def,
			             g % 64 ? "do not satisfy `assume G % BK == 0`: G = " : NULL);
		}
		check_choice(file[i], 1, (const Define[]){ { "G", 48 } }, "`assume G % BK == 0`");
	}
}

/* The same text gives the same IR. */
TEST(deterministic)
{
	size_t len;
	const char *source = file_read("examples/gemm_w4a16.hexc", &len);
	Lang a, b;

	lang_compile(&a, source, len, NULL, 0, NULL);
	lang_compile(&b, source, len, NULL, 0, NULL);
	ck_assert_str_eq(lang_print(&a, 0), lang_print(&b, 0));
	lang_free(&a);
	lang_free(&b);
}
