/* protect.c - the one setjmp of the library. */
#include "lib/lib.h"
#include <locale.h>

/* Numbers in texts are as in C, whatever locale the host has set: explanations are JSON. */
int
arena_protect(Arena *const *a, int n, void (*fn)(void *), void *user)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), host;
	jmp_buf fail;
	int code = HEXC_OK;

	if (!c)
		return HEXC_E_NOMEM;
	host = uselocale(c);
	switch (setjmp(fail)) {
	case 0:
		for (int i = 0; i < n; i++)
			a[i]->fail = &fail;
		fn(user);
		break;
	case ARENA_NOMEM: code = HEXC_E_NOMEM; break;
	case ARENA_LIMIT: code = HEXC_E_LIMIT; break;
	default: code = HEXC_E_INTERNAL; break;
	}
	for (int i = 0; i < n; i++)
		a[i]->fail = NULL;
	uselocale(host);
	freelocale(c);
	return code;
}
