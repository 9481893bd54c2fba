/* hexc.h - compile hexc tile programs to PTX, from C or C++.
 *
 * Everything declared here is the whole API; everything else is private.
 * hexc never prints, exits, reads environment variables (but for hexc_cache_path) or keeps state of its own
 * outside the objects below: one hexc_ctx is used by one thread at a time, different ones run
 * in parallel.  (LLVM, which hexc uses, keeps a registry of targets for the process.)
 *
 * Call order:
 *	hexc_open -> { hexc_configure, hexc_compile }* -> hexc_close
 *	hexc_module: hexc_ptx, hexc_kernel, hexc_param, hexc_check_args, hexc_grid, ...
 * Modules outlive the context that made them; they never change, so any number of
 * threads may read one.
 *
 * Units: sizes and strides in elements, memory in bytes, times in milliseconds.
 * Structs whose first member is `size` may grow at their end: set it to sizeof, or use the _INIT.  The
 * library fills no more than that, says there how much it filled, and takes what is missing from what it
 * reads as 0.
 * The others do not grow, but for those that the library alone makes and hands out by a pointer to const.
 * Strings are UTF-8 and NUL-terminated; numbers in them are as in C, whatever the host's locale is.
 * Nor does it matter how the calling thread rounds, or flushes subnormal numbers to zero.
 *
 * Callbacks (text, cancel, realloc, assemble, print) are called on the thread that called hexc, which
 * meanwhile has the locale "C" for numbers, rounds to nearest and traps nothing; they leave all that as they
 * found it.  They return: no longjmp and no C++ exception leaves them.  They call no function with the same
 * hexc_ctx; others they may.  realloc is called for a module on whatever thread frees it.
 *
 * Threads: only functions that take hexc_workers or hexc_executor use more than the caller's, and
 * hexc_compile where it can be cancelled.  What they start gets no signals.
 * Stack: 1 MiB is enough for every function here (the deepest of its test programs take less than 192 KiB).
 * Libraries: libhexc has all of this.  libhexc_rt, for hosts that only run modules from files, needs neither
 * LLVM nor any library but libc's, and has all but what compiles (hexc_open, hexc_close, hexc_configure,
 * hexc_compile.., hexc_job.., hexc_diag, hexc_pass.., hexc_schedule, hexc_warning.., hexc_build_..) and
 * hexc_run_tile; of the other headers it has all but hexc_ops.h, which compiles.  A host is linked with
 * one of them.
 * fork: the child may go on with everything but a hexc_gpu, and contexts of compilations that were
 * cancelled, if no other thread was in hexc at that time. */
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
typedef struct hexc_module hexc_module; /* the result of one compilation; never changes */
typedef struct hexc_cache hexc_cache;   /* modules that were compiled before: hexc_cache.h */

#define HEXC_MAX_RANK 8                 /* dimensions of a tensor */
#define HEXC_MAX_KERNELS 4096           /* kernels of a module */
#define HEXC_MAX_PARAMS 64              /* launch parameters of a kernel, tensor maps among them */

/* Results.  0 is success, negatives are failures; values never change. */
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

/* How a function works on several cores at once.  Nothing that it computes depends on it; NULL where
 * functions take one is HEXC_WORKERS_INIT: threads of its own, one for each processor. */
typedef struct hexc_workers {
	size_t size;            /* sizeof(hexc_workers), set by HEXC_WORKERS_INIT */
	uint32_t threads;       /* how many work at once, at most 256; 0: one for each processor that the
	                         * calling thread may use, by its affinity and by the limits of its
	                         * control groups */
	/* The host's own way, on its threads: calls piece(job, i) for i of [0, n), 2 <= n <= threads, in any
	 * order, several at once or one after the other, in the calling thread too, and returns when all that
	 * it called have returned.  What it leaves out the calling thread does then.  run is called at the
	 * same time by as many threads as are in functions that were given it.  Pieces do not wait for each
	 * other, and call back nothing but the cancel of hexc_run_opts, from one of them at a time.
	 * NULL: threads of hexc's own, for as long as the function runs. */
	void (*run)(void *user, uint32_t n, void (*piece)(void *job, uint32_t i), void *job);
	void *user;             /* handed to run */
} hexc_workers;
#define HEXC_WORKERS_INIT { sizeof(hexc_workers), 0, NULL, NULL }

/* ---- options ---------------------------------------------------------------------- */

/* The value of a `const` or `tune` of the program.  Names that no kernel declares, and
 * values that a `tune` does not list, are errors of the program (E_SOURCE). */
typedef struct hexc_define { /* does not grow */
	const char *name;
	int64_t value;          /* a number; for an element type hexc_type_value("u4") */
} hexc_define;

/* What an assembler made of a kernel's PTX. */
typedef struct hexc_assembled { /* does not grow */
	uint32_t registers;     /* of a lane */
	uint32_t spilled;       /* bytes of a lane that go to memory and back, as there are too few */
	char *why;              /* why_size bytes for one sentence, where the assembler makes nothing of it */
	size_t why_size;
} hexc_assembled;

