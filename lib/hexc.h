/* hexc.h - compile hexc tile programs to PTX, from C or C++.
 *
 * This header declares the entire API; everything else is private.
 * hexc never prints, exits, reads environment variables (except in hexc_cache_path) or keeps state outside
 * the objects below. One hexc_ctx is used by one thread at a time; different contexts run in parallel.
 * (LLVM, which hexc uses, keeps a registry of targets for the process.)
 *
 * Call order:
 *	hexc_open -> { hexc_configure, hexc_compile }* -> hexc_close
 *	hexc_module: hexc_ptx, hexc_kernel, hexc_param, hexc_check_args, hexc_grid, ...
 * Modules outlive the context that created them. They never change, so any number of threads may read one.
 *
 * Units: sizes and strides in elements, memory in bytes, times in milliseconds.
 * Structs whose first member is `size` may grow at their end: set it to sizeof, or use the _INIT macro.
 * The library fills at most `size` bytes and stores in `size` how many it filled. In structs that it
 * reads, missing members count as 0. Other structs do not grow, except those that only the library creates
 * and returns as a pointer to const.
 * Strings are UTF-8 and NUL-terminated; numbers in them have C syntax in every locale of the host. The
 * calling thread's rounding mode and flush-to-zero mode have no effect.
 *
 * Callbacks (text, cancel, realloc, assemble, print) are called on the thread that called hexc. During the
 * call that thread has the locale "C" for numbers, rounds to nearest and traps no floating-point
 * exception; callbacks must restore all of that. They return normally: no longjmp and no C++ exception may
 * leave them. They must not call functions with the same hexc_ctx; other functions are allowed. For a
 * module, realloc is called on the thread that frees it.
 *
 * Threads: only functions that take hexc_workers or hexc_executor, and hexc_compile with `cancel`, use
 * threads besides the caller's. Threads that hexc starts block all signals.
 * Stack: 1 MiB is enough for every function here (the deepest of its test programs use less than 192 KiB).
 * Libraries: libhexc has everything here. libhexc_rt, for hosts that only run modules from files, needs
 * neither LLVM nor any library except libc. It lacks everything that compiles (hexc_open, hexc_close,
 * hexc_configure, hexc_compile.., hexc_job.., hexc_diag, hexc_pass.., hexc_schedule, hexc_warning..,
 * hexc_build_..) and hexc_run_tile; of the other headers it lacks only hexc_ops.h, which compiles. A host
 * links one of the two.
 * fork: if no other thread is in hexc at that time, the child may keep using everything except a hexc_gpu
 * and contexts whose compilation was cancelled. */
#ifndef HEXC_H
#define HEXC_H
#include <stddef.h>
#include <stdint.h>

#define HEXC_VERSION_MAJOR 0
#define HEXC_VERSION_MINOR 2
#define HEXC_VERSION_PATCH 0
#define HEXC_VERSION (HEXC_VERSION_MAJOR * 10000 + HEXC_VERSION_MINOR * 100 + HEXC_VERSION_PATCH)

#ifndef HEXC_API
# if defined(__GNUC__)
#  define HEXC_API __attribute__((visibility("default")))
# else
#  define HEXC_API
# endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_ctx hexc_ctx;       /* options, and the diagnostics of the last call */
typedef struct hexc_module hexc_module; /* the result of one compilation; immutable */
typedef struct hexc_cache hexc_cache;   /* stored compilation results: hexc_cache.h */

#define HEXC_MAX_RANK 8                 /* dimensions per tensor */
#define HEXC_MAX_KERNELS 4096           /* kernels per module */
#define HEXC_MAX_PARAMS 64              /* launch parameters per kernel, including tensor maps */

/* Result codes. 0 is success, negative values are failures; values never change. */
#define HEXC_ERRORS(X) \
	X(OK,           0, "ok") \
	X(E_SOURCE,    -1, "the program is wrong; see hexc_diag()") \
	X(E_LAYOUT,    -2, "no layout satisfies the constraints; see hexc_diag()") \
	X(E_LIMIT,     -3, "a limit in the options was reached, or cancel() said stop") \
	X(E_ARCH,      -4, "unknown or unsupported arch") \
	X(E_INVALID,   -5, "an argument broke the rules of hexc.h") \
	X(E_NOMEM,     -6, "out of memory") \
	X(E_INTERNAL,  -7, "bug in hexc; please report hexc_diag(ctx, 0)") \
	X(E_ARGS,      -8, "the arguments of a launch do not fit the kernel") \
	X(E_FILE,      -9, "a file cannot be read, or is not what its format demands") \
	X(E_DEVICE,   -10, "there is no GPU, or its driver failed") \
	X(E_FAULT,    -11, "a kernel did something wrong on the GPU")
#define HEXC_RESULT_(name, value, text) HEXC_##name = value,
enum {
	HEXC_ERRORS(HEXC_RESULT_)
	HEXC_FORCE_INT = 0x7fffffff
};

/* ---- threads ---------------------------------------------------------------------- */

/* How a function distributes work over several cores. Results do not depend on it. Where a function takes
 * a pointer, NULL means HEXC_WORKERS_INIT: hexc's own threads, one per processor. */
typedef struct hexc_workers {
	size_t size;            /* sizeof(hexc_workers), set by HEXC_WORKERS_INIT */
	uint32_t threads;       /* maximum number of concurrent threads, at most 256; 0: one per processor
	                         * available to the calling thread, by its affinity and its control groups'
	                         * limits */
	/* Runs the work on the host's threads: calls piece(job, i) for i in [0, n), 2 <= n <= threads, in
	 * any order, concurrently or sequentially, on the calling thread too. Returns when all its calls
	 * have returned. The calling thread then runs the pieces that it omitted. Several threads may call
	 * run at the same time, one per function that uses it. Pieces do not wait for each other. They
	 * call no callback except `cancel` of hexc_run_opts, from one piece at a time. NULL: hexc's own
	 * threads, for the duration of the function. */
	void (*run)(void *user, uint32_t n, void (*piece)(void *job, uint32_t i), void *job);
	void *user;             /* passed to run */
} hexc_workers;
#define HEXC_WORKERS_INIT { sizeof(hexc_workers), 0, NULL, NULL }

/* ---- options ---------------------------------------------------------------------- */

/* The value of a `const` or `tune` of the program. Names that no kernel declares, and values that a `tune`
 * does not list, are errors of the program (E_SOURCE). */
