/* util_syncmodel.c - models the kernels of syncgen.h: vector clocks of threads, words with their last
 * accesses, values.
 *
 * Clock c of thread u is known to t if vc[t][u] >= c. Copies that complete on mbarrier m are one more
 * "thread", SG_THREADS + m, whose clock is the number of phases. */
#include <stdlib.h>
#include <string.h>
#include "test/sim/sanitizer/syncgen.h"

enum { NVC = SG_THREADS + SG_MBARS, MAX_CONFLICTS = 4096, NBARS = 16 };

typedef struct Word {
	uint32_t value, wclock, wop;
	int writer;             /* -1: before the launch */
	int copier;             /* thread whose cp.async is under way, or -1 */
	uint32_t group;         /* of that */
	bool init;
	struct Users {          /* who has used it since it was written: set, clock and Op of the last use */
		uint64_t set[SG_THREADS / 64];
		uint32_t clock[SG_THREADS], op[SG_THREADS];
	} read, atom;
} Word;

typedef struct Know { uint32_t vc[NVC]; } Know;

struct SgModel {
	SgShape s;
	Know know[SG_THREADS];
	uint32_t clock[SG_THREADS], acc[SG_THREADS];
	uint32_t commits[SG_WARPS];
	Know bar[2][NBARS];             /* of a block: what arrivals have brought */
	Know *flag[SG_FLAGS];           /* by flag value */
	Know *phase[SG_MBARS];          /* what the arrivals of each phase have brought */
	uint32_t nphase[SG_MBARS];
	Word word[SG_REGIONS][32];
	SgConflict conflict[MAX_CONFLICTS];
	unsigned nconflict;
};

const char *const sg_kind_name[SG_NKINDS] = {
#define X(id, sync) #id,
	SG_KINDS(X)
#undef X
};
const bool sg_orders[SG_NKINDS] = {
#define X(id, sync) sync,
	SG_KINDS(X)
#undef X
};
const uint32_t sg_mask[SG_MASKS] = { 0xffffffff, 0x0000ffff, 0xffff0000, 0x55555555, 1, 0x0000ff00 };

unsigned
sg_word(const SgOp *op, unsigned lane)
{
	switch (op->perm) {
	case 0: return lane;
	case 1: return lane ^ op->k;
	case 2: return (lane + op->k) & 31;
	default: return op->k;          /* all the same */
	}
}

uint32_t
sg_input(uint64_t seed, unsigned i)
{
	uint64_t x = (seed + i + 1) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(x >> 32);
}

SgModel *
sg_model_new(const SgShape *s)
{
	SgModel *m = calloc(1, sizeof *m);

	m->s = *s;
	for (unsigned t = 0; t < SG_THREADS; t++) {
		m->clock[t] = 1;
		m->acc[t] = t;
	}
	for (unsigned r = 0; r < SG_REGIONS; r++)
		for (unsigned i = 0; i < 32; i++) {
			Word *w = &m->word[r][i];
			w->writer = w->copier = -1;
			w->init = r >= 2 * SG_SHARED;
			w->value = sg_input(s->seed, SG_IN + 32 * r + i);
		}
	return m;
}

void
sg_model_free(SgModel *m)
{
	for (unsigned f = 0; f < SG_FLAGS; f++)
		free(m->flag[f]);
	for (unsigned i = 0; i < SG_MBARS; i++)
		free(m->phase[i]);
	free(m);
}

/* ---- knowledge ---- */

static void
join(Know *to, const Know *from)
{
	for (unsigned i = 0; i < NVC; i++)
		if (to->vc[i] < from->vc[i])
			to->vc[i] = from->vc[i];
}

/* All that t did and knows, into `to`; t goes on at a new clock. */
static void
release(SgModel *m, unsigned t, Know *to)
{
	join(to, &m->know[t]);
	if (to->vc[t] < m->clock[t])
		to->vc[t] = m->clock[t];
	m->clock[t]++;
}

bool
sg_knows_at(const SgModel *m, unsigned t, unsigned u, uint32_t clock)
{
	return t == u || m->know[t].vc[u] >= clock;
}

