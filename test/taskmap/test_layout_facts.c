/* test_layout_facts.c - tests every row of layout_facts.tsv, compared as text. */
#include "test/taskmap/tm_test.h"

enum { KIDS = 16, ROWS = 183 };

/* Storage for the tilers of one row. */
typedef struct Pool {
	Tiler t[64];
	int n;
} Pool;

/* Shapes, coordinates and integer tuples are read as layouts whose strides mean nothing. */
static Layout
tuple(const char *s)
{
	char buf[512];

	snprintf(buf, sizeof buf, "%s:%s", s, s);
	return lay(buf);
}

static const char *
tuple_text(const Layout *l)
{
	char *s = arena_printf(&tm_arena, "%s", show(l));

	*strchr(s, ':') = '\0';
	return s;
}

static Layout
lay_n(const char *s, size_t n)
{
	char buf[512];

	snprintf(buf, sizeof buf, "%.*s", (int)n, s);
	return lay(buf);
}

/* "[3:1;[2:1;_]]"; returns what is behind it. */
static const char *
read_tile(Pool *pool, Tiler *t, const char *s)
{
	*t = (Tiler){ .kind = TILE_MODES };
	if (*s == '_') {
		t->kind = TILE_KEEP;
		return s + 1;
	}
	if (*s != '[') {
		size_t n = strcspn(s, ";]");

		t->kind = TILE_LAYOUT;
		t->layout = lay_n(s, n);
		return s + n;
	}
	Tiler *kid = &pool->t[pool->n];
	pool->n += KIDS;
	ck_assert_int_le(pool->n, 64);
	t->kid = kid;
	do
		s = read_tile(pool, &kid[t->n++], s + 1);
	while (*s == ';');
	ck_assert_int_eq(*s, ']');
	return s + 1;
}

/* A shape as a tiler: "(3,(4,5))" is "[3:1;[4:1;5:1]]". */
static const char *
read_shape_tile(Pool *pool, Tiler *t, const char *s)
{
	if (*s != '(') {
		char *end;
		int64_t e = strtoll(s, &end, 10);

		*t = (Tiler){ .kind = TILE_LAYOUT };
		layout_init(&t->layout, 1);
		ck_assert(layout_push_unit(&t->layout, 0, e, 1, AX_mem));
		return end;
	}
	Tiler *kid = &pool->t[pool->n];
	pool->n += KIDS;
	ck_assert_int_le(pool->n, 64);
	*t = (Tiler){ .kind = TILE_MODES, .kid = kid };
	do
		s = read_shape_tile(pool, &kid[t->n++], s + 1);
	while (*s == ',');
	return s + 1;
}

static bool
take(char **s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*s, word, n) != 0)
		return false;
	*s += n;
	return true;
}

typedef bool (*Op1)(Layout *, const Layout *);
typedef bool (*Op2)(Layout *, const Layout *, const Layout *);
typedef bool (*OpTile)(Layout *, const Layout *, const Tiler *);

static const struct {
	const char *name;
	Op1 one; /* of a layout alone */
	Op2 two; /* with a layout */
	OpTile tile; /* with a tile or shape */
} ops[] = {
	{ "blocked_product", NULL, cute_blocked_product, NULL },
	{ "composition", NULL, cute_compose, cute_compose_by },
	{ "flatten", cute_flatten, NULL, NULL },
	{ "left_inverse", cute_left_inverse, NULL, NULL },
	{ "logical_divide", NULL, cute_logical_divide, cute_logical_divide_by },
	{ "logical_product", NULL, cute_logical_product, NULL },
	{ "raked_product", NULL, cute_raked_product, NULL },
	{ "right_inverse", cute_right_inverse, NULL, NULL },
	{ "zipped_divide", NULL, cute_logical_divide,
	  cute_zipped_divide }, /* by a layout: the same */
};

/* flatten of a tile: each of its layouts stays, the list has one level already. */
static void
check_tile_flatten(char *tile, const char *result)
{
	Pool pool = { .n = 0 };
	Tiler t;
	Text out = { .arena = &tm_arena };

	read_tile(&pool, &t, tile);
	for (int i = 0; i < t.n; i++) {
		Layout f;

		ck_assert(cute_flatten(&f, &t.kid[i].layout));
		text_printf(&out, "%s%s", i ? ";" : "tile [", show(&f));
	}
	text_printf(&out, "]");
	ck_assert_str_eq(out.s, result);
}

