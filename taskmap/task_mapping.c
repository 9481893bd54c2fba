/* task_mapping.c - builds and prints task mappings: which worker does which task, and when. */
#include "taskmap/layout.h"

bool
mapping_spatial(Layout *m, int dim, int64_t n, Axis workers)
{
	return layout_push(m, dim, n, layout_cosize(m, workers), workers);
}

bool
mapping_repeat(Layout *m, int dim, int64_t n)
{
	return layout_push(m, dim, n, layout_cosize(m, AX_reg), AX_reg);
}

int64_t
mapping_workers(const Layout *m, int64_t tasks, int64_t all, Axis workers)
{
	return gcd64(all / layout_cosize(m, workers), tasks);
}

bool
mapping_share(Layout *m, int64_t all, Axis workers)
{
	int64_t used = layout_cosize(m, workers);

	return layout_push_rep(m, all / used, used, workers);
}

/* ---- as text --------------------------------------------------------------------------------------- */

/* One step of a mapping: n workers or times along each dim; copies: workers that do the same. */
typedef struct MappingStep {
	Axis axis;
	int64_t n[DIM_MAX], copies;
	int dim; /* the last dim taken; row-major: dims descend */
} MappingStep;

typedef struct MappingSteps {
	MappingStep step[ITER_MAX + REP_MAX];
	int n;
	int at[DIM_MAX]; /* iters of each dim that are consumed */
	int64_t used[AX_COUNT];
} MappingSteps;

/* Returns the next iter of dim d if it starts where the steps so far end; else NULL. */
static const Iter *
steps_next(const MappingSteps *s, const Layout *m, int d)
{
	const Iter *it = &m->it[m->first[d] + s->at[d]];

	return m->first[d] + s->at[d] < m->first[d + 1] && it->stride == s->used[it->axis] ? it : NULL;
}

static MappingStep *
steps_new(MappingSteps *s, Axis axis, int64_t copies)
{
	MappingStep *x = &s->step[s->n++];

	*x = (MappingStep){ .axis = axis, .copies = copies, .dim = DIM_MAX };
	for (int d = 0; d < DIM_MAX; d++)
		x->n[d] = 1;
	return x;
}

/* Adds an iter to the last step if that has the same workers and a higher dim, else to a new step; dim -1:
 * replication. */
static void
steps_take(MappingSteps *s, const Iter *it, int dim)
{
	MappingStep *x = s->n ? &s->step[s->n - 1] : NULL;

	if (!x || x->axis != it->axis || dim < 0 || dim >= x->dim)
		x = steps_new(s, (Axis)it->axis, dim < 0 ? it->extent : 1);
	x->dim = dim;
	if (dim >= 0) {
		x->n[dim] = it->extent;
		s->at[dim]++;
	}
	s->used[it->axis] *= it->extent;
}

/* Consumes one iter, preferably continuing the last step, with lower dims later.  Returns false if there is
 * none. */
static bool
steps_any(MappingSteps *s, const Layout *m)
{
	const MappingStep *last = s->n ? &s->step[s->n - 1] : NULL;
	int best = -1;

	for (int d = m->ndim - 1; d >= 0; d--) {
		const Iter *it = steps_next(s, m, d);
		bool more = it && last && it->axis == last->axis && d < last->dim;

		if (it && (best < 0 || more))
			best = d;
		if (more)
			break;
	}
	if (best >= 0)
		steps_take(s, steps_next(s, m, best), best);
	for (int i = 0; i < m->nrep && best < 0; i++)
		if (m->rep[i].stride == s->used[m->rep[i].axis]) {
			steps_take(s, &m->rep[i], -1);
			return true;
		}
	return best >= 0;
}

static void
step_text(Text *t, const MappingStep *x, int ndim)
{
	const char *what = x->axis == AX_reg ? "repeat" : x->axis == AX_lane ? "lanes"
	                                                                     : "warps";

	if (x->copies > 1) {
		text_printf(t, "copies(%lld %s)", (long long)x->copies, what);
		return;
	}
	for (int d = 0; d < ndim; d++)
		text_printf(t, "%s%s%lld", d ? "" : what, d ? "," : "(", (long long)x->n[d]);
	text_printf(t, ")");
}

const char *
mapping_print(Arena *a, const Layout *m)
{
	Text t = { .arena = a };
	MappingSteps s = { .n = 0 };
	Layout c = *m;
	int taken = 0;

	layout_canon(&c);
	for (int x = 0; x < AX_COUNT; x++)
		s.used[x] = 1;
	while (steps_any(&s, &c))
		taken++;
	if (taken != c.n + c.nrep)
		return NULL;
	if (s.n == 0)
		steps_new(&s, AX_reg, 1);
	for (int i = s.n - 1; i >= 0; i--) {
		step_text(&t, &s.step[i], c.ndim);
		text_printf(&t, "%s", i ? " " : "");
	}
	return t.s;
}
