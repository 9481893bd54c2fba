/* test_decode_orders.c - tests the accepted orders of an opcode's modifiers. The rows of orders.txt are
 * instructions with how many of their permutations ptxas accepts, and which: the simulator must accept the
 * same. If ptxas is available, a sample is checked again.
 *
 * ORDERS_ASK=1 prints the table again, from ptxas. */
#include <stdint.h>
#include "test/sim/decode/isatable.h"
#include "test/sim/decode/judges.h"
#include "test/check.h"

#define ARCH "sm_90a"
enum { MAX_PARTS = 16, ALL = 5, SAMPLE = 9 };

/* ---- permutations ---- */

typedef struct Opcode {
	const char *part[MAX_PARTS];
	int n;
	char text[MAX_TEXT];
	const char *operands;
} Opcode;

static void
take_apart(Opcode *o, const char *ins)
{
	size_t len = strcspn(ins, " ");

	o->operands = ins + len;
	o->n = 0;
	snprintf(o->text, sizeof o->text, "%.*s", (int)len, ins);
	for (char *s = strchr(o->text, '.'); s; s = strchr(s, '.')) {
		*s++ = 0;
		ck_assert_int_lt(o->n, MAX_PARTS);
		o->part[o->n++] = s;
	}
}

static void
put(List *out, const Opcode *o, const char *const *part)
{
	char text[MAX_TEXT];
	size_t n = (size_t)snprintf(text, sizeof text, "%s", o->text);

	for (int i = 0; i < o->n; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, ".%s", part[i]);
	snprintf(text + n, sizeof text - n, "%s", o->operands);
	for (size_t i = 0; i < out->n; i++)
		if (!strcmp(out->v[i], text))
			return;
	push(out, text);
}

static void
permute(List *out, const Opcode *o, const char **part, int from)
{
	if (from == o->n)
		put(out, o, part);
	for (int i = from; i < o->n; i++) {
		const char *p = part[i];
		memmove(part + from + 1, part + from, (size_t)(i - from) * sizeof *part);
		part[from] = p;
		permute(out, o, part, from + 1);
		memmove(part + from, part + from + 1, (size_t)(i - from) * sizeof *part);
		part[i] = p;
	}
}

/* All orders of up to five parts; of more, those in which one part has moved. */
static void
orders(List *out, const char *ins)
{
	Opcode o;
	const char *part[MAX_PARTS];

	take_apart(&o, ins);
	memcpy(part, o.part, sizeof part);
	if (o.n <= ALL) {
		permute(out, &o, part, 0);
		return;
	}
	for (int i = 0; i < o.n; i++)
		for (int k = 0; k < o.n; k++) {
			int m = 0;
			for (int j = 0; j < o.n; j++)
				if (j != i)
					part[m + (m >= k)] = o.part[j], m++;
			part[k] = o.part[i];
			put(out, &o, part);
		}
}

/* ---- what is taken ---- */

typedef struct Taken { unsigned n; uint32_t which; } Taken; /* how many, and a sum over their texts */

static void
count(Taken *t, const char *ins)
{
	uint32_t h = 2166136261u;

	for (; *ins && *ins != ' '; ins++)
		h = (h ^ (unsigned char)*ins) * 16777619u;
	t->n++;
	t->which += h;
}

static bool
first_difference(const List *all, const bool *right)
{
	char why[300];

	for (size_t i = 0; i < all->n; i++)
		if (sim_says(ARCH, all->v[i], why, sizeof why) != right[i]) {
			printf("%s: ptxas %s it, we do%s %s\n", all->v[i], right[i] ? "takes" : "refuses",
			       right[i] ? " not:" : "", why);
			return true;
		}
	return false;
}

/* Asks ptxas of one row; are we of the same mind? */
static bool
ask(const char *ins, const List *all, Taken *t)
{
	bool *ok = calloc(all->n, sizeof *ok), differs;

	ptxas_says(ARCH, all, ok);
	*t = (Taken){ 0, 0 };
	for (size_t i = 0; i < all->n; i++)
		if (ok[i])
			count(t, all->v[i]);
	if (getenv("ORDERS_ASK"))
		printf("%s = %u of %zu %08x\n", ins, t->n, all->n, t->which);
	differs = first_difference(all, ok);
	free(ok);
	return !differs;
}

static bool
row_agrees(const char *row, bool again)
{
	char ins[MAX_TEXT], why[300];
	const char *eq = strstr(row, " = ");
	unsigned n = 0, of = 0, which = 0;
	Taken mine = { 0, 0 }, theirs;
	List all = { 0 };
	bool same;

	snprintf(ins, sizeof ins, "%.*s", eq ? (int)(eq - row) : (int)strlen(row), row);
	ck_assert_msg(getenv("ORDERS_ASK") || (eq && sscanf(eq, " = %u of %u %x", &n, &of, &which) == 3),
	              "%s", row);
	orders(&all, ins);
	for (size_t i = 0; i < all.n; i++)
		if (sim_says(ARCH, all.v[i], why, sizeof why))
			count(&mine, all.v[i]);
	if (again) {
		same = ask(ins, &all, &theirs);
		ck_assert_msg(!eq || (theirs.n == n && theirs.which == which),
		              "%s: ptxas has changed its mind", row);
	} else {
		same = mine.n == n && mine.which == which && all.n == of;
		if (!same)
			printf("%s: we take %u of %zu, %08x\n", row, mine.n, all.n, mine.which);
	}
	drop(&all);
	return same;
}

TEST(orders_of_modifiers)
{
	FILE *f = fopen("test/sim/decode/orders.txt", "r");
	char row[MAX_TEXT];
	unsigned rows = 0, wrong = 0;
	bool all = getenv("ORDERS_ASK") != NULL, ptxas = have_ptxas();

	ck_assert_msg(f != NULL, "no test/sim/decode/orders.txt here");
	while (fgets(row, sizeof row, f)) {
		row[strcspn(row, "\n")] = 0;
		if (!*row || *row == '#')
			continue;
		rows++;
		if (!all)
			wrong += !row_agrees(row, false);
		if (all || (ptxas && rows % SAMPLE == 0))
			wrong += !row_agrees(row, true);
	}
	fclose(f);
	printf("%u opcodes, %u wrong\n", rows, wrong);
	fflush(stdout);
	ck_assert_uint_eq(wrong, 0);
}

TEST_PROGRAM(.timeout = 120);
