/* util_arena.h - TEST_PROGRAM(ARENA_FIXTURE) gives each test a separate arena. Include it last. */
#ifndef TEST_UTIL_ARENA_H
#define TEST_UTIL_ARENA_H
#include "taskmap/support/support.h"
#include "test/check.h"

static Arena arena;

static inline void
arena_setup(void)
{
	test_arena(&arena);
}

static inline void
arena_teardown(void)
{
	arena_free(&arena);
}

#define ARENA_FIXTURE .setup = arena_setup, .teardown = arena_teardown
#endif
