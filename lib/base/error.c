/* error.c - converts result codes to text, formats error sentences, and copies API structs across library
 * versions. */
#include "lib/base/base.h"
#include <stdio.h>
#include <string.h>

const char *
hexc_strerror(int code)
{
	switch (code) {
#define X(name, value, text) case value: return text;
		HEXC_ERRORS(X)
#undef X
	default: return "unknown result code";
	}
}

int
hand_out(void *out, size_t room, const void *full, size_t n)
{
	size_t size = room < n ? room : n;

	if (room < sizeof(size_t))
		return 0;
	memcpy(out, full, size);
	memcpy(out, &size, sizeof size);
	return 1;
}

bool
take_in(void *full, size_t n, const void *in)
{
	const unsigned char *bytes = in;
	size_t size;

	memcpy(&size, in, sizeof size);
	for (size_t i = n; i < size; i++)
		if (bytes[i])
			return false;
	memcpy(full, in, size < n ? size : n);
	memcpy(full, &n, sizeof n);
	return true;
}

int
why_error(int code, char *why, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (n)
		vsnprintf(why, n, fmt, ap);
	va_end(ap);
	return code;
}
