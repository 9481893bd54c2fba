/* warp_roles.c - pass_validate_warp_roles: validates the pipeline stages that warp roles share, those of
 * programs and those of pass warp_specialize.
 *
 * preserves  everything; reports a violation as an internal error at the op
 *
 * PTX ISA, "mbarrier": a thread that has waited for a phase observes what preceded the arrivals of that
 * phase, and the copies that it expects; nothing else orders two roles. Small launches are simulated
 * (warp_role_trace.c) with concurrent roles, once with the producers as far ahead as possible, once with
 * the consumers first. Vector clocks record which events of other roles, and which phases of each barrier,
 * a role has observed. A violation is: a wait for a phase that never ends; changing what another role may
 * still read, write or fill; reading what a copy may still write.
 *
 * Launches in which the events of a role depend on the contents of tensors are not validated. */
#include "infer/validate/validate.h"
#include "infer/validate/warp_role_trace.h"
#include <string.h>

enum { ROLES_MOST = 9,
       UNDER_WAY = INT32_MAX };

/* The last accesses to a cell. */
typedef struct Cell {
	const Op *fill;
	int bar, phases; /* the fill is complete when that barrier has completed this many phases */
	bool parts; /* filled in parts, by several barriers: not tracked */
	bool whole; /* the fill covers all of it */
	int writer, written; /* role and its clock; written 0: never */
	int read[ROLES_MOST]; /* clock of each role's last read; UNDER_WAY: by an MMA in flight; 0: none */
	bool read_whole[ROLES_MOST];
} Cell;

typedef struct Barrier {
	int arrived, phases; /* completed phases */
	int *seen, *open; /* clock after a wait; clock of the arrivals so far */
} Barrier;

/* The stages that an MMA in flight reads. */
typedef struct StageRead {
	int cell, to;
	int age; /* groups closed since its own; -1: its own is still open */
} StageRead;

typedef struct RoleState {
	RoleTrace t;
	int at; /* the next event */
	int *seen; /* vector clock: the observed clocks of all roles, then phases of all barriers */
	StageRead *reading;
	int n, cap;
} RoleState;

typedef struct Play {
	Kernel *k;
	const Rings *r;
	bool ok;
	RoleState run[ROLES_MOST];
	int nrole, nseen;
	Barrier *bar;
	Cell *cell;
} Play;

static void
violation(Play *p, const Op *o, const char *what)
{
	prove_violation(p->k, &p->ok, o, what);
}

static void
see(const Play *p, int *to, const int *from)
{
	for (int i = 0; i < p->nseen; i++)
		to[i] = to[i] < from[i] ? from[i] : to[i];
}

static int
clock_of(const Play *p, int role)
{
	return p->run[role].seen[role];
}

/* ---- cells ----------------------------------------------------------------------------------- */

static bool
has_landed(const Play *p, int role, const Cell *c)
{
	return p->run[role].seen[p->nrole + c->bar] >= c->phases;
}

/* Checks a change of the cell by the role. */
static void
changes(Play *p, int role, const RoleEvent *e, Cell *c)
{
	for (int q = 0; q < p->nrole; q++) {
		bool meets = e->whole || c->read_whole[q];

		if (meets && c->read[q] > (q == role ? UNDER_WAY - 1 : p->run[role].seen[q]))
			violation(p, e->op, "writes a stage that another role may still read");
	}
	if (c->written && c->writer != role && c->written > p->run[role].seen[c->writer])
		violation(p, e->op, "writes a stage that another role may still write");
}

static void
fill(Play *p, int role, const RoleEvent *e, Cell *c)
{
	int phases = p->bar[e->bar].phases + 1;
	bool again = c->fill && c->bar == e->bar && c->phases == phases;

	changes(p, role, e, c);
	if (c->fill && !again && !has_landed(p, role, c)) {
		if (c->whole && e->whole)
			violation(p, e->op, "copies to a stage that another copy may still write");
		c->parts = true;
	}
	c->whole = e->whole;
	c->fill = e->op;
	c->bar = e->bar;
	c->phases = phases;
	c->written = 0;
}

static void
writes(Play *p, int role, const RoleEvent *e, Cell *c)
{
	changes(p, role, e, c);
	if (c->fill && c->whole && !has_landed(p, role, c))
		violation(p, e->op, "writes a stage that a copy may still write");
	c->writer = role;
	c->written = clock_of(p, role);
}

static void
reads(Play *p, int role, const RoleEvent *e, Cell *c, int until)
{
	if (c->fill && !c->parts && !has_landed(p, role, c))
		violation(p, e->op, "reads a stage that a copy may still write");
	if (c->written && c->writer != role && c->written > p->run[role].seen[c->writer])
		violation(p, e->op, "reads a stage that another role may still write");
	c->read[role] = until;
	c->read_whole[role] = e->whole;
}

static void
touch(Play *p, int role, const RoleEvent *e)
{
	for (int i = e->cell; i < e->to; i++)
		if (e->kind == EV_FILL)
			fill(p, role, e, &p->cell[i]);
		else if (e->kind == EV_WRITE)
			writes(p, role, e, &p->cell[i]);
		else
			reads(p, role, e, &p->cell[i], e->kind == EV_ISSUE ? UNDER_WAY : clock_of(p, role));
}

