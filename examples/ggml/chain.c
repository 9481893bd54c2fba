/* chain.c - operations of elements as one expression: those behind another operation, each of which reads
 * the result of the one before, become the epilogue of its launch. */
#include "examples/ggml/work.h"
#include <string.h>

enum { VALUE_MOST = 2000 };

static bool
in_name(char c)
{
	return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", c);
}

static const char *
find_word(const Word *words, int n, const char *s, size_t length)
{
	for (int i = 0; i < n; i++)
		if (strlen(words[i].name) == length && memcmp(words[i].name, s, length) == 0)
			return words[i].text;
	return NULL;
}

const char *
replace(Work *w, const char *expression, const Word *words, int n)
{
	char out[VALUE_MOST] = "";
	size_t used = 0;

	for (const char *s = expression; *s;) {
		size_t length = 1;
		const char *by = NULL;

		if (in_name(*s)) {
			while (in_name(s[length]))
				length++;
			by = find_word(words, n, s, length);
		}
		used += (size_t)snprintf(out + used, sizeof out - used, "%.*s",
		                         by ? (int)strlen(by) : (int)length, by ? by : s);
		if (used >= sizeof out) {
			w->failed = true;
			return "";
		}
		s += length;
	}
	return text(w, "%s", out);
}

void
chain_start(Chain *c)
{
	*c = (Chain){ .value = "x", .hole = "epilogue", .type = GGML_TYPE_F32 };
}

/* Adds a tensor that is read at the element's indices, and returns its word in the expression. */
static const char *
add_operand(Work *w, Chain *c, const View *v, const View *y)
{
	View b = *v;

	if (c->operands == OPERANDS_MOST || !type_name(b.type)) {
		w->failed = true;
		return "";
	}
	c->wrapped[c->operands] = !view_repeat(&b, y->size);
	c->operand[c->operands] = c->wrapped[c->operands] ? *v : b;
	return text(w, "t%d", c->operands++);
}

bool
chain_add(Work *w, Chain *c, const Pointwise *e, bool by_x, const char *other)
{
	const char *value = "x";
	Word words[2 + NUMBERS_MOST] = { { "x", "" }, { "b", "" } };
	int n = 2;

	/* between operations a value has the type of its tensor */
	if (c->type != GGML_TYPE_F32)
		value = text(w, "f32(%s(%s))", type_name(c->type), c->value);
	else if (strcmp(c->value, "x"))
		value = text(w, "(%s)", c->value);
	words[!by_x].text = value;
	if (other)
		words[by_x].text = other;
	else if (e->has_b || !by_x)
		words[by_x].text = add_operand(w, c, by_x ? &e->b : &e->x, &e->y);
	for (int i = 0; i < e->numbers; i++) {
		if (c->numbers == NUMBERS_MOST * TAIL_MOST)
			return false;
		c->number[c->numbers] = e->number[i];
		words[n++] = (Word){ text(w, "c%d", i), text(w, "c%d", c->numbers++) };
	}
	c->value = e->expression ? replace(w, e->expression, words, n) : value;
	c->type = e->y.type;
	c->result = e->y.data;
	return !w->failed;
}

static bool
store_rows(Work *w, Chain *c, View *y)
{
	c->rows = w->tail->rows;
	return view_of(y, c->rows) && is_float(y) && view_of(&c->index, c->rows->src[1]) &&
	       is_index(&c->index);
}

bool
chain_tail(Work *w, Chain *c, View *y, int takes)
{
	const struct ggml_tensor *before = w->op;
	const Tail *t = w->tail;

	w->tail_done = true;
	c->type = before->type;
	if (!t)
		return true;
	if ((t->second && !(takes & TAKES_SECOND)) || (t->rows && !(takes & TAKES_ROWS)) ||
	    (t->also && !(takes & TAKES_ALSO)))
		return false;
	for (int i = 0; i < t->nodes; i++) {
		const struct ggml_tensor *op = t->node[i];
		bool by_x = op->src[0] == before;
		Pointwise e;

		if (!pointwise_of(&e, op) || !chain_add(w, c, &e, by_x, i == 0 && t->second ? "z" : NULL))
			return false;
		*y = e.y;
		before = op;
	}
	return !t->rows || store_rows(w, c, y);
}

bool
chain_wraps(const Chain *c)
{
	for (int i = 0; i < c->operands; i++)
		if (c->wrapped[i])
			return true;
	return false;
}

/* Is operand v the same for all rows of all slices? One in the place of the result is read by the number of
 * the row, too: a block has threads for rows that are not there, which must not read what others write. */
static bool
is_vector(const Chain *c, const View *v)
{
	return !v->stride[0] && !v->stride[1] && !v->stride[2] && v->data != c->result;
}

/* Is it read by the name of the result? */
static bool
is_result(const Chain *c, const View *v)
{
	return c->result_name && v->data == c->result;
}

/* Declares operand i and returns its element in the expression. */
static const char *
declare_operand(Work *w, Launch *l, const Chain *c, int i)
{
	const View *v = &c->operand[i];
	const char *name = text(w, "t%d", i), *last = v->stride[3] == 1 ? "1" : text(w, "t%dn", i);

	if (is_result(c, v))
		return text(w, "f32(%s[p, q, m, n])", c->result_name);
	if (c->wrapped[i]) {
		declare(w, l, "%s: %s[P%d, Q%d, M%d, N%d] strides [t%dp, t%dq, t%dm, %s]", name,
		        type_name(v->type), i, i, i, i, i, i, i, last);
		arg_sizes(w, l, v, text(w, "%d", i));
	} else if (is_vector(c, v)) {
		declare(w, l, "%s: %s[N] strides [%s]", name, type_name(v->type), last);
	} else {
		declare(w, l, "%s: %s[P, Q, M, N] strides [t%dp, t%dq, t%dm, %s]", name, type_name(v->type),
		        i, i, i, last);
	}
	arg_pointer(w, l, name, v->data);
	for (int k = !c->wrapped[i] && is_vector(c, v) ? 3 : 0; k < RANK - (v->stride[3] == 1); k++)
		arg_int(w, l, text(w, "t%d%c", i, "pqmn"[k]), v->stride[k]);
	if (c->wrapped[i])
		return text(w, "f32(%s[p %% P%d, q %% Q%d, m %% M%d, n %% N%d])", name, i, i, i, i);
	return text(w, is_vector(c, v) ? "f32(%s[n])" : "f32(%s[p, q, m, n])", name);
}

void
chain_write(Work *w, Launch *l, const Chain *c)
{
	Word words[OPERANDS_MOST];
	bool in_place = false;

	if (strcmp(c->value, "x") == 0)
		return;
	for (int i = 0; i < c->operands; i++) {
		words[i] = (Word){ text(w, "t%d", i), declare_operand(w, l, c, i) };
		in_place = in_place || is_result(c, &c->operand[i]);
	}
	if (in_place)
		set(w, l, "in_place", "1");
	for (int i = 0; i < c->numbers; i++) {
		declare(w, l, "c%d: f32", i);
		arg_float(w, l, text(w, "c%d", i), (double)c->number[i]);
	}
	set(w, l, c->hole, "%s", replace(w, c->value, words, c->operands));
}
