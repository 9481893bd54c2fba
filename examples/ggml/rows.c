/* rows.c - GET_ROWS and SET_ROWS. */
#include "examples/ggml/work.h"

void
arg_index(Work *w, Launch *l, const View *v)
{
	arg_pointer(w, l, "I", v->data);
	for (int i = 0; i < 3; i++)
		arg_int(w, l, text(w, "i%c", "pqm"[i]), v->stride[i + 1]);
}

bool
is_index(const View *v)
{
	return (v->type == GGML_TYPE_I32 || v->type == GGML_TYPE_I64) && v->size[0] == 1;
}

bool
get_rows(Work *w, const struct ggml_tensor *op)
{
	View table, index, y;
	Chain chain;
	Launch *l;

	chain_start(&chain);
	if (!view_of(&index, op->src[1]) || !view_of(&y, op) || !is_index(&index) || !is_row(&y))
		return false;
	if (view_of_blocks(&table, op->src[0])) {
		decode_rows(w, &table, &index, &y);
		return is_float(&y);
	}
	if (!view_of(&table, op->src[0]) || !is_row(&table) || !chain_tail(w, &chain, &y, 0) || !is_row(&y))
		return false;
	if (!(is_float(&table) && is_float(&y)) && !(table.type == y.type && table.type == GGML_TYPE_I32))
		return false;
	l = work_launch(w, "embedding");
	set(w, l, "strided", "1");
	set(w, l, "IN", "%s", type_name(table.type));
	set(w, l, "OUT", "%s", type_name(y.type));
	set(w, l, "INDEX", "%s", type_name(index.type));
	arg_sizes(w, l, &y, "");
	arg_int(w, l, "V", table.size[2]);
	arg_index(w, l, &index);
	arg_rows(w, l, "E", "epqm", &table);
	arg_rows(w, l, "Y", "ypqm", &y);
	chain_write(w, l, &chain);
	return true;
}

bool
set_rows(Work *w, const struct ggml_tensor *op)
{
	View x, index, y;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&index, op->src[1]) || !is_index(&index) || !is_float(&x))
		return false;
	if (!view_count(&x))
		return true;
	if (ggml_is_quantized(op->type))
		return encode_rows(w, &x, &index, op);
	if (!view_of(&y, op) || !is_row(&x) || !is_row(&y) || !is_float(&y))
		return false;
	l = work_launch(w, "set_rows");
	set(w, l, "IN", "%s", type_name(x.type));
	set(w, l, "OUT", "%s", type_name(y.type));
	set(w, l, "INDEX", "%s", type_name(index.type));
	arg_sizes(w, l, &x, "");
	arg_int(w, l, "V", y.size[2]);
	arg_int(w, l, "PI", index.size[1]);
	arg_int(w, l, "QI", index.size[2]);
	arg_index(w, l, &index);
	arg_rows(w, l, "X", "xpqm", &x);
	arg_rows(w, l, "Y", "ypqm", &y);
	return true;
}
