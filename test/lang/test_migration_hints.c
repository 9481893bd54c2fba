/* test_migration_hints.c - tests that the words of migration_hints.def are unknown to hexc, and that each is
 * listed once. */
#include "hexc/ir/dtype.h"
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/lower.h"
#include "test/check.h"
#include "test/util_arena.h"
#include <string.h>

TEST_PROGRAM(ARENA_FIXTURE);

TEST(words_are_foreign)
{
	const Foreign *f;

	for (int i = 0; (f = foreign_at(i)); i++) {
		Diag d = { .arena = &arena };
		const Token *t = lex_all(&arena, &d, f->word, strlen(f->word));

		ck_assert_msg(t->kind == TK_name && t[1].kind == TK_end, "%s is a reserved word", f->word);
		ck_assert_msg(!lower_is_builtin(f->word), "%s is a function", f->word);
		ck_assert_msg(dtype_find(f->word, strlen(f->word)) == D_COUNT, "%s is a type", f->word);
		ck_assert_msg(foreign_find(f->word) == f, "%s stands there twice", f->word);
	}
}

TEST(a_hint_ends_a_message)
{
	ck_assert_str_eq(foreign_hint(&arena, "nosuch"), "");
	ck_assert_str_eq(foreign_hint(&arena, "matmul"), "; `matmul` is NumPy's: write `dot(a, b)`");
}
