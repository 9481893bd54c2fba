/* mode_tree.c - converts between a Layout and its tree form; see mode_tree.h. */
#include "taskmap/mode_tree.h"
#include <string.h>

void
modes_from_layout(Modes *m, const Layout *l)
{
	int n = 0;
	Modes out;

	for (int d = 0; d < l->ndim; d++) {
		int lo = l->first[d], k = l->first[d + 1] - lo;

		if (k == 0)
			out.it[n] = (Iter){ .extent = 1, .axis = AX_mem };
		else
			memcpy(&out.it[n], &l->it[lo], sizeof out.it[0] * (size_t)k);
		if (k > 1) {
			out.it[n].open++;
			out.it[n + k - 1].close++;
		}
		n += k ? k : 1;
	}
	out.n = n;
	if (l->tuple || l->ndim != 1 || n > 1)
		modes_wrap(&out);
	*m = out;
}

bool
modes_to_layout(Layout *l, const Modes *m)
{
	Layout out;

	if (m->n > ITER_MAX)
		return false;
	layout_init(&out, 0);
	out.tuple = modes_is_tuple(m);
	out.n = m->n;
	memcpy(out.it, m->it, sizeof m->it[0] * (size_t)m->n);
	if (!out.tuple) {
		out.ndim = 1;
		out.first[1] = (uint8_t)m->n;
		*l = out;
		return true;
	}
	for (int at = 0, end; at < m->n; at = end) {
		end = modes_child_end(m, 0, m->n, at);
		if (out.ndim == DIM_MAX)
			return false;
		out.first[++out.ndim] = (uint8_t)end;
		if (at == 0)
			out.it[0].open--;
		if (end == m->n)
			out.it[end - 1].close--;
		if (end - at > 1) {
			out.it[at].open--;
			out.it[end - 1].close--;
		}
	}
	*l = out;
	return true;
}