typedef struct hexc_opts {
	size_t size;            /* sizeof(hexc_opts), set by HEXC_OPTS_INIT */
	const char *arch;       /* one of hexc_arch(); NULL: "sm_80" */
	const char *kernel;     /* compile only this kernel; NULL: all of the file */
	const hexc_define *define; /* ndefine of them; may be NULL when ndefine is 0 */
	size_t ndefine;
	uint32_t candidate;     /* which solution of the layout search; 0: the best */
	uint32_t flags;         /* HEXC_PROVE | ... */
	const char *dump;       /* hand the IR after this pass (hexc_pass(), "parse", "all") to text(), or
	                         * "bounded": what hexc_run_tile runs for bounds; NULL: none */
	/* end after this pass, or "bounded"; the module then has no PTX; NULL: run all */
	const char *stop;
	void (*text)(void *user, const char *pass, const char *kernel, const char *ir);
	uint64_t max_steps;     /* search budget in solver steps; 0: 10 million */
	size_t max_memory;      /* bytes of working memory of one compile, and of its module; LLVM's
	                         * are not included; 0: 2 GiB, SIZE_MAX: no limit */
	int (*cancel)(void *user); /* nonzero stops.  Polled each 0.3 s and more often.  LLVM, which cannot
	                         * be stopped, then works on a thread of its own; when hexc_compile returns
	                         * E_LIMIT it may go on, for some seconds (max_values bounds that).  The next
	                         * hexc_compile on this context waits for it, with polls, before it has
	                         * LLVM work again, and hexc_close waits for it without */
	void *(*realloc)(void *user, void *p, size_t n);/* n == 0 frees; NULL: libc.  Must stay
	                         * callable until the last module is freed; does not serve LLVM */
	void *user;             /* handed to text, cancel, realloc, assemble and trace */
	uint64_t max_values;    /* that a thread computes in all kernels of a module, register by register:
	                         * a few instructions of PTX each, and LLVM, whose time and memory no
	                         * other limit bounds, takes about 1 KB and 30 us for each; 0: 262 144.
	                         * LLVM ends the process by abort where it gets no memory.  So hexc_compile
	                         * asks before for what it will take, and gives E_NOMEM where a limit
	                         * (RLIMIT_AS) refuses that; but what other threads take meanwhile, and a
	                         * system that has promised more than it has, cannot be ruled out */
	const char *warnings;   /* which are given beside those that are by default (hexc_warning_help()
	                         * says of which this is so), and which are not: names (hexc_warning())
	                         * with commas between them, after "no-" those that are not wanted, as in
	                         * "narrow,no-unused"; the last word on one holds.  NULL: the default */
	const char *schedule;   /* how warps share the work of pipeline loops, hexc_schedule(): a kernel
	                         * that cannot have it is an error.  NULL: what is predicted to be best */
	uint32_t cluster[3];    /* blocks of a cluster along x, y and z, several along one of them, 8 at the
	                         * most: they fetch together what all of them read.  Several ask for the
	                         * schedule roles too; a kernel that cannot have it is an error.  {0,0,0}:
	                         * the choice is hexc's, by what is predicted; {1,1,1}: none */
	hexc_cache *cache;      /* hexc_compile looks there first, and puts there what it compiled: the module
	                         * and the warnings are the same.  Not with NO_EMIT, EXPLAIN, DRAW, dump or
	                         * stop.  Stays the caller's and outlives the context.  NULL: none */
	/* Asks an assembler, as ptxas -v or nvJitLink, what it makes of `n` bytes of PTX for that arch, which
	 * end in NUL: fills *out and returns 0, or writes out->why and returns nonzero.  Where it is set,
	 * hexc_compile asks about the first 8 solutions of each kernel, as long as one that is left may be
	 * better, and takes the one that spills least; of those, one whose packed tensors are laid out as
	 * in the first; of those, the one of the fewest cycles with so many registers.  Not with NO_EMIT,
	 * stop or a `candidate` that is not 0.  What the assembler refuses is warned of (assembler), and is
	 * not taken; if that is the first solution, no more are asked about, and the estimate decides.  The
	 * warning of spills then says what was found.  NULL: estimates decide */
	int (*assemble)(void *user, const char *arch, const char *kernel, const char *ptx, size_t n,
	                hexc_assembled *out);
	const char *assembler;  /* which one that is, and its version: `cache` has what another made apart.
	                         * NULL: "" */
	/* What the search for layouts tries: a line on each plan, and what became of it.  Then the cache
	 * is not asked.  NULL: nobody wants to know */
	void (*trace)(void *user, const char *line);
} hexc_opts;
#define HEXC_OPTS_INIT { sizeof(hexc_opts), NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0, 0, \
	NULL, NULL, NULL, 0, NULL, NULL, {0, 0, 0}, NULL, NULL, NULL, NULL }

enum {
	HEXC_PROVE = 1,         /* run the independent checker on every layout and mapping */
	HEXC_PARANOID = 2,      /* after every pass print the IR, read it back and go on with the
	                         * copy; verify it.  Slow; the PTX is the same */
	HEXC_NO_EMIT = 4,       /* layouts, candidates and explanations, but no PTX */
	HEXC_EXPLAIN = 8,       /* keep what hexc_explain() says; costs time */
	HEXC_DRAW = 16,         /* keep what hexc_drawing() gives; costs more */
	HEXC_WERROR = 32,       /* a warning is an error of the program (E_SOURCE) */
	HEXC_LINEINFO = 64,     /* .file and .loc in the PTX: which line of the program each instruction is
	                         * of, for profilers, debuggers and the simulator; the instructions are the
	                         * same */
	HEXC_REMARKS = 128,     /* what is no warning unless asked for is told as remarks: of each access,
	                         * product and loop what it has not got, and why */
	HEXC_NO_PDL = 256,      /* no programmatic dependent launch (hexc_kernel_info.pdl) */
	HEXC_ASSEMBLE_ALL = 512 /* with hexc_opts.assemble: ask about all of the first 8 solutions */
};

/* Make a context.  `opts` may be NULL for defaults; it and its strings are copied.
 * Returns HEXC_OK and sets *out, or E_ARCH, E_INVALID, E_NOMEM and *out = NULL. */
HEXC_API int hexc_open(hexc_ctx **out, const hexc_opts *opts);
/* Free a context, not its modules.  NULL is allowed. */
HEXC_API void hexc_close(hexc_ctx *ctx);
/* Replace all options but realloc and user, which stay those of hexc_open.  As hexc_open; on
 * failure the old options stay. */