typedef struct hexc_define { /* does not grow */
	const char *name;
	int64_t value;          /* a number; for an element type, hexc_type_value("u4") */
} hexc_define;

/* An assembler's result for a kernel's PTX. */
typedef struct hexc_assembled { /* does not grow */
	uint32_t registers;     /* registers/thread */
	uint32_t spilled;       /* bytes/thread spilled to local memory */
	char *why;              /* why_size bytes for one sentence, if the assembler rejects the PTX */
	size_t why_size;
} hexc_assembled;

typedef struct hexc_opts {
	size_t size;            /* sizeof(hexc_opts), set by HEXC_OPTS_INIT */
	const char *arch;       /* one of hexc_arch(); NULL: "sm_80" */
	const char *kernel;     /* compile only this kernel; NULL: all kernels of the file */
	const hexc_define *define; /* ndefine constants; may be NULL if ndefine is 0 */
	size_t ndefine;
	uint32_t candidate;     /* index of the layout-search solution to use; 0: the best */
	uint32_t flags;         /* HEXC_PROVE | ... */
	const char *dump;       /* pass after which text() gets the IR (hexc_pass(), "parse", "all"), or
	                         * "bounded": the kernel that hexc_run_tile runs for bounds; NULL: none */
	/* stop after this pass, or "bounded"; the module then has no PTX; NULL: run all */
	const char *stop;
	void (*text)(void *user, const char *pass, const char *kernel, const char *ir);
	uint64_t max_steps;     /* search budget in solver steps; 0: 10 million */
	size_t max_memory;      /* bytes of working memory of one compilation and of its module, without
	                         * LLVM's; 0: 2 GiB, SIZE_MAX: no limit */
	int (*cancel)(void *user); /* Returns nonzero to stop. Polled at least every 0.3 s. LLVM cannot be
	                            * stopped, so it then runs on a separate thread. After hexc_compile
	                            * returned E_LIMIT, LLVM may continue for some seconds (max_values
	                            * bounds that). The next hexc_compile on this context waits for it, and
	                            * polls cancel, before it runs LLVM again; hexc_close waits without
	                            * polling */
	void *(*realloc)(void *user, void *p, size_t n);/* n == 0 frees; NULL: libc. Must stay callable
	                                                 * until the last module is freed; LLVM does not
	                                                 * use it */
	void *user;             /* passed to text, cancel, realloc, assemble and trace */
	uint64_t max_values;    /* maximum number of values that a thread computes in all kernels of a
	                         * module, counted per register; 0: 262 144. Each is a few PTX instructions
	                         * and takes LLVM, whose time and memory no other limit bounds, about 1 KB
	                         * and 30 us. LLVM aborts the process if an allocation fails. hexc_compile
	                         * therefore tests beforehand whether LLVM's memory is available, and
	                         * returns E_NOMEM if a limit (RLIMIT_AS) refuses it. Allocations of other
	                         * threads meanwhile, and an overcommitted system, can still cause an
	                         * abort */
	const char *warnings;   /* warnings to enable or disable: names (hexc_warning()) separated by
	                         * commas, with prefix "no-" to disable, as in "narrow,no-unused"; the last
	                         * entry for a warning is used. Others keep their default
	                         * (hexc_warning_help()). NULL: all defaults */
	const char *schedule;   /* how warps share the work of pipeline loops, one of hexc_schedule(); an
	                         * error if a kernel cannot use it. NULL: the one predicted to be fastest */
	uint32_t cluster[3];    /* blocks per cluster along x, y and z: more than one along one axis only,
	                         * at most 8. Data that all of them read is loaded once, by multicast. More
	                         * than one implies the schedule roles; an error if a kernel cannot use it.
	                         * {0,0,0}: hexc chooses by predicted time; {1,1,1}: no clusters */
	hexc_cache *cache;      /* hexc_compile looks up modules here and stores what it compiled; module
	                         * and warnings are the same either way. Ignored with NO_EMIT, EXPLAIN,
	                         * DRAW, dump or stop. Owned by the caller; must outlive the context. NULL:
	                         * none */
	/* Assembles `n` bytes of PTX (NUL-terminated) for arch, like ptxas -v or nvJitLink. Fills *out and
	 * returns 0, or writes out->why and returns nonzero. If set, hexc_compile assembles the first 8
	 * solutions of each kernel, as long as a remaining one may be better, and uses the one that spills
	 * least. Ties prefer the packed-tensor layout of the first solution, then the fewest cycles at the
	 * reported registers. Ignored with NO_EMIT, stop or a `candidate` other than 0. A rejected
	 * solution causes a warning (assembler) and is not used; if the first solution is rejected, no
	 * others are assembled and estimates decide. The spill warning then reports the assembler's
	 * numbers. NULL: estimates decide */
	int (*assemble)(void *user, const char *arch, const char *kernel, const char *ptx, size_t n,
	                hexc_assembled *out);
	const char *assembler;  /* name and version of that assembler, part of the key in `cache`. NULL:
	                         * "" */
	/* Gets one line on each plan that the layout search tries, and its outcome. The cache is then not
	 * used. NULL: no trace */
	void (*trace)(void *user, const char *line);
} hexc_opts;
#define HEXC_OPTS_INIT { sizeof(hexc_opts), NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0, 0, \
	NULL, NULL, NULL, 0, NULL, NULL, {0, 0, 0}, NULL, NULL, NULL, NULL }

enum {
	HEXC_PROVE = 1,         /* validate every layout and mapping (translation validation) */
	HEXC_PARANOID = 2,      /* after every pass print the IR, parse it again, continue with the copy
	                         * and verify it. Slow; the PTX is the same */
	HEXC_NO_EMIT = 4,       /* layouts, candidates and explanations, but no PTX */
	HEXC_EXPLAIN = 8,       /* retain the data of hexc_explain(); takes time */
	HEXC_DRAW = 16,         /* retain the data of hexc_drawing(); takes more time */
	HEXC_WERROR = 32,       /* warnings are errors of the program (E_SOURCE) */
	HEXC_LINEINFO = 64,     /* emit .file and .loc: the program line of each PTX instruction, for
	                         * profilers, debuggers and the simulator; the instructions are the same */
	HEXC_REMARKS = 128,     /* report disabled warnings as remarks: which optimizations each access,
	                         * dot and loop lacks, and the reason */
	HEXC_NO_PDL = 256,      /* no programmatic dependent launch (hexc_kernel_info.pdl) */
	HEXC_ASSEMBLE_ALL = 512 /* with hexc_opts.assemble: assemble all of the first 8 solutions */
};

