/* run.h - running a kernel and judging the result. */
#ifndef HEXC_CLI_RUN_H
#define HEXC_CLI_RUN_H
#include "hexc/cli/base/json.h"
#include "hexc/cli/kernel_args.h"
#include "lib/hexc_gpu.h"
#include "lib/sim/sim.h"

/* What the simulator said, for --stats. */
typedef struct SimReport {
	const char *entry, *arch;
	uint32_t grid[3], block[3], smem; /* smem: bytes that the launch asks for */
	const sim_result *result; /* NULL: nothing was launched (an empty grid) */
} SimReport;

/* --values: a line on v. */
void values_add(Cli *c, CliText *to, const hexc_value *v);

/* Interpret into t->tile, with bounds when asked; what the program prints is shown if `print`, or on
 * failure.  0, or a status with the reason printed. */
int run_tile(Cli *c, Args *a, bool bounds, bool print);
/* Where a float has no bound and differs from what run_tile gave: t->estimate, and t->most where that does
 * not do, by runs with noise.  0, or a status with the reason printed. */
int run_estimate(Cli *c, Args *a, bool device);
/* Simulate into t->device; --stats is written.  EXIT_WRONG, with the report printed, when the
 * kernel has faults. */
int run_sim(Cli *c, Args *a);
/* Launch on g into t->device, --repeat included; --stats is written.  EXIT_WRONG when the kernel has a
 * fault. */
int run_gpu(Cli *c, Args *a, hexc_gpu *g);
/* A whole `hexc run --exec gpu`, on a GPU that is open. */
int run_on(Cli *c, hexc_gpu *g);
/* Compare t->device (or t->tile with itself) with t->tile; prints one line for each written tensor.  0 or
 * EXIT_WRONG. */
int run_check(const Args *a, bool device);

/* Compare elements of t with t->tile, within t->bound; prints one line.  0, EXIT_WRONG or EXIT_UNJUDGED. */
int run_judge(const Tensor *t, const unsigned char *data);
/* Compare t->device (or t->tile) with the files that --expect names; prints one line for each.  0,
 * EXIT_WRONG, or another status with the reason printed. */
int run_expect(Cli *c, const Args *a, bool device);

/* What the kernel printed, on standard output. */
void sim_show_output(const sim_result *r);
/* Show the faults and warnings of a run on standard error. */
void sim_show_faults(const char *ptx_name, const sim_result *r);
/* --roofline names a GPU that is known, or is not given: 0; else a status with the names printed. */
int sim_check_roofline(const Cli *c);
/* --l2: into the launch.  0, or a status with the reason printed. */
int sim_read_l2(Cli *c, sim_launch *l);
/* Print --roofline and --l2, and write --stats, if it was asked for. */
int sim_write_stats(Cli *c, const SimReport *report);
/* Exit status for a result of sim_run or sim_load, with the reason printed. */
int sim_status(int code, const char *text);
#endif