HEXC_API int hexc_configure(hexc_ctx *ctx, const hexc_opts *opts);

/* ---- compiling -------------------------------------------------------------------- */

/* Compile `len` bytes at `src` (need not end in NUL) to PTX for the context's arch.
 * `file` names the source in diagnostics (NULL: "<source>"); nothing is opened.
 * Same source, options and library: same bytes of PTX.
 * Returns HEXC_OK and sets *out (free with hexc_module_free), else *out = NULL and any
 * error but E_ARGS; hexc_diag() then has at least one error. */
HEXC_API int hexc_compile(hexc_module **out, hexc_ctx *ctx, const char *file, const char *src,
                          size_t len);
/* The same from IR, the text that hexc_opts.dump gives (hexc/IR.md), of one kernel or several, through
 * the passes that are named: names of hexc_pass() with commas between them, in any order, each as often
 * as one wants; "A..B": all from A to B in hexc's own order, ".." from behind the pass that the text
 * says it comes after (`after`) to the last; "emit" at the end, or a range that is open there: PTX. NULL
 * or "": none.  With hexc_opts.dump "all" text() gets what was read too, as "read".  The IR is verified
 * before and after each.  A range from a pass in front of the choices that hexc tries (hexc/IR.md) to
 * `infer` or further tries all of them; alone such passes, and `infer`, work on the kernel as it is.
 * Options hold as for hexc_compile (cluster and schedule where the choices are tried), but for define
 * (E_INVALID), cache and assemble.  Places in messages are lines of the IR where it cannot be read, and are
 * told in words after that.  hexc_run_tile interprets the IR that was given.  Returns as hexc_compile,
 * and E_INVALID where there is no such pass. */
HEXC_API int hexc_compile_ir(hexc_module **out, hexc_ctx *ctx, const char *file, const char *ir, size_t len,
                             const char *passes);
/* The IR of kernel k of hexc_compile_ir, after its last pass; NULL: the module is of a program, or there
 * is no such kernel.  Lives as long as m. */
HEXC_API const char *hexc_ir(const hexc_module *m, size_t k);
/* NULL is allowed. */
HEXC_API void hexc_module_free(hexc_module *m);

typedef struct hexc_diag_info {
	size_t size;            /* bytes of this struct that hexc_diag filled */
	int severity;           /* 0 note (belongs to the message before), 1 warning, 2 error, 3 remark
	                         * (HEXC_REMARKS) */
	uint32_t line, col;     /* 1-based; col counts bytes; line 0: no place */
	uint32_t len;           /* bytes underlined, >= 1 */
	const char *file;       /* as passed to hexc_compile */
	const char *text;       /* one sentence, no newline */
	const char *warning;    /* what it warns of or remarks on, one of hexc_warning(), also where
	                         * HEXC_WERROR makes an error of it; NULL: it is neither */
} hexc_diag_info;
#define HEXC_DIAG_INFO_INIT { sizeof(hexc_diag_info), 0, 0, 0, 0, NULL, NULL, NULL }

/* The i-th message of the last hexc_compile on ctx, in source order.  Fills at most the bytes that out->size
 * says, returns 1, or 0 when i is past the end.  Strings live until the next hexc_compile or
 * hexc_close on ctx. */
HEXC_API int hexc_diag(const hexc_ctx *ctx, size_t i, hexc_diag_info *out);

/* PTX text, NUL-terminated; *len (may be NULL) excludes the NUL.  Owned by m.  Empty when
 * the options said to stop before. */
HEXC_API const char *hexc_ptx(const hexc_module *m, size_t *len);

/* The i-th part of the compilation and the time it took: "parse", "verify" (the checks between passes), the
 * passes, "describe" (what is kept of the solutions, warnings), "assemble" (hexc_opts.assemble), "build",
 * "optimise", "emit" (LLVM IR, LLVM's passes, PTX), "wait" (for the thread that LLVM works on), "registers"
 * (counted in the PTX), "close" (what LLVM held is given back), and last "other": together all the time that
 * hexc_compile took.  Of a module that was found
 * in hexc_opts.cache that is "cache" alone.  Returns its name, or NULL past the end; *ms may be NULL. */
HEXC_API const char *hexc_time(const hexc_module *m, size_t i, double *ms);

/* ---- compiling in the background ---------------------------------------------------------- */

typedef struct hexc_job hexc_job;       /* a compilation that somebody else does */

/* Where it is done. */
typedef struct hexc_executor {
	size_t size;            /* sizeof(hexc_executor), set by HEXC_EXECUTOR_INIT */
	/* The host's own way, on its threads: sees to it that work(job) is called once, at any time, on any
	 * thread, this one too, and returns 0; or nonzero: it takes no more.  A thread needs the stack that
	 * hexc.h says, and work returns when all is done, tens of milliseconds later.  Other jobs need not
	 * wait for it.  hexc starts no thread then: what is cancelled while LLVM works
	 * ends when that does.  NULL: a thread of hexc's own for each job. */
	int (*start)(void *user, void (*work)(void *job), void *job);
	void *user;             /* handed to start */
} hexc_executor;
#define HEXC_EXECUTOR_INIT { sizeof(hexc_executor), NULL, NULL }

/* Begin what hexc_open with `opts`, hexc_compile and hexc_close do, and return: the source and all options
 * are copied.  Callbacks of opts are called on the executor's thread, and until the job is freed; opts->cache
 * outlives it.  `on` may be NULL for HEXC_EXECUTOR_INIT.  HEXC_OK and *out (free with hexc_job_free), or *out
 * = NULL and E_ARCH, E_INVALID, E_NOMEM, or E_LIMIT: the executor takes no more, or there is no thread. */