bool
sg_knows(const SgModel *m, unsigned t, unsigned u)
{
	return sg_knows_at(m, t, u, m->clock[u]);
}

uint32_t
sg_now(const SgModel *m, unsigned t)
{
	return m->clock[t];
}

uint32_t
sg_acc(const SgModel *m, unsigned t)
{
	return m->acc[t];
}

uint32_t
sg_value(const SgModel *m, unsigned region, unsigned i)
{
	return m->word[region][i].value;
}

unsigned
sg_conflicts(const SgModel *m, const SgConflict **out)
{
	*out = m->conflict;
	return m->nconflict;
}

/* ---- accesses ---- */

typedef enum Use { READ, WRITE, ATOM } Use;

/* The Op of a user that t does not know of, or -1. */
static int
unknown(const SgModel *m, unsigned t, const struct Users *u)
{
	for (unsigned i = 0; i < SG_THREADS / 64; i++)
		for (uint64_t left = u->set[i]; left; left &= left - 1) {
			unsigned v = 64 * i + (unsigned)__builtin_ctzll(left);
			if (!sg_knows_at(m, t, v, u->clock[v]))
				return (int)u->op[v];
		}
	return -1;
}

/* The Op that access of word w by t conflicts with, -1: none; -2: the word is uninitialised. */
static int
conflict(const SgModel *m, unsigned t, const Word *w, Use use)
{
	int op = -1;

	if (w->copier >= 0)
		return (int)w->wop;
	if (use != WRITE && !w->init)
		return -2;
	if (w->writer >= 0 && !sg_knows_at(m, t, (unsigned)w->writer, w->wclock))
		return (int)w->wop;
	if (use != READ)
		op = unknown(m, t, &w->read);
	if (op < 0 && use != ATOM)
		op = unknown(m, t, &w->atom);
	return op;
}

static void
used(struct Users *u, unsigned t, uint32_t clock, unsigned op)
{
	u->set[t / 64] |= 1ull << t % 64;
	u->clock[t] = clock;
	u->op[t] = op;
}

static void
wrote(Word *w, int by, uint32_t clock, unsigned op, uint32_t value)
{
	w->writer = by;
	w->wclock = clock;
	w->wop = op;
	w->value = value;
	w->init = true;
	memset(w->read.set, 0, sizeof w->read.set);
	memset(w->atom.set, 0, sizeof w->atom.set);
}

/* One access of the Op: what a thread does with a word. */
typedef struct Touch { unsigned t, region, i; Use use; } Touch;

/* The n-th access of an Op; false past the end. */
static bool
touch(const SgOp *op, unsigned n, Touch *out)
{
	unsigned lane = n, t0 = 32u * op->warp, all = sg_mask[op->mask];

	out->region = op->region;
	switch (op->kind) {
	case SG_LOAD: case SG_STORE: case SG_ATOMIC: case SG_COPY:
		out->use = op->kind == SG_LOAD ? READ : op->kind == SG_ATOMIC ? ATOM : WRITE;
		if (op->wide) {
			out->t = t0 + n / 4;
			out->i = n;
			return n < 32;
		}
		for (lane = 0; lane < 32; lane++)
			if (all >> lane & 1 && n-- == 0)
				break;
		out->t = t0 + lane;
		out->i = lane < 32 ? sg_word(op, lane) : 0;
		return lane < 32;
	case SG_LDMATRIX:               /* whoever names the row, or all who get some of it */
		out->use = READ;
		out->t = t0 + n / 32 % 32;
		out->i = n % 32;
		out->region = n < 1024 ? op->region : op->region2;
		return n < (op->form ? 2048 : 1024);
	case SG_BULKLOAD:
		out->use = WRITE;
		out->t = t0;
		out->i = n;
		return n < 32;
	case SG_BULKSTORE:
		out->use = n < 32 ? READ : WRITE;
		out->t = t0;
		out->i = n % 32;
		out->region = n < 32 ? op->region : op->region2;
		return n < 64;
	default:
		return false;
	}
}

