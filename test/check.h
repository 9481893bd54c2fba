/* check.h - declares test programs. A test is named only where it is defined; test/util_main.c finds all
 * tests and runs each in a separate process, with Check.
 *
 *	TEST(name) { ... }                    runs once
 *	TEST_EACH(name, n) { ... _i ... }     n times, with _i from 0
 *	TEST_RANGE(name, first, end) { ... }  with _i from first to end - 1
 *	TEST_SAMPLED(name, n, every) { ... }  as TEST_EACH; QUICK=1: for each _i that is a multiple of `every`
 *
 * n, first and end are evaluated when the program starts: getenv("FULL") != NULL for n defines a test that
 * runs on request. Further needs of a program are declared below its tests:
 *
 *	TEST_PROGRAM(.setup = setup, .teardown = teardown, .timeout = 60);
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

enum { RUN_TESTS = -1, SKIPPED = 77 };

/* Are sanitizers on, which take time and address space?  gcc and clang tell it by different names. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

typedef struct TestProgram {
	void (*setup)(void), (*teardown)(void); /* before and after every single test */
	double timeout; /* seconds for one test; 0: no limit but the program's */
	bool one_process; /* tests share the program's: for those that make many small checks */
	/* Before all tests, e.g. to read the cases: RUN_TESTS, or what to exit with instead; SKIPPED has
	 * printed why. */
	int (*start)(int argc, char **argv);
	int (*passed)(void); /* after all, when none failed: what to exit with */
} TestProgram;

extern const TestProgram test_program;
#define TEST_PROGRAM(...) const TestProgram test_program = { __VA_ARGS__ }

/* Start an empty arena whose failure, e.g. a broken contract, fails the test. */
struct Arena;
void test_arena(struct Arena *a);

typedef struct TestEntry {
	TTest test;
	int (*first)(void), (*end)(void);
} TestEntry;

#define TEST(name) TEST_RANGE(name, 0, 1)
#define TEST_EACH(name, n) TEST_RANGE(name, 0, n)
#define TEST_SAMPLED(name, n, every)                                                               \
	static void name##_one(int);                                                               \
	TEST_EACH(name, n)                                                                         \
	{                                                                                          \
		if (!getenv("QUICK") || _i % (every) == 0)                                         \
			name##_one(_i);                                                            \
	}                                                                                          \
	static void name##_one(int _i CK_ATTRIBUTE_UNUSED)
/* The linker makes one array of all that is in section "tests". */
#define TEST_RANGE(name, from, to)                                                                 \
	static void name(int);                                                                     \
	static int name##_first(void)                                                              \
	{                                                                                          \
		return (int)(from);                                                                \
	}                                                                                          \
	static int name##_end(void)                                                                \
	{                                                                                          \
		return (int)(to);                                                                  \
	}                                                                                          \
	static const TestEntry name##_entry = {                                                    \
		{ #name, name, __FILE__, __LINE__ }, name##_first, name##_end                      \
	};                                                                                         \
	static const TestEntry *const name##_listed                                                \
		__attribute__((used, section("tests"))) = &name##_entry;                           \
	static void name(int _i CK_ATTRIBUTE_UNUSED)
#endif