HEXC_API int hexc_compile_async(hexc_job **out, const hexc_opts *opts, const char *file, const char *src,
                                size_t len,
                                const hexc_executor *on);
/* 1 when it is done, else 0.  This and the next take no lock, and are for any thread; what they see stays. */
HEXC_API int hexc_job_done(const hexc_job *j);
/* The module, which the job owns, when it is done and went well; until then, and if it failed, `fallback`: a
 * module of the same kernel that was there before, such as one for all sizes, or NULL. */
HEXC_API const hexc_module *hexc_job_module(const hexc_job *j, const hexc_module *fallback);
/* The same, but the caller's from now on (hexc_module_free): once, by one thread.  NULL: there is none. */
HEXC_API hexc_module *hexc_job_take(hexc_job *j);
/* Wait until it is done: the result of hexc_compile.  Not on a thread that the executor needs for it. */
HEXC_API int hexc_job_wait(hexc_job *j);
/* Ask it to end: its result is E_LIMIT then, unless it was done before.  Does not wait.  NULL is allowed. */
HEXC_API void hexc_job_cancel(hexc_job *j);
/* As hexc_diag, when it is done; 0 before. */
HEXC_API int hexc_job_diag(const hexc_job *j, size_t i, hexc_diag_info *out);
/* Cancel it and free it, with its module.  Waits for work that has begun, as hexc_close does; what has not
 * does nothing when the executor comes to it, and calls none of the host's.  NULL is allowed. */
HEXC_API void hexc_job_free(hexc_job *j);

/* ---- what was compiled ------------------------------------------------------------ */

typedef struct hexc_kernel_info {
	size_t size;            /* bytes of this struct that hexc_kernel filled */
	const char *name;       /* .entry symbol, for cuModuleGetFunction */
	const char *grid[3];    /* blocks in x, y, z: expressions of the parameters, as in the
	                         * language; hexc_grid() computes them */
	uint32_t block[3];      /* threads per block, fixed at compile time */
	uint32_t cluster[3];    /* blocks per cluster, which the PTX asks for: a launch is of whole ones, as
	                         * hexc_grid() has it; {1,1,1} without clusters */
	uint32_t smem;          /* dynamic shared memory, bytes, for cuLaunchKernel */
	uint32_t nparam;        /* kernel parameters, in cuLaunchKernel order */
	uint32_t nassume;       /* conditions on the arguments; hexc_check_args() tests them */
	uint32_t nconst;        /* constants and tunables */
	uint32_t ncandidate;    /* complete solutions of the layout search */
	uint32_t candidate;     /* the one in the PTX */
	/* The order of blocks, so that those that run at the same time read the same.  The program's block
	 * at (x, y) is another than the device's, and a host has nothing to do for it.  With a =
	 * group_dim[0] and b = group_dim[1], two of 0 .. 2 for x, y, z, the device's block has the number
	 * block[b] * grid[a] + block[a]; it is that of the program's blocks when these are counted by rows
	 * of `group` along a, the last with what is left, less than twice as many; in each along a first,
	 * then along b.  (A grid of 2^32 blocks in these dims, or more, stays as it is.) */
	uint32_t group;         /* 0: the program's block is the device's */
	uint32_t group_dim[2];
	uint32_t nmap;          /* tensor maps, which stand behind the parameters: hexc_tensor_map() */
	uint32_t persistent;    /* 1: any number of clusters from 1 on, in any shape, does all that those of
	                         * hexc_grid() would: best are as many as the device holds at a time */
	uint32_t pdl;           /* 1: it waits by itself (griddepcontrol.wait) for kernels before it in its
	                         * stream, and says when the next may start.  So it may be launched with
	                         * CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, and need not be */
} hexc_kernel_info;
#define HEXC_KERNEL_INFO_INIT { sizeof(hexc_kernel_info), NULL, {NULL, NULL, NULL}, {0, 0, 0}, \
	{0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, {0, 0}, 0, 0, 0 }

/* The kind of a launch parameter, and what cuLaunchKernel is handed for it. */
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
	uint32_t bits;          /* of one element; below 8: packed, least significant bits first */
	uint32_t bytes;         /* of the parameter itself: 8, or of the scalar */
	uint32_t rank;          /* of the tensor */
	uint32_t read, written; /* what the kernel does with the tensor */
	uint32_t align;         /* bytes the tensor's address must be a multiple of */
	uint32_t reserved;      /* 0 */
	const char *dim[HEXC_MAX_RANK];    /* extents, as expressions */
	const char *stride[HEXC_MAX_RANK]; /* strides in elements, as expressions */
} hexc_param_info;
#define HEXC_PARAM_INFO_INIT { sizeof(hexc_param_info), NULL, NULL, HEXC_POINTER, 0, 0, 0, 0, 0, \
	0, 0, {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, \
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL} }

/* The i-th kernel, or the i-th parameter of kernel k in launch order: fills at most the `size`
 * bytes that out->size says, returns 1, or 0 past the end.  Strings live as long as m. */
HEXC_API int hexc_kernel(const hexc_module *m, size_t i, hexc_kernel_info *out);
HEXC_API int hexc_param(const hexc_module *m, size_t k, size_t i, hexc_param_info *out);
/* The number of the kernel, parameter or constant of this name; -1: there is none. */
HEXC_API int hexc_kernel_find(const hexc_module *m, const char *name);
HEXC_API int hexc_param_find(const hexc_module *m, size_t k, const char *name);
HEXC_API int hexc_const_find(const hexc_module *m, size_t k, const char *name);
/* The i-th condition on the arguments, as text ("K % 128 == 0"); NULL past the end. */
HEXC_API const char *hexc_assume(const hexc_module *m, size_t k, size_t i);
/* The i-th constant or tunable and the value it has here; 0 past the end. */
HEXC_API int hexc_const(const hexc_module *m, size_t k, size_t i, hexc_define *out);

