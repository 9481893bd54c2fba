/* test_litmus_model.c - tests the simulator against the axioms of the PTX memory model (PTX ISA, "Memory
 * Consistency Model") by litmus tests. For each program all candidate executions are enumerated: reads-from,
 * the coherence order of each location, the Fence-SC order. From them follow synchronizes-with, causality
 * order, and whether the axioms hold and two accesses are in a data race. The simulator's runs must be among
 * the allowed outcomes. It must report a race where all executions of the outcome have one, and none where no
 * execution does. */
#include "test/check.h"
#include "test/sim/sanitizer/litmus.h"

/* ---- programs ---- */

/* Operations beside those that litmus.h tells of: 'w', 'r': weak, and then not by strength; 'c': a weak read
 * that is done only if what was read before it was not 0; 'C': a strong write, likewise. */
static const Shape shapes[] = {
	{ "MP", 2, { { { 'W', 0, 1 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'R', 0, 0 } } } },
	{ "SB", 2, { { { 'W', 0, 1 }, { 'R', 1, 0 } }, { { 'W', 1, 1 }, { 'R', 0, 0 } } } },
	{ "LB", 2, { { { 'R', 0, 0 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'W', 0, 1 } } } },
	{ "2+2W", 2, { { { 'W', 0, 1 }, { 'W', 1, 2 } }, { { 'W', 1, 1 }, { 'W', 0, 2 } } } },
	{ "R", 2, { { { 'W', 0, 1 }, { 'W', 1, 1 } }, { { 'W', 1, 2 }, { 'R', 0, 0 } } } },
	{ "S", 2, { { { 'W', 0, 2 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'W', 0, 1 } } } },
	{ "CoRR", 2, { { { 'W', 0, 1 }, { 'W', 0, 2 } }, { { 'R', 0, 0 }, { 'R', 0, 0 } } } },
	{ "CoRW", 2, { { { 'W', 0, 1 } }, { { 'R', 0, 0 }, { 'W', 0, 2 } } } },
	{ "MP, weak data", 2, { { { 'w', 0, 1 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'c', 0, 0 } } } },
	{ "MP, weak data, read always", 2,
	  { { { 'w', 0, 1 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'r', 0, 0 } } } },
	{ "MP, weak flag", 2, { { { 'w', 0, 1 }, { 'w', 1, 1 } }, { { 'R', 1, 0 }, { 'c', 0, 0 } } } },
	{ "WRC", 3,
	  { { { 'W', 0, 1 } }, { { 'R', 0, 0 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'R', 0, 0 } } } },
	{ "ISA2, weak data", 3, { { { 'w', 0, 1 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'C', 2, 1 } },
	                          { { 'R', 2, 0 }, { 'c', 0, 0 } } } },
	{ "RWC", 3,
	  { { { 'W', 0, 1 } }, { { 'R', 0, 0 }, { 'R', 1, 0 } }, { { 'W', 1, 1 }, { 'R', 0, 0 } } } },
	{ "IRIW", 4, { { { 'W', 0, 1 } }, { { 'W', 1, 1 } }, { { 'R', 0, 0 }, { 'R', 1, 0 } },
	               { { 'R', 1, 0 }, { 'R', 0, 0 } } } },
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };
enum { RELAXED, ACQ_REL, FENCE_ACQ_REL, FENCE_SC, NSTRENGTHS };
static const char *const strength_names[] = { "relaxed", "acquire and release", "fence.acq_rel", "fence.sc" };

/* A program: a shape, how its strong operations are made, and the scope of each thread's. */
typedef struct Program { const Shape *s; int strength, place, scope[MAX_THREADS]; } Program;

static bool
is_write(Op o)
{
	return o.what == 'W' || o.what == 'w' || o.what == 'C';
}

static bool
is_weak(Op o)
{
	return o.what == 'w' || o.what == 'r' || o.what == 'c';
}

static bool
is_conditional(Op o)
{
	return o.what == 'c' || o.what == 'C';
}

static int
count_ops(const Shape *s, int thread)
{
	int n = 0;

	while (n < MAX_OPS && s->op[thread][n].what)
		n++;
	return n;
}

/* ---- as text ---- */

static const char *
order_of(const Program *p, Op o)
{
	return p->strength != ACQ_REL ? "relaxed" : is_write(o) ? "release" : "acquire";
}

