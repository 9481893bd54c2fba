/* driver.c - finds and opens the CUDA driver or the simulator at run time. */
#define _GNU_SOURCE /* dladdr */
#include "lib/gpu/driver.h"
#include "lib/hexc.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#define NUMBER_TEXT(x) #x
#define NUMBER(x) NUMBER_TEXT(x)

/* Looks up a function by name in lib or, if `simulated` is not NULL, through the simulator's lookup. */
static void *
look_up(void *lib, void *(*simulated)(const char *name), const char *name)
{
	return simulated ? simulated(name) : dlsym(lib, name);
}

#define SIMULATOR "libhexc_sim.so." NUMBER(HEXC_VERSION_MAJOR)

/* Opens the simulator's library in the directory of the library with this function; NULL if absent. The
 * host's RUNPATH finds this library, but does not apply to libraries that it opens itself. */
static void *
open_beside(void)
{
	void *(*here)(void) = open_beside;
	const char *slash;
	char path[4096];
	void *at;
	Dl_info info;
	int n;

	memcpy(&at, &here, sizeof at);
	if (!dladdr(at, &info) || !info.dli_fname || !(slash = strrchr(info.dli_fname, '/')))
		return NULL;
	if (info.dli_fname[0] != '/' && getauxval(AT_SECURE)) /* relative to an unknown directory */
		return NULL;
	n = snprintf(path, sizeof path, "%.*s/" SIMULATOR, (int)(slash - info.dli_fname), info.dli_fname);
	return n > 0 && (size_t)n < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Returns the simulator's sim_cuda, of the process or of its library; NULL if there is none. */
static void *
find_simulator(void)
{
	void *process = dlopen(NULL, RTLD_NOW), *found = process ? dlsym(process, "sim_cuda") : NULL, *lib;

	if (process)
		dlclose(process);
	if (found)
		return found;
	lib = open_beside();
	lib = lib ? lib : dlopen(SIMULATOR, RTLD_NOW | RTLD_LOCAL);
	return lib ? dlsym(lib, "sim_cuda") : NULL;
}

bool
driver_open(Driver *d, bool simulated, char *why, size_t n)
{
	static const char *const name[] = {
#define X(name, parameters) #name,
		DRIVER_CALLS(X)
#undef X
	};
	/* never closed: the driver has threads, and stays loaded in any host that uses it */
	void *lib = simulated ? find_simulator() : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *(*find)(const char *) = NULL;
	char *to = (char *)d;
#define X(name, parameters) +1
	const size_t always = DRIVER_ALWAYS(X);
#undef X

	if (!lib) {
		snprintf(why, n, "%s",
		         simulated
		                 ? "simulator not found (" SIMULATOR "); install it beside libhexc, "
		                   "or link it"
		                 : "CUDA driver not found (libcuda.so.1); install it or use the simulator");
		return false;
	}
	if (simulated)
		memcpy(&find, &lib, sizeof find); /* POSIX permits this for function pointers */
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		void *symbol = look_up(lib, find, name[i]);

		if (!symbol && i < always) {
			snprintf(why, n, "the CUDA driver has no %s: it is older than CUDA 11", name[i]);
			return false;
		}
		memcpy(to + i * sizeof symbol, &symbol, sizeof symbol);
	}
	return true;
}

bool
driver_lacks(const char *function, char *why, size_t n)
{
	static const struct {
		const char *name, *since;
	} later[] = {
#define X(name, since) { #name, since },
		DRIVER_SINCE(X)
#undef X
	};

	for (size_t i = 0; i < sizeof later / sizeof *later; i++)
		if (strcmp(later[i].name, function) == 0)
			snprintf(
				why, n,
				"the CUDA driver has no %s: it is older than CUDA %s; install a newer one",
				function, later[i].since);
	return false;
}

/* Maps a driver result to a HEXC_ code. */
int
driver_code(int result)
{
	switch (result) {
	case 0: return HEXC_OK;
	case DRV_CUDA_ERROR_OUT_OF_MEMORY: return HEXC_E_NOMEM;
	case DRV_CUDA_ERROR_ILLEGAL_ADDRESS:
	case DRV_CUDA_ERROR_LAUNCH_TIMEOUT:
	case DRV_CUDA_ERROR_ASSERT:
	case DRV_CUDA_ERROR_HARDWARE_STACK_ERROR:
	case DRV_CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case DRV_CUDA_ERROR_MISALIGNED_ADDRESS:
	case DRV_CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case DRV_CUDA_ERROR_INVALID_PC:
	case DRV_CUDA_ERROR_LAUNCH_FAILED: return HEXC_E_FAULT;
	default: return HEXC_E_DEVICE;
	}
}

void
driver_says(const Driver *d, const char *call, int result, char *why, size_t n)
{
	const char *name = NULL, *text = NULL;

	if (d->cuGetErrorName(result, &name) || !name)
		name = "unknown";
	if (d->cuGetErrorString(result, &text) || !text)
		text = "unknown error";
	snprintf(why, n, "%s: %s (%s, %d)", call, text, name, result);
}