/* For tuners, which compile up to "parse" first: that takes no time.  Values, as in hexc_define, and the
 * default may depend on constants and tunables before; they are as those are here. */
typedef struct hexc_tunable_info {
	size_t size;            /* bytes of this struct that hexc_tunable filled */
	const char *name;
	int64_t value;          /* in this module */
	int64_t preset;         /* where no hexc_define says otherwise */
	const int64_t *choice;  /* the values that it may have, as the program lists them: nchoice of them */
	size_t nchoice;
} hexc_tunable_info;
#define HEXC_TUNABLE_INFO_INIT { sizeof(hexc_tunable_info), NULL, 0, 0, NULL, 0 }

/* The i-th tunable of kernel k; 0 past the end. */
HEXC_API int hexc_tunable(const hexc_module *m, size_t k, size_t i, hexc_tunable_info *out);
/* The i-th condition on constants and tunables, as text ("G % BK == 0"): values that do not satisfy it do not
 * compile (E_SOURCE).  NULL past the end. */
HEXC_API const char *hexc_condition(const hexc_module *m, size_t k, size_t i);

typedef struct hexc_candidate_info {
	size_t size;            /* bytes of this struct that hexc_candidate filled */
	double cycles;          /* predicted, for the main loop and epilogue of one block; a loop whose turns
	                         * are no constant counts as 32 of them, or as many as it takes at most, so
	                         * solutions of one kernel with the same constants compare, and not others:
	                         * hexc_bundle_find compares those */
	const char *text;       /* what differs: instructions, vector widths, swizzle, warp grid */
	double alone;           /* cycles of a block that has a multiprocessor for itself; `cycles` are the
	                         * share of each of `together` blocks */
	uint32_t together;      /* blocks that a multiprocessor holds, by shared memory, registers, threads */
	uint32_t registers;     /* of a lane, 255 at most, as predicted: of the one that was emitted, and
	                         * of those that were asked about, by their PTX, of others by their tiles.
	                         * ptxas decides */
	uint32_t assembled;     /* 1: hexc_opts.assemble was asked, and the rest is what it said */
	uint32_t used;          /* registers of a lane */
	uint32_t spilled;       /* bytes of a lane that go to memory and back */
	uint32_t used_together; /* `together` with so many registers */
	double used_cycles;     /* `cycles` with so many registers */
} hexc_candidate_info;
#define HEXC_CANDIDATE_INFO_INIT { sizeof(hexc_candidate_info), 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0 }

/* The i-th solution of kernel k, best first; 0 past the end. */
HEXC_API int hexc_candidate(const hexc_module *m, size_t k, size_t i, hexc_candidate_info *out);
/* Every layout, instruction and conversion of kernel k in words; "" without HEXC_EXPLAIN. */
HEXC_API const char *hexc_explain(const hexc_module *m, size_t k);
/* A few lines on it: each tile that has a name, what each loop does and what limits it; "" without
 * HEXC_EXPLAIN. */
HEXC_API const char *hexc_explain_short(const hexc_module *m, size_t k);
/* All of it for programs: a JSON object, whose fields are in the manual page under explain; "{}" without
 * HEXC_EXPLAIN. */
HEXC_API const char *hexc_explain_json(const hexc_module *m, size_t k);
/* The i-th picture of kernel k, an SVG document: register tiles with the owner of each element, shared
 * tiles with their banks, pipelines in time.  *name (may be NULL) says of what, fit for a file: letters,
 * digits, - . _.  NULL past the end, and without HEXC_DRAW. */
HEXC_API const char *hexc_drawing(const hexc_module *m, size_t k, size_t i, const char **name);

/* ---- modules as files ------------------------------------------------------------- */

typedef struct hexc_module_info {
	size_t size;            /* bytes of this struct that hexc_module_describe filled */
	const char *arch;       /* that the PTX is for; one of hexc_arch() */
	const char *file;       /* of the source, as hexc_compile was told */
	uint64_t source;        /* digest of the source's bytes (FNV-1a): tells versions apart, proves
	                         * nothing */
	uint32_t nkernel;
	uint32_t ncubin;        /* hexc_module_cubin() */
} hexc_module_info;
#define HEXC_MODULE_INFO_INIT { sizeof(hexc_module_info), NULL, NULL, 0, 0, 0 }

/* What a driver, or ptxas, made of a module's PTX: for those devices no compilation is left to do. */
typedef struct hexc_cubin { /* does not grow */
	const char *arch;       /* of the devices: "sm_86" */
	const void *data;
	size_t bytes;
} hexc_cubin;

/* Fills at most the bytes that out->size says, returns 1; 0 where m is NULL.  Strings live as long as m. */
HEXC_API int hexc_module_describe(const hexc_module *m, hexc_module_info *out);
/* The i-th cubin that m was saved with, owned by m; 0 past the end.  Modules just compiled have none. */
HEXC_API int hexc_module_cubin(const hexc_module *m, size_t i, hexc_cubin *out);

/* m as bytes that hexc_module_load takes on any machine (hexc-module(5)): PTX, all that the functions here
 * say of its kernels, and cubins: its own and ncubin more, at most 32767, which may be NULL when there are
 * none.  Not among them: the source, so that hexc_run_tile refuses the loaded module (E_INVALID), nor what
 * hexc_time, hexc_explain.. and hexc_drawing say.  *bytes = how many there are; with out NULL that is all
 * that is done.  HEXC_OK; E_INVALID, also when `room` bytes at out are too few, which are then half written;
 * E_NOMEM.  The same PTX, facts and cubins give the same bytes. */
HEXC_API int hexc_module_save(const hexc_module *m, const hexc_cubin *cubin, size_t ncubin, void *out,
                              size_t room, size_t *bytes);
