/* fp_env.c - numbers do not depend on how the host's thread computes. */
#include "taskmap/support/fp_env.h"
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/* Asked for every number that a host puts into a buffer: fegetenv takes far longer. */
static bool
is_plain(void)
{
#ifdef __SSE2__
	enum { FLAGS = 0x3f, PLAIN = 0x1f80 }; /* exceptions that happened; all masked, to nearest */

	return (_mm_getcsr() & ~(unsigned)FLAGS) == PLAIN;
#else
	return false;
#endif
}

void
arithmetic_enter(Arithmetic *a)
{
	a->plain = is_plain();
	if (a->plain)
		return;
	fegetenv(&a->host);
	fesetenv(FE_DFL_ENV);
}

void
arithmetic_leave(const Arithmetic *a)
{
	if (!a->plain)
		fesetenv(&a->host);
}
