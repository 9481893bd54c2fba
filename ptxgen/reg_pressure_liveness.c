/* reg_pressure_liveness.c - computes the liveness of PTX values per basic block.
 *
 * A copy defines no new value. Warp-uniform values, computed from parameters, the block index and
 * constants, are in uniform registers, which are not counted; nor are predicates. */
#include "ptxgen/reg_pressure.h"
#include <string.h>

/* Returns a register's value, through copies; -1 if it is not counted. */
static int
value_of(const Lives *l, int reg)
{
	while (l->of[reg] != reg)
		reg = l->of[reg];
	return l->lane[reg] && l->b.halves[reg] ? reg : -1;
}

static const int *
outs(const Lives *l, const PressureIns *x)
{
	return l->b.reg + x->first;
}

static const int *
ins(const Lives *l, const PressureIns *x)
{
	return outs(l, x) + x->nout;
}

/* One list of numbers per item: pairs of a number and the index of the next pair, from 1. */
typedef struct Chains {
	int *first; /* 0: none */
	Numbers pair;
} Chains;

static void
push(Arena *a, Numbers *to, int x)
{
	VEC_PUSH(a, to->at, to->n, to->cap, x);
}

static void
chain(Arena *a, Chains *c, int of, int x)
{
	push(a, &c->pair, x);
	push(a, &c->pair, c->first[of]);
	c->first[of] = c->pair.n / 2;
}

static void
make_lane(Lives *l, const PressureIns *x, Numbers *todo)
{
	for (int j = 0; j < x->nout; j++) {
		int reg = outs(l, x)[j];

		if (!l->lane[reg])
			push(l->b.a, todo, reg);
		l->lane[reg] = true;
	}
}

/* Marks what is not warp-uniform: outputs of non-uniform statements, or of statements that read such a
 * value. */
static void
find_lanes(Lives *l)
{
	Chains readers = { .first = NEWN(l->b.a, int, l->b.nreg + 1) };
	Numbers todo = { 0 };

	for (int i = 0; i < l->b.n; i++) {
		const PressureIns *x = &l->b.ins[i];

		if (!x->uniform)
			make_lane(l, x, &todo);
		for (int j = 0; j < x->nin && x->uniform; j++)
			chain(l->b.a, &readers, ins(l, x)[j], i);
		l->work += 1 + x->nin;
	}
	while (todo.n)
		for (int e = readers.first[todo.at[--todo.n]]; e; e = readers.pair.at[2 * e - 1]) {
			make_lane(l, &l->b.ins[readers.pair.at[2 * e - 2]], &todo);
			l->work++;
		}
}

static void
find_copies(Lives *l)
{
	for (int i = 0; i < l->b.nreg; i++)
		l->of[i] = i;
	for (int i = 0; i < l->b.n; i++)
		for (int j = 0; j < l->b.ins[i].nout; j++)
			l->ndef[outs(l, &l->b.ins[i])[j]]++;
	for (int i = 0; i < l->b.n; i++) {
		const PressureIns *x = &l->b.ins[i];

		if (x->kind == INS_COPY && l->ndef[outs(l, x)[0]] == 1 && l->ndef[ins(l, x)[0]] == 1 &&
		    l->b.halves[outs(l, x)[0]] == l->b.halves[ins(l, x)[0]])
			l->of[outs(l, x)[0]] = ins(l, x)[0];
	}
}

static bool
is_no_code(const Lives *l, const PressureIns *x)
{
	return x->kind == INS_LABEL || (x->kind == INS_COPY && l->of[outs(l, x)[0]] != outs(l, x)[0]);
}