/* From n bytes, which are the caller's again after.  HEXC_OK and *out (free with hexc_module_free), or *out =
 * NULL and E_FILE (not a whole module, damaged, or of another version of the format), E_NOMEM, E_INVALID,
 * with one sentence in why[0..nwhy) (nwhy may be 0).  No bytes do harm here; whether the PTX may be trusted
 * is for the host to know. */
HEXC_API int hexc_module_load(hexc_module **out, const void *data, size_t n, char *why, size_t nwhy);
/* The same with a file.  It appears at `path` whole or not at all: it is written beside it and renamed.
 * E_FILE when the system refuses, too. */
HEXC_API int hexc_module_save_file(const hexc_module *m, const hexc_cubin *cubin, size_t ncubin,
                                   const char *path, char *why, size_t n);
HEXC_API int hexc_module_load_file(hexc_module **out, const char *path, char *why, size_t nwhy);

/* ---- launching -------------------------------------------------------------------- */

/* A host with a CUDA context of its own launches kernel k of m as follows; hexc_gpu.h does the same for those
 * that have none.  Once for each module and kernel:
 *
 *	cuModuleLoadDataEx(&module, hexc_ptx(m, NULL), 0, NULL, NULL);
 *	hexc_kernel(m, k, &info);
 *	cuModuleGetFunction(&function, module, info.name);
 *	cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, info.smem);
 *
 * (without the last one a launch with more than 48 KB of shared memory fails).  For each launch:
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
 * Where info.nmap is not 0, the kernel takes as many tensor maps behind its parameters, each an object of 128
 * bytes at a multiple of 64 that the driver encodes and that lives until the launch returns:
 *
 *	CUtensorMap map[HEXC_MAX_PARAMS];
 *
 *	hexc_tensor_maps(m, k, arg, (hexc_encode)cuTensorMapEncodeTiled, map, params + info.nparam, NULL, 0);
 *
 * They may be kept for launches with the same addresses and sizes.
 *
 * Where info.persistent is 1, blocks share out the grid among them: launch as many, of the grid's number at
 * the most, as the device holds at a time (cuOccupancyMaxActiveBlocksPerMultiprocessor times its
 * multiprocessors), and of info.cluster a multiple.
 *
 * The PTX is for one arch: the context's device must run it (an arch with a letter runs on its own capability
 * only).  Tensors are in device memory, hexc_module_pack says of which in another form than the natural one;
 * nothing needs to be cleared before.  Outputs are complete when the stream is. */

/* One launch argument; an array of nparam of them, in launch order.  What a parameter's kind
 * does not need is ignored, but `reserved` is 0 in all (E_INVALID): this struct grows into it, and not in
 * size, since it stands in arrays. */
typedef struct hexc_arg {
	void *ptr;              /* POINTER: the tensor.  hexc_run_tile reads and writes it; else
	                         * only the address is looked at */
	double *bound;          /* hexc_run_tile, written tensors: NULL, or one double for each
	                         * element of the tensor's memory; see there */
	uint64_t bytes;         /* POINTER: bytes at ptr; 0: unknown (not for hexc_run_tile) */
	int64_t i;              /* SIZE, and SCALAR of an integer type or bool */
	double f;               /* SCALAR of a float type */
	uint64_t reserved[3];
} hexc_arg;
#define HEXC_ARG_INIT { NULL, NULL, 0, 0, 0, {0, 0, 0} }

/* May kernel k be launched with these arguments?  Tests sizes (not negative, small enough for the addresses),
 * the program's assumptions, tensors (not NULL, unless they have no elements; aligned; large enough, packed
 * ones by hexc_pack_bytes), and the grid against the limits of CUDA.  Returns HEXC_OK, or E_ARGS and one
 * sentence in why[0..n) (n may be 0). */
HEXC_API int hexc_check_args(const hexc_module *m, size_t k, const hexc_arg *arg, char *why,
                             size_t n);
/* The same without the tensors' addresses and bytes: before there is memory for them. */
HEXC_API int hexc_check_sizes(const hexc_module *m, size_t k, const hexc_arg *arg, char *why,
                              size_t n);
/* Blocks to launch for these arguments, in whole clusters (ptr is not looked at).  A grid with a 0 must not
 * be launched: there is nothing to do.  E_ARGS when an expression overflows or divides by zero. */
HEXC_API int hexc_grid(const hexc_module *m, size_t k, const hexc_arg *arg, uint32_t out[3]);
/* The parameters of a launch for cuLaunchKernel: value[0..nparam) gets their bytes, params[i] points to
 * value[i].  Both have room for nparam (HEXC_MAX_PARAMS at the most) and live until the launch returns.
 * HEXC_OK or E_INVALID; whether the arguments fit is for hexc_check_args to say. */
HEXC_API int hexc_launch_params(const hexc_module *m, size_t k, const hexc_arg *arg, uint64_t *value,
                                void **params);
/* Extents and strides (in elements) of tensor parameter i.  HEXC_OK, E_INVALID or E_ARGS. */
HEXC_API int hexc_tensor(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg,
                         int64_t dim[HEXC_MAX_RANK], int64_t stride[HEXC_MAX_RANK]);
/* Bytes that tensor parameter i needs for these sizes (addresses are not looked at), packed if it is
 * declared so: for outputs, and tensors that only hand on what one kernel has for the next, before there
 * is memory for them. Beside its tensors no kernel needs any.  HEXC_OK, E_INVALID, or E_ARGS when they
 * cannot be computed. */
HEXC_API int hexc_tensor_bytes(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg,
                               uint64_t *bytes);

