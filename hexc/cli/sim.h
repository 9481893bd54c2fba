/* sim.h - what the files of `hexc sim` share. */
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
	bool tmap;               /* a tensor map; with `buffer`: of a buffer of its own */
	unsigned char value[8];  /* of the scalar, or the device address */
	sim_tmap map;
	unsigned char *block;    /* a struct by value; NULL: no such thing */
	uint32_t block_bytes;
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
	SimArg *arg, *buffer;    /* --arg and --buffer */
	int narg, nbuffer;
	sim_launch launch;
	const char *entry;
	uint64_t sum; /* bytes of all buffers */
	struct SimFilter *filter;
	CliProgress progress;
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
/* The buffer of that --buffer name, or of the argument of that number; NULL: there is none. */
const SimArg *sim_find_buffer(const SimJob *j, const char *name);
/* A number of a PTX type, both as written in --arg `text`: its bytes and how many.  0, or a status with the
 * reason printed. */
int sim_scalar(const char *text, const char *type, const char *number, unsigned char value[8],
               uint32_t *bytes);
/* A buffer of `count` elements for a, filled with `data` or zeros.  Likewise. */
int sim_new_buffer(SimJob *j, SimArg *a, sim_type type, int64_t count, const unsigned char *data);
/* struct:... and ptrs:..., when all buffers are there (cli/sim_struct.c). */
int sim_read_struct(SimJob *j, SimArg *a);
/* --no-check and --suppress: set up j->launch (cli/sim_filter.c).  0, or a status with the reason printed. */
int sim_read_filter(SimJob *j);
/* a->text is @FILE.npy or zeros:TYPE:COUNT: allocate and fill the buffer; faults will call it argument
 * `index`.  Anything else leaves it alone.  0, or a status with the reason printed. */
int sim_read_buffer(SimJob *j, SimArg *a, int index);
/* tmap:FILE.json, when all buffers are there (cli/sim_tmap.c). */
int sim_read_tmap(SimJob *j, SimArg *a);
#endif
