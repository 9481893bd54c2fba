/* driver.c - find the CUDA driver. */
#include "lib/gpu/driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool
driver_open(Driver *d, char *why, size_t n)
{
	static const char *const name[] = {
#define X(name, parameters) #name,
		DRIVER_CALLS(X)
#undef X
	};
	/* never closed: the driver has threads of its own, and stays loaded in any host that uses it */
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	char *to = (char *)d;
#define X(name, parameters) +1
	const size_t always = DRIVER_ALWAYS(X);
#undef X

	if (!lib) {
		snprintf(why, n, "there is no CUDA driver here: libcuda.so.1 cannot be opened; install that "
		                 "of the GPU, or use the simulator");
		return false;
	}
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		void *symbol = dlsym(lib, name[i]);

		if (!symbol && i < always) {
			snprintf(why, n, "the CUDA driver has no %s: it is older than CUDA 11", name[i]);
			return false;
		}
		memcpy(to + i * sizeof symbol, &symbol, sizeof symbol); /* POSIX: function pointers too */
	}
	return true;
}