/* Two lanes of one Op on one word: only if none writes. */
static bool
clashes(const SgOp *op)
{
	uint32_t seen = 0;
	Touch a;

	if ((op->kind != SG_STORE && op->kind != SG_COPY) || op->wide)
		return false;
	for (unsigned n = 0; touch(op, n, &a); n++) {
		if (seen >> a.i & 1)
			return true;
		seen |= 1u << a.i;
	}
	return false;
}

bool
sg_legal(const SgModel *m, const SgOp *op)
{
	Touch a;

	if (clashes(op))
		return false;
	for (unsigned n = 0; touch(op, n, &a); n++)
		if (conflict(m, a.t, &m->word[a.region][a.i], a.use) != -1)
			return false;
	return true;
}

static void
note(SgModel *m, int first, unsigned second)
{
	if (first < 0 || m->nconflict == MAX_CONFLICTS)
		return;
	if (m->nconflict && m->conflict[m->nconflict - 1].first == (unsigned)first &&
	    m->conflict[m->nconflict - 1].second == second)
		return;
	m->conflict[m->nconflict++] = (SgConflict){ (unsigned)first, second };
}

static void
mix(SgModel *m, unsigned t, uint32_t v)
{
	m->acc[t] = m->acc[t] * 5 + v;
}

static void
access_word(SgModel *m, const SgOp *op, unsigned at, const Touch *a)
{
	Word *w = &m->word[a->region][a->i];
	uint32_t c = m->clock[a->t];

	note(m, conflict(m, a->t, w, a->use), at);
	switch (a->use) {
	case READ:
		used(&w->read, a->t, c, at);
		if (op->kind == SG_LOAD)
			mix(m, a->t, w->value);
		break;
	case ATOM:
		w->value += op->n;
		used(&w->atom, a->t, c, at);
		break;
	case WRITE:
		switch (op->kind) {
		case SG_STORE:
			wrote(w, (int)a->t, c, at, m->acc[a->t] + op->n + (op->wide ? a->i % 4 : 0));
			break;
		case SG_COPY:
			wrote(w, (int)a->t, c, at, sg_input(m->s.seed, op->n + a->i));
			w->copier = (int)a->t;
			w->group = m->commits[op->warp];
			break;
		case SG_BULKLOAD:
			wrote(w, SG_THREADS + op->id, op->phase + 1, at, sg_input(m->s.seed, op->n + a->i));
			break;
		default:                /* SG_BULKSTORE: waited for at once */
			wrote(w, (int)a->t, c, at, m->word[op->region][a->i].value);
			break;
		}
		break;
	}
}

/* ---- what is not memory ---- */

static void
barrier(SgModel *m, const SgOp *op, Know *k, bool missing)
{
	unsigned popc = 0;

	for (unsigned t = 0; t < SG_THREADS; t++)
		if (op->warps >> t / 32 & 1) {
			popc += m->acc[t] & 1;
			if (!missing)
				release(m, t, k);
		}
	for (unsigned t = 0; t < SG_THREADS; t++)
		if (op->warps >> t / 32 & 1) {
			if (!missing)
				join(&m->know[t], k);
			if (op->kind == SG_BARRED)
				mix(m, t, popc);
		}
	memset(k, 0, sizeof *k);
}

static void
warp_sync(SgModel *m, const SgOp *op)
{
	Know k = { { 0 } };

	for (unsigned l = 0; l < 32; l++)
		if (sg_mask[op->mask] >> l & 1)
			release(m, 32u * op->warp + l, &k);
	for (unsigned l = 0; l < 32; l++)
		if (sg_mask[op->mask] >> l & 1)
			join(&m->know[32u * op->warp + l], &k);
}

static void
shuffle(SgModel *m, const SgOp *op)
{
	uint32_t old[32];

	memcpy(old, m->acc + 32u * op->warp, sizeof old);
	for (unsigned l = 0; l < 32; l++) {
		unsigned j = op->form == 0 ? l ^ op->k : op->form == 1 ? op->k
		           : op->form == 2 ? (l >= op->k ? l - op->k : l) : l + op->k < 32 ? l + op->k : l;
		mix(m, 32u * op->warp + l, old[j]);
	}
}