static void
put_op(Text *t, const Program *p, int thread, int k)
{
	Op o = p->s->op[thread][k];
	const char *sc = scope_names[p->scope[thread]];
	unsigned at = litmus_at[o.at];
	char sem[40] = "weak";

	if (is_conditional(o))
		put(t, "setp.eq.u32 %%p2, %%r2, 0; @%%p2 ret;\n");
	if (k && p->strength >= FENCE_ACQ_REL)
		put(t, "fence.%s.%s;\n", p->strength == FENCE_SC ? "sc" : "acq_rel", sc);
	if (!is_weak(o))
		snprintf(sem, sizeof sem, "%s.%s", order_of(p, o), sc);
	if (is_write(o))
		put(t, "mov.u32 %%r3, %d; st.%s.global.u32 [%%d0+%u], %%r3;\n", o.value, sem, at);
	else
		put(t, "ld.%s.global.u32 %%r2, [%%d0+%u]; st.global.u32 [%%d0+%d], %%r2;\n", sem, at,
		    256 + 4 * (MAX_OPS * thread + k));
}

static void
program_text(Text *t, const Program *p)
{
	begin(t, p->place, p->s->threads);
	for (int i = 0; i < p->s->threads; i++) {
		put(t, "T%d:\n", i);
		for (int k = 0; k < count_ops(p->s, i); k++)
			put_op(t, p, i, k);
		put(t, "ret;\n");
	}
	put(t, "}\n");
}

/* ---- candidate executions ---- */

enum { MAX_EVENTS = LOCATIONS + MAX_THREADS * (2 * MAX_OPS - 1) };
enum { INIT = -1 };

typedef struct Event {
	int thread;             /* INIT: what is there before */
	char what;              /* 'W', 'R', 'F' */
	bool strong, acquire, release, sc;
	int scope, at, value, read; /* read: its place among the outcome's */
} Event;

typedef unsigned Set;           /* of events */

typedef struct Candidate {
	const Program *p;
	Event e[MAX_EVENTS];
	int n;
	Set done;               /* threads that do their conditional operation */
	int from[MAX_EVENTS];   /* reads: the write */
	int co[MAX_EVENTS];     /* writes: place in the coherence order of the location */
	int sc[MAX_EVENTS];     /* fence.sc: place in the Fence-SC order */
	Set cause[MAX_EVENTS];  /* what comes after it in causality order */
} Candidate;

/* What was seen, and of all executions with this outcome: is one allowed, one racy, one not? */
typedef struct Verdict { unsigned read[MAX_THREADS * MAX_OPS], memory[LOCATIONS]; bool racy, clean; } Verdict;
typedef struct Verdicts { Verdict v[600]; int n; } Verdicts;

static bool
morally_strong(const Candidate *c, int a, int b)
{
	const Event *x = &c->e[a], *y = &c->e[b];

	if (x->thread == y->thread)
		return true;
	return x->strong && y->strong && x->scope >= c->p->place && y->scope >= c->p->place;
}

static bool
before(const Candidate *c, int a, int b)        /* in program order */
{
	return c->e[a].thread == c->e[b].thread && a < b && c->e[a].thread != INIT;
}

static bool
observes(const Candidate *c, int w, int r)
{
	return c->e[r].what == 'R' && c->from[r] == w && c->e[w].thread != INIT && c->e[w].strong &&
	       c->e[r].strong && morally_strong(c, w, r);
}

/* Does a release pattern that begins with f end in the write w? */
static bool
releases(const Candidate *c, int f, int w)
{
	const Event *x = &c->e[f];

	if (c->e[w].what != 'W' || !c->e[w].strong || !x->release)
		return false;
	return f == w || (before(c, f, w) && (x->what == 'F' || x->at == c->e[w].at));
}

/* Does an acquire pattern that begins with the read r end in l? */
static bool
acquires(const Candidate *c, int r, int l)
{
	const Event *x = &c->e[l];

	if (c->e[r].what != 'R' || !c->e[r].strong || !x->acquire)
		return false;
	return r == l || (before(c, r, l) && (x->what == 'F' || x->at == c->e[r].at));
}

static bool
synchronizes(const Candidate *c, int a, int b)
{
	if (c->e[a].thread == c->e[b].thread || !morally_strong(c, a, b))
		return false;
	if (c->e[a].sc && c->e[b].sc && c->sc[a] < c->sc[b])
		return true;
	for (int w = 0; w < c->n; w++)
		for (int r = 0; r < c->n; r++)
			if (observes(c, w, r) && releases(c, a, w) && acquires(c, r, b))
				return true;
	return false;
}

