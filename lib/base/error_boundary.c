/* error_boundary.c - runs library calls under the library's only setjmp and maps the exit to a result
 * code. */
#include "lib/base/base.h"
#include <locale.h>

/* Sets the locale "C" for numbers, whatever the host's locale is, since explanations are JSON. Sets the
 * library's rounding mode, whatever the host's thread uses. */
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
	default: code = HEXC_E_INTERNAL; break; /* no other reason exists */
	}
	for (int i = 0; i < n; i++)
		a[i]->fail = NULL;
	arithmetic_leave(&host_arithmetic);
	uselocale(host);
	freelocale(c);
	return code;
}
