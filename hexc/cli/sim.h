/* sim.h - what the files of `hexc sim` share. */
#ifndef HEXC_CLI_SIM_H
#define HEXC_CLI_SIM_H
#include "hexc/cli/npy.h"
#include "hexc/cli/run.h"

/* One --arg. */
typedef struct SimArg {
	const char *text;
	sim_type type;           /* of a scalar, or of a buffer's elements */
	bool buffer;
	bool tmap;               /* a tensor map; with `buffer`: of a buffer of its own */
	unsigned char value[8];  /* of the scalar, or the device address */
	sim_tmap map;
	Npy npy;                 /* of the buffer: its shape and type for --save */
	uint64_t bytes;
	uint64_t ptr;
} SimArg;

typedef struct SimJob {
	Cli *c;
	const char *path; /* as messages name it */
	char *text;       /* the PTX */
	sim *device;
	sim_module *module;
	SimArg *arg;
	int narg;
	sim_launch launch;
	const char *entry;
	uint64_t sum; /* bytes of all buffers */
} SimJob;

/* The --arg options, in parameter order; buffers are allocated and filled.  0, or a status with the reason
 * printed. */
int sim_read_args(SimJob *j);
/* --trace, --break and --show: set up j->launch.trace.  0, or a status with the reason printed. */
int sim_read_trace(SimJob *j);
/* After the run: say which --break were never reached. */
void sim_end_trace(const SimJob *j);
/* Bytes of the argument as the kernel takes it, and where they are. */
uint32_t sim_arg_bytes(const SimArg *a);
const void *sim_arg_value(const SimArg *a);
/* a->text is @FILE.npy or zeros:TYPE:COUNT: allocate and fill the buffer; faults will call it argument
 * `index`.  Anything else leaves it alone.  0, or a status with the reason printed. */
int sim_read_buffer(SimJob *j, SimArg *a, int index);
/* tmap:FILE.json, when all buffers are there (cli/sim_tmap.c). */
int sim_read_tmap(SimJob *j, SimArg *a);
#endif