static void
causality(Candidate *c)
{
	Set base[MAX_EVENTS] = { 0 };

	for (int a = 0; a < c->n; a++)
		for (int b = 0; b < c->n; b++)
			if (before(c, a, b) || synchronizes(c, a, b) ||
			    (c->e[a].thread == INIT && c->e[b].thread != INIT))
				base[a] |= 1u << b;
	for (int z = 0; z < c->n; z++)
		for (int a = 0; a < c->n; a++)
			if (base[a] >> z & 1)
				base[a] |= base[z];
	for (int a = 0; a < c->n; a++) {
		c->cause[a] = base[a];
		for (int z = 0; z < c->n; z++)
			if (observes(c, a, z))
				c->cause[a] |= base[z];
	}
}

static bool
caused(const Candidate *c, int a, int b)
{
	return c->cause[a] >> b & 1;
}

static bool
overlap(const Candidate *c, int a, int b)
{
	return a != b && c->e[a].what != 'F' && c->e[b].what != 'F' && c->e[a].at == c->e[b].at;
}

/* Communication order, one step: read from, coherence, from-read. */
static bool
communicates(const Candidate *c, int a, int b)
{
	const Event *x = &c->e[a], *y = &c->e[b];

	if (!overlap(c, a, b))
		return false;
	if (x->what == 'W')
		return y->what == 'W' ? c->co[a] < c->co[b] : c->from[b] == a;
	return y->what == 'W' && c->co[c->from[a]] < c->co[b];
}

/* Axiom "Sequential Consistency Per Location": with all that is morally strong. */
static bool
coherent_per_location(const Candidate *c)
{
	Set to[MAX_EVENTS] = { 0 };

	for (int a = 0; a < c->n; a++)
		for (int b = 0; b < c->n; b++)
			if (overlap(c, a, b) && (before(c, a, b) || c->e[a].thread == INIT ||
			                         (communicates(c, a, b) && morally_strong(c, a, b))))
				to[a] |= 1u << b;
	for (int z = 0; z < c->n; z++)
		for (int a = 0; a < c->n; a++)
			if (to[a] >> z & 1)
				to[a] |= to[z];
	for (int a = 0; a < c->n; a++)
		if (to[a] >> a & 1)
			return false;
	return true;
}

static bool
axioms_hold(const Candidate *c)
{
	for (int a = 0; a < c->n; a++)
		for (int b = 0; b < c->n; b++) {
			const Event *x = &c->e[a], *y = &c->e[b];
			if (!caused(c, a, b))
				continue;
			if (a == b && x->what != 'R')
				return false;
			if (overlap(c, a, b) && x->what == 'W' && y->what == 'W' && c->co[a] > c->co[b])
				return false;   /* Coherence */
			if (x->sc && y->sc && morally_strong(c, a, b) && c->sc[a] > c->sc[b])
				return false;   /* Fence-SC */
			if (overlap(c, a, b) && x->what == 'R' && y->what == 'W' && c->from[a] == b)
				return false;   /* Causality: of what comes later */
			if (overlap(c, a, b) && x->what == 'W' && y->what == 'R' &&
			    c->co[c->from[b]] < c->co[a])
				return false;   /* Causality: of what was overwritten */
		}
	return coherent_per_location(c);
}

static bool
is_racy(const Candidate *c)
{
	for (int a = 0; a < c->n; a++)
		for (int b = a + 1; b < c->n; b++)
			if (overlap(c, a, b) && (c->e[a].what == 'W' || c->e[b].what == 'W') &&
			    !morally_strong(c, a, b) && !caused(c, a, b) && !caused(c, b, a))
				return true;
	return false;
}

static void
judge(Candidate *c, Verdicts *out)
{
	Verdict v, *found = NULL;

	memset(&v, 0, sizeof v);
	causality(c);
	if (!axioms_hold(c))
		return;
	for (int i = 0; i < c->n; i++) {
		const Event *x = &c->e[i];
		bool last = x->what == 'W';
		for (int k = 0; k < c->n; k++)
			last &= !(overlap(c, i, k) && c->e[k].what == 'W' && c->co[k] > c->co[i]);
		if (last)
			v.memory[x->at] = (unsigned)x->value;
		if (x->what == 'R')
			v.read[x->read] = (unsigned)c->e[c->from[i]].value;
	}
	for (int i = 0; i < out->n && !found; i++)
		if (!memcmp(out->v[i].read, v.read, sizeof v.read) &&
		    !memcmp(out->v[i].memory, v.memory, sizeof v.memory))
			found = &out->v[i];
	if (!found) {
		ck_assert_int_lt(out->n, 600);
		found = &out->v[out->n++];
		*found = v;
	}
	if (is_racy(c))
		found->racy = true;
	else
		found->clean = true;
}

