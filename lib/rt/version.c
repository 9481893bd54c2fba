/* version.c - returns the version and the list of archs, for the library and the runtime. */
#include "lib/rt/rt.h"

int
hexc_version(void)
{
	return HEXC_VERSION;
}

const char *
hexc_arch(size_t i)
{
	size_t n = 0;

	while (targets[n].name)
		n++;
	return i < n ? targets[i].name : NULL;
}
