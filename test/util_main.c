/* util_main.c - the main of every test program: runs the tests registered by the macros of check.h.
 * Environment: ONLY=NAME runs only the test of that name; ONLY=? prints the names of all. */
#include "test/check.h"
#include "taskmap/support/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const TestProgram test_program __attribute__((weak)); /* not every program has one */
/* Where an arena of a test lands that fails.  Tests run below run(), so its frame is there. */
static jmp_buf arena_failed;
static Arena *last_arena;

extern const TestEntry *const __start_tests[], *const __stop_tests[];

void
test_arena(Arena *a)
{
	arena_init(a, NULL, NULL);
	a->fail = &arena_failed;
	last_arena = a;
}

/* As they stand in the text: compilers do not keep the order of variables. */
static int
by_line(const void *a, const void *b)
{
	const TTest *s = &(*(const TestEntry *const *)a)->test, *t = &(*(const TestEntry *const *)b)->test;
	int file = strcmp(s->file, t->file);

	return file ? file : s->line - t->line;
}

static int
print_names(void)
{
	for (const TestEntry *const *t = __start_tests; t < __stop_tests; t++)
		puts((*t)->test.name);
	return EXIT_SUCCESS;
}

static int
run(const TestProgram *p, const char *name, const char *only)
{
	size_t n = (size_t)(__stop_tests - __start_tests);
	const TestEntry **entry = malloc(n * sizeof *entry);
	Suite *suite = suite_create(name);
	TCase *tests = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed, added = 0;

	if (!entry)
		return EXIT_FAILURE;
	memcpy(entry, __start_tests, n * sizeof *entry);
	qsort(entry, n, sizeof *entry, by_line);
	tcase_add_checked_fixture(tests, p->setup, p->teardown);
	if (p->timeout > 0)
		tcase_set_timeout(tests, p->timeout);
	for (size_t i = 0; i < n; i++)
		if (!only || strcmp(only, entry[i]->test.name) == 0) {
			tcase_add_loop_test(tests, &entry[i]->test, entry[i]->first(), entry[i]->end());
			added++;
		}
	free(entry);
	if (only && !added) {
		fprintf(stderr, "%s has no test %s\n", name, only);
		exit(EXIT_FAILURE);
	}
	suite_add_tcase(suite, tests);
	if (p->one_process)
		srunner_set_fork_status(runner, CK_NOFORK);
	if (setjmp(arena_failed)) {
		fprintf(stderr, "an arena failed: %s\n", last_arena->why ? last_arena->why : "out of memory");
		exit(EXIT_FAILURE);
	}
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	static const TestProgram plain = { 0 };
	const TestProgram *p = &test_program ? &test_program : &plain;
	const char *only = getenv("ONLY");
	int code = p->start ? p->start(argc, argv) : RUN_TESTS;

	if (code != RUN_TESTS)
		return code;
	/* Check's own limit of 4 seconds is for small tests on fast machines. */
	setenv("CK_DEFAULT_TIMEOUT", "0", 0);
	if (only && strcmp(only, "?") == 0)
		return print_names();
	code = run(p, argv[0], only);
	/* it may judge what all tests together have reached */
	return code == EXIT_SUCCESS && p->passed && !only ? p->passed() : code;
}
