/* protect.c - the one setjmp of the library. */
#include "lib/base/base.h"
#include <fenv.h>
#include <locale.h>

/* Numbers in texts are as in C, whatever locale the host has set: explanations are JSON.  And they are
 * rounded to nearest, subnormal ones too: hosts may flush these to zero, or trap what gives infinities. */
int
arena_protect(Arena *const *a, int n, void (*fn)(void *), void *user)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), host;
	jmp_buf fail;
	fenv_t env;
	int code = HEXC_OK;

	if (!c)
		return HEXC_E_NOMEM;
	host = uselocale(c);
	fegetenv(&env);
	fesetenv(FE_DFL_ENV);
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
	fesetenv(&env);
	uselocale(host);
	freelocale(c);
	return code;
}
