/* util_file.c - reads files for tests. */
#include "test/util_file.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct Kept {
	struct Kept *next;
	char text[];
} Kept;

static Kept *kept; /* so that they are no leaks */

const char *
file_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	long size;
	Kept *k;

	ck_assert_msg(f != NULL, "cannot open %s", path);
	ck_assert(fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0);
	rewind(f);
	k = malloc(sizeof *k + (size_t)size + 1);
	ck_assert_ptr_nonnull(k);
	ck_assert_uint_eq(fread(k->text, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	k->text[size] = '\0';
	k->next = kept;
	kept = k;
	if (n)
		*n = (size_t)size;
	return k->text;
}
