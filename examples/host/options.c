/* options.c - parses the options common to all hosts. */
#include "examples/host/host.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
host_fail(char *why, const char *what, const char *fmt, ...)
{
	int n = snprintf(why, HOST_WHY, "%.150s: ", what);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why + n, (size_t)(HOST_WHY - n), fmt, ap);
	va_end(ap);
	return false;
}

bool
host_int(const char *text, int64_t least, int64_t most, int64_t *out)
{
	char *end;
	long long x;

	errno = 0;
	x = strtoll(text, &end, 10);
	*out = x;
	return end != text && !*end && !errno && x >= least && x <= most;
}

int
host_option(HostOpts *o, const char *name, const char *value, char *why)
{
	bool simulator = strcmp(name, "--simulator") == 0;
	int64_t x;

	if (!simulator && strcmp(name, "--device") != 0 && strcmp(name, "--cache") != 0)
		return 0;
	if (!value) {
		host_fail(why, name, "its value is missing");
		return -1;
	}
	if (strcmp(name, "--cache") == 0) {
		o->cache = value;
		return 1;
	}
	if (!host_int(value, simulator, 1000, &x)) {
		host_fail(why, name, "%.50s is no %s", value,
		          simulator ? "compute capability: give 80, 90 or another"
		                    : "number of a GPU: give 0, 1, ..");
		return -1;
	}
	o->device = simulator ? HEXC_SIMULATOR(x) : (int)x;
	return 1;
}