/* Creates a context. `opts` may be NULL for defaults; it and its strings are copied. Returns HEXC_OK and
 * sets *out, or E_ARCH, E_INVALID, E_NOMEM and *out = NULL. */
HEXC_API int hexc_open(hexc_ctx **out, const hexc_opts *opts);
/* Frees a context, not its modules. ctx may be NULL. */
HEXC_API void hexc_close(hexc_ctx *ctx);
/* Replaces all options except realloc and user, which stay those of hexc_open. Returns as hexc_open; on
 * failure the old options stay. */
HEXC_API int hexc_configure(hexc_ctx *ctx, const hexc_opts *opts);

/* ---- compiling -------------------------------------------------------------------- */

/* Compiles `len` bytes at `src` (NUL not required) to PTX for the context's arch. `file` names the source
 * in diagnostics (NULL: "<source>"); it is not opened. The same source, options and library give the same
 * bytes of PTX. Returns HEXC_OK and sets *out (free with hexc_module_free). Otherwise sets *out = NULL and
 * returns any error except E_ARGS; hexc_diag() then has at least one error. */
HEXC_API int hexc_compile(hexc_module **out, hexc_ctx *ctx, const char *file, const char *src,
                          size_t len);
/* Compiles IR instead: the text that hexc_opts.dump produces (hexc/IR.md), of one kernel or several,
 * through the passes in `passes`. These are names of hexc_pass() separated by commas, in any order, with
 * repetitions. "A..B" means all passes from A to B in hexc's order, ".." all after the pass that the text
 * names in `after`. "emit" at the end, or a range that is open there, emits PTX. NULL or "": no passes.
 * With hexc_opts.dump "all", text() also gets the input, as "read". The IR is verified before and after
 * each pass. A range that starts before the choices that hexc tries (hexc/IR.md) and ends at `infer` or
 * later tries all of them; single passes of these, and `infer`, do not. Options apply as in hexc_compile
 * (cluster and schedule only if the choices are tried), except define (E_INVALID), cache and assemble.
 * Parse errors have lines of the IR as locations; later messages describe theirs in text. hexc_run_tile
 * interprets the input IR. Returns as hexc_compile, and E_INVALID for an unknown pass. */
HEXC_API int hexc_compile_ir(hexc_module **out, hexc_ctx *ctx, const char *file, const char *ir, size_t len,
                             const char *passes);
/* Returns the IR of kernel k of hexc_compile_ir after its last pass; NULL if the module is of a program,
 * or k is out of range. Lives as long as m. */
HEXC_API const char *hexc_ir(const hexc_module *m, size_t k);
/* m may be NULL. */
HEXC_API void hexc_module_free(hexc_module *m);

typedef struct hexc_diag_info {
	size_t size;            /* bytes of this struct that hexc_diag filled */
	int severity;           /* 0 note (belongs to the preceding message), 1 warning, 2 error, 3 remark
	                         * (HEXC_REMARKS) */
	uint32_t line, col;     /* 1-based; col counts bytes; line 0: no location */
	uint32_t len;           /* bytes underlined, >= 1 */
	const char *file;       /* as passed to hexc_compile */
	const char *text;       /* one sentence, no newline */
	const char *warning;    /* name of the warning or remark, one of hexc_warning(), also if
	                         * HEXC_WERROR makes it an error; NULL: neither */
} hexc_diag_info;
#define HEXC_DIAG_INFO_INIT { sizeof(hexc_diag_info), 0, 0, 0, 0, NULL, NULL, NULL }

/* Fills *out, at most out->size bytes, with the i-th message of the last hexc_compile on ctx, in source
 * order. Returns 1, or 0 if i is past the end. Strings live until the next hexc_compile or hexc_close on
 * ctx. */
HEXC_API int hexc_diag(const hexc_ctx *ctx, size_t i, hexc_diag_info *out);

/* Returns the PTX text, NUL-terminated; *len (may be NULL) excludes the NUL. Owned by m. Empty if the
 * options stopped compilation before PTX. */
HEXC_API const char *hexc_ptx(const hexc_module *m, size_t *len);

/* Returns the name of the i-th part of the compilation, or NULL past the end; sets *ms (may be NULL) to
 * its time. Parts: "parse", "verify" (the checks between passes), the passes, "describe" (copying the
 * solutions, warnings), "assemble" (hexc_opts.assemble), "build", "optimise", "emit" (LLVM IR, LLVM's
 * passes, PTX), "wait" (for LLVM's thread), "registers" (counted in the PTX), "close" (freeing LLVM's
 * memory), and last "other". Their sum is the time of hexc_compile. A module that was found in
 * hexc_opts.cache has only "cache". */
HEXC_API const char *hexc_time(const hexc_module *m, size_t i, double *ms);

/* ---- compiling in the background ---------------------------------------------------------- */

typedef struct hexc_job hexc_job;       /* a compilation in the background */

/* The threads that background compilations run on. */
typedef struct hexc_executor {
	size_t size;            /* sizeof(hexc_executor), set by HEXC_EXECUTOR_INIT */
	/* Runs work(job) on the host's threads: arranges that it is called once, at any time, on any
	 * thread including this one, and returns 0; or returns nonzero to reject the job. The thread needs
	 * the stack stated at the top of this file. work returns when the compilation is complete, after
	 * tens of milliseconds; it does not wait for other jobs. hexc then starts no threads, so a job
	 * that is cancelled while LLVM runs ends when LLVM does. NULL: one thread of hexc per job. */
	int (*start)(void *user, void (*work)(void *job), void *job);
	void *user;             /* passed to start */
} hexc_executor;
#define HEXC_EXECUTOR_INIT { sizeof(hexc_executor), NULL, NULL }

/* Starts hexc_open with `opts`, hexc_compile and hexc_close in the background and returns; the source and
 * all options are copied. Callbacks of opts are called on the executor's thread, until the job is freed;
 * opts->cache must outlive it. `on` may be NULL for HEXC_EXECUTOR_INIT. Returns HEXC_OK and sets *out
 * (free with hexc_job_free), or sets *out = NULL and returns E_ARCH, E_INVALID, E_NOMEM, or E_LIMIT if the
 * executor rejects the job or no thread can be created. */
