/* test_butterfly.c - tests the exchanges of lane and register bits that exchange_find finds: carried out on
 * coordinates, they take each element from where one layout has it to the lane where the other has it. */
#include "taskmap/butterfly.h"
#include "test/check.h"
#include "test/taskmap/tm_test.h"

enum { LANE_BITS = 5, BITS_MOST = 10 };

/* Which bit of the element's index is which: bits 0 to 4 are of the lane, the others of the register. */
typedef struct BitOrder {
	int n, at[BITS_MOST];
} BitOrder;

/* The layout of one dim, or of two with the bits before `cut` in the first one. */
static Layout
bits_layout(const BitOrder *o, int cut)
{
	Layout l;

	layout_init(&l, cut ? 2 : 1);
	for (int i = 0; i < o->n; i++) {
		bool lane = o->at[i] < LANE_BITS;

		TM(layout_push(&l, cut && i >= cut, 2, (int64_t)1 << (lane ? o->at[i] : o->at[i] - LANE_BITS),
		               lane ? AX_lane : AX_reg));
	}
	layout_canon(&l);
	return l;
}

static void
swap(BitOrder *o, int i, int j)
{
	int t = o->at[i];

	o->at[i] = o->at[j];
	o->at[j] = t;
}

static BitOrder
random_order(int n)
{
	BitOrder o = { .n = n };

	for (int i = 0; i < n; i++)
		o.at[i] = i;
	for (int i = 0; i < n; i++)
		swap(&o, i, (int)rnd_in(i, n - 1));
	return o;
}

/* Exchanges bits of *lane and *reg. */
static void
exchange(int64_t *lane, int64_t *reg, int64_t lane_bit, int64_t reg_bit)
{
	bool l = *lane & lane_bit, r = *reg & reg_bit;

	*lane = (*lane & ~lane_bit) | (r ? lane_bit : 0);
	*reg = (*reg & ~reg_bit) | (l ? reg_bit : 0);
}

static void
check_exchanges(const Layout *from, const Layout *to, const Exchange *x)
{
	for (int64_t i = 0; i < layout_size(from); i++) {
		Coord a = layout_at_index(from, i), b = layout_at_index(to, i);
		Coord m = layout_at_index(&x->mid, i);

		for (int k = 0; k < x->n; k++)
			exchange(&a.at[AX_lane], &a.at[AX_reg], x->lane[k], x->reg[k]);
		TM_MSG(a.at[AX_lane] == b.at[AX_lane], "%s to %s", show(from), show(to));
		TM_MSG(a.at[AX_lane] == m.at[AX_lane] && a.at[AX_reg] == m.at[AX_reg], "%s, by way of %s",
		       show(from), show(&x->mid));
	}
}

/* Exchanges bring each element to its lane if a lane bit stays where it is or becomes a register bit, and the
 * bits within a 32-bit register stay. */
static int
exchanges_needed(const BitOrder *a, const BitOrder *b, int low)
{
	int n = 0;

	for (int i = 0; i < a->n; i++) {
		int x = a->at[i], y = b->at[i];
		bool within = x >= LANE_BITS ? x - LANE_BITS < low : y >= LANE_BITS && y - LANE_BITS < low;

		if (x != y && (within || (y >= LANE_BITS && y - LANE_BITS < low) ||
		               (x < LANE_BITS && y < LANE_BITS)))
			return 0;
		n += x < LANE_BITS && y >= LANE_BITS;
	}
	return n;
}

TEST(exchanged_bits)
{
	int found = 0;

	tm_seed = 41;
	for (int t = 0; t < TRIALS; t++) {
		int n = (int)rnd_in(7, BITS_MOST), low = (int)rnd_in(0, 2), swaps = (int)rnd_in(0, 3);
		int cut = rnd_bool() ? (int)rnd_in(1, n - 1) : 0, k;
		BitOrder a = random_order(n), b = a;
		Layout from, to;
		Exchange x;

		for (int i = 0; i < swaps; i++) {
			int first = (int)rnd_in(0, n - 1), second = (int)rnd_in(0, n - 1);
			swap(&b, first, second);
		}
		k = exchanges_needed(&a, &b, low);
		from = bits_layout(&a, cut);
		to = bits_layout(&b, cut);
		TM_MSG(exchange_find(&from, &to, 1 << low, &x) == (k > 0), "%s to %s, %d elements",
		       show(&from), show(&to), 1 << low);
		if (k == 0)
			continue;
		TM_INT(x.n, ==, k);
		check_exchanges(&from, &to, &x);
		found++;
	}
	TM_INT(found, >, TRIALS / 10);
}

/* What butterflies cannot do. */
TEST(other_conversions)
{
	static const struct {
		const char *from, *to;
		int elems;
	} t[] = {
		/* nothing to exchange: equal, or only registers renamed */
		{ "(32,4):(1@lane,1@reg)", "(32,4):(1@lane,1@reg)", 1 },
		{ "(32,(2,2)):(1@lane,(1@reg,2@reg))", "(32,(2,2)):(1@lane,(2@reg,1@reg))", 1 },
		/* lane bits among each other */
		{ "((2,16),2):((1@lane,2@lane),1@reg)", "((2,2,8),2):((2@lane,1@lane,4@lane),1@reg)", 1 },
		/* the exchange splits a register of two elements */
		{ "(32,4):(1@lane,1@reg)", "((2,16),(2,2)):((1@reg,2@lane),(1@lane,2@reg))", 2 },
		/* a lane bit comes back as another one */
		{ "((2,2,8),2):((1@lane,2@lane,4@lane),1@reg)",
		  "((2,2,8),2):((1@reg,1@lane,4@lane),2@lane)", 1 },
		/* modes whose boundaries do not divide each other */
		{ "((3,2,32),2):((1@reg,3@reg,1@lane),6@reg)",
		  "((2,3,32),2):((1@reg,2@reg,1@lane),6@reg)", 1 },
		/* the lane bits of a row are those of a column, which is as long */
		{ "(2,2,16):(1@reg,1@lane,2@lane)", "(2,2,16):(1@lane,2@lane,1@reg)", 1 },
		/* warps */
		{ "(32,2,2):(1@lane,1@warp,1@reg)", "(32,2,2):(1@lane,1@reg,1@warp)", 1 },
		/* an extent that is no power of two */
		{ "(32,3):(1@lane,1@reg)", "(32,3):(1@reg,1@lane)", 1 },
	};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		Layout from = lay(t[i].from), to = lay(t[i].to);
		Exchange x;

		TM_MSG(!exchange_find(&from, &to, t[i].elems, &x), "%s to %s", t[i].from, t[i].to);
	}
}

TEST_PROGRAM(TM_FIXTURE);
