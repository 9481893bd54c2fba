/* test_order.c - tests raster groups of grids: the mapping of device blocks to program blocks, in all
 * small grids. In C: the order of all small grids is computed. */
#include "lib/sim/sim.h"
#include "hexc/ir/verify/verify.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says who it is.  The simulator keeps what blocks print in the order of the device's numbers. */
static const char telling[] = "kernel k {\n  warps 1\n%s"
			      "  param %%1.X size X : i64 read\n"
			      "  param %%2.Y size Y : i64 read\n"
			      "  param %%3.Z size Z : i64 read\n"
			      "  grid {\n    yield %%1.X, %%2.Y, %%3.Z\n  }\n"
			      "  body {\n"
			      "    %%4 = block_id : i64\n"
			      "    %%5 = block_id axis 1 : i64\n"
			      "    %%6 = block_id axis 2 : i64\n"
			      "    print %%4, %%5, %%6 \"{} {} {}\"\n"
			      "    yield\n  }\n}\n";

enum { FAST = 19, SLOW = 4, OTHER = 2 };

typedef struct Dims {
	int fast, slow, other;
} Dims;
static const Dims pairs[] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 2, 0 } };
static const int groups[] = { 1, 2, 3, 4, 7, 1024 };

typedef struct Device {
	sim *s;
	sim_module *m;
} Device;

static Device
load(int group, const Dims *d)
{
	char line[40] = "", ir[sizeof telling + sizeof line];
	const char *ptx;
	Device dev = { .s = sim_open() };

	if (group)
		snprintf(line, sizeof line, "  group %d of %d, %d\n", group, d->fast, d->slow);
	snprintf(ir, sizeof ir, telling, line);
	ptx = ptx_of(u, ir);
	ck_assert_int_eq(sim_load(dev.s, ptx, strlen(ptx), &dev.m), SIM_OK);
	return dev;
}

/* The blocks of a grid in the order in which they are to run, as the program's words. */
static char *
wanted(int group, const Dims *d, const uint32_t grid[3])
{
	uint32_t fast = grid[d->fast], slow = grid[d->slow], n = 0, at[3];
	uint32_t (*list)[2] = calloc((size_t)fast * slow, sizeof *list);
	char *text = malloc((size_t)fast * slow * grid[d->other] * 12 + 1), *end = text;

	for (uint32_t from = 0, rows; group && from < fast; from += rows) {
		rows = fast - from < 2 * (uint32_t)group ? fast - from : (uint32_t)group;
		for (uint32_t s = 0; s < slow; s++)
			for (uint32_t f = 0; f < rows; f++, n++) {
				list[n][0] = from + f;
				list[n][1] = s;
			}
	}
	for (at[2] = 0; at[2] < grid[2]; at[2]++)
		for (at[1] = 0; at[1] < grid[1]; at[1]++)
			for (at[0] = 0; at[0] < grid[0]; at[0]++) {
				uint32_t is[3], number = at[d->slow] * fast + at[d->fast];

				is[d->fast] = group ? list[number][0] : at[d->fast];
				is[d->slow] = group ? list[number][1] : at[d->slow];
				is[d->other] = at[d->other];
				end += sprintf(end, "%u %u %u\n", is[0], is[1], is[2]);
			}
	*end = 0;
	free(list);
	return text;
}

static void
compare(const Device *dev, int group, const Dims *d, const uint32_t grid[3])
{
	uint64_t size[3] = { grid[0], grid[1], grid[2] };
	const void *args[3] = { &size[0], &size[1], &size[2] };
	sim_launch l = SIM_LAUNCH_INIT;
	char *want = wanted(group, d, grid);
	sim_result *r;

	memcpy(l.grid, grid, sizeof l.grid);
	l.block[0] = 32;
	l.threads = 1;
	l.args = args;
	ck_assert_int_eq(sim_run(dev->s, dev->m, "k", &l, &r), SIM_OK);
	ck_assert_msg(strcmp(sim_result_output(r, NULL), want) == 0,
	              "group %d of %d, %d, grid %u x %u x %u: not\n%s but\n%s", group, d->fast, d->slow,
	              grid[0], grid[1], grid[2], want, sim_result_output(r, NULL));
	sim_result_free(r);
	free(want);
}

/* All blocks are there once, and in that order. */
TEST_EACH(small_grids, 3 * 6)
{
	const Dims *d = &pairs[_i / 6];
	int group = groups[_i % 6];
	Device dev = load(group, d);
	uint32_t grid[3];

	for (grid[d->fast] = 1; grid[d->fast] <= FAST; grid[d->fast]++)
		for (grid[d->slow] = 1; grid[d->slow] <= SLOW; grid[d->slow]++)
			for (grid[d->other] = 1; grid[d->other] <= OTHER; grid[d->other]++)
				compare(&dev, group, d, grid);
	sim_close(dev.s);
}

TEST(no_group)
{
	Device dev = load(0, &pairs[0]);

	compare(&dev, 0, &pairs[0], (uint32_t[3]){ 7, 5, 2 });
	sim_close(dev.s);
}

/* Grids that are as they were need no division. */
TEST(no_group_no_code)
{
	char ir[sizeof telling];
	const char *ptx;

	snprintf(ir, sizeof ir, telling, "");
	ptx = ptx_of(u, ir);
	ck_assert_int_eq(ptx_count(ptx, "div."), 0);
	ck_assert_int_eq(ptx_count(ptx, "%nctaid"), 0);
}

/* What is no order the verifier refuses. */
TEST(wrong_orders)
{
	static const char *const wrong[] = { "1025 of 0, 1", "8 of 1, 0", "8 of 1, 1" };
	char line[40], ir[sizeof telling + sizeof line];

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		Kernel *k;

		snprintf(line, sizeof line, "  group %s\n", wrong[i]);
		snprintf(ir, sizeof ir, telling, line);
		u->diag->n = 0;
		k = kernel_read(u, ir, strlen(ir));
		ck_assert_ptr_nonnull(k);
		ck_assert_msg(!kernel_verify(k, "reading"), "group %s is taken", wrong[i]);
		ck_assert_ptr_nonnull(strstr(u->diag->msg[0].text,
				"the raster order is not a group of 1 to 1024 blocks"));
	}
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
