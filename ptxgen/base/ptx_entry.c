/* ptx_entry.c - finds a kernel in PTX text, for the register-pressure estimate and for directives that
 * LLVM does not
 * print. */
#include "ptxgen/base/ptx_entry.h"
#include <stdlib.h>
#include <string.h>

bool
ptx_entry_find(Arena *a, const char *ptx, const char *name, PtxEntry *out)
{
	const char *next;

	out->head = strstr(ptx, arena_printf(a, ".entry %s(", name));
	out->body = out->head ? strstr(out->head, "\n{") : NULL;
	if (!out->body)
		return false;
	next = strstr(out->body, "\n.visible .entry");
	out->end = next ? next : out->body + strlen(out->body);
	return true;
}

/* Returns the directive's name in the text; NULL if the kernel has none. */
static const char *
find_directive(const PtxEntry *e, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = e->head; (s = memchr(s, '.', (size_t)(e->body - s))) != NULL; s++)
		if ((size_t)(e->body - s) > n && memcmp(s, name, n) == 0 && s[n] == ' ')
			return s;
	return NULL;
}

int
ptx_directive(const PtxEntry *e, const char *name)
{
	const char *s = find_directive(e, name);

	return s ? atoi(s + strlen(name)) : 0;
}

const char *
ptx_add_directive(Arena *a, const char *ptx, const PtxEntry *e, const char *name, const char *value)
{
	if (find_directive(e, name))
		return ptx;
	return arena_printf(a, "%.*s\n%s %s%s", (int)(e->body - ptx), ptx, name, value, e->body);
}
