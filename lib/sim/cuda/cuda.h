/* cuda.h - declarations shared by the files of sim_cuda. */
#ifndef HEXC_SIM_CUDA_H
#define HEXC_SIM_CUDA_H
#include "lib/gpu/driver.h"
#include "lib/sim/cuda/graph.h"
#include <pthread.h>
#include <stdatomic.h>

enum { NO_BINARY = 209, INVALID_PTX = 218, INVALID_CONTEXT = 201, NOT_FOUND = 500,
       STACK = 16, SMS = 4, SHARED_MAX = 227 << 10, PAGE = 4096 };

/* Several threads may have one current, as with a driver. `alone` is held while the simulator, or a list of
 * the context, is in use. */
typedef struct Context {
	pthread_mutex_t alone;
	sim *s;
	int capability;
	atomic_int sticky; /* a kernel failed: every later call does too */
	_Atomic uint64_t launches;
	char fault[300];
} Context;

typedef struct Module Module;

typedef struct Function {
	struct Function *next;
	Module *of;
	int shared; /* dynamic, maximum bytes */
	char *name;
} Function;

struct Module {
	Context *of;
	sim_module *m;
	Function *function;
};

/* device.c: the context that is current in this thread, or NULL; and the error that every call must return,
 * 0: none. */
Context *cuda_now(void);
int cuda_state(void);
/* device.c: its simulator, locked for this thread until cuda_leave, which converts the simulator's result
 * code to the driver's. */
sim *cuda_enter(Context *c);
int cuda_leave(Context *c, int code);

/* device.c: does it hold all of these blocks at a time? */
bool cuda_holds(void *function, const unsigned grid[3], const unsigned block[3], unsigned shared);
/* device.c: its functions by name; NULL: unknown. */
sim_function cuda_device_function(const char *name);
/* Returns the table's function of this name, if it has one. */
#define CUDA_FIND(table, name)                                                   \
	do {                                                                     \
		DRIVER_CALLS(CUDA_FIND_)                                         \
	} while (0)
#define CUDA_FIND_(function, parameters)                                         \
	if (strcmp(name, #function) == 0)                                        \
		return (sim_function)table.function;
#endif
