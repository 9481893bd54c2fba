/* print_assert.c - implements the interpreter's print and assert ops. */
#include "hexc/interp/interp_internal.h"
#include <math.h>
#include <stdio.h>

static void
append_bytes(Interp *it, const char *s, size_t n)
{
	if (!it->opt.print || n > INTERP_PRINT_MAX - it->common->printed)
		return;
	it->common->printed += n;
	it->common->effects++;
	if (it->held)
		text_add(it->held, s, n);
	else
		it->opt.print(it->opt.user, s, n);
}

/* The formats are those of message_format, one for each of these types. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static size_t
number_text(char *s, size_t n, DType d, const InterpValue *x)
{
	const char *format = message_format(d);
	int len;

	if (dtype_is_float(d) && isnan(x->f[0]))
		len = snprintf(s, n, "nan"); /* the sign of a NaN is not significant */
	else if (dtype_is_float(d))
		len = snprintf(s, n, format, x->f[0]);
	else if (dtype_info[d].bits == 64)
		len = snprintf(s, n, format, (long long)x->i[0]);
	else
		len = snprintf(s, n, format, (int)x->i[0]);
	return len > 0 ? (size_t)len : 0;
}
#pragma GCC diagnostic pop

bool
eval_print(Interp *it, Op *o)
{
	size_t at = 0;
	int in = 0;
	Piece p;
	bool bad;

	while (message_next(o->text, &at, &p, &bad)) {
		char s[40];

		if (p.text)
			append_bytes(it, p.text, p.n);
		else
			append_bytes(it, s,
			             number_text(s, sizeof s, o->in[in]->type.dtype, slot_of(it, o->in[in])));
		in += p.text == NULL;
	}
	append_bytes(it, "\n", 1);
	return true;
}

bool
eval_assert(Interp *it, Op *o)
{
	if (slot_of(it, assert_cond(o))->i[0])
		return true;
	return interp_error(it, INTERP_E_FAULT, o, "assertion failed: %s", o->text);
}
