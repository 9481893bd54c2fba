/* run.h - declares running a kernel and checking its results. */
#ifndef HEXC_CLI_RUN_H
#define HEXC_CLI_RUN_H
#include "hexc/cli/base/json.h"
#include "hexc/cli/kernel_args.h"
#include "lib/hexc_gpu.h"
#include "lib/sim/sim.h"

/* The simulator's results, for --stats. */
typedef struct SimReport {
	const char *entry, *arch;
	uint32_t grid[3], block[3], smem; /* smem: dynamic shared memory in bytes */
	const sim_result *result; /* NULL: nothing was launched (an empty grid) */
} SimReport;

/* --values: appends a line on v. */
void values_add(Cli *c, CliText *to, const hexc_value *v);

/* Interprets into t->tile, with bounds if requested; the program's output is printed if `print`, or on
 * failure. Returns 0, or a status with the reason printed. */
int run_tile(Cli *c, Args *a, bool bounds, bool print);
/* For floats without a bound that differ from run_tile's result: computes t->estimate and, if that is
 * insufficient, t->most, by runs with noise. Returns 0, or a status with the reason printed. */
int run_estimate(Cli *c, Args *a, bool device);
/* Simulates into t->device; writes --stats. Returns EXIT_WRONG, with the report printed, if the kernel has
 * faults. */
int run_sim(Cli *c, Args *a);
/* Launches on g into t->device, including --repeat; writes --stats. Returns EXIT_WRONG if the kernel
 * faults. */
int run_gpu(Cli *c, Args *a, hexc_gpu *g);
/* Executes `hexc run --exec gpu` on an open GPU. */
int run_on(Cli *c, hexc_gpu *g);
/* Compares t->device (or t->tile with itself) with t->tile; prints one line per written tensor. Returns 0
 * or EXIT_WRONG. */
int run_check(const Args *a, bool device);

/* Compares elements of t with t->tile, within t->bound; prints one line. Returns 0, EXIT_WRONG or
 * EXIT_UNJUDGED. */
int run_judge(const Tensor *t, const unsigned char *data);
/* Compares t->device (or t->tile) with the files of --expect; prints one line for each. Returns 0,
 * EXIT_WRONG, or another status with the reason printed. */
int run_expect(Cli *c, const Args *a, bool device);

/* Prints the kernel's output to standard output. */
void sim_show_output(const sim_result *r);
/* Prints the faults and warnings of a run to standard error. */
void sim_show_faults(const char *ptx_name, const sim_result *r);
/* Returns 0 if --roofline names a known GPU, or is not given; else a status with the names printed. */
int sim_check_roofline(const Cli *c);
/* Sets --l2 in the launch. Returns 0, or a status with the reason printed. */
int sim_read_l2(Cli *c, sim_launch *l);
/* Prints --roofline and --l2, and writes --stats, if requested. */
int sim_write_stats(Cli *c, const SimReport *report);
/* Returns the exit status for a result of sim_run or sim_load, with the reason printed. */
int sim_status(int code, const char *text);
#endif