static void choose(Candidate *c, int i, Verdicts *out);

/* Do both have a place in the same order: of the fences, or of the writes of one location? */
static bool
ordered_together(const Candidate *c, int a, int b)
{
	return c->e[a].sc ? c->e[b].sc : overlap(c, a, b) && c->e[a].what == 'W' && c->e[b].what == 'W';
}

/* Each place that is left in the order that event i belongs to. */
static void
place(Candidate *c, int i, int *order, Verdicts *out)
{
	int places = 1;

	for (int k = 0; k < c->n; k++)
		places += k != i && ordered_together(c, i, k);
	for (int at = 0; at < places; at++) {
		bool taken = !c->e[i].sc && (at == 0) != (c->e[i].thread == INIT);
		for (int k = 0; k < i; k++)
			taken |= ordered_together(c, i, k) && order[k] == at;
		if (taken)
			continue;
		order[i] = at;
		choose(c, i + 1, out);
	}
}

/* An operation behind a condition was done: so the read before it has not read 0. */
static bool
conditions_hold(const Candidate *c)
{
	for (int i = 0; i < c->n; i++) {
		const Event *x = &c->e[i];
		int k = x->read % MAX_OPS + 1;
		if (x->what != 'R' || k >= count_ops(c->p->s, x->thread) ||
		    !is_conditional(c->p->s->op[x->thread][k]))
			continue;
		if ((c->e[c->from[i]].value != 0) != (c->done >> x->thread & 1))
			return false;
	}
	return true;
}

static void
choose(Candidate *c, int i, Verdicts *out)
{
	if (i == c->n) {
		if (conditions_hold(c))
			judge(c, out);
	} else if (c->e[i].what == 'R') {
		for (int w = 0; w < c->n; w++)
			if (overlap(c, i, w) && c->e[w].what == 'W') {
				c->from[i] = w;
				choose(c, i + 1, out);
			}
	} else if (c->e[i].what == 'W') {
		place(c, i, c->co, out);
	} else if (c->e[i].sc) {
		place(c, i, c->sc, out);
	} else {
		choose(c, i + 1, out);
	}
}

/* ---- all executions of a program ---- */

static void
add_event(Candidate *c, int thread, int k)
{
	const Program *p = c->p;
	Op o = p->s->op[thread][k];
	Event *x = &c->e[c->n];

	if (k && p->strength >= FENCE_ACQ_REL) {
		*x = (Event){ .thread = thread, .what = 'F', .acquire = true, .release = true };
		x->strong = true;
		x->sc = p->strength == FENCE_SC;
		x->scope = p->scope[thread];
		x->at = -1;
		x++;
		c->n++;
	}
	*x = (Event){ .thread = thread, .what = is_write(o) ? 'W' : 'R', .strong = !is_weak(o), .at = o.at };
	x->scope = p->scope[thread];
	x->value = o.value;
	x->read = MAX_OPS * thread + k;
	x->acquire = x->strong && x->what == 'R' && p->strength == ACQ_REL;
	x->release = x->strong && x->what == 'W' && p->strength == ACQ_REL;
	c->n++;
}

static void
executions(const Program *p, Verdicts *out)
{
	Set all = 0;

	out->n = 0;
	for (int i = 0; i < p->s->threads; i++)
		for (int k = 0; k < count_ops(p->s, i); k++)
			all |= (unsigned)is_conditional(p->s->op[i][k]) << i;
	for (Set done = 0; done <= all; done++) {
		Candidate c;
		if (done & ~all)
			continue;
		memset(&c, 0, sizeof c);
		c.p = p;
		c.done = done;
		for (int i = 0; i < LOCATIONS; i++)
			c.e[c.n++] = (Event){ INIT, 'W', false, false, false, false, SYS, i, 0, 0 };
		for (int i = 0; i < p->s->threads; i++)
			for (int k = 0; k < count_ops(p->s, i); k++)
				if (!is_conditional(p->s->op[i][k]) || done >> i & 1)
					add_event(&c, i, k);
		choose(&c, 0, out);
	}
}

static const Verdict *
verdict_of(const Verdicts *all, const Ran *r)
{
	for (int i = 0; i < all->n; i++)
		if (!memcmp(all->v[i].read, r->read, sizeof r->read) &&
		    !memcmp(all->v[i].memory, r->memory, sizeof r->memory))
			return &all->v[i];
	return NULL;
}