/* What cuTensorMapEncodeTiled takes, in its order and its numbers; dim 0 is the contiguous one. */
typedef struct hexc_tensor_map_info {
	size_t size;            /* bytes of this struct that hexc_tensor_map filled */
	uint32_t param;         /* the tensor: its number among the parameters */
	uint32_t type;          /* CUtensorMapDataType */
	uint32_t rank;          /* 1 .. 5 */
	void *address;          /* the tensor's */
	uint64_t dim[5];        /* elements */
	uint64_t stride[4];     /* bytes between neighbours along dims 1 .. 4 */
	uint32_t box[5];        /* elements that one copy moves */
	uint32_t step[5];       /* 1: every element */
	uint32_t interleave;    /* CUtensorMapInterleave: 0 */
	uint32_t swizzle;       /* CUtensorMapSwizzle: 0, 1, 2, 3 for none, 32, 64, 128 bytes */
	uint32_t l2;            /* CUtensorMapL2promotion: 0, 1, 2, 3 for none, 64, 128, 256 bytes */
	uint32_t fill;          /* CUtensorMapFloatOOBfill: 0, zeros */
	uint32_t optional;      /* 1: used only where the strides are multiples of 16 bytes */
} hexc_tensor_map_info;
#define HEXC_TENSOR_MAP_INFO_INIT { sizeof(hexc_tensor_map_info), 0, 0, 0, NULL, {0, 0, 0, 0, 0}, \
	{0, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, 0, 0, 0, 0, 0 }

/* Tensor map i of kernel k for a launch with these arguments (their addresses are looked at): fills at most
 * the bytes that out->size says.  A tensor without elements counts as one element, of which the kernel copies
 * nothing.  Where the kernel uses the map for some strides only, others count as the next multiple of 16
 * bytes: a map that it does not use then.  HEXC_OK; E_INVALID, also past the end; E_ARGS when an expression
 * overflows. */
HEXC_API int hexc_tensor_map(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg,
                             hexc_tensor_map_info *out);
/* cuTensorMapEncodeTiled, whose enumerations are ints, or the simulator's sim_tmap_tiled: writes 128 bytes
 * at map and returns 0, or says with another number that it cannot. */
typedef int (*hexc_encode)(void *map, int type, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave,
                           int swizzle, int l2, int fill);
/* All tensor maps of a launch: number i is encoded at maps + 128 * i bytes, which the driver wants at a
 * multiple of 64, and params[i] points there (params may be NULL; maps, too, where there are none). 
 * HEXC_OK; E_INVALID; E_ARGS, as hexc_tensor_map; E_DEVICE, encode refused one; with one sentence in
 * why[0..n) (n may be 0). */
HEXC_API int hexc_tensor_maps(const hexc_module *m, size_t k, const hexc_arg *arg, hexc_encode encode,
                              void *maps, void **params, char *why, size_t n);
/* Its parts that are the same in all launches: param, type, rank, box, step and what follows; and each dim,
 * and each stride in elements (that of dim 0 is "1"), as expressions, which live as long as m.  Both are
 * arrays of 5, or NULL.  1, or 0 past the end. */
HEXC_API int hexc_tensor_map_form(const hexc_module *m, size_t k, size_t i, hexc_tensor_map_info *out,
                                  const char **dim, const char **stride);

/* A scalar or register tile that an op of the tile IR makes, or a store writes.  Strings live as long as
 * the run. */
typedef struct hexc_value {
	uint32_t id;            /* %id of the IR; of a store: of what it writes */
	const char *op, *name;  /* "dot"; what the program calls the value, or NULL */
	uint32_t line, col;     /* in the program; 0: nowhere */
	uint64_t block;         /* of the grid, counted along x, y, z */
	const char *dtype;      /* "f16" */
	uint64_t n;             /* elements, row-major: */
	const double *f;        /* those of floats; others: NULL */
	const int64_t *i;       /* those of others; floats: NULL */
} hexc_value;

typedef struct hexc_run_opts {
	size_t size;            /* sizeof(hexc_run_opts), set by HEXC_RUN_OPTS_INIT */
	uint64_t max_steps;     /* tile operations; 0: no limit */
	size_t max_memory;      /* bytes of working memory, which the threads share; 0: 2 GiB, 1 GiB for
	                         * each thread, and 40 bytes for each element of a tensor that the kernel
	                         * writes; SIZE_MAX: no limit */
	int (*cancel)(void *user);
	void *(*realloc)(void *user, void *p, size_t n); /* as in hexc_opts */
	void *user;
	void (*print)(void *user, const char *text, size_t n); /* what `print` of the program says, in
	                         * pieces, block after block; at most 1 MiB; NULL: dropped */
	char *why;              /* why_size bytes for one sentence on a failure, or, where bounds are asked
	                         * for, on which value of the program lost its bound; NULL is allowed */
	size_t why_size;
	const hexc_workers *workers; /* who runs blocks; NULL is allowed */
	uint64_t noise;         /* more than 0: every result that is rounded is off at random, with the
	                         * standard deviation that errors of up to what the language admits may have;
	                         * another number, other noise */
	double noise_times;     /* how many times that; 0: once */
	/* What each op makes in each block, in order, on the thread of the caller: it shows where two runs
	 * begin to differ.  NULL: nobody asks */
	void (*value)(void *user, const hexc_value *v);
} hexc_run_opts;
#define HEXC_RUN_OPTS_INIT { sizeof(hexc_run_opts), 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 0, NULL }

/* Run kernel k on host memory with the tile interpreter: the meaning of the program, with no
 * layouts, threads or instructions.  Written tensors are changed in place.
 *
 * Where arg[i].bound is set, it gets for each element a bound on |x - t|, x being the result of
 * any correct execution of the kernel (any order of sums, any hardware's accurate-enough exp) and
 * t the result here.  0: every correct execution gives exactly t.  Elements the kernel does not
 * write keep what bound held; those that it updates atomically count that as the bound of what was there.
 * INFINITY: no bound is known; on HEXC_OK why then says of which value first.
 *
 * Returns HEXC_OK, E_ARGS, E_LIMIT, E_NOMEM, E_INVALID, or E_SOURCE when the program itself goes
 * wrong on these arguments (an index before the start of a tensor, ...); the sentence is in why. */