HEXC_API int hexc_compile_async(hexc_job **out, const hexc_opts *opts, const char *file, const char *src,
                                size_t len,
                                const hexc_executor *on);
/* Returns 1 if the job is done, else 0. This function and the next take no lock and may be called on any
 * thread; their answer never reverts. */
HEXC_API int hexc_job_done(const hexc_job *j);
/* Returns the module, owned by the job, if it is done and succeeded. Until then, and on failure, returns
 * `fallback`: an existing module of the same kernel, such as one for all sizes, or NULL. */
HEXC_API const hexc_module *hexc_job_module(const hexc_job *j, const hexc_module *fallback);
/* Transfers that module to the caller (free with hexc_module_free); call it once, from one thread. Returns
 * NULL if there is none. */
HEXC_API hexc_module *hexc_job_take(hexc_job *j);
/* Waits until the job is done; returns the result of hexc_compile. Must not run on a thread that the
 * executor needs for the job. */
HEXC_API int hexc_job_wait(hexc_job *j);
/* Requests the job to stop; its result is then E_LIMIT, unless it was done before. Does not wait. j may be
 * NULL. */
HEXC_API void hexc_job_cancel(hexc_job *j);
/* Returns as hexc_diag once the job is done; 0 before. */
HEXC_API int hexc_job_diag(const hexc_job *j, size_t i, hexc_diag_info *out);
/* Cancels the job and frees it with its module. Waits, like hexc_close, if work has started. If not, the
 * executor's later call of work does nothing and calls no callback of the host. j may be NULL. */
HEXC_API void hexc_job_free(hexc_job *j);

/* ---- what was compiled ------------------------------------------------------------ */

typedef struct hexc_kernel_info {
	size_t size;            /* bytes of this struct that hexc_kernel filled */
	const char *name;       /* .entry symbol, for cuModuleGetFunction */
	const char *grid[3];    /* blocks in x, y, z: expressions of the parameters, in the language's
	                         * syntax; hexc_grid() evaluates them */
	uint32_t block[3];      /* threads per block, fixed at compile time */
	uint32_t cluster[3];    /* blocks per cluster, as the PTX requires; hexc_grid() returns multiples
	                         * of it; {1,1,1} without clusters */
	uint32_t smem;          /* dynamic shared memory in bytes, for cuLaunchKernel */
	uint32_t nparam;        /* kernel parameters, in cuLaunchKernel order */
	uint32_t nassume;       /* conditions on the arguments; hexc_check_args() checks them */
	uint32_t nconst;        /* constants and tunables */
	uint32_t ncandidate;    /* complete solutions of the layout search */
	uint32_t candidate;     /* index of the solution in the PTX */
	/* Raster order: blocks that run at the same time read the same data. The program's block at (x, y)
	 * differs from the device's block; hosts need not do anything. Let a = group_dim[0] and b =
	 * group_dim[1] be two of 0 .. 2 for x, y, z. The device's block has index block[b] * grid[a] +
	 * block[a]. The program's blocks are indexed by raster groups of `group` rows along a (the last
	 * group has the remaining rows, fewer than twice as many), in each group along a first, then along
	 * b. (Grids of 2^32 or more blocks in these dimensions keep the device's order.) With a = 3 or 4 a
	 * row is instead one of the blocks with the same index along b, in the device's order; with 4, b runs
	 * from its last index to its first. So blocks with the most work start first. */
	uint32_t group;         /* 0: the program's block is the device's */
	uint32_t group_dim[2];
	uint32_t nmap;          /* number of tensor maps, which follow the parameters: hexc_tensor_map() */
	uint32_t persistent;    /* 1: persistent kernel; any number of clusters from 1 on, in any shape,
	                         * computes everything that the grid of hexc_grid() would. Best: as many as
	                         * are resident on the device */
	uint32_t pdl;           /* 1: it waits for the preceding kernel in its stream (griddepcontrol.wait)
	                         * and signals when the dependent one may start. It may be launched with
	                         * CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, but need not be */
	uint32_t cooperative;   /* 1: its blocks wait for each other at grid barriers, so that all of them
	                         * must be resident: launch it cooperatively, with no more blocks than the
	                         * device holds. 0: an ordinary launch */
} hexc_kernel_info;
#define HEXC_KERNEL_INFO_INIT { sizeof(hexc_kernel_info), NULL, {NULL, NULL, NULL}, {0, 0, 0}, \
	{0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, {0, 0}, 0, 0, 0, 0 }

/* Kinds of launch parameters, and what cuLaunchKernel gets for each. */
#define HEXC_KINDS(X) \
	X(POINTER, pointer, "device address of a tensor, 8 bytes") \
	X(SIZE,    size,    "run-time size, 8 bytes, signed") \
	X(SCALAR,  scalar,  "a number of the dtype; of less than 8 bits its code, in a byte")
#define HEXC_KIND_(id, name, text) HEXC_##id,
typedef enum hexc_kind {
	HEXC_KINDS(HEXC_KIND_)
	HEXC_NKINDS
} hexc_kind;

typedef struct hexc_param_info {
	size_t size;            /* bytes of this struct that hexc_param filled */
	const char *name;
	const char *dtype;      /* "f16", "u4", ...; sizes: "i64" */
	hexc_kind kind;
	uint32_t bits;          /* per element; below 8: packed, least significant bits first */
	uint32_t bytes;         /* of the parameter itself: 8, or the scalar's size */
	uint32_t rank;          /* of the tensor */
	uint32_t read, written; /* 1: the kernel reads, writes the tensor */
	uint32_t align;         /* required alignment of the tensor's address, in bytes */
	uint32_t reserved;      /* 0 */
	const char *dim[HEXC_MAX_RANK];    /* extents, as expressions */
	const char *stride[HEXC_MAX_RANK]; /* strides in elements, as expressions */
} hexc_param_info;
#define HEXC_PARAM_INFO_INIT { sizeof(hexc_param_info), NULL, NULL, HEXC_POINTER, 0, 0, 0, 0, 0, \
	0, 0, {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, \
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL} }

/* Fills *out, at most out->size bytes, for the i-th kernel, or the i-th parameter of kernel k in launch
 * order. Returns 1, or 0 past the end. Strings live as long as m. */
