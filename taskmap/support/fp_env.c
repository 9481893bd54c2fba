/* fp_env.c - sets the default floating-point environment, so that results do not depend on the host
 * thread's. */
#include "taskmap/support/fp_env.h"
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/* Is the environment the default?  Called for every number that a host puts into a buffer: fegetenv takes far
 * longer. */
static bool
is_plain(void)
{
#ifdef __SSE2__
	enum { FLAGS = 0x3f, PLAIN = 0x1f80 }; /* exception flags; default: all masked, round to nearest */

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