/* size, cosize, complement, coalesce and the forms of flatten; false: not one of these. */
static bool
check_special(const char *op, char *first, char *second, const char *result, const char *row)
{
	Layout a, r;
	char number[64];
	bool is_layout = take(&first, "layout ");
	const char *kind = first;

	if (strcmp(op, "flatten") == 0 && take(&first, "tile ")) {
		check_tile_flatten(first, result);
		return true;
	}
	if (!is_layout && !take(&first, "shape ") && !take(&first, "coord ") &&
	    !take(&first, "stride ") && !take(&first, "int_tuple "))
		ck_abort_msg("operand of %s", row);
	a = is_layout ? lay(first) : tuple(first);
	if (strcmp(op, "size") == 0 || strcmp(op, "cosize") == 0) {
		snprintf(number, sizeof number, "int_tuple %lld",
		         (long long)(*op == 's' ? layout_size(&a) : layout_cosize(&a, AX_mem)));
		ck_assert_str_eq(number, result);
		return true;
	}
	if (strcmp(op, "flatten") == 0 && !is_layout) {
		ck_assert(cute_flatten(&r, &a));
		ck_assert_str_eq(arena_printf(&tm_arena, "%.*s%s", (int)(first - kind), kind,
		                              tuple_text(&r)),
		                 result);
		return true;
	}
	if (strcmp(op, "coalesce") == 0) {
		if (second) {
			Layout profile;

			ck_assert(take(&second, "coord "));
			profile = tuple(second);
			ck_assert_msg(cute_coalesce_by(&r, &a, &profile), "%s", row);
		} else {
			ck_assert_msg(cute_coalesce(&r, &a), "%s", row);
		}
	} else if (strcmp(op, "complement") == 0) {
		int64_t bound = 0;

		if (second && take(&second, "layout ")) {
			Layout b = lay(second);
			bound = layout_cosize(&b, AX_mem);
		} else if (second && take(&second, "shape ")) {
			Layout b = tuple(second);
			bound = layout_size(&b);
		}
		ck_assert_msg(cute_complement(&r, &a, bound), "%s", row);
	} else {
		return false;
	}
	ck_assert_msg(strcmp(show(&r), result + 7) == 0, "%s\n   got %s", row, show(&r));
	return true;
}

static void
check_row(char *line)
{
	char *row = arena_printf(&tm_arena, "%s", line);
	char *col[4] = { line, NULL, NULL, NULL };
	char *second;
	Layout a, r;
	size_t i = 0;
	bool ok = false;

	for (int c = 1; c < 4; c++) {
		col[c] = strchr(col[c - 1], '\t');
		ck_assert_msg(col[c] != NULL, "columns of %s", row);
		*col[c]++ = '\0';
	}
	ck_assert_str_eq(col[1], ""); /* no attributes are in use */
	second = strstr(col[2], " ; ");
	if (second) {
		*second = '\0';
		second += 3;
	}
	if (check_special(col[0], col[2], second, col[3], row))
		return;
	while (i < COUNT_OF(ops) && strcmp(ops[i].name, col[0]) != 0)
		i++;
	ck_assert_msg(i < COUNT_OF(ops), "unknown operation in %s", row);
	ck_assert(take(&col[2], "layout ") && take(&col[3], "layout "));
	a = lay(col[2]);
	if (!second) {
		ok = ops[i].one(&r, &a);
	} else if (take(&second, "layout ")) {
		Layout b = lay(second);
		ok = ops[i].two(&r, &a, &b);
	} else {
		Pool pool = { .n = 0 };
		Tiler t;
		const char *end = take(&second, "tile ")    ? read_tile(&pool, &t, second)
		                  : take(&second, "shape ") ? read_shape_tile(&pool, &t, second)
		                                            : "?";

		ck_assert_msg(*end == '\0', "operand of %s", row);
		ok = ops[i].tile(&r, &a, &t);
	}
	ck_assert_msg(ok, "infeasible: %s", row);
	ck_assert_msg(strcmp(show(&r), col[3]) == 0, "%s\n   got %s", row, show(&r));
}

static char *fact[ROWS + 1];
static int nfact;

static int
read_facts(int argc, char **argv)
{
	FILE *f = fopen("test/taskmap/layout_facts.tsv", "r");
	static char lines[ROWS + 1][1024];

	(void)argc, (void)argv;
	if (!f) {
		fprintf(stderr, "test/taskmap/layout_facts.tsv: run from the repository root\n");
		return 2;
	}
	while (nfact <= ROWS && fgets(lines[nfact], sizeof lines[0], f)) {
		lines[nfact][strcspn(lines[nfact], "\r\n")] = '\0';
		if (lines[nfact][0] == '#' || !lines[nfact][0])
			continue;
		fact[nfact] = lines[nfact];
		nfact++;
	}
	fclose(f);
	return RUN_TESTS;
}

TEST(all_rows_seen)
{
	ck_assert_int_eq(nfact, ROWS);
}

TEST_EACH(row, ROWS)
{
	ck_assert_int_lt(_i, nfact);
	check_row(fact[_i]);
}

TEST_PROGRAM(TM_FIXTURE, .start = read_facts);
