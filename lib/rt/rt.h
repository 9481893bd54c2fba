/* rt.h - declares modules as the runtime reads them. */
#ifndef HEXC_RT_H
#define HEXC_RT_H
#include "hexc/ir/ir.h"
#include "lib/base/base.h"
#include "lib/rt/launch_expr.h"

typedef struct ModParam {
	const char *name;
	DType dtype;
	hexc_kind kind;
	int rank;
	bool read, written;
	const char *pack; /* NULL: not packed, or not chosen yet */
	const struct Pack *packed; /* the parsed pack, for its size: without a layout */
	ExprRef dim[HEXC_MAX_RANK], stride[HEXC_MAX_RANK];
	const char *dim_text[HEXC_MAX_RANK], *stride_text[HEXC_MAX_RANK];
	int64_t mult, lo, hi; /* range of a size or scalar: value % mult == 0, lo <= value <= hi */
} ModParam;

typedef struct ModAssume {
	const char *text;
	int param;    /* the condition is that ModParam's mult (what = '%'), lo ('>') or hi ('<'); else: */
	char what;
	ExprRef cond; /* if param < 0 */
} ModAssume;

/* A tensor map; dims as in ir.h, the contiguous one first. */
typedef struct ModMap {
	int param;
	DType dtype;
	int rank;
	ExprRef dim[MAP_RANK_MAX], stride[MAP_RANK_MAX]; /* stride[0]: -1 */
	const char *dim_text[MAP_RANK_MAX], *stride_text[MAP_RANK_MAX];
	int64_t box[MAP_RANK_MAX];
	int swizzle, l2;
	bool optional; /* used only if the strides permit it */
} ModMap;

/* An assembler's result for a solution; all 0 if it was not assembled. */
typedef struct ModAsked {
	bool known;
	int estimated; /* registers/thread, counted in its PTX */
	int used, spilled, together;
	double cycles;
} ModAsked;

typedef struct ModCand {
	double cycles, alone;
	int registers, together;
	const char *text;
	ModAsked asked; /* not in files */
} ModCand;

enum { TURNS_LOOPS_MOST = 64, TURNS_WAYS_MOST = 64 }; /* per kernel */

/* A loop without a constant trip count. */
typedef struct ModLoop {
	int in; /* index of the enclosing loop, which precedes it in the list; -1: none */
	bool by_sizes; /* its bounds are expressions of the arguments; else the assumed trip count is used */
	ExprRef lo, hi, step;
	double turns; /* trip count that the predicted cycles are for */
	double most; /* upper limit of the trip count; 0: none */
} ModLoop;

/* One term of the prediction: fixed + each[l] * (trips of loop l) / (trips that the solution's cycles are
 * for). */
typedef struct ModWay {
	bool alone; /* of a block alone on an SM; else of one busy unit. The maximum over each kind is
	             * used */
	double fixed;
	double *each;
} ModWay;

/* Predicted cycles of the solution in the PTX for other trip counts. */
typedef struct ModTurns {
	bool known; /* false in files of version 2, which lack it */
	ModLoop *loop;
	int nloop;
	ModWay *way;
	int nway;
} ModTurns;

typedef struct ModKernel {
	const char *name;
	ExprTable expr;
	ExprRef grid[3];
	const char *grid_text[3];
	ModParam *param;
	int nparam;
	ModAssume *assume;
	int nassume;
	hexc_define *constants;
	int nconstants;
	Tunable *tunable;
	const char **condition;
	int ntunable, ncondition;
	ModCand *cand;
	int ncand, candidate;
	ModTurns turns;
	int warps; /* per block */
	int cluster[3];
	ModMap *map;
	int nmap;
	bool persistent; /* the kernel is persistent */
	bool pdl; /* it executes griddepcontrol.wait */
	bool cooperative; /* it has grid barriers: all blocks must be resident */
	GridOrder order;
	int64_t smem;
	const char *explain, *explain_short, *json;
	struct ModDrawing {
		const char *name, *svg;
	} *drawing;
	int ndrawing;
} ModKernel;

typedef struct ModTime {
	const char *name;
	double ms;
} ModTime;

struct hexc_module {
	Arena arena;
	const char *ptx;
	size_t nptx;
	ModKernel *kernel;
	int nkernel;
	ModTime *time;
	int ntime, time_cap;
	const char *part; /* the running part of the compilation; NULL: unnamed */
	double since;     /* when it started or resumed */
	double other;     /* ms of no named part */
	/* for the tile interpreter, which compiles the source again */
	const char *file, *src;
	/* of hexc_compile_ir, where src is IR too: each kernel after its last pass; else NULL */
	const char **ir;
	size_t len;
	Define *def;
	int ndef;
	const Target *target;
	uint64_t digest; /* of the source, which modules from files lack: src is NULL */
	hexc_cubin *cubin;
	int ncubin;
};

/* Required alignment of tensors in bytes: the widest access is 128 bits, unless the kernel has a constant
 * ALIGN. */
enum { POINTER_ALIGN = 16 };
/* Required alignment of strides in bytes for TMA copies. */
enum { MAP_GRAIN = 16 };

/* ---- module.c -------------------------------------------------------------------------------------- */

hexc_module *module_new(void *(*fn)(void *, void *, size_t), void *user); /* NULL: out of memory */

/* ---- launch_args.c --------------------------------------------------------------------------------- */

/* Computes the grid, and the cycles of a block among others and alone, for the trip counts with these
 * arguments; without by_sizes, for those of the module's prediction. */
int launch_cost(const hexc_module *m, size_t k, const hexc_arg *arg, bool by_sizes, uint32_t grid[3],
                double *cycles, double *alone);

uint32_t param_align(const ModKernel *k, const ModParam *p); /* of tensor p, in bytes */

/* How tensor arguments are checked: not at all, or the memory at their addresses, unpacked or in device
 * form. */
typedef enum ArgForm { ARG_SIZES, ARG_NATURAL, ARG_DEVICE } ArgForm;

/* Launch data that do not depend on the tensors' addresses. */
typedef struct LaunchPlan {
	uint32_t grid[3];
	int64_t *bytes;            /* per tensor parameter; NULL: not requested */
	hexc_tensor_map_info *map; /* dims and strides of each map; NULL: not requested */
} LaunchPlan;

/* Checks as hexc_check_args for that form, and computes the plan. */
int launch_plan(const hexc_module *m, size_t k, const hexc_arg *arg, ArgForm form, LaunchPlan *plan,
                char *why, size_t n);
int launch_check(const hexc_module *m, size_t k, const hexc_arg *arg, ArgForm form, char *why, size_t n);
/* May tensor i, which needs `bytes` bytes, be at arg's address? */
int launch_address(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg, int64_t bytes,
                   char *why, size_t n);
#endif
