/* util_lang.c - compiles source text in a test and inspects the result. */
#include "hexc/lang/lang.h"
#include "test/lang/util_lang.h"
#include "test/check.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
lang_compile(Lang *l, const char *text, size_t len, const Define *def, int ndef, const char *only)
{
	memset(l, 0, sizeof *l);
	arena_init(&l->arena, NULL, NULL);
	l->arena.limit = (size_t)1 << 30;
	l->arena.fail = &l->fail;
	l->diag.arena = &l->arena;
	l->unit.arena = &l->arena;
	l->unit.diag = &l->diag;
	l->unit.target = target_find("sm_80");
	l->unit.file = "test.hexc";
	l->unit.text = text;
	l->unit.len = len;
	l->code = setjmp(l->fail);
	if (l->code == 0)
		l->ok = unit_parse(&l->unit, def, ndef, only);
}

void
lang_free(Lang *l)
{
	arena_free(&l->arena);
}

const char *
lang_print(Lang *l, int i)
{
	Text t = { .arena = &l->arena };

	kernel_print(&t, l->unit.kernel[i]);
	return t.s;
}

const char *
lang_messages(Lang *l)
{
	Text t = { .arena = &l->arena };

	text_add(&t, "", 0);
	for (int i = 0; i < l->diag.n; i++) {
		const DiagMsg *m = &l->diag.msg[i];
		text_printf(&t, "%u:%u: %s\n", (unsigned)m->src.line, (unsigned)m->src.col, m->text);
	}
	return t.s ? t.s : "";
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **
lang_list(const char *dir, int *n)
{
	DIR *d = opendir(dir);
	char **list = NULL;
	struct dirent *e;

	ck_assert_msg(d != NULL, "cannot open %s", dir);
	*n = 0;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len < 5 || strcmp(e->d_name + len - 5, ".hexc") != 0)
			continue;
		list = realloc(list, sizeof *list * (size_t)(*n + 1));
		ck_assert_ptr_nonnull(list);
		list[*n] = malloc(strlen(dir) + len + 2);
		ck_assert_ptr_nonnull(list[*n]);
		sprintf(list[(*n)++], "%s/%s", dir, e->d_name);
	}
	closedir(d);
	ck_assert_msg(*n > 0, "no programs in %s", dir);
	qsort(list, (size_t)*n, sizeof *list, by_name);
	return list;
}
