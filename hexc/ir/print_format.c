/* print_format.c - parses the format strings of print ops. */
#include "hexc/ir/dtype_value.h"
#include <string.h>

bool
message_next(const char *text, size_t *at, Piece *out, bool *bad)
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
message_operands(const char *text)
{
	size_t at = 0;
	int n = 0;
	Piece p;
	bool bad;

	while (message_next(text, &at, &p, &bad))
		n += p.text == NULL;
	return bad ? -1 : n;
}

bool
message_takes(DType d)
{
	return dtype_info[d].print != NULL;
}

const char *
message_format(DType d)
{
	return dtype_info[d].print;
}