HEXC_API int hexc_kernel(const hexc_module *m, size_t i, hexc_kernel_info *out);
HEXC_API int hexc_param(const hexc_module *m, size_t k, size_t i, hexc_param_info *out);
/* Returns the index of the kernel, parameter or constant with this name; -1 if there is none. */
HEXC_API int hexc_kernel_find(const hexc_module *m, const char *name);
HEXC_API int hexc_param_find(const hexc_module *m, size_t k, const char *name);
HEXC_API int hexc_const_find(const hexc_module *m, size_t k, const char *name);
/* Returns the i-th condition on the arguments as text ("K % 128 == 0"); NULL past the end. */
HEXC_API const char *hexc_assume(const hexc_module *m, size_t k, size_t i);
/* Sets *out to the i-th constant or tunable and its value in this module; returns 1, or 0 past the end. */
HEXC_API int hexc_const(const hexc_module *m, size_t k, size_t i, hexc_define *out);

/* For tuners, which stop at "parse" first, as that takes no time. Values are as in hexc_define. They and
 * the default may depend on earlier constants and tunables, with the values that these have here. */
typedef struct hexc_tunable_info {
	size_t size;            /* bytes of this struct that hexc_tunable filled */
	const char *name;
	int64_t value;          /* in this module */
	int64_t preset;         /* default, without a hexc_define */
	const int64_t *choice;  /* its nchoice allowed values, in the order of the program */
	size_t nchoice;
} hexc_tunable_info;
#define HEXC_TUNABLE_INFO_INIT { sizeof(hexc_tunable_info), NULL, 0, 0, NULL, 0 }

/* Fills *out for the i-th tunable of kernel k; returns 1, or 0 past the end. */
HEXC_API int hexc_tunable(const hexc_module *m, size_t k, size_t i, hexc_tunable_info *out);
/* Returns the i-th condition on constants and tunables as text ("G % BK == 0"); NULL past the end. Values
 * that violate one do not compile (E_SOURCE). */
HEXC_API const char *hexc_condition(const hexc_module *m, size_t k, size_t i);

typedef struct hexc_candidate_info {
	size_t size;            /* bytes of this struct that hexc_candidate filled */
	double cycles;          /* predicted cycles of the main loop and epilogue of one block. A loop
	                         * without a constant trip count counts as 32 iterations, or as its maximum
	                         * if that is less. So only solutions of one kernel with the same constants
	                         * compare; hexc_bundle_find compares others */
	const char *text;       /* what distinguishes it: instructions, vector widths, swizzle, warp grid */
	double alone;           /* cycles of a block that is alone on an SM; `cycles` is the share of each
	                         * of `together` blocks */
	uint32_t together;      /* resident blocks per SM, by shared memory, registers and threads */
	uint32_t registers;     /* registers/thread, at most 255. Counted in the PTX for the emitted
	                         * solution and for assembled ones, predicted from the tiles for others.
	                         * ptxas may use another number */
	uint32_t assembled;     /* 1: hexc_opts.assemble was called; the members below are its results */
	uint32_t used;          /* registers/thread */
	uint32_t spilled;       /* bytes/thread spilled to local memory */
	uint32_t used_together; /* `together` with `used` registers */
	double used_cycles;     /* `cycles` with `used` registers */
} hexc_candidate_info;
#define HEXC_CANDIDATE_INFO_INIT { sizeof(hexc_candidate_info), 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills *out for the i-th solution of kernel k, best first; returns 1, or 0 past the end. */
HEXC_API int hexc_candidate(const hexc_module *m, size_t k, size_t i, hexc_candidate_info *out);
/* Returns every layout, instruction and conversion of kernel k as text; "" without HEXC_EXPLAIN. */
HEXC_API const char *hexc_explain(const hexc_module *m, size_t k);
/* Returns a summary: each named tile, what each loop does and what limits it; "" without HEXC_EXPLAIN. */
HEXC_API const char *hexc_explain_short(const hexc_module *m, size_t k);
/* Returns the same as a JSON object, whose fields the manual page describes under explain; "{}" without
 * HEXC_EXPLAIN. */
HEXC_API const char *hexc_explain_json(const hexc_module *m, size_t k);
/* Returns the i-th drawing of kernel k, an SVG document: register tiles with the owner of each element,
 * shared tiles with their banks, pipeline timelines. *name (may be NULL) is its subject, usable as a file
 * name: letters, digits, - . _. Returns NULL past the end, and without HEXC_DRAW. */
HEXC_API const char *hexc_drawing(const hexc_module *m, size_t k, size_t i, const char **name);

/* ---- modules as files ------------------------------------------------------------- */

typedef struct hexc_module_info {
	size_t size;            /* bytes of this struct that hexc_module_describe filled */
	const char *arch;       /* of the PTX; one of hexc_arch() */
	const char *file;       /* of the source, as passed to hexc_compile */
	uint64_t source;        /* digest of the source's bytes (FNV-1a): distinguishes versions, not
	                         * cryptographic */
	uint32_t nkernel;
	uint32_t ncubin;        /* number of hexc_module_cubin() */
} hexc_module_info;
#define HEXC_MODULE_INFO_INIT { sizeof(hexc_module_info), NULL, NULL, 0, 0, 0 }

/* A module's PTX as compiled by a driver or ptxas: devices that it matches need no JIT compilation. */
typedef struct hexc_cubin { /* does not grow */
	const char *arch;       /* of the devices, "sm_86" */
	const void *data;
	size_t bytes;
} hexc_cubin;

/* Fills at most out->size bytes and returns 1; returns 0 if m is NULL. Strings live as long as m. */
HEXC_API int hexc_module_describe(const hexc_module *m, hexc_module_info *out);
/* Sets *out to the i-th cubin that m was saved with, owned by m, and returns 1; returns 0 past the end.
 * Modules just compiled have none. */
HEXC_API int hexc_module_cubin(const hexc_module *m, size_t i, hexc_cubin *out);

/* Writes m as bytes that hexc_module_load accepts on any machine (hexc-module(5)): PTX, the properties of
 * its kernels, and cubins: its own and ncubin more (at most 32767; `cubin` may be NULL if there are none).
 * Not saved: the source, so hexc_run_tile rejects the loaded module (E_INVALID), and the data of
 * hexc_time, hexc_explain.. and hexc_drawing. Sets *bytes to the number of bytes; with out NULL it does
 * nothing else. Returns HEXC_OK; E_INVALID, also if `room` bytes at out are too few (they are then partly
 * written); E_NOMEM. The same PTX, properties and cubins give the same bytes. */
