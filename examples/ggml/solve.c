/* solve.c - SOLVE_TRI: A X = B with lower triangular matrices A. */
#include "examples/ggml/work.h"

static bool
is_matrix(const View *v)
{
	return v->type == GGML_TYPE_F32 && is_row(v);
}

bool
solve_triangular(Work *w, const struct ggml_tensor *op)
{
	View a, b, x;
	Launch *l;

	if (!view_of(&a, op->src[0]) || !view_of(&b, op->src[1]) || !view_of(&x, op) || !is_matrix(&a) ||
	    !is_matrix(&b) || !is_matrix(&x))
		return false;
	l = work_launch(w, "solve_lower");
	arg_int(w, l, "P", x.size[0]);
	arg_int(w, l, "Q", x.size[1]);
	arg_int(w, l, "N", x.size[2]);
	arg_int(w, l, "K", x.size[3]);
	arg_rows(w, l, "A", "apqn", &a);
	arg_rows(w, l, "B", "bpqn", &b);
	arg_rows(w, l, "X", "xpqn", &x);
	return true;
}
