/* modes.c - the tree form of a layout; see modes.h. */
#include "taskmap/modes.h"
#include <string.h>

bool
modes_push(Modes *m, int64_t extent, int64_t stride)
{
	if (m->n >= MODES_MAX)
		return false;
	m->it[m->n++] = (Iter){ .extent = extent, .stride = stride, .axis = AX_mem };
	return true;
}

void
modes_wrap(Modes *m)
{
	if (m->n) {
		m->it[0].open++;
		m->it[m->n - 1].close++;
	}
}

bool
modes_append(Modes *m, const Modes *part, bool wrap)
{
	int at = m->n;

	if (at + part->n > MODES_MAX)
		return false;
	memcpy(&m->it[at], part->it, sizeof m->it[0] * (size_t)part->n);
	m->n += part->n;
	if (wrap && part->n) {
		m->it[at].open++;
		m->it[m->n - 1].close++;
	}
	return true;
}

int
modes_child_end(const Modes *m, int lo, int hi, int at)
{
	int depth = at == lo ? -1 : 0; /* the tuple's own opening pair stands before its first child */

	for (int i = at; i < hi; i++) {
		depth += m->it[i].open - m->it[i].close;
		if (depth <= 0)
			return i + 1;
	}
	return hi;
}

void
modes_child(Modes *out, const Modes *m, int lo, int hi, int at, int end)
{
	Modes part = { .n = end - at };

	memcpy(part.it, &m->it[at], sizeof m->it[0] * (size_t)part.n);
	if (at == lo)
		part.it[0].open--;
	if (end == hi)
		part.it[part.n - 1].close--;
	*out = part;
}

int
modes_rank(const Modes *m)
{
	int rank = 0;

	if (!modes_is_tuple(m))
		return 1;
	for (int at = 0; at < m->n; at = modes_child_end(m, 0, m->n, at))
		rank++;
	return rank;
}

bool
modes_get(Modes *out, const Modes *m, int i)
{
	if (!modes_is_tuple(m)) {
		*out = *m;
		return i == 0;
	}
	for (int at = 0; at < m->n;) {
		int end = modes_child_end(m, 0, m->n, at);

		if (i-- == 0) {
			modes_child(out, m, 0, m->n, at, end);
			return true;
		}
		at = end;
	}
	return false;
}

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

void
modes_flat_layout(Layout *l, const Iter *it, int n)
{
	Layout out;
	bool each = n <= DIM_MAX;

	layout_init(&out, n == 0 || !each ? 1 : n);
	out.tuple = n > 1;
	if (n == 0)
		layout_push_unit(&out, 0, 1, 0, AX_mem);
	for (int i = 0; i < n; i++)
		layout_push_unit(&out, each ? i : 0, it[i].extent, it[i].stride, (Axis)it[i].axis);
	*l = out;
}
