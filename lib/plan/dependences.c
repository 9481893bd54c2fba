/* dependences.c - implements hexc_plan.h: computes the dependences of nodes and splits a plan into
 * independent parts. */
#include "lib/plan/plan.h"
#include <string.h>

BitMatrix
bits_new(Arena *a, uint32_t n)
{
	BitMatrix b = { NULL, (n + 63) / 64 };

	b.word = NEWN(a, uint64_t, n * b.row + 1);
	return b;
}

/* Row i |= row. */
static void
bits_add(BitMatrix to, uint32_t i, const uint64_t *row)
{
	for (size_t w = 0; w < to.row; w++)
		to.word[i * to.row + w] |= row[w];
}

/* Groups the uses by node, in the order in which they were added. */
static void
sort_uses(hexc_plan *p, PlanSolution *s)
{
	BufferUse *use = NEWN(&s->arena, BufferUse, p->nuse + 1);
	uint32_t *at = NEWN(&s->arena, uint32_t, p->nnode + 2);

	for (uint32_t i = 0; i < p->nuse; i++)
		at[p->use[i].node + 2]++;
	for (uint32_t i = 0; i < p->nnode; i++)
		at[i + 2] += at[i + 1];
	for (uint32_t i = 0; i < p->nuse; i++)
		use[at[p->use[i].node + 1]++] = p->use[i];
	if (p->nuse)
		memcpy(p->use, use, p->nuse * sizeof *use);
	s->use = at;
}

/* State of a buffer during the walk over the nodes in order. */
typedef struct Touched {
	uint32_t writer;      /* the last writer, + 1 */
	uint32_t reader;      /* the first reader since: an index in readers, + 1 */
} Touched;

typedef struct BufferReader {
	uint32_t node, next; /* next: as Touched.reader */
} BufferReader;

/* Makes node u depend on earlier accesses of the buffer. */
static void
add_dependences(PlanSolution *s, Touched *b, BufferReader *reader, uint32_t *n, const BufferUse *u)
{
	uint64_t *pred = bits_row(s->pred, u->node);

	if (b->writer)
		set_bit(pred, b->writer - 1);
	if (!(u->how & HEXC_PLAN_WRITE)) {
		reader[*n] = (BufferReader){ u->node, b->reader };
		b->reader = ++*n;
		return;
	}
	for (uint32_t r = b->reader; r; r = reader[r - 1].next)
		set_bit(pred, reader[r - 1].node);
	*b = (Touched){ u->node + 1, 0 };
}

int
plan_depend(hexc_plan *p, PlanSolution *s)
{
	Touched *seen = NEWN(&s->arena, Touched, p->nbuffer + 1);
	BufferReader *reader = NEWN(&s->arena, BufferReader, p->nuse + 1);
	uint32_t n = 0;
	char name[120];

	sort_uses(p, s);
	s->pred = bits_new(&s->arena, p->nnode);
	for (uint32_t i = 0; i < p->nuse; i++) {
		const BufferUse *u = &p->use[i];

		/* only earlier nodes are recorded as writers */
		if (u->how & HEXC_PLAN_READ && !p->buffer[u->buffer].outside && !seen[u->buffer].writer)
			return plan_error(p, HEXC_E_INVALID,
			                  "%s reads buffer %u, which no preceding node writes; add a node "
			                  "that writes it, or declare it as a host buffer with "
			                  "hexc_plan_outside",
			                  plan_node_name(p, u->node, name), u->buffer);
		add_dependences(s, &seen[u->buffer], reader, &n, u);
	}
	for (uint32_t i = 0; i < p->nafter; i++)
		set_bit(bits_row(s->pred, p->after[i].to), p->after[i].from);
	for (uint32_t i = 0; i < p->nnode; i++)
		bits_row(s->pred, i)[i / 64] &= ~(UINT64_C(1) << i % 64);
	return HEXC_OK;
}

uint64_t
plan_critical(Arena *a, const PlanSolution *s)
{
	uint64_t *end = NEWN(a, uint64_t, s->n + 1), most = 0;

	for (uint32_t v = 0; v < s->n; v++) {
		for (uint32_t u = 0; u < v; u++)
			if (bit(bits_row(s->pred, v), u) && end[u] > end[v])
				end[v] = end[u];
		end[v] += s->ns[v];
		most = end[v] > most ? end[v] : most;
	}
	return most;
}

/* Finds the nodes that depend on, or precede, all others. A stage with such a node and another one is a
 * single group, so it may as well be several stages. */
static bool *
waists(PlanSolution *s)
{
	BitMatrix before = bits_new(&s->arena, s->n);
	bool *waist = NEWN(&s->arena, bool, s->n + 1);
	uint32_t *behind = NEWN(&s->arena, uint32_t, s->n + 1);

	for (uint32_t v = 0; v < s->n; v++) {
		uint32_t n = 0;

		for (uint32_t u = 0; u < v; u++)
			if (bit(bits_row(s->pred, v), u)) {
				bits_add(before, v, bits_row(before, u));
				set_bit(bits_row(before, v), u);
			}
		for (uint32_t u = 0; u < v; u++)
			if (bit(bits_row(before, v), u)) {
				behind[u]++;
				n++;
			}
		waist[v] = n == v;
	}
	for (uint32_t v = 0; v < s->n; v++)
		waist[v] = waist[v] && behind[v] == s->n - 1 - v;
	return waist;
}

uint32_t *
plan_parts(PlanSolution *s, uint32_t *n, bool *cut)
{
	const bool *waist = waists(s);
	uint32_t *part = NEWN(&s->arena, uint32_t, s->n + 1);

	*n = 0;
	*cut = false;
	for (uint32_t v = 0; v < s->n; v++) {
		bool start = v == 0 || waist[v] || waist[v - 1];

		if (!start && part[*n - 1] == PART_NODES)
			start = *cut = true;
		if (start)
			part[(*n)++] = 0;
		part[*n - 1]++;
	}
	return part;
}
