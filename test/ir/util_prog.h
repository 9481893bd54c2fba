/* util_prog.h - random index programs: nested loops, conditions and views over run-time sizes, and a plain
 * executor for them. */
#ifndef TEST_UTIL_PROG_H
#define TEST_UTIL_PROG_H
#include "test/ir/util_ir.h"

/* One choice of everything that is known at run time only. */
typedef struct Env {
	int64_t param[8]; /* by parameter; sizes and scalars */
	int64_t block[3];
} Env;

/* What the executor tells: each scalar integer as it is computed, each view and each store as it
 * runs. */
typedef struct Watch {
	void *user;
	void (*value)(void *user, const Val *v, int64_t x);
	void (*view)(void *user, const Op *view, const int64_t *start, const int64_t *size);
	void (*store)(void *user, const int64_t *start, int n);
} Watch;

/* Parameters: 0 T: global f32[?, ?] written;  1 M, 2 K sizes;  3 x an i64 scalar. */
Kernel *prog_random(Unit *u, uint64_t seed);
/* Does the launch keep the parameters' facts, and is T's size sane? */
bool prog_allows(Kernel *k, const Env *e);
/* Blocks of the grid in each direction. */
void prog_grid(Kernel *k, const Env *e, int64_t *grid);
/* Run one block; false when it was cut off after too many steps. */
bool prog_run(Kernel *k, const Env *e, const Watch *w);
uint64_t prog_rand(uint64_t *state, uint64_t below);
#endif
