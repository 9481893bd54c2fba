/* rt.h - modules as a host uses them: what every function of the runtime reads. */
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
	const char *pack; /* NULL: not packed, or not known yet */
	const struct Pack *packed; /* the same, for its bytes: without a layout */
	ExprRef dim[HEXC_MAX_RANK], stride[HEXC_MAX_RANK];
	const char *dim_text[HEXC_MAX_RANK], *stride_text[HEXC_MAX_RANK];
	int64_t mult, lo, hi; /* of a size or scalar: value % mult == 0, lo <= value <= hi */
} ModParam;

typedef struct ModAssume {
	const char *text;
	int param;    /* the condition is that ModParam's mult (what = '%'), lo ('>') or hi ('<'), or */
	char what;
	ExprRef cond; /* when param < 0 */
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
	bool optional; /* boxes are copied only where the strides admit it */
} ModMap;

/* What an assembler made of a solution; all 0 where it was not asked. */
typedef struct ModAsked {
	bool known;
	int estimated; /* registers of a lane, by its PTX */
	int used, spilled, together;
	double cycles;
} ModAsked;

typedef struct ModCand {
	double cycles, alone;
	int registers, together;
	const char *text;
	ModAsked asked; /* is not in files */
} ModCand;

enum { TURNS_LOOPS_MOST = 64, TURNS_WAYS_MOST = 64 }; /* of a kernel */

/* A loop whose turns are no constant. */
typedef struct ModLoop {
	int in; /* the one around it, before it in the list; -1: none */
	bool by_sizes; /* its bounds are expressions of the arguments; else its turns are as assumed */
	ExprRef lo, hi, step;
	double turns; /* that the cycles are for */
	double most; /* no more are counted; 0: all */
} ModLoop;

/* Cycles: fixed + each[l] * (runs of loop l) / (runs that the solution's cycles are for). */
typedef struct ModWay {
	bool alone; /* of a block alone on an SM; else that a unit is busy; the most of each count */
	double fixed;
	double *each;
} ModWay;

/* What the solution in the PTX takes for other turns of its loops. */
typedef struct ModTurns {
	bool known; /* files of version 2 do not say it */
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
	int warps; /* of a block */
	int cluster[3];
	ModMap *map;
	int nmap;
	bool persistent; /* blocks share out the grid */
	bool pdl; /* it waits by itself for the grids before */
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
	const char *part; /* of the compilation that is at work; NULL: none that has a name */
	double since;     /* when it began or was gone on with */
	double other;     /* ms that no part has */
	/* for the tile interpreter, which starts from the source again */
	const char *file, *src;
	/* of hexc_compile_ir, src being IR too: each kernel after its last pass; else NULL */
	const char **ir;
	size_t len;
	Define *def;
	int ndef;
	const Target *target;
	uint64_t digest; /* of the source, which a module from a file lacks: src is NULL */
	hexc_cubin *cubin;
	int ncubin;
};

/* Bytes that a tensor's address must be a multiple of: the widest access is 128 bits, where the kernel has
 * no constant ALIGN. */
enum { POINTER_ALIGN = 16 };
/* And its strides, where boxes of it are copied. */
enum { MAP_GRAIN = 16 };

/* ---- module.c -------------------------------------------------------------------------------------- */

hexc_module *module_new(void *(*fn)(void *, void *, size_t), void *user); /* NULL: no memory */

/* ---- launch_args.c --------------------------------------------------------------------------------- */

/* The grid, and cycles of a block with others beside it and alone, for the turns that its loops take with
 * these arguments; by_sizes: false, for those that the module's cycles are for. */
int launch_cost(const hexc_module *m, size_t k, const hexc_arg *arg, bool by_sizes, uint32_t grid[3],
                double *cycles, double *alone);

uint32_t param_align(const ModKernel *k, const ModParam *p); /* of tensor p */

/* What of tensor arguments is looked at: nothing, or the memory at their addresses, in this form. */
typedef enum ArgForm { ARG_SIZES, ARG_NATURAL, ARG_DEVICE } ArgForm;

/* What a launch needs, whatever its tensors' addresses are. */
typedef struct LaunchPlan {
	uint32_t grid[3];
	int64_t *bytes;            /* of each parameter that is a tensor; NULL: not asked for */
	hexc_tensor_map_info *map; /* dims and strides of each; NULL: not asked for */
} LaunchPlan;

/* hexc_check_args for that form, and the plan. */
int launch_plan(const hexc_module *m, size_t k, const hexc_arg *arg, ArgForm form, LaunchPlan *plan,
                char *why, size_t n);
int launch_check(const hexc_module *m, size_t k, const hexc_arg *arg, ArgForm form, char *why, size_t n);
/* May tensor i, which needs so many bytes, be at arg's address? */
int launch_address(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg, int64_t bytes,
                   char *why, size_t n);
#endif