/* ---- MMAs ------------------------------------------------------------------------------------ */

static void
settle(Play *p, int role, int64_t pending)
{
	RoleState *run = &p->run[role];
	int n = 0;

	for (int i = 0; i < run->n; i++) {
		StageRead r = run->reading[i];

		if (r.age < 0 || r.age < pending) {
			run->reading[n++] = r;
			continue;
		}
		for (int c = r.cell; c < r.to; c++)
			p->cell[c].read[role] = clock_of(p, role);
	}
	run->n = n;
	for (int i = 0; i < n; i++) /* the same cells are read by a younger MMA too */
		for (int c = run->reading[i].cell; c < run->reading[i].to; c++)
			p->cell[c].read[role] = UNDER_WAY;
}

static void
issue(Play *p, RoleState *run, const RoleEvent *e)
{
	StageRead r = { e->cell, e->to, -1 };

	VEC_PUSH(p->k->unit->arena, run->reading, run->n, run->cap, r);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static void
arrive(Play *p, int role, const RoleEvent *e)
{
	Barrier *b = &p->bar[e->bar];
	int *seen = p->run[role].seen;

	see(p, b->open, seen);
	seen[role]++;
	b->arrived += (int)e->n;
	if (b->arrived < p->r->arrivals[e->bar])
		return;
	b->arrived = 0;
	b->open[p->nrole + e->bar] = ++b->phases;
	see(p, b->seen, b->open);
}

/* Executes one event. Returns false if the role has to wait. */
static bool
step(Play *p, int role)
{
	RoleState *run = &p->run[role];
	const RoleEvent *e = &run->t.a[run->at];

	switch (e->kind) {
	case EV_WAIT:
		if ((p->bar[e->bar].phases & 1) == e->n)
			return false;
		see(p, run->seen, p->bar[e->bar].seen);
		break;
	case EV_ARRIVE:
		arrive(p, role, e);
		break;
	case EV_COMMIT:
		for (int i = 0; i < run->n; i++)
			run->reading[i].age++;
		break;
	case EV_SETTLE:
		settle(p, role, e->n);
		break;
	case EV_ISSUE:
		issue(p, run, e);
		touch(p, role, e);
		break;
	default:
		touch(p, role, e);
		break;
	}
	run->at++;
	return true;
}

/* ---- launches -------------------------------------------------------------------------------- */

static void
begin(Play *p)
{
	for (int i = 0; i < p->r->nbar; i++) {
		p->bar[i].arrived = p->bar[i].phases = 0;
		memset(p->bar[i].seen, 0, sizeof *p->bar[i].seen * (size_t)p->nseen);
		memset(p->bar[i].open, 0, sizeof *p->bar[i].open * (size_t)p->nseen);
	}
	memset(p->cell, 0, sizeof *p->cell * (size_t)p->r->ncell);
	for (int i = 0; i < p->nrole; i++) {
		memset(p->run[i].seen, 0, sizeof *p->run[i].seen * (size_t)p->nseen);
		p->run[i].seen[i] = 1;
		p->run[i].at = p->run[i].n = 0;
	}
}

/* Runs the roles until none can continue; `ahead`: producers first. */
static void
play(Play *p, bool ahead)
{
	bool moved = true;

	begin(p);
	while (moved && p->ok) {
		moved = false;
		for (int i = 0; i < p->nrole && p->ok; i++) {
			int role = ahead ? i : p->nrole - 1 - i;
			/* one stage only, so that the consumers have used theirs */
			bool late = !ahead && role == 0;

			while (p->run[role].at < p->run[role].t.n && p->ok) {
				bool arrives = p->run[role].t.a[p->run[role].at].kind == EV_ARRIVE;

				if (!step(p, role))
					break;
				moved = true;
				if (late && arrives)
					break;
			}
		}
	}
	for (int i = 0; i < p->nrole && p->ok; i++)
		if (p->run[i].at < p->run[i].t.n)
			violation(p, p->run[i].t.a[p->run[i].at].op, "waits for a phase that never "
			                                             "completes");
}

bool
pass_validate_warp_roles(Kernel *k)
{
	Arena *a = k->unit->arena;
	Play p = { .k = k, .ok = true, .r = rings_of(k), .nrole = 1 + k->teams };
	RoleTrace t[ROLES_MOST] = { 0 };

	if (!p.r || p.nrole > ROLES_MOST)
		return false;
	p.nseen = p.nrole + p.r->nbar;
	p.bar = NEWN(a, Barrier, p.r->nbar);
	p.cell = NEWN(a, Cell, p.r->ncell);
	for (int i = 0; i < p.r->nbar; i++) {
		p.bar[i].seen = NEWN(a, int, p.nseen);
		p.bar[i].open = NEWN(a, int, p.nseen);
	}
	for (int i = 0; i < p.nrole; i++)
		p.run[i].seen = NEWN(a, int, p.nseen);
	for (int launch = 0; launch < TRACE_LAUNCHES && p.ok; launch++) {
		if (!rings_trace(p.r, launch, t))
			continue;
		for (int i = 0; i < p.nrole; i++)
			p.run[i].t = t[i];
		play(&p, true);
		if (p.ok)
			play(&p, false);
	}
	return false;
}
