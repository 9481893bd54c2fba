/* stream_order.c - implements hexc_plan.h: assigns launches to streams and computes which launch waits for
 * which. */
#include "lib/plan/plan.h"
#include <string.h>

#define NONE UINT32_MAX

/* ---- streams ----------------------------------------------------------------------------------- */

/* Returns how many waits are saved if the lane's steps in [i, end) run on the stream whose last step is
 * `last`: 1 if it is a predecessor of the first one. */
static uint32_t
saved(const PlanSolution *s, uint32_t i, uint32_t end, uint32_t lane, uint32_t last)
{
	uint32_t n = 0;

	for (; last != NONE && i < end; i++)
		if (s->step[i].stream == lane &&
		    bit(bits_row(s->pred, s->step[i].node), s->step[last].node))
			n++;
	return n;
}

/* Assigns each lane of a stage, steps [first, end), to the free stream that saves most waits. */
static void
stage_streams(PlanSolution *s, uint32_t first, uint32_t end, uint32_t last[PLAN_STREAMS])
{
	uint32_t lanes = 0, to[PLAN_STREAMS], taken = 0;

	for (uint32_t i = first; i < end; i++)
		lanes = s->step[i].stream >= lanes ? s->step[i].stream + 1 : lanes;
	for (uint32_t l = 0; l < lanes; l++) {
		uint32_t best = NONE, most = 0;

		for (uint32_t t = 0; t < PLAN_STREAMS; t++) {
			uint32_t n = saved(s, first, end, l, last[t]);

			if (!(taken >> t & 1) && (best == NONE || n > most)) {
				best = t;
				most = n;
			}
		}
		to[l] = best;
		taken |= 1u << best;
	}
	for (uint32_t i = first; i < end; i++) {
		s->step[i].stream = to[s->step[i].stream];
		last[s->step[i].stream] = i;
		s->streams = s->step[i].stream >= s->streams ? s->step[i].stream + 1 : s->streams;
	}
}

void
order_streams(PlanSolution *s)
{
	uint32_t last[PLAN_STREAMS], end;

	s->streams = 1;
	for (uint32_t t = 0; t < PLAN_STREAMS; t++)
		last[t] = NONE;
	for (uint32_t i = 0; i < s->n; i = end) {
		for (end = i; end < s->n && s->step[end].stage == s->step[i].stage;)
			end++;
		stage_streams(s, i, end, last);
	}
}

BitMatrix
order_stages(PlanSolution *s)
{
	BitMatrix after = bits_new(&s->arena, s->n);

	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = i + 1; k < s->n; k++)
			if (s->step[k].stage > s->step[i].stage || s->step[k].stream == s->step[i].stream)
				set_bit(bits_row(after, i), k);
	return after;
}

/* ---- waits -------------------------------------------------------------------------------------- */

/* Orders the steps in b after earlier steps in a. */
static void
hand_on(BitMatrix need, const uint64_t *a, const uint64_t *b)
{
	for (size_t w = 0; w < need.row; w++)
		for (uint64_t in = b[w]; in; in &= in - 1) {
			uint32_t k = (uint32_t)(64 * w) + (uint32_t)CTZ64((int64_t)in);

			for (size_t v = 0; v < w; v++)
				bits_row(need, k)[v] |= a[v];
			bits_row(need, k)[w] |= a[w] & ((UINT64_C(1) << k % 64) - 1);
		}
}

/* Row k: steps that must precede step k: its predecessors' steps, and steps that use its bytes as another
 * buffer. */
static BitMatrix
needed(const hexc_plan *p, PlanSolution *s)
{
	BitMatrix need = bits_new(&s->arena, s->n), user = { NULL, need.row };

	user.word = NEWN(&s->arena, uint64_t, p->nbuffer * user.row + 1);
	for (uint32_t i = 0; i < p->nuse; i++)
		set_bit(bits_row(user, p->use[i].buffer), s->at[p->use[i].node]);
	for (uint32_t k = 0; k < s->n; k++)
		for (uint32_t u = 0; u < s->n; u++)
			if (bit(bits_row(s->pred, s->step[k].node), u))
				set_bit(bits_row(need, k), s->at[u]);
	for (uint32_t a = 0; a < p->nbuffer; a++)
		for (uint32_t b = 0; b < p->nbuffer; b++) {
			const Buffer *x = &p->buffer[a], *y = &p->buffer[b];

			if (a == b || x->outside || y->outside || s->offset[a] >= s->offset[b] + y->bytes ||
			    s->offset[b] >= s->offset[a] + x->bytes)
				continue;
			hand_on(need, bits_row(user, a), bits_row(user, b));
		}
	return need;
}

static void
behind(PlanSolution *s, uint64_t *row, uint32_t i)
{
	const uint64_t *other = bits_row(s->before, i);

	for (size_t w = 0; w < s->before.row; w++)
		row[w] |= other[w];
	set_bit(row, i);
}

/* Adds waits from the latest step back: a step that precedes a waited-for step needs no separate wait. */
static void
wait_for(PlanSolution *s, uint32_t k, const uint64_t *need)
{
	s->step[k].wait = s->nwait;
	for (uint32_t i = k; i-- > 0;)
		if (bit(need, i) && !bit(bits_row(s->before, k), i)) {
			s->wait[s->nwait++] = i;
			behind(s, bits_row(s->before, k), i);
		}
	s->step[k].nwait = s->nwait - s->step[k].wait;
}

static void
count_events(PlanSolution *s)
{
	s->event = NEWN(&s->arena, uint32_t, s->n + 1);
	s->nevent = 1;
	for (uint32_t i = 0; i < s->nwait + s->nlast; i++) {
		uint32_t k = i < s->nwait ? s->wait[i] : s->last[i - s->nwait];

		if (!s->event[k])
			s->event[k] = s->nevent++;
	}
}

void
order_waits(const hexc_plan *p, PlanSolution *s)
{
	BitMatrix need = needed(p, s);
	uint32_t last[PLAN_STREAMS];
	uint64_t *end = NEWN(&s->arena, uint64_t, need.row + 1);

	s->before = bits_new(&s->arena, s->n);
	s->wait = NEWN(&s->arena, uint32_t, s->n * (size_t)s->streams + 1);
	s->nwait = s->first = s->nlast = 0;
	for (uint32_t t = 0; t < PLAN_STREAMS; t++)
		last[t] = NONE;
	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t t = s->step[k].stream;

		if (last[t] != NONE)
			behind(s, bits_row(s->before, k), last[t]);
		wait_for(s, k, bits_row(need, k));
		if (t > 0 && last[t] == NONE && s->step[k].nwait == 0)
			s->first |= 1u << t;
		last[t] = k;
	}
	if (last[0] != NONE)
		behind(s, end, last[0]);
	for (uint32_t k = s->n; k-- > 0;)
		if (!bit(end, k)) {
			s->last[s->nlast++] = k;
			behind(s, end, k);
		}
	count_events(s);
}