HEXC_API int hexc_module_save(const hexc_module *m, const hexc_cubin *cubin, size_t ncubin, void *out,
                              size_t room, size_t *bytes);
/* Loads a module from n bytes, which are not used after the call. Returns HEXC_OK and sets *out (free with
 * hexc_module_free), or sets *out = NULL and returns E_FILE (incomplete, damaged, or another version of
 * the format), E_NOMEM or E_INVALID, with one sentence in why[0..nwhy) (nwhy may be 0). Malicious bytes do
 * no harm here; the host must decide whether to trust the PTX. */
HEXC_API int hexc_module_load(hexc_module **out, const void *data, size_t n, char *why, size_t nwhy);
/* The same with a file. Saving is atomic: the file is written next to `path` and renamed. Both also return
 * E_FILE if the system refuses. */
HEXC_API int hexc_module_save_file(const hexc_module *m, const hexc_cubin *cubin, size_t ncubin,
                                   const char *path, char *why, size_t n);
HEXC_API int hexc_module_load_file(hexc_module **out, const char *path, char *why, size_t nwhy);

/* ---- launching -------------------------------------------------------------------- */

/* A host with its own CUDA context launches kernel k of m as follows; hexc_gpu.h does the same for other
 * hosts. Once for each module and kernel:
 *
 *	cuModuleLoadDataEx(&module, hexc_ptx(m, NULL), 0, NULL, NULL);
 *	hexc_kernel(m, k, &info);
 *	cuModuleGetFunction(&function, module, info.name);
 *	cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, info.smem);
 *
 * (without the last one a launch with more than 48 KB of shared memory fails). For each launch:
 *
 *	uint64_t value[HEXC_MAX_PARAMS];
 *	void *params[HEXC_MAX_PARAMS];
 *	uint32_t grid[3];
 *
 *	if (hexc_check_args(m, k, arg, why, sizeof why) || hexc_grid(m, k, arg, grid) ||
 *	    hexc_launch_params(m, k, arg, value, params))
 *		...
 *	if (grid[0] && grid[1] && grid[2])
 *		cuLaunchKernel(function, grid[0], grid[1], grid[2], info.block[0], info.block[1],
 *		               info.block[2], info.smem, stream, params, NULL);
 *
 * If info.nmap is not 0, the kernel takes info.nmap tensor maps after its parameters. Each is an object of
 * 128 bytes, aligned to 64 bytes, that the driver encodes and that lives until the launch returns:
 *
 *	CUtensorMap map[HEXC_MAX_PARAMS];
 *
 *	hexc_tensor_maps(m, k, arg, (hexc_encode)cuTensorMapEncodeTiled, map, params + info.nparam, NULL, 0);
 *
 * They may be reused for launches with the same addresses and sizes.
 *
 * If info.persistent is 1, the blocks distribute the grid's work among themselves. Launch as many blocks
 * as are resident on the device (cuOccupancyMaxActiveBlocksPerMultiprocessor times the number of SMs), at
 * most the grid's number, and a multiple of info.cluster.
 *
 * If info.cooperative is 1, the program has grid barriers. Replace cuLaunchKernel by
 *
 *	cuLaunchCooperativeKernel(function, grid[0], grid[1], grid[2], info.block[0], info.block[1],
 *	                          info.block[2], info.smem, stream, params);
 *
 * or set CU_LAUNCH_ATTRIBUTE_COOPERATIVE for cuLaunchKernelEx. The driver then starts all blocks together,
 * or refuses: the grid must not have more of them than are resident on the device. A program sizes its grid
 * by a parameter for that. Zero the tensor element of each barrier once, when it is allocated: every launch
 * leaves it ready for the next one. Launches that may overlap need elements of their own.
 *
 * The PTX is for one arch, which the context's device must run (an arch with a letter runs on its own
 * capability only). Tensors are in device memory; those with a hexc_module_pack are packed. Nothing else
 * needs to be cleared before. Outputs are complete when the stream is. */

/* One launch argument; pass an array of nparam of them, in launch order. Members that a parameter's kind
 * does not use are ignored, but `reserved` must be 0 in all (E_INVALID). The struct is an array element,
 * so it grows into `reserved` and not in size. */
typedef struct hexc_arg {
	void *ptr;              /* POINTER: the tensor. hexc_run_tile reads and writes it; other functions
	                         * use only the address */
	double *bound;          /* hexc_run_tile, written tensors: NULL, or one double per element of the
	                         * tensor's memory; see there */
	uint64_t bytes;         /* POINTER: bytes at ptr; 0: unknown (not allowed in hexc_run_tile) */
	int64_t i;              /* SIZE, and SCALAR of an integer type or bool */
	double f;               /* SCALAR of a float type */
	uint64_t reserved[3];
} hexc_arg;
#define HEXC_ARG_INIT { NULL, NULL, 0, 0, 0, {0, 0, 0} }

/* Checks whether kernel k may be launched with these arguments: sizes (not negative, small enough for the
 * addresses), the program's assumptions, tensors (not NULL, unless they have no elements; aligned; large
 * enough, packed ones by hexc_pack_bytes), and the grid against CUDA's limits. Returns HEXC_OK, or E_ARGS
 * and one sentence in why[0..n) (n may be 0). */
HEXC_API int hexc_check_args(const hexc_module *m, size_t k, const hexc_arg *arg, char *why,
                             size_t n);
/* The same without the tensors' addresses and bytes, for use before memory is allocated. */
HEXC_API int hexc_check_sizes(const hexc_module *m, size_t k, const hexc_arg *arg, char *why,
                              size_t n);
/* Computes the blocks to launch for these arguments, in multiples of the cluster (ptr is not used). A grid
 * with a 0 must not be launched: there is nothing to compute. Returns E_ARGS if an expression overflows or
 * divides by zero. */
HEXC_API int hexc_grid(const hexc_module *m, size_t k, const hexc_arg *arg, uint32_t out[3]);
/* Builds the parameters for cuLaunchKernel: value[0..nparam) gets their bytes, params[i] points to
 * value[i]. Both have space for nparam elements (at most HEXC_MAX_PARAMS) and live until the launch
 * returns. Returns HEXC_OK or E_INVALID; does not check the arguments as hexc_check_args does. */
HEXC_API int hexc_launch_params(const hexc_module *m, size_t k, const hexc_arg *arg, uint64_t *value,
                                void **params);
