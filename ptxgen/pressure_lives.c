/* pressure_lives.c - which values of PTX live where.
 *
 * What moves a value makes none.  What all lanes share, computed from parameters, the block's number and
 * constants, is in registers of a warp (uniform registers), which do not count; nor do predicates. */
#include "ptxgen/pressure.h"
#include <string.h>

/* A register that counts, as what it is a copy of; -1: it does not. */
static int
value_of(const Lives *l, int reg)
{
	while (l->of[reg] != reg)
		reg = l->of[reg];
	return l->lane[reg] && l->b.halves[reg] ? reg : -1;
}

static const int *
outs(const Lives *l, const Ins *x)
{
	return l->b.reg + x->first;
}

static const int *
ins(const Lives *l, const Ins *x)
{
	return outs(l, x) + x->nout;
}

/* Whatever is written by something that is not the same in all lanes, or of such, is not. */
static void
find_lanes(Lives *l)
{
	for (bool more = true; more;) {
		more = false;
		for (int i = 0; i < l->b.n; i++) {
			const Ins *x = &l->b.ins[i];
			bool lane = !x->uniform;

			for (int j = 0; j < x->nin && !lane; j++)
				lane = l->lane[ins(l, x)[j]];
			for (int j = 0; j < x->nout && lane; j++) {
				more |= !l->lane[outs(l, x)[j]];
				l->lane[outs(l, x)[j]] = true;
			}
		}
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
		const Ins *x = &l->b.ins[i];

		if (x->kind == INS_COPY && l->ndef[outs(l, x)[0]] == 1 && l->ndef[ins(l, x)[0]] == 1 &&
		    l->b.halves[outs(l, x)[0]] == l->b.halves[ins(l, x)[0]])
			l->of[outs(l, x)[0]] = ins(l, x)[0];
	}
}

static bool
is_no_code(const Lives *l, const Ins *x)
{
	return x->kind == INS_LABEL || (x->kind == INS_COPY && l->of[outs(l, x)[0]] != outs(l, x)[0]);
}

static void
find_parts(Lives *l)
{
	Part p = { .next = { -1, -1 } };

	for (int i = 0; i < l->b.n; i++) {
		const Ins *x = &l->b.ins[i];
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
		const Ins *x = &l->b.ins[l->part[i].to - 1];
		bool leaves = (x->kind == INS_BRA || x->kind == INS_RET) && !x->guarded;

		if (!leaves && i + 1 < l->npart)
			l->part[i].next[0] = i + 1;
		if (x->kind == INS_BRA && l->at[x->label] >= 0)
			l->part[i].next[1] = l->at[x->label];
	}
}

/* What a lane has in each part: as it was handed to those who come there, and where there are several, the
 * least. */
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
			const Ins *x = &l->b.ins[l->part[i].to - 1];
			int limit = x->kind == INS_LIMIT ? x->label : l->part[i].limit;

			for (int j = 0; j < 2 && l->part[i].reached; j++) {
				Part *p = l->part[i].next[j] < 0 ? NULL : &l->part[l->part[i].next[j]];

				if (!p || (p->reached && p->limit <= limit))
					continue;
				p->reached = more = true;
				p->limit = limit;
			}
		}
	}
}

/* What is read in a part before it is written there lives from part to part. */
static void
find_wide(Lives *l)
{
	for (int i = 0; i < l->b.nreg; i++)
		l->wide[i] = -1;
	for (int p = 0; p < l->npart; p++)
		for (int i = l->part[p].from; i < l->part[p].to; i++) {
			const Ins *x = &l->b.ins[i];

			if (is_no_code(l, x))
				continue;
			for (int j = 0; j < x->nin + (x->guarded ? x->nout : 0); j++) {
				int v = value_of(l, j < x->nin ? ins(l, x)[j] : outs(l, x)[j - x->nin]);

				if (v < 0 || l->seen[v] == p + 1 || l->wide[v] >= 0)
					continue;
				l->wide[v] = l->nwide;
				VEC_PUSH(l->b.a, l->who, l->nwide, l->cap_wide, v);
			}
			for (int j = 0; j < x->nout; j++) {
				int v = value_of(l, outs(l, x)[j]);

				if (v >= 0)
					l->seen[v] = p + 1;
			}
		}
}