HEXC_API int hexc_run_tile(const hexc_module *m, size_t k, const hexc_arg *arg,
                           const hexc_run_opts *opts);

/* ---- packed tensors --------------------------------------------------------------- */

/* A tensor declared `packed` is laid out in device memory as the kernel reads it best.  How, says its pack: a
 * line of text, "hexc-pack 1 u3 block 32x128 spread 16 streams 32 place (..):(..)", that stands next to
 * packed weights; they fit a kernel exactly when the texts are equal.  hexc_run_tile takes such tensors in
 * their natural form: row-major, elements of less than 8 bits as a bit stream. */

/* The pack of tensor parameter i of kernel k; NULL: it is not declared `packed`, or there is no such
 * parameter, or the options said to stop before it was found.  Lives as long as m. */
HEXC_API const char *hexc_module_pack(const hexc_module *m, size_t k, size_t i);
/* Bytes of a packed tensor of this shape (rank 2 .. HEXC_MAX_RANK).  Those that blocks of the pack fill
 * up are among them.  HEXC_OK, or E_ARGS and one sentence in why[0..n) (n may be 0), or E_NOMEM,
 * E_INVALID. */
HEXC_API int hexc_pack_bytes(const char *pack, uint32_t rank, const int64_t *dim, uint64_t *bytes, char *why,
                             size_t n);
/* From the natural form to the packed one, and back.  `from` and `to` do not overlap; the packed side is
 * aligned to 4 bytes and has hexc_pack_bytes of them, the natural one (elements * bits + 7) / 8.
 * workers may be NULL.  Results as above. */
HEXC_API int hexc_pack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to,
                       const hexc_workers *workers, char *why, size_t n);
HEXC_API int hexc_unpack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to,
                         const hexc_workers *workers, char *why, size_t n);

/* The source of a tile program that does the same on the device, for hexc_compile: kernel `pack` with
 * tensors W and P, the packed one, both [N, K]; or `unpack` with P and W, where K is a multiple of 8 if
 * elements have less than 8 bits.  Writes at most n bytes, a NUL among them, and returns how many there
 * are; 0: the text is no pack. */
HEXC_API size_t hexc_pack_program(const char *pack, int unpack, char *out, size_t n);

/* ---- element types ---------------------------------------------------------------- */

typedef struct hexc_dtype { /* may grow: only the library makes them, and hosts compare their addresses */
	const char *name;       /* "f16", "bf16", "u4", "bool", ... */
	uint32_t bits;          /* in a buffer; below 8: one stream, least significant bits first */
	uint32_t kind;          /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
	uint32_t npy;           /* the same of the type that .npy files have it in: 'u', of whole
	                         * bytes, for the codes of types that NumPy lacks */
} hexc_dtype;

/* By name, or the i-th; NULL: none. */
HEXC_API const hexc_dtype *hexc_dtype_find(const char *name);
HEXC_API const hexc_dtype *hexc_dtype_at(size_t i);
/* The value of a constant that is the element type of this name (far below all numbers that programs have;
 * 0: there is no such type), and the type that such a value stands for (NULL: the value is a number). */
HEXC_API int64_t hexc_type_value(const char *name);
HEXC_API const hexc_dtype *hexc_value_type(int64_t value);
/* Element i of a buffer in device format, t from the two functions above.  The double forms round to
 * nearest even (integers: toward zero, saturating), the int64 forms wrap; u64 travels as its bits.  Where t
 * or buf is NULL, or t none of the library's, they give 0 and write nothing. */
HEXC_API double hexc_get(const hexc_dtype *t, const void *buf, uint64_t i);
HEXC_API int64_t hexc_get_int(const hexc_dtype *t, const void *buf, uint64_t i);
HEXC_API void hexc_put(const hexc_dtype *t, void *buf, uint64_t i, double x);
HEXC_API void hexc_put_int(const hexc_dtype *t, void *buf, uint64_t i, int64_t x);

/* ---- the library ------------------------------------------------------------------ */

HEXC_API const char *hexc_strerror(int code);     /* static text, never NULL */
/* Bytes of the UTF-8 character at s, as RFC 3629 has it; 0: it is none.  What hexc writes as JSON has U+FFFD
 * in place of bytes that are none. */
HEXC_API size_t hexc_utf8(const char *s);
HEXC_API const char *hexc_arch(size_t i);         /* supported archs; NULL past the end */
HEXC_API const char *hexc_pass(size_t i);         /* names of the passes; NULL past the end */
HEXC_API const char *hexc_pass_help(size_t i);    /* one sentence on each */
/* The pass that has this name, or had it in an earlier version: its name now, static text.  NULL: none has. */
HEXC_API const char *hexc_pass_named(const char *name);
HEXC_API const char *hexc_schedule(size_t i);     /* names of the schedules; NULL past the end */
HEXC_API const char *hexc_warning(size_t i);      /* names of the warnings; NULL past the end */
HEXC_API const char *hexc_warning_help(size_t i); /* one sentence on each */
HEXC_API int hexc_version(void);                  /* compare with HEXC_VERSION */
HEXC_API const char *hexc_build_id(void);         /* 16 hexadecimal digits, a digest of the sources of the
                                                   * library: what compiles differently has another */
HEXC_API const char *hexc_build_info(void);       /* "hexc 0.2.0, LLVM 22"; where another LLVM runs than
                                                   * the one it was built with, both, and hexc_compile
                                                   * then gives E_INTERNAL */

#ifdef __cplusplus
}
#endif
#endif
