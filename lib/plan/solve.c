/* solve.c - implements hexc_plan.h: computes steps and offsets from nodes and buffers, and describes the
 * result. */
#include "lib/plan/plan.h"
#include <string.h>

/* Reads the times of all nodes, in ns. */
static int
read_times(hexc_plan *p, PlanSolution *s)
{
	char name[120];

	for (uint32_t v = 0; v < s->n; v++) {
		const PlanNode *n = &p->node[v];
		double fill = n->fill;
		int code;

		if (fill <= 0 && n->call && (code = call_fill(n->call, &fill)))
			return plan_error(p, code, "%s: %s", plan_node_name(p, v, name),
			                  hexc_call_why(n->call));
		if (fill <= 0 && !n->call)
			fill = 1;
		s->ns[v] = (uint64_t)(n->us * 1000 + 0.5);
		s->work[v] = (uint64_t)((double)s->ns[v] * fill + 0.5);
	}
	return HEXC_OK;
}

/* Finds the buffers that part m, nodes first .. first + n - 1, accesses, or that live through it. */
static void
part_buffers(const hexc_plan *p, Arena *a, PlanComponent *m)
{
	struct PartBuffer *all = NEWN(a, struct PartBuffer, p->nbuffer + 1);

	for (uint32_t i = 0; i < p->nuse; i++) {
		struct PartBuffer *b = &all[p->use[i].buffer];
		uint32_t v = p->use[i].node;

		b->before |= v < m->first;
		b->after |= v >= m->first + m->n;
		if (v >= m->first && v < m->first + m->n)
			b->touch |= (Set)1 << (v - m->first);
	}
	m->buffer = all;
	for (uint32_t i = 0; i < p->nbuffer; i++) {
		uint64_t bytes = p->buffer[i].outside ? 0 : p->buffer[i].bytes;

		if (!bytes || (!all[i].touch && !(all[i].before && all[i].after)))
			continue;
		all[i].bytes = (bytes + p->o.align - 1) / p->o.align * p->o.align;
		all[m->nbuffer++] = all[i];
	}
}

static void
make_part(const hexc_plan *p, const PlanSolution *s, Arena *a, PlanComponent *m)
{
	m->streams = p->o.streams;
	m->sync = (uint64_t)(p->o.sync_us * 1000 + 0.5);
	for (uint32_t i = 0; i < m->n; i++) {
		m->ns[i] = s->ns[m->first + i];
		m->work[i] = s->work[m->first + i];
		for (uint32_t u = 0; u < i; u++)
			if (bit(bits_row(s->pred, m->first + i), m->first + u)) {
				m->pred[i] |= (Set)1 << u;
				m->near[i] |= (Set)1 << u;
				m->near[u] |= (Set)1 << i;
			}
	}
	part_buffers(p, a, m);
}

/* Appends the part's steps. */
static void
add_steps(PlanSolution *s, const PlanComponent *m, const Set *stage, uint32_t n, uint32_t *nstep)
{
	for (uint32_t k = 0; k < n; k++, s->nstage++) {
		uint8_t lane[PART_NODES] = { 0 };
		bool exact;

		stage_cost(m, stage[k], lane, &exact);
		for (Set in = stage[k]; in; in &= in - 1) {
			uint32_t i = (uint32_t)CTZ64((int64_t)in);

			s->at[m->first + i] = *nstep;
			s->step[(*nstep)++] = (PlanStep){ m->first + i, s->nstage, lane[i], 0, 0 };
		}
	}
}

static void
search_parts(hexc_plan *p, PlanSolution *s)
{
	uint32_t n, nstep = 0, first = 0;
	const uint32_t *part;
	bool cut;

	part = plan_parts(s, &n, &cut);
	s->exact = !cut;
	for (uint32_t i = 0; i < n; first += part[i], i++) {
		PlanComponent *m = NEW(&p->scratch, PlanComponent);
		Set stage[PART_NODES];
		uint32_t nstage;

		m->first = first;
		m->n = part[i];
		make_part(p, s, &p->scratch, m);
		nstage = search_part(p, m, stage, &s->cost, &s->live, &s->exact);
		add_steps(s, m, stage, nstage, &nstep);
		arena_free(&p->scratch);
	}
}

/* Recomputes cost and live bytes from the steps. */
static void
tell(const hexc_plan *p, Arena *scratch, PlanSolution *s)
{
	uint64_t sync = (uint64_t)(p->o.sync_us * 1000 + 0.5);
	uint32_t *first = NEWN(scratch, uint32_t, p->nbuffer + 1), *last = NEWN(scratch, uint32_t,
	                                                                        p->nbuffer + 1);
	uint64_t *live = NEWN(scratch, uint64_t, s->nstage + 1);

	s->cost = s->serial = s->live = 0;
	for (uint32_t i = 0, end; i < s->n; i = end) {
		uint64_t load[PLAN_STREAMS] = { 0 }, most = 0, work = 0;
		bool several = false;

		for (end = i; end < s->n && s->step[end].stage == s->step[i].stage; end++) {
			const PlanStep *t = &s->step[end];

			load[t->stream] += s->ns[t->node];
			most = load[t->stream] > most ? load[t->stream] : most;
			work += s->work[t->node];
			s->serial += s->ns[t->node];
			several |= t->stream != s->step[i].stream;
		}
		s->cost += (most > work ? most : work) + (several ? sync : 0);
	}
	for (uint32_t i = 0; i < p->nuse; i++) {
		uint32_t b = p->use[i].buffer, stage = s->step[s->at[p->use[i].node]].stage;

		first[b] = !last[b] || stage < first[b] ? stage : first[b];
		last[b] = stage + 1 > last[b] ? stage + 1 : last[b];
	}
	for (uint32_t b = 0; b < p->nbuffer; b++)
		for (uint32_t k = first[b]; k < last[b] && !p->buffer[b].outside; k++) {
			live[k] += (p->buffer[b].bytes + p->o.align - 1) / p->o.align * p->o.align;
			s->live = live[k] > s->live ? live[k] : s->live;
		}
	s->critical = plan_critical(scratch, s);
}

