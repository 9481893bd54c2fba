/* sim.h - declares what the files of `hexc sim` share. */
#ifndef HEXC_CLI_SIM_H
#define HEXC_CLI_SIM_H
#include "hexc/cli/base/npy.h"
#include "hexc/cli/run.h"

/* One --arg, or one --buffer. */
typedef struct SimArg {
	const char *text;
	const char *name;        /* of a --buffer */
	sim_type type;           /* of a scalar, or of a buffer's elements */
	bool buffer;
	bool tmap;               /* a tensor map; with `buffer`: of a private buffer */
	unsigned char value[8];  /* the scalar, or the device address */
	sim_tmap map;
	unsigned char *block;    /* a struct by value; else NULL */
	uint32_t block_bytes;
	Npy npy;                 /* of the buffer: its shape and type for --save */
	uint64_t bytes;
	uint64_t ptr;
} SimArg;

typedef struct SimJob {
	Cli *c;
	const char *path; /* as shown in messages */
	char *text;       /* the PTX */
	sim *device;
	sim_module *module;
	SimArg *arg, *buffer;    /* --arg and --buffer */
	int narg, nbuffer;
	sim_launch launch;
	const char *entry;
	uint64_t sum; /* bytes of all buffers */
	struct SimFilter *filter;
	CliProgress progress;
} SimJob;

/* Reads the --arg options, in parameter order; allocates and fills buffers. Returns 0, or a status with
 * the reason printed. */
int sim_read_args(SimJob *j);
/* --trace, --break and --show: sets up j->launch.trace. Returns 0, or a status with the reason printed. */
int sim_read_trace(SimJob *j);
/* After the run: reports each --break that was never reached. */
void sim_end_trace(const SimJob *j);
/* Bytes of the argument in the kernel's parameter space, and their address. */
uint32_t sim_arg_bytes(const SimArg *a);
const void *sim_arg_value(const SimArg *a);
/* Returns the buffer of that --buffer name, or of the argument of that index; NULL if there is none. */
const SimArg *sim_find_buffer(const SimJob *j, const char *name);
/* Converts a number of a PTX type, both as written in --arg `text`, to its bytes. Returns 0, or a status
 * with the reason printed. */
int sim_scalar(const char *text, const char *type, const char *number, unsigned char value[8],
               uint32_t *bytes);
/* Allocates a buffer of `count` elements for a, filled with `data` or zeros. Returns as above. */
int sim_new_buffer(SimJob *j, SimArg *a, sim_type type, int64_t count, const unsigned char *data);
/* Parses struct:... and ptrs:..., after all buffers are allocated (sim_struct.c). */
int sim_read_struct(SimJob *j, SimArg *a);
/* --no-check and --suppress: sets up j->launch (sim_suppress.c). Returns 0, or a status with the reason
 * printed. */
int sim_read_filter(SimJob *j);
/* If a->text is @FILE.npy or zeros:TYPE:COUNT, allocates and fills the buffer; faults name it argument
 * `index`. Leaves other text unchanged. Returns 0, or a status with the reason printed. */
int sim_read_buffer(SimJob *j, SimArg *a, int index);
/* Parses tmap:FILE.json, after all buffers are allocated (sim_tmap.c). */
int sim_read_tmap(SimJob *j, SimArg *a);
#endif