static bool
has(const uint64_t *set, int i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static void
put(uint64_t *set, int i)
{
	set[i / 64] |= (uint64_t)1 << (i % 64);
}

/* Statement x is met on a way from the end. */
static void
meet(Lives *l, const Ins *x)
{
	for (int j = 0; j < x->nout + x->nin; j++) {
		int v = value_of(l, outs(l, x)[j]);

		if (v >= 0)
			(j < x->nout ? l->wrote : l->used)[v] = l->walks;
	}
}

/* Does x, from which on statements have been met, copy what lives on to what lives on, so that they have one
 * register from here on?  So do turns of a loop hand on what is read behind the loop, too. */
static bool
is_shared(const Lives *l, const Part *part, const Ins *x, int *dst)
{
	int from;

	if (x->kind != INS_COPY || x->guarded)
		return false;
	*dst = value_of(l, outs(l, x)[0]);
	from = value_of(l, ins(l, x)[0]);
	return *dst >= 0 && from >= 0 && l->wide[*dst] >= 0 && l->wide[from] >= 0 &&
	       has(part->out, l->wide[*dst]) && has(part->out, l->wide[from]) &&
	       l->b.halves[*dst] == l->b.halves[from] && l->wrote[*dst] != l->walks &&
	       l->used[*dst] != l->walks && l->wrote[from] != l->walks;
}

static void
find_same(Lives *l, Part *part)
{
	int dst;

	memset(part->same, 0, sizeof *part->same * (size_t)((l->nwide + 63) / 64));
	l->walks++;
	for (int i = part->to - 1; i >= part->from; i--) {
		if (is_shared(l, part, &l->b.ins[i], &dst))
			put(part->same, l->wide[dst]);
		meet(l, &l->b.ins[i]);
	}
}

/* Is x one of the copies in part->same? */
static bool
is_same(const Lives *l, const Part *part, const Ins *x)
{
	int v = x->kind == INS_COPY && !x->guarded ? value_of(l, outs(l, x)[0]) : -1;

	return v >= 0 && l->wide[v] >= 0 && has(part->same, l->wide[v]);
}

/* One walk through a part from its end, where `out` lives, to its begin: part->in; the most that live. */
static int
walk(Lives *l, int p)
{
	Part *part = &l->part[p];
	int words = (l->nwide + 63) / 64;
	int64_t now = 0, most;

	find_same(l, part);
	for (int i = 0; i < l->nwide; i++)
		if (has(part->out, i)) {
			l->seen[l->who[i]] = has(part->same, i) ? 0 : p + 1;
			now += has(part->same, i) ? 0 : l->b.halves[l->who[i]];
		} else {
			l->seen[l->who[i]] = 0;
		}
	most = now;
	for (int i = part->to - 1; i >= part->from; i--) {
		const Ins *x = &l->b.ins[i];
		int64_t dead = now; /* with what is written and read nowhere */

		if (is_no_code(l, x) || is_same(l, part, x))
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
	memset(part->in, 0, sizeof *part->in * (size_t)words);
	for (int i = 0; i < l->nwide; i++)
		if (l->seen[l->who[i]] == p + 1)
			put(part->in, i);
	return (int)ceil_div(most, 2);
}

static bool
join(uint64_t *to, const uint64_t *from, int words)
{
	bool more = false;

	for (int i = 0; i < words; i++) {
		more |= (from[i] & ~to[i]) != 0;
		to[i] |= from[i];
	}
	return more;
}

/* What lives from part to part. */
static void
find_lives(Lives *l)
{
	int words = (l->nwide + 63) / 64;
	bool *again = NEWN(l->b.a, bool, l->npart + 1);

	memset(l->seen, 0, sizeof *l->seen * (size_t)l->b.nreg);
	for (int p = 0; p < l->npart; p++) {
		l->part[p].in = NEWN(l->b.a, uint64_t, words + 1);
		l->part[p].out = NEWN(l->b.a, uint64_t, words + 1);
		l->part[p].same = NEWN(l->b.a, uint64_t, words + 1);
		again[p] = true;
	}
	for (bool more = true; more;) {
		more = false;
		for (int p = l->npart - 1; p >= 0; p--) {
			for (int j = 0; j < 2; j++) {
				int to = l->part[p].next[j];

				if (to >= 0)
					again[p] |= join(l->part[p].out, l->part[to].in, words);
			}
			if (again[p])
				l->part[p].live = walk(l, p);
			more |= again[p];
			again[p] = false;
		}
	}
}

/* Values of a statement among reg[0 .. n), each once, in v; how many. */
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

int
lives_steps(const Lives *l, const Part *p, Step *step, bool *live)
{
	int n = 0;

	for (int i = p->from; i < p->to; i++) {
		const Ins *x = &l->b.ins[i];
		Step *s = &step[n];

		if (is_no_code(l, x) || is_same(l, p, x))
			continue;
		s->x = x;
		s->value = NEWN(l->b.a, int, x->nout + x->nin + 1);
		s->nout = values(l, outs(l, x), x->nout, s->value);
		s->nin = values(l, ins(l, x), x->nin, s->value + s->nout);
		n++;
	}
	for (int i = 0; i < l->nwide; i++)
		live[l->who[i]] = has(p->out, i) && !has(p->same, i);
	return n;
}

int64_t
lives_bound(const Lives *l, const Part *p)
{
	int64_t sum = 0;

	for (int i = 0; i < l->nwide; i++)
		sum += has(p->in, i) || has(p->out, i) ? l->b.halves[l->who[i]] : 0;
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
	l->wide = NEWN(l->b.a, int, l->b.nreg + 1);
	l->seen = NEWN(l->b.a, int, l->b.nreg + 1);
	l->wrote = NEWN(l->b.a, int, l->b.nreg + 1);
	l->used = NEWN(l->b.a, int, l->b.nreg + 1);
	l->lane = NEWN(l->b.a, bool, l->b.nreg + 1);
	find_lanes(l);
	find_copies(l);
	find_parts(l);
	find_limits(l);
	find_wide(l);
	find_lives(l);
	return true;
}
