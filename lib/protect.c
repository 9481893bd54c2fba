/* protect.c - the one setjmp of the library. */
#include "lib/lib.h"

int
arena_protect(Arena *const *a, int n, void (*fn)(void *), void *user)
{
	jmp_buf fail;
	int code = HEXC_OK;

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
	return code;
}