static void
find_parts(Lives *l)
{
	PtxBlock p = { .next = { -1, -1 } };

	for (int i = 0; i < l->b.n; i++) {
		const PressureIns *x = &l->b.ins[i];
		bool ends = x->kind == INS_BRA || x->kind == INS_RET || x->kind == INS_LIMIT ||
		            x->kind == INS_TRAP;

		if (x->kind == INS_LABEL && p.from < i) {
			p.to = i;
			VEC_PUSH(l->b.a, l->part, l->npart, l->cap, p);
			p.from = i;
		}
		if (x->kind == INS_LABEL)
			l->at[x->label] = l->npart;
		if (!ends && i + 1 < l->b.n)
			continue;
		p.to = i + 1;
		VEC_PUSH(l->b.a, l->part, l->npart, l->cap, p);
		p.from = i + 1;
	}
	for (int i = 0; i < l->npart; i++) {
		const PressureIns *x = &l->b.ins[l->part[i].to - 1];
		bool leaves = (x->kind == INS_BRA || x->kind == INS_RET) && !x->guarded;

		if (!leaves && i + 1 < l->npart)
			l->part[i].next[0] = i + 1;
		if (x->kind == INS_BRA && l->at[x->label] >= 0)
			l->part[i].next[1] = l->at[x->label];
	}
}

/* Computes the registers/thread of each block: propagated from predecessors, the minimum if there are
 * several. */
static void
find_limits(Lives *l)
{
	bool more = l->npart > 0;

	if (more)
		l->part[0].limit = l->b.limit;
	if (more)
		l->part[0].reached = true;
	while (more) {
		more = false;
		for (int i = 0; i < l->npart; i++) {
			const PressureIns *x = &l->b.ins[l->part[i].to - 1];
			int limit = x->kind == INS_LIMIT ? x->label : l->part[i].limit;

			for (int j = 0; j < 2 && l->part[i].reached; j++) {
				PtxBlock *p = l->part[i].next[j] < 0 ? NULL : &l->part[l->part[i].next[j]];

				if (!p || (p->reached && p->limit <= limit))
					continue;
				p->reached = more = true;
				p->limit = limit;
			}
		}
	}
}

/* Records a visit of statement x, walking backwards. */
static void
meet(Lives *l, const PressureIns *x)
{
	for (int j = 0; j < x->nout + x->nin; j++) {
		int v = value_of(l, outs(l, x)[j]);

		if (v >= 0)
			(j < x->nout ? l->wrote : l->used)[v] = l->walks;
	}
}

/* Is x a copy between two values that both stay live, with no other use after it, so that they share a
 * register from here on? Loop iterations forward a value that is also used after the loop in this way. */
static bool
is_shared(const Lives *l, int p, const PressureIns *x, int *dst)
{
	int from;

	if (x->kind != INS_COPY || x->guarded)
		return false;
	*dst = value_of(l, outs(l, x)[0]);
	from = value_of(l, ins(l, x)[0]);
	return *dst >= 0 && from >= 0 && l->behind[*dst] == p + 1 && l->behind[from] == p + 1 &&
	       l->b.halves[*dst] == l->b.halves[from] && l->wrote[*dst] != l->walks &&
	       l->used[*dst] != l->walks && l->wrote[from] != l->walks;
}

/* Finds the shared copies of block p, and moves their results to the end of its `out`. */
static void
find_same(Lives *l, int p)
{
	PtxBlock *part = &l->part[p];
	int kept = 0, dst;
	int *same = NEWN(l->b.a, int, part->out.n + 1);

	l->walks++;
	for (int i = part->to - 1; i >= part->from; i--) {
		PressureIns *x = &l->b.ins[i];

		x->same = is_shared(l, p, x, &dst);
		if (x->same) {
			l->behind[dst] = 0; /* temporarily */
			same[part->nsame++] = dst;
		}
		meet(l, x);
	}
	for (int i = 0; i < part->out.n; i++)
		if (l->behind[part->out.at[i]] == p + 1)
			part->out.at[kept++] = part->out.at[i];
	for (int i = 0; i < part->nsame; i++) {
		part->out.at[kept++] = same[i];
		l->behind[same[i]] = p + 1;
	}
}

