/* error_boundary.c - the one setjmp of the library. */
#include "lib/base/base.h"
#include <locale.h>

/* Numbers in texts are as in C, whatever locale the host has set: explanations are JSON.  And they are
 * rounded as the library does, whatever the host's thread does. */
int
arena_protect(Arena *const *a, int n, void (*fn)(void *), void *user)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), host;
	jmp_buf fail;
	Arithmetic host_arithmetic;
	int code;

	if (!c)
		return HEXC_E_NOMEM;
	host = uselocale(c);
	arithmetic_enter(&host_arithmetic);
	switch (setjmp(fail)) {
	case 0:
		for (int i = 0; i < n; i++)
			a[i]->fail = &fail;
		fn(user);
		code = HEXC_OK;
		break;
	case ARENA_NOMEM: code = HEXC_E_NOMEM; break;
	case ARENA_LIMIT: code = HEXC_E_LIMIT; break;
	default: code = HEXC_E_INTERNAL; break; /* no other is thrown */
	}
	for (int i = 0; i < n; i++)
		a[i]->fail = NULL;
	arithmetic_leave(&host_arithmetic);
	uselocale(host);
	freelocale(c);
	return code;
}
