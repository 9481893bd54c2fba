/* work.c - writes lists of launches; finds the function that describes an operation. */
#include "examples/ggml/work.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
text(Work *w, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *out = w->text + w->used;

	va_start(ap, fmt);
	n = vsnprintf(out, TEXT_MOST - w->used, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= TEXT_MOST - w->used) {
		w->failed = true;
		return "";
	}
	w->used += (size_t)n + 1;
	return out;
}

Launch *
work_launch(Work *w, const char *op)
{
	Launch *l = &w->launch[w->launches < LAUNCHES_MOST ? w->launches : LAUNCHES_MOST - 1];

	w->failed = w->failed || w->launches == LAUNCHES_MOST;
	w->launches += w->launches < LAUNCHES_MOST;
	l->op = op;
	l->settings = l->args = 0;
	return l;
}

void
set(Work *w, Launch *l, const char *name, const char *fmt, ...)
{
	va_list ap;
	char *out = w->text + w->used;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out, TEXT_MOST - w->used, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= TEXT_MOST - w->used || l->settings == SETTINGS_MOST) {
		w->failed = true;
		return;
	}
	w->used += (size_t)n + 1;
	l->setting[l->settings++] = (Setting){ name, out };
}

void
declare(Work *w, Launch *l, const char *fmt, ...)
{
	char more[600];
	Setting *s = l->setting;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(more, sizeof more, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof more)
		w->failed = true;
	while (s < l->setting + l->settings && strcmp(s->name, "tensors"))
		s++;
	if (s == l->setting + l->settings)
		set(w, l, "tensors", "%s", more);
	else
		s->value = text(w, "%s, %s", s->value, more);
}

static void
add(Work *w, Launch *l, Arg a)
{
	if (l->args == ARGS_MOST) {
		w->failed = true;
		return;
	}
	l->arg[l->args++] = a;
}

void
arg_int(Work *w, Launch *l, const char *name, int64_t value)
{
	add(w, l, (Arg){ .name = name, .kind = ARG_INT, .integer = value });
}

void
arg_float(Work *w, Launch *l, const char *name, double value)
{
	add(w, l, (Arg){ .name = name, .kind = ARG_FLOAT, .number = value });
}

void
arg_pointer(Work *w, Launch *l, const char *name, void *pointer)
{
	add(w, l, (Arg){ .name = name, .kind = ARG_POINTER, .pointer = pointer });
}

void
arg_scratch(Work *w, Launch *l, const char *name, int64_t offset)
{
	add(w, l, (Arg){ .name = name, .kind = ARG_SCRATCH, .integer = offset });
}

void
arg_codebook(Work *w, Launch *l, const char *name, enum ggml_type type)
{
	add(w, l, (Arg){ .name = name, .kind = ARG_CODEBOOK, .integer = type });
}

int64_t
work_scratch(Work *w, int64_t bytes)
{
	int64_t at = w->scratch;

	w->scratch += (bytes + 255) / 256 * 256;
	return at;
}

View
scratch_view(Work *w, enum ggml_type type, int64_t p, int64_t q, int64_t m, int64_t n)
{
	View v = { .type = type, .scratch = true, .size = { p, q, m, n } };

	view_pack(&v);
	v.offset = work_scratch(w, view_count(&v) * (int64_t)ggml_type_size(type));
	return v;
}

static void
arg_data(Work *w, Launch *l, const char *name, const View *v)
{
	if (v->scratch)
		arg_scratch(w, l, name, v->offset);
	else
		arg_pointer(w, l, name, v->data);
}

void
arg_view(Work *w, Launch *l, const char *name, char letter, const View *v)
{
	arg_data(w, l, name, v);
	for (int i = 0; i < RANK; i++)
		arg_int(w, l, text(w, "%c%c", letter, "pqmn"[i]), v->stride[i]);
}

void
arg_rows(Work *w, Launch *l, const char *name, const char *letters, const View *v)
{
	arg_data(w, l, name, v);
	for (int i = 0; i < RANK - 1; i++)
		arg_int(w, l, text(w, "%c%c", letters[0], letters[1 + i]), v->stride[i]);
}

void
arg_sizes(Work *w, Launch *l, const View *v, const char *suffix)
{
	for (int i = 0; i < RANK; i++)
		arg_int(w, l, text(w, "%c%s", "PQMN"[i], suffix), v->size[i]);
}

float
param(const struct ggml_tensor *op, int i)
{
	float x;

	memcpy(&x, &op->op_params[i], sizeof x);
	return x;
}

/* Would it compute elements from a tensor that has none? SET_ROWS then writes no row, and a convolution with
 * an empty filter is 0. */
static bool
lacks_elements(const struct ggml_tensor *op)
{
	bool filters = op->op == GGML_OP_CONV_2D || op->op == GGML_OP_CONV_3D;

	for (int i = filters ? 1 : 0; i < GGML_MAX_SRC; i++)
		if (op->src[i] && ggml_is_empty(op->src[i]))
			return !ggml_is_empty(op) && op->op != GGML_OP_SET_ROWS;
	return false;
}

bool
describe(Work *w, const Limits *limits, const struct ggml_tensor *op, const Tail *tail)
{
	w->limits = limits;
	w->op = op;
	w->tail = tail;
	w->tail_done = !tail;
	w->launches = 0;
	w->packed = 0;
	w->scratch = 0;
	w->failed = false;
	w->used = 0;
	if (lacks_elements(op))
		return false;
	switch ((int)op->op) {
#define OP(name, function) \
	case GGML_OP_##name: return ggml_is_empty(op) || (function(w, op) && !w->failed && w->tail_done);
#include "examples/ggml/ops.def"
#undef OP
	default: return false;
	}
}
