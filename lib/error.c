/* error.c - result codes in words. */
#include "lib/hexc.h"

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