/* Places buffers as `after` permits. */
static void
place(hexc_plan *p, PlanSolution *s, BitMatrix after)
{
	tell(p, &p->scratch, s);
	place_buffers(p, s, after);
	p->fits = true;
}

static int
solve(hexc_plan *p, void *arg)
{
	PlanSolution *s = arg;
	int code;

	s->n = p->nnode;
	s->ns = NEWN(&s->arena, uint64_t, s->n + 1);
	s->work = NEWN(&s->arena, uint64_t, s->n + 1);
	s->step = NEWN(&s->arena, PlanStep, s->n + 1);
	s->at = NEWN(&s->arena, uint32_t, s->n + 1);
	s->offset = NEWN(&s->arena, uint64_t, p->nbuffer + 1);
	if ((code = read_times(p, s)) || (code = plan_depend(p, s)))
		return code;
	search_parts(p, s);
	order_streams(s);
	place(p, s, order_stages(s));
	order_waits(p, s);
	return HEXC_OK;
}

int
hexc_plan_solve(hexc_plan *p)
{
	Arena empty;
	int code;

	if (!p)
		return HEXC_E_INVALID;
	arena_free(&p->s.arena);
	empty = p->s.arena;
	memset(&p->s, 0, sizeof p->s);
	p->s.arena = empty;
	p->solved = false;
	code = plan_try(p, &p->s.arena, solve, &p->s);
	p->solved = code == HEXC_OK;
	p->stale = true;
	return code;
}

/* ---- new sizes -------------------------------------------------------------------------------------- */

static int
refit(hexc_plan *p, void *arg)
{
	PlanSolution *s = &p->s;
	BitMatrix *after = arg;
	int code;

	if ((code = read_times(p, s)))
		return code;
	if (!s->after.word) {
		*after = bits_new(&s->arena, s->n);
		for (uint32_t k = 0; k < s->n; k++)
			for (uint32_t i = 0; i < k; i++)
				if (bit(bits_row(s->before, k), i))
					set_bit(bits_row(*after, i), k);
	}
	place(p, s, *after);
	return HEXC_OK;
}

int
hexc_plan_refit(hexc_plan *p)
{
	if (!p)
		return HEXC_E_INVALID;
	if (!p->solved)
		return plan_error(p, HEXC_E_INVALID,
		                  "it is not solved, or was changed since; call hexc_plan_solve");
	p->fits = false;
	return plan_try(p, &p->s.arena, refit, &p->s.after);
}

/* ---- what is told -------------------------------------------------------------------------------------- */

int
hexc_plan_describe(const hexc_plan *p, hexc_plan_info *out)
{
	hexc_plan_info i = HEXC_PLAN_INFO_INIT;
	const PlanSolution *s;

	if (!p || !out || !p->solved)
		return 0;
	s = &p->s;
	i.makespan_us = (double)s->cost / 1000;
	i.serial_us = (double)s->serial / 1000;
	i.critical_us = (double)s->critical / 1000;
	i.bytes = s->bytes;
	i.live = s->live;
	i.total = s->total;
	i.align = p->o.align;
	i.nodes = s->n;
	i.stages = s->nstage;
	i.streams = s->streams;
	i.waits = s->nwait;
	i.exact = s->exact;
	i.captures = p->captures;
	i.updates = p->updates;
	return hand_out(out, out->size, &i, sizeof i);
}

int
hexc_plan_step_at(const hexc_plan *p, size_t i, hexc_plan_step *out)
{
	hexc_plan_step t = HEXC_PLAN_STEP_INIT;

	if (!p || !out || !p->solved || i >= p->s.n)
		return 0;
	t.node = p->s.step[i].node;
	t.stage = p->s.step[i].stage;
	t.stream = p->s.step[i].stream;
	t.nwait = p->s.step[i].nwait;
	return hand_out(out, out->size, &t, sizeof t);
}

int64_t
hexc_plan_wait_at(const hexc_plan *p, size_t i, size_t k)
{
	if (!p || !p->solved || i >= p->s.n || k >= p->s.step[i].nwait)
		return -1;
	return p->s.wait[p->s.step[i].wait + k];
}

int
hexc_plan_offset(const hexc_plan *p, uint32_t buffer, uint64_t *offset)
{
	if (!p || !offset || !p->solved || buffer >= p->nbuffer)
		return HEXC_E_INVALID;
	*offset = p->s.offset[buffer];
	return HEXC_OK;
}