/* Computes extents and strides (in elements) of tensor parameter i. Returns HEXC_OK, E_INVALID or E_ARGS. */
HEXC_API int hexc_tensor(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg,
                         int64_t dim[HEXC_MAX_RANK], int64_t stride[HEXC_MAX_RANK]);
/* Computes the bytes that tensor parameter i needs for these sizes (addresses are not used), in packed
 * form if declared so. Use it to allocate outputs, and tensors that pass data between kernels. Kernels
 * need no memory besides their tensors. Returns HEXC_OK, E_INVALID, or E_ARGS if the bytes cannot be
 * computed. */
HEXC_API int hexc_tensor_bytes(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg,
                               uint64_t *bytes);

/* The arguments of cuTensorMapEncodeTiled, in its order and with its values; dim 0 is the contiguous one. */
typedef struct hexc_tensor_map_info {
	size_t size;            /* bytes of this struct that hexc_tensor_map filled */
	uint32_t param;         /* index of the tensor among the parameters */
	uint32_t type;          /* CUtensorMapDataType */
	uint32_t rank;          /* 1 .. 5 */
	void *address;          /* of the tensor */
	uint64_t dim[5];        /* elements */
	uint64_t stride[4];     /* bytes between adjacent elements along dims 1 .. 4 */
	uint32_t box[5];        /* elements per TMA copy */
	uint32_t step[5];       /* 1: every element */
	uint32_t interleave;    /* CUtensorMapInterleave: 0 */
	uint32_t swizzle;       /* CUtensorMapSwizzle: 0, 1, 2, 3 for none, 32, 64, 128 bytes */
	uint32_t l2;            /* CUtensorMapL2promotion: 0, 1, 2, 3 for none, 64, 128, 256 bytes */
	uint32_t fill;          /* CUtensorMapFloatOOBfill: 0, zeros */
	uint32_t optional;      /* 1: used only if the strides are multiples of 16 bytes */
} hexc_tensor_map_info;
#define HEXC_TENSOR_MAP_INFO_INIT { sizeof(hexc_tensor_map_info), 0, 0, 0, NULL, {0, 0, 0, 0, 0}, \
	{0, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, 0, 0, 0, 0, 0 }

/* Computes tensor map i of kernel k for a launch with these arguments, including their addresses; fills at
 * most out->size bytes. A tensor without elements is described as one element, of which the kernel copies
 * nothing. If the kernel uses the map only for some strides (`optional`), others are rounded up to the
 * next multiple of 16 bytes; the kernel does not use that map. Returns HEXC_OK; E_INVALID, also past the
 * end; E_ARGS if an expression overflows. */
HEXC_API int hexc_tensor_map(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg,
                             hexc_tensor_map_info *out);
/* cuTensorMapEncodeTiled, whose enumerations are ints, or the simulator's sim_tmap_tiled. Writes 128 bytes
 * at map and returns 0, or returns nonzero on failure. */
typedef int (*hexc_encode)(void *map, int type, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave,
                           int swizzle, int l2, int fill);
/* Encodes all tensor maps of a launch: map i at maps + 128 * i bytes (the driver requires 64-byte
 * alignment); params[i] points there (params may be NULL; so may maps if there are none). Returns HEXC_OK;
 * E_INVALID; E_ARGS, as hexc_tensor_map; E_DEVICE if encode failed; with one sentence in why[0..n) (n may
 * be 0). */
HEXC_API int hexc_tensor_maps(const hexc_module *m, size_t k, const hexc_arg *arg, hexc_encode encode,
                              void *maps, void **params, char *why, size_t n);
/* Returns the parts of a tensor map that are the same in all launches: in *out param, type, rank, box,
 * step and the members after it; in dim[] and stride[] expressions for each extent and each stride in
 * elements (that of dim 0 is "1"), which live as long as m. Both are arrays of 5, or NULL. Returns 1, or 0
 * past the end. */
HEXC_API int hexc_tensor_map_form(const hexc_module *m, size_t k, size_t i, hexc_tensor_map_info *out,
                                  const char **dim, const char **stride);

/* A scalar or register tile that an op of the tile IR computes, or that a store writes. Strings live as
 * long as the run. */
typedef struct hexc_value {
	uint32_t id;            /* %id of the IR; for a store: of the stored value */
	const char *op, *name;  /* "dot"; the value's name in the program, or NULL */
	uint32_t line, col;     /* in the program; 0: no location */
	uint64_t block;         /* linear block index in the grid, counted along x, y, z */
	const char *dtype;      /* "f16" */
	uint64_t n;             /* elements, row-major: */
	const double *f;        /* elements of float types; else NULL */
	const int64_t *i;       /* elements of other types; else NULL */
} hexc_value;

typedef struct hexc_run_opts {
	size_t size;            /* sizeof(hexc_run_opts), set by HEXC_RUN_OPTS_INIT */
	uint64_t max_steps;     /* tile operations to execute; 0: no limit */
	size_t max_memory;      /* bytes of working memory, shared by the threads; 0: 2 GiB, plus 1 GiB per
	                         * thread, plus 40 bytes per element of written tensors; SIZE_MAX: no
	                         * limit */
	int (*cancel)(void *user);
	void *(*realloc)(void *user, void *p, size_t n); /* as in hexc_opts */
	void *user;
	void (*print)(void *user, const char *text, size_t n); /* gets the output of the program's `print`
	                                                        * in chunks, block after block; at most 1
	                                                        * MiB; NULL: discarded */
	char *why;              /* why_size bytes for one sentence on a failure or, if bounds are
	                         * requested, on which value of the program lost its bound; may be NULL */
	size_t why_size;
	const hexc_workers *workers; /* runs the blocks; may be NULL */
	uint64_t noise;         /* seed; if not 0, every rounded result gets a random error, whose standard
	                         * deviation is that of errors up to the limits that the language admits;
	                         * another seed gives other errors */
	double noise_times;     /* factor on these errors; 0: 1 */
	/* Gets each op's result in each block, in order, on the caller's thread; shows where two runs
	 * start to differ. NULL: not called */
	void (*value)(void *user, const hexc_value *v);
} hexc_run_opts;
#define HEXC_RUN_OPTS_INIT { sizeof(hexc_run_opts), 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 0, NULL }

