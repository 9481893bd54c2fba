/* builtin_ops.c - lists the built-in operators: the program texts of lib/ops, embedded by the build. */
#include "lib/ops/ops.h"
#include <string.h>

#include "lib/ops/texts.inc" /* texts[], a row per file, sorted by name; `what` is "" for files that others
                              * use */

int
hexc_op_find(const char *name)
{
	hexc_op_info o;

	for (size_t i = 0; name && hexc_op_at(i, &o); i++)
		if (strcmp(o.name, name) == 0)
			return (int)i;
	return -1;
}

int
hexc_op_at(size_t i, hexc_op_info *out)
{
	for (size_t k = 0; k < COUNT_OF(texts); k++)
		if (*texts[k].what && i-- == 0) {
			if (out)
				*out = texts[k];
			return out != NULL;
		}
	return 0;
}

const char *
op_text(const char *name)
{
	for (size_t k = 0; k < COUNT_OF(texts); k++)
		if (strcmp(texts[k].name, name) == 0)
			return texts[k].program;
	return NULL;
}