static void
vote(SgModel *m, const SgOp *op)
{
	uint32_t ballot = 0, sum = 0;

	for (unsigned l = 0; l < 32; l++) {
		ballot |= (m->acc[32u * op->warp + l] & 1) << l;
		sum += m->acc[32u * op->warp + l];
	}
	for (unsigned l = 0; l < 32; l++)
		mix(m, 32u * op->warp + l, op->form ? sum : ballot);
}

static void
matrix(SgModel *m, const SgOp *op)
{
	for (unsigned l = 0; l < 32; l++)
		for (unsigned k = 0; k <= op->form; k++)
			mix(m, 32u * op->warp + l, m->word[k ? op->region2 : op->region][l].value);
}

static void
wait_group(SgModel *m, const SgOp *op)
{
	for (unsigned r = 0; r < SG_REGIONS; r++)
		for (unsigned i = 0; i < 32; i++) {
			Word *w = &m->word[r][i];
			if (w->copier < 0 || w->copier / 32 != op->warp ||
			    w->group + op->n >= m->commits[op->warp])
				continue;
			w->wclock = m->clock[w->copier];
			w->copier = -1;
		}
}

static void
flag_release(SgModel *m, const SgOp *op)
{
	m->flag[op->id] = realloc(m->flag[op->id], (op->n + 1) * sizeof(Know));
	memset(&m->flag[op->id][op->n], 0, sizeof(Know));
	release(m, 32u * op->warp, &m->flag[op->id][op->n]);
}

static void
flag_acquire(SgModel *m, const SgOp *op)
{
	for (unsigned l = 0; l < 32; l++)
		if (sg_mask[op->mask] >> l & 1)
			join(&m->know[32u * op->warp + l], &m->flag[op->id][op->n]);
}

static Know *
phase_of(SgModel *m, const SgOp *op)
{
	uint32_t *n = &m->nphase[op->id];

	for (; *n <= op->phase; ++*n) {
		m->phase[op->id] = realloc(m->phase[op->id], (*n + 1) * sizeof(Know));
		memset(&m->phase[op->id][*n], 0, sizeof(Know));
		m->phase[op->id][*n].vc[SG_THREADS + op->id] = *n + 1;
	}
	return &m->phase[op->id][op->phase];
}

static void
mbar_arrive(SgModel *m, const SgOp *op)
{
	for (unsigned l = 0; l < 32; l++)
		if (op->kind == SG_MARRIVE || l == 0)
			release(m, 32u * op->warp + l, phase_of(m, op));
}

static void
mbar_wait(SgModel *m, const SgOp *op)
{
	for (unsigned l = 0; l < 32; l++)
		join(&m->know[32u * op->warp + l], phase_of(m, op));
}

void
sg_apply(SgModel *m, const SgOp *ops, unsigned at, bool missing)
{
	const SgOp *op = &ops[at];
	Know none = { { 0 } };
	Touch a;

	for (unsigned n = 0; touch(op, n, &a); n++)
		access_word(m, op, at, &a);
	switch (op->kind) {
	case SG_LDMATRIX: matrix(m, op); break;
	case SG_SHFL: shuffle(m, op); break;
	case SG_VOTE: vote(m, op); break;
	case SG_BAR: case SG_BARRED: case SG_CLUSTERBAR: barrier(m, op, &none, missing); break;
	case SG_ARRIVE:
		for (unsigned l = 0; l < 32; l++)
			release(m, 32u * op->warp + l, &m->bar[op->warp / m->s.warps][op->id]);
		break;
	case SG_BARWAIT: barrier(m, op, &m->bar[op->warp / m->s.warps][op->id], missing); break;
	case SG_COMMIT: m->commits[op->warp]++; break;
	case SG_RELEASE: flag_release(m, op); break;
	case SG_MARRIVE: case SG_BULKLOAD: mbar_arrive(m, op); break;
	default: break;
	}
	if (missing)
		return;
	switch (op->kind) {
	case SG_WARPSYNC: warp_sync(m, op); break;
	case SG_WAITGROUP: wait_group(m, op); break;
	case SG_ACQUIRE: flag_acquire(m, op); break;
	case SG_MWAIT: mbar_wait(m, op); break;
	default: break;
	}
}
