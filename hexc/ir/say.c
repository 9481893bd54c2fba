/* say.c - the texts that a kernel prints. */
#include "hexc/ir/number.h"
#include <string.h>

bool
say_next(const char *text, size_t *at, Piece *out, bool *bad)
{
	const char *s = text + *at;
	size_t n = strcspn(s, "{}");

	*bad = false;
	out->text = s;
	out->n = n;
	if (n == 0 && s[0] == '{' && s[1] == '}') {
		out->text = NULL;
		n = 2;
	} else if (n == 0 && s[0] && s[0] == s[1]) {
		out->n = 1;
		n = 2;
	} else if (n == 0) {
		*bad = s[0] != 0;
	}
	*at += n;
	return n > 0;
}

int
say_operands(const char *text)
{
	size_t at = 0;
	int n = 0;
	Piece p;
	bool bad;

	while (say_next(text, &at, &p, &bad))
		n += p.text == NULL;
	return bad ? -1 : n;
}

bool
say_takes(DType d)
{
	return d == D_i32 || d == D_u32 || d == D_i64 || d == D_u64 || d == D_f32 || d == D_f64;
}

const char *
say_format(DType d)
{
	switch ((int)d) {
	case D_i32: return "%d";
	case D_u32: return "%u";
	case D_i64: return "%lld";
	case D_u64: return "%llu";
	case D_f32: return "%.9g"; /* 1 + 24 log10(2) digits, rounded up */
	default: return "%.17g";
	}
}