/* Walks backwards through a block, from `out` to its start; returns the maximum pressure. */
static int
walk(Lives *l, int p)
{
	PtxBlock *part = &l->part[p];
	int64_t now = 0, most;

	for (int i = 0; i < part->out.n; i++)
		l->behind[part->out.at[i]] = p + 1;
	find_same(l, p);
	for (int i = 0; i < part->out.n; i++) {
		int v = part->out.at[i];
		bool same = i >= part->out.n - part->nsame;

		part->around += l->b.halves[v];
		l->seen[v] = same ? 0 : p + 1;
		now += same ? 0 : l->b.halves[v];
	}
	for (int i = 0; i < part->in.n; i++)
		part->around += l->behind[part->in.at[i]] == p + 1 ? 0 : l->b.halves[part->in.at[i]];
	l->work += part->out.n + part->in.n + part->to - part->from;
	most = now;
	for (int i = part->to - 1; i >= part->from; i--) {
		const PressureIns *x = &l->b.ins[i];
		int64_t dead = now; /* including values that are written but never read */

		if (is_no_code(l, x) || x->same)
			continue;
		for (int j = 0; j < x->nout; j++) {
			int v = value_of(l, outs(l, x)[j]);

			if (v < 0)
				continue;
			if (l->seen[v] != p + 1)
				dead += l->b.halves[v];
			else if (!x->guarded)
				now -= l->b.halves[v];
			if (!x->guarded)
				l->seen[v] = 0;
		}
		for (int j = 0; j < x->nin; j++) {
			int v = value_of(l, ins(l, x)[j]);

			if (v >= 0 && l->seen[v] != p + 1) {
				l->seen[v] = p + 1;
				now += l->b.halves[v];
			}
		}
		most = max64(most, max64(now, dead));
	}
	return (int)ceil_div(most, 2);
}

/* Blocks that write a value before any read, and blocks that read it before that. */
typedef struct Places {
	Chains writes, reads;   /* by value */
	Chains before;          /* by block: its predecessors */
	/* [npart] the last value written there, live at its start, at its end; from 1 */
	int *written, *in, *out;
	Numbers todo;
} Places;

static void
find_places(Lives *l, Places *s)
{
	Arena *a = l->b.a;

	for (int p = 0; p < l->npart; p++) {
		for (int j = 0; j < 2; j++)
			if (l->part[p].next[j] >= 0)
				chain(a, &s->before, l->part[p].next[j], p);
		for (int i = l->part[p].from; i < l->part[p].to; i++) {
			const PressureIns *x = &l->b.ins[i];

			if (is_no_code(l, x))
				continue;
			for (int j = 0; j < x->nin; j++) {
				int v = value_of(l, ins(l, x)[j]);

				if (v >= 0 && l->seen[v] != p + 1)
					chain(a, &s->reads, v, p);
			}
			for (int j = 0; j < x->nout && !x->guarded; j++) {
				int v = value_of(l, outs(l, x)[j]);

				if (v >= 0 && l->seen[v] != p + 1)
					chain(a, &s->writes, v, p);
				if (v >= 0)
					l->seen[v] = p + 1;
			}
		}
	}
	memset(l->seen, 0, sizeof *l->seen * (size_t)l->b.nreg);
}

/* Marks value v live at the start of block p. */
static void
lives_before(Lives *l, Places *s, int v, int p)
{
	if (s->in[p] == v + 1)
		return;
	s->in[p] = v + 1;
	push(l->b.a, &l->part[p].in, v);
	push(l->b.a, &s->todo, p);
}

/* Propagates liveness of v backwards from its reads to its writes. */
static void
find_life(Lives *l, Places *s, int v)
{
	for (int e = s->writes.first[v]; e; e = s->writes.pair.at[2 * e - 1])
		s->written[s->writes.pair.at[2 * e - 2]] = v + 1;
	for (int e = s->reads.first[v]; e; e = s->reads.pair.at[2 * e - 1])
		lives_before(l, s, v, s->reads.pair.at[2 * e - 2]);
	while (s->todo.n)
		for (int e = s->before.first[s->todo.at[--s->todo.n]]; e; e = s->before.pair.at[2 * e - 1]) {
			int p = s->before.pair.at[2 * e - 2];

			l->work++;
			if (s->out[p] == v + 1)
				continue;
			s->out[p] = v + 1;
			push(l->b.a, &l->part[p].out, v);
			if (s->written[p] != v + 1)
				lives_before(l, s, v, p);
		}
}

/* Computes liveness across blocks; the work is proportional to the live ranges, not to values times
 * blocks. */
