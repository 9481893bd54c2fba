/* test_litmus.c - tests the PTX memory model by litmus tests: message passing, store buffering, load
 * buffering, IRIW, 2+2W, with every scope and strength, by threads of one block, of one cluster, of different
 * clusters.
 *
 * Outcomes: over the seeds the simulator gives exactly those of the interleavings, which are enumerated here,
 * and each of them is allowed by the model; it does not show further outcomes of the model (relaxed accesses
 * may be reordered). Verdicts: it reports a race exactly where the model has one: where a scope on the path
 * does not include the other thread, or nothing synchronises. */
#include "test/check.h"
#include "test/sim/sanitizer/litmus.h"

enum { OUTCOMES = 256, SEEDS = 300, MORE_SEEDS = 6000 };
enum { RELAXED, ACQ_REL, FENCE, NSTRENGTHS };

static const Shape shapes[] = {
	{ "MP", 2, { { { 'W', 0, 1 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'R', 0, 0 } } } },
	{ "SB", 2, { { { 'W', 0, 1 }, { 'R', 1, 0 } }, { { 'W', 1, 1 }, { 'R', 0, 0 } } } },
	{ "LB", 2, { { { 'R', 0, 0 }, { 'W', 1, 1 } }, { { 'R', 1, 0 }, { 'W', 0, 1 } } } },
	{ "2+2W", 2, { { { 'W', 0, 1 }, { 'W', 1, 2 } }, { { 'W', 1, 1 }, { 'W', 0, 2 } } } },
	{ "IRIW", 4, { { { 'W', 0, 1 } }, { { 'W', 1, 1 } }, { { 'R', 0, 0 }, { 'R', 1, 0 } },
	               { { 'R', 1, 0 }, { 'R', 0, 0 } } } },
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

/* ---- texts ---- */

static void
put_op(Text *t, Op op, int strength, int scope, int result)
{
	const char *sc = scope_names[scope];

	if (op.what == 'W') {
		put(t, "mov.u32 %%r3, %d; st.%s.%s.global.u32 [%%d0+%d], %%r3;\n", op.value,
		    strength == ACQ_REL ? "release" : "relaxed", sc, 128 * op.at);
	} else {
		put(t, "ld.%s.%s.global.u32 %%r2, [%%d0+%d]; st.global.u32 [%%d0+%d], %%r2;\n",
		    strength == ACQ_REL ? "acquire" : "relaxed", sc, 128 * op.at, 256 + 4 * result);
	}
}

static void
litmus_text(Text *t, const Shape *s, int strength, int scope, int place)
{
	begin(t, place, s->threads);
	for (int i = 0; i < s->threads; i++) {
		put(t, "T%d:\n", i);
		for (int k = 0; k < MAX_OPS && s->op[i][k].what; k++) {
			if (k && strength == FENCE)
				put(t, "fence.sc.%s;\n", scope_names[scope]);
			put_op(t, s->op[i][k], strength, scope, MAX_OPS * i + k);
		}
		put(t, "ret;\n");
	}
	put(t, "}\n");
}

/* ---- the interleavings ---- */

/* What was read, a bit for each Op, and two bits for the last value of each location. */
typedef struct Outcomes { bool is[1 << (MAX_THREADS * MAX_OPS + 4)]; } Outcomes;

static unsigned
outcome(const unsigned *read, const unsigned *memory)
{
	unsigned o = memory[0] | memory[1] << 2;

	for (int i = 0; i < MAX_THREADS * MAX_OPS; i++)
		o |= (read[i] & 1) << (4 + i);
	return o;
}

static void
interleave(const Shape *s, const int *at, const unsigned *memory, const unsigned *read, Outcomes *out)
{
	bool any = false;

	for (int i = 0; i < s->threads; i++) {
		int next[MAX_THREADS];
		unsigned m[2] = { memory[0], memory[1] }, r[MAX_THREADS * MAX_OPS];
		const Op *op = &s->op[i][at[i] < MAX_OPS ? at[i] : 0];
		if (at[i] == MAX_OPS || !op->what)
			continue;
		any = true;
		memcpy(next, at, sizeof next);
		memcpy(r, read, sizeof r);
		next[i]++;
		if (op->what == 'W')
			m[op->at] = (unsigned)op->value;
		else
			r[MAX_OPS * i + at[i]] = m[op->at];
		interleave(s, next, m, r, out);
	}
	if (!any)
		out->is[outcome(read, memory)] = true;
}

/* ---- five shapes, relaxed, acquire and release, fence.sc ---- */

static void
shape_case(const Shape *s, int strength, int scope, int place)
{
	static const unsigned nothing[MAX_THREADS * MAX_OPS];
	static const int start[MAX_THREADS];
	bool racy = scope < place, seen[OUTCOMES * 16] = { false };
	Outcomes right = { { false } };
	unsigned o, left = 0;
	Text t;
	Device d;

	litmus_text(&t, s, strength, scope, place);
	interleave(s, start, nothing, nothing, &right);
	for (o = 0; o < sizeof right.is; o++)
		left += right.is[o];
	d = device(&t);
	for (uint64_t seed = 0; seed < SEEDS || (seed < MORE_SEEDS && left); seed++) {
		Ran r = run(&d, place, (unsigned)s->threads, seed);
		ck_assert_msg(r.faulty == racy && (!racy || r.kind == SIM_FAULT_RACE_GLOBAL),
		              "%s strength %d .%s place %d seed %u: %s", s->name, strength,
		              scope_names[scope], place, (unsigned)seed, racy ? "not accused" : "accused");
		o = outcome(r.read, r.memory);
		left -= right.is[o] && !seen[o];
		seen[o] = true;
	}
	for (o = 0; o < sizeof right.is; o++)
		ck_assert_msg(seen[o] == right.is[o], "%s strength %d .%s place %d: outcome %x is %s",
		              s->name, strength, scope_names[scope], place, o,
		              seen[o] ? "impossible" : "never seen");
	sim_close(d.s);
}

TEST_EACH(outcomes, NSHAPES * NPLACES)
{
	for (int strength = 0; strength < NSTRENGTHS; strength++)
		for (int scope = 0; scope < NSCOPES; scope++)
			shape_case(&shapes[_i % NSHAPES], strength, scope, _i / NSHAPES);
}

/* ---- message passing of weak data: who synchronises, and at which scope ---- */

/* How a flag is written or read. */
typedef struct Side {
	bool orders;            /* by release or acquire, or by a fence */
	int fence;              /* scope of the fence; -1: none */
	int access;             /* scope of the strong access */
	const char *form;       /* of the fence */
} Side;

static unsigned
sides(Side *out)
{
	static const char *const forms[] = { "fence.sc", "fence.acq_rel" };
	unsigned n = 0;

	for (int a = 0; a < NSCOPES; a++) {
		out[n++] = (Side){ false, -1, a, NULL };
		out[n++] = (Side){ true, -1, a, NULL };
		for (int f = 0; f < NSCOPES; f++)
			out[n++] = (Side){ true, f, a, forms[(a + f) % 2] };
	}
	return n;
}

static void
writer(Text *t, const Side *s)
{
	put(t, "T0: st.global.u32 [%%d0], 1;\n");
	if (s->fence >= 0)
		put(t, "%s.%s;\n", s->form, scope_names[s->fence]);
	put(t, "mov.u32 %%r3, 1; st.%s.%s.global.u32 [%%d0+128], %%r3; ret;\n",
	    s->orders && s->fence < 0 ? "release" : "relaxed", scope_names[s->access]);
}

static void
reader(Text *t, const Side *s)
{
	put(t, "T1: ld.%s.%s.global.u32 %%r2, [%%d0+128];\n",
	    s->orders && s->fence < 0 ? "acquire" : "relaxed", scope_names[s->access]);
	if (s->fence >= 0)
		put(t, "%s.%s;\n", s->form, scope_names[s->fence]);
	put(t, "st.global.u32 [%%d0+256], %%r2; setp.eq.u32 %%p2, %%r2, 0; @%%p2 ret;\n"
	    "ld.global.u32 %%r4, [%%d0]; ret;\n}\n");
}

static bool
reaches(const Side *s, int place)
{
	return s->orders && s->access >= place && (s->fence < 0 || s->fence >= place);
}

static void
message(const Side *w, const Side *r, int place)
{
	bool strong = w->access >= place && r->access >= place, seen[2] = { false, false };
	bool synchronises = reaches(w, place) && reaches(r, place);
	Text t;
	Device d;

	begin(&t, place, 2);
	writer(&t, w);
	reader(&t, r);
	d = device(&t);
	for (uint64_t seed = 0; seed < 12; seed++) {
		Ran ran = run(&d, place, 2, seed);
		bool flag = ran.read[0] == 1, racy = !strong || (flag && !synchronises);
		seen[flag] = true;
		ck_assert_msg(ran.faulty == racy, "place %d seed %u flag %d:%s accused of\n%s", place,
		              (unsigned)seed, flag, racy ? " not" : "", t.s);
	}
	ck_assert(seen[0] && seen[1]);
	sim_close(d.s);
}

TEST_EACH(message_passing, NPLACES)
{
	Side side[64];
	unsigned n = sides(side);

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			message(&side[i], &side[k], _i);
}

/* ---- atomics ---- */

TEST(atomics_of_a_block_between_blocks)
{
	for (int place = 0; place < NPLACES; place++)
		for (int scope = 0; scope < NSCOPES; scope++) {
			Text t;
			Device d;
			begin(&t, place, 2);
			put(&t, "T0:\nT1: atom.relaxed.%s.global.add.u32 %%r2, [%%d0], 1; ret;\n}\n",
			    scope_names[scope]);
			d = device(&t);
			ck_assert_int_eq(run(&d, place, 2, 1).faulty, scope < place);
			sim_close(d.s);
		}
}

/* __threadfence_block() for __threadfence(), as nvcc writes them. */
TEST(threadfence_block)
{
	static const char *const fences[] = { "membar.cta", "membar.gl", "membar.sys" };

	for (int place = 0; place < NPLACES; place++)
		for (int i = 0; i < 3; i++) {
			bool told = false;
			Text t;
			Device d;
			begin(&t, place, 2);
			put(&t, "T0: st.global.u32 [%%d0], 1; %s; st.volatile.global.u32 [%%d0+128], 1;\n"
			    "ret;\nT1: ld.volatile.global.u32 %%r2, [%%d0+128];\n"
			    "setp.eq.u32 %%p2, %%r2, 0; @%%p2 ret;\n"
			    "membar.gl; ld.global.u32 %%r4, [%%d0]; ret;\n}\n", fences[i]);
			d = device(&t);
			for (uint64_t seed = 0; seed < 20; seed++)
				told |= run(&d, place, 2, seed).faulty;
			ck_assert_int_eq(told, place != BLOCK && i == 0);
			sim_close(d.s);
		}
}