/* ---- what the model says of programs that all know ---- */

static bool
allows(const char *shape, int strength, const unsigned *read, const unsigned *memory)
{
	static Verdicts all;
	Program p = { NULL, strength, GRID, { GPU, GPU, GPU, GPU } };
	Ran r;

	memset(&r, 0, sizeof r);
	memcpy(r.read, read, sizeof r.read);
	memcpy(r.memory, memory, sizeof r.memory);
	for (int i = 0; i < NSHAPES; i++)
		if (!strcmp(shapes[i].name, shape))
			p.s = &shapes[i];
	executions(&p, &all);
	return verdict_of(&all, &r) != NULL;
}

/* Outcomes that no interleaving has, and the strengths that forbid them.  ISA: message passing and load
 * buffering need a release and an acquire, or fences; store buffering, 2+2W, R, RWC and IRIW an order of the
 * fences themselves. */
TEST(known_outcomes)
{
	static const struct {
		const char *shape;
		bool forbidden[NSTRENGTHS];
		unsigned read[8], memory[LOCATIONS];
	}
	known[] = {
		{ "MP", { false, true, true, true }, { 0, 0, 1, 0 }, { 1, 1, 0 } },
		{ "SB", { false, false, false, true }, { 0 }, { 1, 1, 0 } },
		{ "LB", { false, true, true, true }, { 1, 0, 1, 0 }, { 1, 1, 0 } },
		{ "2+2W", { false, false, false, true }, { 0 }, { 1, 1, 0 } },
		{ "R", { false, false, false, true }, { 0 }, { 1, 2, 0 } },
		{ "S", { false, true, true, true }, { 0, 0, 1, 0 }, { 2, 1, 0 } },
		{ "CoRR", { true, true, true, true }, { 0, 0, 2, 1 }, { 2, 0, 0 } },
		{ "CoRW", { true, true, true, true }, { 0, 0, 1, 0 }, { 1, 0, 0 } },
		{ "WRC", { false, true, true, true }, { 0, 0, 1, 0, 1, 0 }, { 1, 1, 0 } },
		{ "RWC", { false, false, false, true }, { 0, 0, 1, 0, 0, 0 }, { 1, 1, 0 } },
		{ "IRIW", { false, false, false, true }, { 0, 0, 0, 0, 1, 0, 1, 0 }, { 1, 1, 0 } },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		for (int strength = 0; strength < NSTRENGTHS; strength++)
			ck_assert_msg(allows(known[i].shape, strength, known[i].read, known[i].memory) ==
			                      !known[i].forbidden[strength],
			              "%s, %s: %s", known[i].shape,
			              strength_names[strength],
			              known[i].forbidden[strength] ? "allowed" : "forbidden");
}

/* ---- the simulator ---- */

enum { SEEDS = 16 };

static void
compare(const Program *p, const Verdicts *all)
{
	char run_name[200];
	Text t;
	Device d;

	program_text(&t, p);
	d = device(&t);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		Ran r = run(&d, p->place, (unsigned)p->s->threads, seed);
		const Verdict *v = verdict_of(all, &r);
		snprintf(run_name, sizeof run_name, "%s, %s, place %d, scopes %d %d %d, seed %u", p->s->name,
		         strength_names[p->strength], p->place, p->scope[0], p->scope[1], p->scope[2],
		         (unsigned)seed);
		ck_assert_msg(v != NULL, "%s: forbidden outcome\n%s", run_name, t.s);
		ck_assert_msg(r.faulty ? v->racy : v->clean, "%s: %s\n%s", run_name,
		              r.faulty ? "accused" : "not accused", t.s);
	}
	sim_close(d.s);
}

/* Every scope for each thread; with more than two, one odd thread among others. */
TEST_EACH(programs, NSHAPES * NPLACES * NSTRENGTHS)
{
	static Verdicts all;
	Program p = { &shapes[_i % NSHAPES], _i / NSHAPES % NSTRENGTHS, _i / NSHAPES / NSTRENGTHS, { 0 } };
	int n = p.s->threads;

	for (int odd = 0; odd < n; odd++)
		for (int scope = 0; scope < NSCOPES; scope++)
			for (int other = 0; other < NSCOPES; other++) {
				if (odd && (scope == other || n == 2))
					continue;
				for (int i = 0; i < n; i++)
					p.scope[i] = i == odd ? other : scope;
				executions(&p, &all);
				compare(&p, &all);
			}
}

TEST_PROGRAM(.timeout = 60);
