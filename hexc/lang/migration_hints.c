/* migration_hints.c - looks up words of other languages in migration_hints.def. */
#include "hexc/lang/migration_hints.h"
#include <string.h>

static const Foreign words[] = {
#define FOREIGN(word, of, instead) { #word, of, instead },
#include "hexc/lang/migration_hints.def"
};

const Foreign *
foreign_at(int i)
{
	return i < (int)COUNT_OF(words) ? &words[i] : NULL;
}

const Foreign *
foreign_find(const char *word)
{
	for (int i = 0; i < (int)COUNT_OF(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return &words[i];
	return NULL;
}

const char *
foreign_operator(Arena *a, const char *s, size_t n)
{
	static const Foreign operators[] = {
#define FOREIGN_OPERATOR(op, of, instead) { op, of, instead },
#include "hexc/lang/migration_hints.def"
	};

	for (int i = 0; i < (int)COUNT_OF(operators); i++) {
		const Foreign *f = &operators[i];

		if (strlen(f->word) <= n && memcmp(s, f->word, strlen(f->word)) == 0)
			return arena_printf(a, "; `%s` is %s's: %s", f->word, f->of, f->instead);
	}
	return "";
}

const char *
foreign_hint(Arena *a, const char *word)
{
	const Foreign *f = foreign_find(word);

	return f ? arena_printf(a, "; `%s` is %s's: %s", f->word, f->of, f->instead) : "";
}