/* Runs kernel k on host memory with the tile interpreter: the reference semantics of the program, without
 * layouts, threads or instructions. Written tensors are changed in place.
 *
 * If arg[i].bound is set, it gets for each element a bound on |x - t|, where x is the result of any
 * correct execution of the kernel (any summation order, any hardware's accurate-enough exp) and t the
 * result here. 0: every correct execution gives exactly t. Elements that the kernel does not write keep
 * their value in bound; for those that it updates atomically, that value is the bound of the old element.
 * INFINITY: no bound is known; if HEXC_OK is returned, why then names the first such value.
 *
 * Returns HEXC_OK, E_ARGS, E_LIMIT, E_NOMEM, E_INVALID, or E_SOURCE if the program itself fails on these
 * arguments (an index before the start of a tensor, ...); the sentence is in why. */
HEXC_API int hexc_run_tile(const hexc_module *m, size_t k, const hexc_arg *arg,
                           const hexc_run_opts *opts);

/* ---- packed tensors --------------------------------------------------------------- */

/* A tensor declared `packed` has a layout in device memory that the kernel reads efficiently. Its pack
 * describes the layout: a line of text, "hexc-pack 1 u3 block 32x128 spread 16 streams 32 place
 * (..):(..)", which is stored next to packed weights. Weights fit a kernel exactly if the texts are equal.
 * hexc_run_tile takes such tensors unpacked: row-major, elements of less than 8 bits as a bit stream. */

/* Returns the pack of tensor parameter i of kernel k. Returns NULL if it is not declared `packed`, if
 * there is no such parameter, or if the options stopped compilation before the pack was chosen. Lives as
 * long as m. */
HEXC_API const char *hexc_module_pack(const hexc_module *m, size_t k, size_t i);
/* Computes the bytes of a packed tensor of this shape (rank 2 .. HEXC_MAX_RANK), including padding to full
 * blocks of the pack. Returns HEXC_OK, or E_ARGS and one sentence in why[0..n) (n may be 0), or E_NOMEM,
 * E_INVALID. */
HEXC_API int hexc_pack_bytes(const char *pack, uint32_t rank, const int64_t *dim, uint64_t *bytes, char *why,
                             size_t n);
/* Converts from row-major order to the pack, and back. `from` and `to` must not overlap. The packed side
 * is aligned to 4 bytes and has hexc_pack_bytes bytes, the row-major one (elements * bits + 7) / 8 bytes.
 * workers may be NULL. Results as above. */
HEXC_API int hexc_pack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to,
                       const hexc_workers *workers, char *why, size_t n);
HEXC_API int hexc_unpack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to,
                         const hexc_workers *workers, char *why, size_t n);

/* Writes the source of a tile program that does the same on the device, for hexc_compile: kernel `pack`
 * with tensors W and P, the packed one, both [N, K]; or `unpack` with P and W, where K must be a multiple
 * of 8 if elements have less than 8 bits. Writes at most n bytes, including a NUL, and returns the length
 * required; 0 if the text is no pack. */
HEXC_API size_t hexc_pack_program(const char *pack, int unpack, char *out, size_t n);

/* ---- element types ---------------------------------------------------------------- */

typedef struct hexc_dtype { /* may grow: only the library creates them; hosts compare their addresses */
	const char *name;       /* "f16", "bf16", "u4", "bool", ... */
	uint32_t bits;          /* per element in a buffer; below 8: one bit stream, least significant bits
	                         * first */
	uint32_t kind;          /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
	uint32_t npy;           /* kind of the type that .npy files use for it: 'u', of full bytes, for the
	                         * codes of types that NumPy lacks */
} hexc_dtype;

/* Return a type by its name, or the i-th; NULL if there is none. */
HEXC_API const hexc_dtype *hexc_dtype_find(const char *name);
HEXC_API const hexc_dtype *hexc_dtype_at(size_t i);
/* The first returns the value of a constant that is the element type of this name (far below all numbers
 * in programs); 0 if there is no such type. The second returns the type that such a value represents; NULL
 * if the value is a number. */
HEXC_API int64_t hexc_type_value(const char *name);
HEXC_API const hexc_dtype *hexc_value_type(int64_t value);
/* Read and write element i of a buffer in device format, with t from the two functions above. The double
 * forms round to nearest even (integers: toward zero, saturating), the int64 forms wrap; u64 is passed as
 * its bits. If t or buf is NULL, or t is not the library's, they return 0 and write nothing. */
HEXC_API double hexc_get(const hexc_dtype *t, const void *buf, uint64_t i);
HEXC_API int64_t hexc_get_int(const hexc_dtype *t, const void *buf, uint64_t i);
HEXC_API void hexc_put(const hexc_dtype *t, void *buf, uint64_t i, double x);
HEXC_API void hexc_put_int(const hexc_dtype *t, void *buf, uint64_t i, int64_t x);

/* ---- the library ------------------------------------------------------------------ */

HEXC_API const char *hexc_strerror(int code);     /* static text, never NULL */
/* Returns the bytes of the UTF-8 character at s (RFC 3629); 0 if it is invalid. JSON that hexc writes has
 * U+FFFD instead of invalid bytes. */
HEXC_API size_t hexc_utf8(const char *s);
HEXC_API const char *hexc_arch(size_t i);         /* supported archs; NULL past the end */
HEXC_API const char *hexc_pass(size_t i);         /* names of the passes; NULL past the end */
HEXC_API const char *hexc_pass_help(size_t i);    /* one sentence on each */
/* Returns the current name of the pass with this name, or with this name in an earlier version, as static
 * text; NULL if there is none. */
HEXC_API const char *hexc_pass_named(const char *name);
HEXC_API const char *hexc_schedule(size_t i);     /* names of the schedules; NULL past the end */
HEXC_API const char *hexc_warning(size_t i);      /* names of the warnings; NULL past the end */
HEXC_API const char *hexc_warning_help(size_t i); /* one sentence on each */
HEXC_API int hexc_version(void);                  /* for comparison with HEXC_VERSION */
HEXC_API const char *hexc_build_id(void);         /* 16 hexadecimal digits, a digest of the library's
                                                   * sources: differs if the compiler does */
HEXC_API const char *hexc_build_info(void);       /* "hexc 0.2.0, LLVM 22"; if another LLVM runs than the
                                                   * one it was built with, names both, and hexc_compile
                                                   * returns E_INTERNAL */

#ifdef __cplusplus
}
#endif
#endif