static void
find_lives(Lives *l)
{
	Arena *a = l->b.a;
	Places s = { .writes.first = NEWN(a, int, l->b.nreg + 1), .reads.first = NEWN(a, int, l->b.nreg + 1),
		     .before.first = NEWN(a, int, l->npart + 1) };

	s.written = NEWN(a, int, l->npart + 1);
	s.in = NEWN(a, int, l->npart + 1);
	s.out = NEWN(a, int, l->npart + 1);
	find_places(l, &s);
	for (int v = 0; v < l->b.nreg; v++)
		find_life(l, &s, v);
	for (int p = 0; p < l->npart; p++)
		l->part[p].live = walk(l, p);
}

/* Stores the distinct values of reg[0 .. n) in v; returns their number. */
static int
values(const Lives *l, const int *reg, int n, int *v)
{
	int k = 0;

	for (int i = 0; i < n; i++) {
		int j = 0, value = value_of(l, reg[i]);

		while (j < k && v[j] != value)
			j++;
		if (value >= 0 && j == k)
			v[k++] = value;
	}
	return k;
}

/* Returns the index of value v in the section. */
static int
number_of(Lives *l, Steps *s, int v)
{
	if (l->numbered[v] != l->pieces) {
		l->numbered[v] = l->pieces;
		l->number[v] = s->nvalue;
		VEC_PUSH(l->b.a, s->halves, s->nvalue, s->cap, l->b.halves[v]);
	}
	return l->number[v];
}

void
lives_steps(Lives *l, const PtxBlock *p, int turns, Steps *out)
{
	int nlive = p->out.n - p->nsame;

	*out = (Steps){ .step = NEWN(l->b.a, PressureStep, (p->to - p->from) * turns + 1) };
	l->pieces++;
	for (int i = 0; i < nlive; i++) /* they have the first indices */
		number_of(l, out, p->out.at[i]);
	for (int i = p->from; i < p->to; i++) {
		const PressureIns *x = &l->b.ins[i];
		PressureStep *s = &out->step[out->n];

		if (is_no_code(l, x) || x->same)
			continue;
		s->x = x;
		s->value = NEWN(l->b.a, int, x->nout + x->nin + 1);
		s->nout = values(l, outs(l, x), x->nout, s->value);
		s->nin = values(l, ins(l, x), x->nin, s->value + s->nout);
		for (int j = 0; j < s->nout + s->nin; j++)
			s->value[j] = number_of(l, out, s->value[j]);
		out->n++;
	}
	out->live = NEWN(l->b.a, bool, out->nvalue + 1);
	for (int i = 0; i < nlive; i++)
		out->live[i] = true;
	for (int i = out->n; i < out->n * turns; i++)
		out->step[i] = out->step[i - out->n];
	out->n *= turns;
	out->work = out->n + out->nvalue;
}

int64_t
lives_bound(const Lives *l, const PtxBlock *p)
{
	int64_t sum = p->around;

	for (int i = p->from; i < p->to; i++)
		for (int j = 0; j < l->b.ins[i].nout; j++)
			sum += l->b.halves[outs(l, &l->b.ins[i])[j]];
	return ceil_div(sum, 2);
}

bool
lives_find(Lives *l, const char *ptx, const char *name)
{
	if (!pressure_read(&l->b, ptx, name))
		return false;
	l->at = NEWN(l->b.a, int, l->b.nlabel + 1);
	for (int i = 0; i < l->b.nlabel; i++)
		l->at[i] = -1;
	l->ndef = NEWN(l->b.a, int, l->b.nreg + 1);
	l->of = NEWN(l->b.a, int, l->b.nreg + 1);
	l->seen = NEWN(l->b.a, int, l->b.nreg + 1);
	l->behind = NEWN(l->b.a, int, l->b.nreg + 1);
	l->number = NEWN(l->b.a, int, l->b.nreg + 1);
	l->numbered = NEWN(l->b.a, int, l->b.nreg + 1);
	l->wrote = NEWN(l->b.a, int, l->b.nreg + 1);
	l->used = NEWN(l->b.a, int, l->b.nreg + 1);
	l->lane = NEWN(l->b.a, bool, l->b.nreg + 1);
	find_lanes(l);
	find_copies(l);
	find_parts(l);
	find_limits(l);
	find_lives(l);
	return true;
}
