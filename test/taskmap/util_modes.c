/* util_modes.c - unpacks and builds trees of modes. */
#include "test/taskmap/util_cute.h"
#include <string.h>

bool
modes_push(Modes *m, int64_t extent, int64_t stride)
{
	if (m->n >= MODES_MAX)
		return false;
	m->it[m->n++] = (Iter){ .extent = extent, .stride = stride, .axis = AX_mem };
	return true;
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
