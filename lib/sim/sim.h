/* sim.h - executes PTX text on the host, checks it, and counts its operations.
 *
 * The simulator runs PTX of any producer. Its semantics come from the PTX ISA document. It never prints,
 * exits, aborts or keeps global state; bad input of any kind is reported as messages (at load) or faults (at
 * run time), each with its line.
 *
 * It is a separate library, libhexc_sim (pkg-config hexc_sim), which needs neither libhexc nor LLVM; this
 * header is installed as hexc_sim.h. Structs without a size are filled by the library: they change only with
 * its major version, the number in the name of libhexc_sim.so.
 *
 * Call order:
 *	sim_open -> sim_alloc, sim_write -> sim_load -> sim_run -> sim_read -> sim_close
 *
 * One `sim` is a device: an address space, its buffers and its modules. It is used by one host thread at a
 * time; different ones run in parallel. sim_run itself may use several host threads (sim_launch.threads).
 *
 * Values: integer and IEEE results are exact and rounded as the instruction specifies. Approximate
 * instructions (ex2, lg2, sin, cos, tanh, rcp, rsqrt, sqrt .approx) are computed in double and rounded once
 * to nearest, so they are at least as accurate as any hardware; rcp and rsqrt .approx.ftz.f64 read and return
 * 32 bits, as the ISA specifies. A matrix multiply-accumulate is accumulated in double and rounded once. The
 * calling thread's rounding mode and flushing of subnormal numbers have no effect; callbacks of sim_run are
 * called with rounding to nearest.
 */
#ifndef HEXC_SIM_H
#define HEXC_SIM_H
#include <stddef.h>
#include <stdint.h>

#ifndef SIM_API
# if defined(__GNUC__)
#  define SIM_API __attribute__((visibility("default")))
# else
#  define SIM_API
# endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sim sim;                 /* a device: memory and modules */
typedef struct sim_module sim_module;   /* one loaded PTX text; owned by its sim */
typedef struct sim_result sim_result;   /* the outcome of one launch: faults and counts */

/* Results of the functions. 0 is success, values never change. */
#define SIM_ERRORS(X) \
	X(OK,        0, "ok") \
	X(E_SOURCE, -1, "the PTX text is wrong or uses what is not supported") \
	X(E_FAULT,  -2, "the kernel did something wrong; see sim_fault_at()") \
	X(E_LIMIT,  -3, "the instruction budget is spent, or cancel() said stop") \
	X(E_INVALID,-4, "an argument broke this header's rules") \
	X(E_NOMEM,  -5, "out of memory")
#define SIM_RESULT_(name, value, text) SIM_##name = value,
enum {
	SIM_ERRORS(SIM_RESULT_)
	SIM_FORCE_INT = 0x7fffffff
};

/* Static English text of a result code; never NULL. */
SIM_API const char *sim_strerror(int code);

/* ---- device and memory ------------------------------------------------------------ */

/* Creates a device; returns NULL when out of memory. sim_close frees it with all its buffers and modules;
 * NULL is allowed. Results (sim_result) are freed separately. */
SIM_API sim *sim_open(void);
SIM_API void sim_close(sim *s);

/* Allocates `bytes` of global memory and returns its device address: a multiple of 256, with inaccessible
 * gaps before and after, contents uninitialised (a use of them by a kernel is reported). Returns 0 when out
 * of memory. bytes = 0 returns an address that cannot be read. `name` labels the buffer in fault reports;
 * NULL is allowed; copied. */
SIM_API uint64_t sim_alloc(sim *s, size_t bytes, const char *name);
/* Frees the memory; later accesses are faults. 0 is allowed. */
SIM_API int sim_free(sim *s, uint64_t ptr);
/* Copy to and from device memory, within one buffer (or module variable); any other range is SIM_E_INVALID.
 * sim_write marks the bytes initialised. sim_read accepts uninitialised bytes (they read as the pattern
 * 0xA5). */
SIM_API int sim_write(sim *s, uint64_t ptr, const void *src, size_t bytes);
SIM_API int sim_read(sim *s, uint64_t ptr, void *dst, size_t bytes);
/* Fills with a byte, as initialised data. */
SIM_API int sim_fill(sim *s, uint64_t ptr, int byte, size_t bytes);
/* Marks bytes initialised (1) or uninitialised (0) without changing them. */
SIM_API int sim_mark(sim *s, uint64_t ptr, size_t bytes, int initialised);
/* Counts the bytes in [ptr, ptr + bytes) that are uninitialised. */
SIM_API int sim_uninitialised(sim *s, uint64_t ptr, size_t bytes, size_t *count);

/* ---- modules ---------------------------------------------------------------------- */

typedef struct sim_message {
	uint32_t line;          /* 1-based line of the PTX text; 0: no line */
	const char *text;       /* one sentence, no newline; lives until the next sim_load */
} sim_message;

/* Loads `len` bytes of PTX at `text` (need not end in NUL). Module variables are allocated and initialised.
 * Returns SIM_OK and sets *out, or SIM_E_SOURCE, SIM_E_NOMEM and *out = NULL; sim_message_at() then gives the
 * reason. Freed by sim_close or sim_unload. */
SIM_API int sim_load(sim *s, const char *text, size_t len, sim_module **out);
SIM_API void sim_unload(sim *s, sim_module *m);
/* The i-th message of the last sim_load, in line order: fills *out and returns 1, or returns 0. */
SIM_API int sim_message_at(const sim *s, size_t i, sim_message *out);

/* PTX types of kernel parameters.  The text is the PTX suffix without the dot. */
#define SIM_PARAM_TYPES(X) \
	X(B8, b8, 1) X(U8, u8, 1) X(S8, s8, 1) X(B16, b16, 2) X(U16, u16, 2) X(S16, s16, 2) \
	X(F16, f16, 2) X(BF16, bf16, 2) X(B32, b32, 4) X(U32, u32, 4) X(S32, s32, 4) \
	X(F32, f32, 4) X(B64, b64, 8) X(U64, u64, 8) X(S64, s64, 8) X(F64, f64, 8)
#define SIM_TYPE_(id, suffix, bytes) SIM_##id,
typedef enum sim_type {
	SIM_PARAM_TYPES(SIM_TYPE_)
	SIM_NTYPES
} sim_type;

typedef struct sim_param_info {
	const char *name;
	sim_type type;          /* element type */
	uint32_t count;         /* array elements; 1 for a scalar */
	uint32_t bytes;         /* total size */
	uint32_t offset;        /* byte offset in the parameter block */
	uint32_t align;         /* bytes */
	uint32_t is_ptr;        /* 1 if declared .ptr */
} sim_param_info;

typedef struct sim_entry_info {
	const char *name;       /* the .entry symbol */
	uint32_t nparam;
	uint32_t param_bytes;   /* size of the parameter block */
	uint32_t static_smem;   /* bytes of shared variables of fixed size */
	uint32_t reqntid[3];    /* .reqntid, or 0 0 0 */
	uint32_t maxntid[3];    /* .maxntid, or 0 0 0 */
	uint32_t cluster[3];    /* .reqnctapercluster, or 0 0 0 */
	uint32_t line;          /* of the .entry directive */
	uint32_t nins;          /* PTX instructions in the body */
} sim_entry_info;

/* The i-th entry, in source order: fills *out and returns 1, or returns 0 past the end. Strings live as long
 * as the module. */
SIM_API int sim_entry_at(const sim_module *m, size_t i, sim_entry_info *out);
/* An entry by name; returns 0 if there is none. */
SIM_API int sim_entry_find(const sim_module *m, const char *name, sim_entry_info *out);
/* The i-th parameter of an entry; returns 0 if there is none. */
SIM_API int sim_param_at(const sim_module *m, const char *entry, size_t i, sim_param_info *out);
/* Device address and size of a .global or .const variable; returns 0 if there is none. */
SIM_API int sim_symbol(const sim_module *m, const char *name, uint64_t *ptr, size_t *bytes);
/* The .target and .version lines: e.g. "sm_80", 80 and 78. */
SIM_API const char *sim_target(const sim_module *m);

/* ---- tensor maps ------------------------------------------------------------------
 *
 * The counterpart of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, for cp.async.bulk.tensor: the
 * location of a tensor in global memory, and the box of it that one instruction copies. The enumerations have
 * the driver's values. Dimension 0 is the contiguous one. */

/* Element types: identifier, name as in JSON files, bytes. *_FTZ: subnormals become zero in the copy to
 * shared memory; TF32: f32 in global memory, rounded to tf32 (nearest even) there. */
#define SIM_TMAP_TYPES(X) \
	X(U8, u8, 1) X(U16, u16, 2) X(U32, u32, 4) X(S32, s32, 4) X(U64, u64, 8) X(S64, s64, 8) \
	X(F16, f16, 2) X(F32, f32, 4) X(F64, f64, 8) X(BF16, bf16, 2) X(F32_FTZ, f32.ftz, 4) \
	X(TF32, tf32, 4) X(TF32_FTZ, tf32.ftz, 4)
#define SIM_TMAP_TYPE_(id, name, bytes) SIM_TMAP_##id,
enum {
	SIM_TMAP_TYPES(SIM_TMAP_TYPE_)
	SIM_TMAP_NTYPES
};
enum { SIM_INTERLEAVE_NONE, SIM_INTERLEAVE_16B, SIM_INTERLEAVE_32B };
/* 16-byte chunks are permuted within spans of this many bytes (PTX ISA, "Swizzling Modes"). */
enum { SIM_SWIZZLE_NONE, SIM_SWIZZLE_32B, SIM_SWIZZLE_64B, SIM_SWIZZLE_128B };
enum { SIM_L2_NONE, SIM_L2_64B, SIM_L2_128B, SIM_L2_256B };     /* no effect here */
/* Out-of-bounds elements read as zero, or as a NaN (all bits set but the sign). */
enum { SIM_FILL_ZERO, SIM_FILL_NAN };

typedef struct sim_tmap_desc {
	size_t size;                    /* sizeof(sim_tmap_desc); set by SIM_TMAP_INIT */
	uint32_t im2col;                /* 0 tiled, 1 im2col */
	uint32_t type;                  /* SIM_TMAP_U8 ... */
	uint32_t rank;                  /* tiled 1..5, im2col 3..5 */
	uint64_t address;               /* device address of the element at coordinate 0 */
	uint64_t dim[5];                /* elements, 1..2^32.  im2col: C, W, (H, (D,)) N */
	uint64_t stride[4];             /* bytes between adjacent elements in dimensions 1 .. rank - 1 */
	uint32_t box[5];                /* tiled: elements, 1..256 */
	uint32_t element_stride[5];     /* 1..8; that of dimension 0 is ignored */
	int32_t lower[3], upper[3];     /* im2col: corners of the pixel box in W, H, D */
	uint32_t channels, pixels;      /* im2col: per pixel 1..256, per column 1..1024 */
	uint32_t interleave, swizzle, l2_promotion, oob_fill;
} sim_tmap_desc;
#define SIM_TMAP_INIT { sizeof(sim_tmap_desc), 0, 0, 0, 0, {0, 0, 0, 0, 0}, {0, 0, 0, 0}, \
	{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0 }

/* A map as passed to a kernel: as a parameter of 128 bytes (.param .align 64 .b8 tm[128]: its sim_launch.args
 * entry points at one), or written to global memory at a multiple of 64. Opaque: the simulator's own
 * encoding, with checksums. An edit by a kernel or host is reported, with the field if it is one. */
typedef struct sim_tmap { uint64_t opaque[16]; } sim_tmap;

/* Checks a description by the driver's rules and encodes it. SIM_E_INVALID: `why` (NULL is allowed, `n` its
 * size) has one sentence on the violated rule, or on the unsupported feature: interleaved layouts, and a
 * swizzle span wider than the rows of the box when it has several (neither the ISA nor the driver's manual
 * specify where the data goes). */
SIM_API int sim_tmap_encode(sim_tmap *out, const sim_tmap_desc *d, char *why, size_t n);
/* The same from the arguments of the driver's cuTensorMapEncodeTiled, in its order and with its values, for
 * hosts that support both. Returns SIM_OK, which is 0, or SIM_E_INVALID. */
SIM_API int sim_tmap_tiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave,
                           int swizzle, int l2, int fill);
/* Decodes 128 bytes to the description. Returns SIM_E_INVALID if they are not an intact map. */
SIM_API int sim_tmap_decode(const void *map, sim_tmap_desc *out);
/* ---- debugging -------------------------------------------------------------------- */

/* What a trace hook sees: a warp about to execute an instruction. Valid during the call only. */
typedef struct sim_view {
	uint32_t line;          /* PTX line */
	const char *opcode;     /* as written */
	uint32_t block[3];      /* %ctaid */
	uint32_t block_index;   /* x + y * grid.x + z * grid.x * grid.y */
	uint32_t warp;          /* in its block, from 0 */
	uint32_t here;          /* lanes that are at this instruction together */
	uint32_t lanes;         /* of these, lanes whose guard is true: they execute it */
	const void *state[2];   /* for the functions below */
} sim_view;

/* Traces instructions while a kernel runs. Costs nothing when hook is NULL; otherwise the launch uses one
 * host thread. An instruction that waits for other lanes of its warp is shown when lanes reach it, and again
 * when it is executed. */
typedef struct sim_trace {
	int (*hook)(void *user, const sim_view *v);     /* nonzero stops the launch: SIM_E_LIMIT */
	void *user;
	const uint32_t *lines;  /* PTX lines to trace, nlines of them; NULL: every line */
	size_t nlines;
	int64_t block, warp;    /* only this block_index, this warp; -1: all */
} sim_trace;
#define SIM_TRACE_INIT { NULL, NULL, NULL, 0, -1, -1 }

typedef struct sim_register {
	const char *name;       /* as declared, e.g. "%r5"; lives as the module */
	const char *type;       /* PTX type without the dot: "b32", "f32", "pred" */
	uint32_t bits;          /* 1 for a predicate, 8 to 128 */
	int read;               /* 1: the instruction reads it (also as guard or address); 0: writes it */
} sim_register;

/* The i-th register that the instruction names, guard first, each name once: fills *out and returns 1, or
 * returns 0 past the end. */
SIM_API int sim_view_register(const sim_view *v, size_t i, sim_register *out);
/* A register by name, in the scope of the instruction (declarations of inner { } first); returns 0 if there
 * is none. */
SIM_API int sim_view_find(const sim_view *v, const char *name, sim_register *out);
/* Value of a register in one lane (0 to 31), low 64 bits first. Returns 1; 0 if there is no such register or
 * lane; -1 if it is undefined (known only when the launch has checks on). */
SIM_API int sim_view_value(const sim_view *v, const char *name, uint32_t lane, uint64_t value[2]);
/* Copies `bytes` of the block's shared memory from `addr`. Returns SIM_E_INVALID if part of it is out of
 * bounds. */
SIM_API int sim_view_shared(const sim_view *v, uint32_t addr, void *dst, size_t bytes);
/* Address and size of a shared variable by name (size 0: .extern, sized by the launch); returns 0 if there is
 * none. */
SIM_API int sim_view_symbol(const sim_view *v, const char *name, uint32_t *addr, size_t *bytes);

/* ---- launches --------------------------------------------------------------------- */

struct sim_fault;

typedef struct sim_launch {
	size_t size;            /* sizeof(sim_launch); set by SIM_LAUNCH_INIT */
	uint32_t grid[3];       /* blocks, each >= 1 */
	uint32_t block[3];      /* threads, each >= 1, product <= 1024 */
	uint32_t cluster[3];    /* blocks per cluster, at most 16 in all; 0 0 0: as the kernel requires,
	                         * or none */
	uint32_t smem;          /* dynamic shared memory, bytes */
	/* Arguments, in one of two forms. `args`: for each parameter the address of its value (as in
	 * cuLaunchKernel). `params`: the parameter block itself. */
	const void *const *args;
	const void *params;
	size_t param_bytes;     /* of `params` */
	int checks;             /* 1: check for races, uninitialised data, incomplete copies; 0: only the
	                         * checks that keep the simulation itself sound (bounds, alignment, barriers,
	                         * .aligned) */
	int counts;             /* 1: count memory sectors and wavefronts; instruction counts are always
	                         * collected */
	uint32_t threads;       /* host threads over blocks; 0: one per processor. With one thread every
	                         * result is bit for bit repeatable; with more, only the order of atomics of
	                         * different blocks may differ. */
	uint64_t max_steps;     /* warp instructions for the whole launch; 0: 2^36 */
	uint32_t max_faults;    /* distinct faults before the launch is stopped; 0: 16 */
	uint32_t smem_limit;    /* static + dynamic shared memory; 0: 232448 (227 KiB) */
	int (*cancel)(void *user);      /* polled periodically by any worker; nonzero stops */
	/* Called when a fault is first found, by any worker, one at a time; nonzero: it is neither recorded
	 * nor counted. The kernel's behavior is unchanged. The pointers in *f live for the call. */
	int (*suppress)(void *user, const struct sim_fault *f);
	void *user;             /* passed to cancel and suppress */
	sim_trace trace;
	uint64_t seed;          /* selects the interleaving of threads of different warps and blocks:
	                         * deterministic per seed, with short time slices and one host thread; 0: long
	                         * time slices, the fastest */
	uint64_t l2_bytes;      /* an L2 cache of this size, at least 32, reported by sim_l2_of; 0: none.
	                         * Requires counts; each block's requests are stored until its wave has
	                         * ended */
	uint32_t l2_blocks;     /* blocks of a wave, which run concurrently; 0: the entire grid */
	uint32_t dependent;     /* 1: a programmatic dependent launch: the memory that the primary kernel
	                         * reads and writes is off limits until griddepcontrol.wait. Requires
	                         * checks */
	uint32_t resident;      /* blocks that the device holds at a time: others start when one of these has
	                         * ended, so that none may wait for them; 0: any number */
	uint32_t cooperative;   /* 1: a cooperative launch: invalid if the grid has more blocks than that */
} sim_launch;
#define SIM_LAUNCH_INIT { sizeof(sim_launch), {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0, NULL, NULL, 0, \
	1, 1, 0, 0, 0, 0, NULL, NULL, NULL, SIM_TRACE_INIT, 0, 0, 0, 0, 0, 0 }

/* Runs one kernel to its end. SIM_OK: it ran without faults (warnings aside). SIM_E_FAULT: it ran (or was
 * stopped) and sim_fault_at() lists the faults. SIM_E_LIMIT: stopped; counts cover what ran. SIM_E_INVALID:
 * the launch itself is invalid and sim_result_text() gives the reason. *out is set except for SIM_E_NOMEM;
 * free it with sim_result_free. */
SIM_API int sim_run(sim *s, const sim_module *m, const char *entry, const sim_launch *launch,
                    sim_result **out);
SIM_API void sim_result_free(sim_result *r);
/* One sentence on why the launch could not start or was stopped; "" if it ran. */
SIM_API const char *sim_result_text(const sim_result *r);

/* The kernel's printf output, block after block, in each in the order of execution: *bytes of text,
 * NUL-terminated; lives as long as r. At most SIM_OUTPUT_MAX bytes, the rest is lost. */
enum { SIM_OUTPUT_MAX = 1 << 20 };
SIM_API const char *sim_result_output(const sim_result *r, size_t *bytes);

/* ---- faults -----------------------------------------------------------------------
 *
 * Only certain errors are reported; in doubt there is no report. Uninitialised data may be moved and computed
 * with; it is a fault to use it as an address, a predicate or guard, a barrier or copy operand, in an atomic,
 * or to store it to global memory.
 *
 * Races: two unordered accesses of one word, one of them a write, unless both are strong (atomic, volatile,
 * relaxed ...) or both write the same value. Order comes from program order, barriers, bar.warp.sync (of the
 * lanes it names; shuffles and votes order nothing), acquire and release, and fences with strong accesses
 * (these apply to the whole warp), each between threads within its scope. A strong write also precedes what
 * follows a strong read of it. Strong accesses of threads outside each other's scope race too. Writes of a
 * warpgroup before a wgmma.fence precede the wgmma that follows; where nothing else orders them, it is a
 * warning. Also warnings: wgmma reads of cp.async writes without a proxy fence, mbarrier inits that only a
 * barrier of the block makes visible to the async proxy, and mbarrier phases that end before all waiters of
 * the previous phase are known to have seen its end. A word records its last few accesses, so one race may
 * hide another. A strong read synchronizes with what was released before the write that it reads, or before
 * those whose values updates have passed on to it; a plain store in between ends that.
 *
 * Deadlocks: no warp of a cluster makes progress; or all clusters repeat a loop, with registers, shared
 * memory and barriers unchanged, and write no global memory. Loops that count, draw random numbers or wait
 * longer each time are not reported. Memory is sequentially consistent here: a kernel's execution is one
 * interleaving of its threads. Other outcomes, which the memory model allows for relaxed accesses, never
 * occur. Lanes that only return early do not make a barrier divergent. */

#define SIM_FAULTS(X) \
	X(BOUNDS,       "out-of-bounds",      "access outside any allocation of its space, or of the " \
	                                      "shared variable its address is counted from") \
	X(ALIGN,        "misaligned",         "address is no multiple of the access size") \
	X(READONLY,     "write-to-constant",  "store to constant or parameter space") \
	X(UNINIT_REG,   "uninitialised-register", "a register was used before it was written") \
	X(UNINIT_GLOBAL,"uninitialised-global", "uninitialized global data was used") \
	X(UNINIT_SHARED,"uninitialised-shared", "uninitialized shared data was used") \
	X(UNINIT_LOCAL, "uninitialised-local", "uninitialized local data was used") \
	X(RACE_SHARED,  "race-shared",        "two threads, one writing, no barrier between") \
	X(RACE_GLOBAL,  "race-global",        "two threads, one writing, no order between") \
	X(ASYNC_READ,   "async-read",         "destination of an asynchronous copy was read " \
	                                      "before its wait") \
	X(ASYNC_WRITE,  "async-write",        "source or destination of an asynchronous copy was written " \
	                                      "before its wait") \
	X(DIVERGENT_BARRIER, "divergent-barrier", "an aligned barrier was executed by part of " \
	                                      "a warp") \
	X(ALIGNED,      "aligned",            "an .aligned or .sync instruction was executed " \
	                                      "by part of the warp it names") \
	X(DEADLOCK,     "deadlock",           "threads wait for others that never arrive") \
	X(BARRIER,      "barrier",            "barrier used with impossible counts or number") \
	X(TRAP,         "trap",               "the kernel executed trap") \
	X(CALL,         "call",               "call depth or target is impossible") \
	X(CLUSTER,      "cluster",            "shared memory of a block that is not there, or " \
	                                      "barrier.cluster used wrongly") \
	X(MBARRIER,     "mbarrier",           "mbarrier used before its init, with impossible " \
	                                      "counts, or overwritten") \
	X(COPY,         "bulk-copy",          "a bulk copy with an impossible size") \
	X(TMAP,         "tensor-map",         "a tensor map that is damaged, wrong, or does not fit " \
	                                      "the instruction") \
	X(NONCOHERENT,  "non-coherent",       "ld.global.nc of data that the kernel has written") \
	X(PROXY,        "proxy-fence",        "generic write and async access with no proxy " \
	                                      "fence between") \
	X(METADATA,     "sparsity-metadata",  "metadata of a sparse matrix are no two different " \
	                                      "places of four") \
	X(ASSERT,       "assert",             "the kernel called assert with a false condition") \
	X(HEAP,         "heap",               "free of what malloc has not given") \
	X(WGMMA,        "wgmma",              "a register of a wgmma was touched before its wait, " \
	                                      "or used by wgmma without a fence") \
	X(SETMAXNREG,   "setmaxnreg",         "setmaxnreg.inc to fewer or .dec to more registers") \
	X(DEPENDENT,    "dependent-grid",     "global memory was used before griddepcontrol.wait") \
	X(EXIT,         "early-exit",         "a block ended while a bulk copy had yet to read its " \
	                                      "shared memory")
#define SIM_FAULT_KIND_(id, name, text) SIM_FAULT_##id,
typedef enum sim_fault_kind {
	SIM_FAULTS(SIM_FAULT_KIND_)
	SIM_NFAULTS
} sim_fault_kind;

typedef enum sim_space {
	SIM_SPACE_NONE, SIM_SPACE_GLOBAL, SIM_SPACE_SHARED, SIM_SPACE_LOCAL, SIM_SPACE_PARAM,
	SIM_SPACE_CONST, SIM_SPACE_REG,
	SIM_SPACE_CLUSTER       /* shared::cluster, in instructions; faults use SIM_SPACE_SHARED */
} sim_space;

typedef struct sim_place {
	uint32_t line;          /* PTX line; 0: unknown */
	uint32_t source_line;   /* line of the program it was compiled from, by .loc; 0: unknown */
	const char *source;     /* its file, by .file; NULL: unknown; lives as the module */
	uint32_t block[3];      /* %ctaid */
	uint32_t thread[3];     /* %tid */
} sim_place;

typedef struct sim_fault {
	sim_fault_kind kind;
	sim_place at;           /* the faulting access. For uninitialised data: the instruction that read
	                         * it */
	sim_place other;        /* races: the earlier access.  Uninitialised data: where the
	                         * value was used (address, predicate, global store).  async-*:
	                         * the copy.  line 0: none */
	sim_space space;
	uint64_t addr;          /* address in its space, bytes */
	uint32_t bytes;         /* access size */
	uint64_t times;         /* number of occurrences of this kind at this pair of lines */
	int warning;            /* 1: suspicious, but not certainly an error; does not make the run a
	                         * failure */
	const char *text;       /* one line of text, with buffer names; lives as long as r */
} sim_fault;

/* The i-th fault, ordered by block, then line: fills *out and returns 1, or returns 0. */
SIM_API int sim_fault_at(const sim_result *r, size_t i, sim_fault *out);
/* If blocks hung (a deadlock fault): text that lists, for the first cluster that did, where the lanes of each
 * warp are and what they wait for, and which threads are missing at each barrier and mbarrier. "" if nothing
 * hung. Lives as long as r. */
SIM_API const char *sim_result_hang(const sim_result *r);
/* "race-shared", and one sentence on its meaning; never NULL. */
SIM_API const char *sim_fault_name(sim_fault_kind kind);
SIM_API const char *sim_fault_help(sim_fault_kind kind);

/* ---- counts ----------------------------------------------------------------------- */

/* Instruction classes: identifier, name, contents. */
#define SIM_CLASSES(X) \
	X(INT,      int,       "integer arithmetic, logic, compare, select, move") \
	X(F32,      f32,       "f32 arithmetic and compare") \
	X(F64,      f64,       "f64 arithmetic and compare") \
	X(F16,      f16,       "f16, bf16 and packed arithmetic and compare") \
	X(CVT,      cvt,       "conversions of value (not cvta)") \
	X(MUFU,     mufu,      "rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh, div of floats") \
	X(MMA,      mma,       "matrix multiply-accumulate") \
	X(LDG,      ld_global, "loads from global and generic space, prefetch") \
	X(STG,      st_global, "stores to global and generic space") \
	X(LDS,      ld_shared, "loads from shared space") \
	X(STS,      st_shared, "stores to shared space") \
	X(LDSM,     ldmatrix,  "ldmatrix, stmatrix, movmatrix") \
	X(LDL,      local,     "loads and stores of local, parameter and constant space") \
	X(ATOM,     atom,      "atom and red") \
	X(CPASYNC,  cp_async,  "cp.async and its commit and wait, bulk copies") \
	X(BRANCH,   branch,    "bra, brx, call, ret, exit") \
	X(BARRIER,  barrier,   "barriers, fences") \
	X(SHFL,     shfl,      "shfl, vote, match, redux, activemask, elect") \
	X(OTHER,    other,     "all the rest")
#define SIM_CLASS_(id, name, text) SIM_CLASS_##id,
typedef enum sim_class {
	SIM_CLASSES(SIM_CLASS_)
	SIM_NCLASSES
} sim_class;

/* Memory counts. A request is one warp instruction with at least one active lane. Sectors are 32 bytes; a
 * request counts each different sector once. A bulk copy is one request for each warp that issues some, each
 * copy counts its sectors, one with multicast once; the shared side is not counted, it has no conflicts.
 * cp.async is included: bytes it zero-fills read nothing. A wavefront is one pass over the 32 banks of 4
 * bytes. Accesses of up to 4 bytes per lane take the full warp in one phase, 8 bytes half a warp, 16 bytes a
 * quarter. Within a phase the number of passes is the largest number of different words in one bank. ldmatrix
 * and stmatrix have one phase for each 8x8 matrix. The minimum is the number of phases. Bank conflicts are
 * shared_wavefronts - shared_min. */
#define SIM_MEM_COUNTS(X) \
	X(global_requests,       "warp requests to global memory, atomics included") \
	X(global_sectors_read,   "32-byte sectors read, summed over requests") \
	X(global_sectors_written,"32-byte sectors written, summed over requests") \
	X(global_bytes_read,     "bytes read by lanes (the same byte counts for each lane)") \
	X(global_bytes_written,  "bytes written by lanes") \
	X(shared_requests,       "warp requests to shared memory") \
	X(shared_wavefronts,     "wavefronts they took") \
	X(shared_min,            "wavefronts they would take without conflicts")

#define SIM_COUNT_(name, text) uint64_t name;
typedef struct sim_counts {
	uint64_t threads;       /* thread instructions: lanes that executed (guard true) */
	uint64_t warps;         /* warp instructions issued (guard false for all included) */
	SIM_MEM_COUNTS(SIM_COUNT_)
} sim_counts;

typedef struct sim_stats {
	sim_counts all;                         /* the whole launch */
	sim_counts by_class[SIM_NCLASSES];      /* each instruction is in one class */
	uint64_t mma;                           /* warp-level mma operations */
	uint64_t mma_macs;                      /* multiply-accumulates they perform */
	uint64_t barriers;                      /* warp-level executions of bar/barrier */
	uint64_t blocks;                        /* blocks that ran to their end */
	/* The compulsory minimum: different sectors accessed by a block, summed over blocks; and different
	 * sectors in the whole grid. 0 when counts were off. */
	uint64_t block_sectors_read, block_sectors_written;
	uint64_t grid_sectors_read, grid_sectors_written;
	double seconds;                         /* host time; not repeatable */
} sim_stats;

SIM_API const sim_stats *sim_stats_of(const sim_result *r);

typedef struct sim_line {
	uint32_t line;          /* PTX line */
	sim_class cls;
	const char *opcode;     /* as written, e.g. "ld.global.v4.u32"; lives as the module */
	sim_counts n;
} sim_line;

/* The i-th instruction of the kernel (and the functions it calls) in text order: fills *out and returns 1, or
 * returns 0 past the end. For this the result must not outlive its module. */
SIM_API int sim_line_at(const sim_result *r, size_t i, sim_line *out);

SIM_API const char *sim_class_name(sim_class c);

/* ---- L2 ---------------------------------------------------------------------------
 *
* A simple model of the cache between SMs and DRAM, to compare block orders by. It is fully associative
 * with LRU
 * replacement. Blocks run by waves in the order of their index, along x first. Those of a wave issue one
 * request each in turn, and a wave starts when the previous one has ended. There is no L1: every request
 * reaches this cache. A read miss fetches its sector; a write miss does not, and written sectors go to DRAM
 * when they are replaced, or at the end. */
#define SIM_L2_COUNTS(X) \
	X(read_hits,    "sectors read that were there") \
	X(read_misses,  "sectors read that came from memory") \
	X(write_hits,   "sectors written that were there") \
	X(write_misses, "sectors written that were not") \
	X(written_back, "sectors that went to memory")
typedef struct sim_l2 {
	SIM_L2_COUNTS(SIM_COUNT_)
} sim_l2;

/* Returns NULL if sim_launch.l2_bytes was 0. */
SIM_API const sim_l2 *sim_l2_of(const sim_result *r);

/* ---- roofline ---------------------------------------------------------------------
 *
 * A lower bound on the time of a launch on a GPU, from its counts and the datasheets. The limits of memory
 * and tensor cores are bounds. Those of instructions count PTX without mov and ld.param; what ptxas folds
 * besides is not known here, so they may be somewhat too high. */
#define SIM_LIMITS(X) \
	X(DRAM,   dram,   "different sectors of the whole grid, each once") \
	X(L2,     l2,     "different sectors of each block") \
	X(SHARED, shared, "wavefronts of shared memory, one a clock") \
	X(LSU,    lsu,    "load, store, exchange and atomic instructions") \
	X(MMA,    mma,    "multiply-accumulates of tensor cores, by type") \
	X(INT,    int,    "integer instructions") \
	X(F32,    f32,    "f32 instructions") \
	X(F16,    f16,    "16-bit float instructions") \
	X(F64,    f64,    "f64 instructions") \
	X(MUFU,   mufu,   "reciprocals, roots, exponentials, ...") \
	X(CVT,    cvt,    "conversions") \
	X(ISSUE,  issue,  "all instructions, four a clock")
#define SIM_LIMIT_(id, name, text) SIM_LIMIT_##id,
typedef enum sim_limit {
	SIM_LIMITS(SIM_LIMIT_)
	SIM_NLIMITS
} sim_limit;

typedef struct sim_gpu {
	const char *name;       /* "H200" */
	uint32_t cc;            /* compute capability: 90 */
	uint32_t sms, mhz;      /* multiprocessors; boost clock */
	double dram_gbs;        /* GB/s, 10^9 */
	uint32_t l2_bytes;      /* bytes/cycle; 0: not published, no such limit */
	uint32_t mma_macs;      /* f16 with f32 accumulation, per cycle and SM */
	const char *source;     /* datasheet */
} sim_gpu;
/* The i-th known GPU: fills *out and returns 1, or returns 0 past the end. */
SIM_API int sim_gpu_at(size_t i, sim_gpu *out);
/* By name, in upper or lower case; returns 0 if there is none. */
SIM_API int sim_gpu_find(const char *name, sim_gpu *out);

typedef struct sim_roof {
	double seconds[SIM_NLIMITS];    /* time by each limit in isolation; 0: the resource is unused */
	double bound;                   /* the largest of them */
	sim_limit limiter;              /* the limit that gives it */
} sim_roof;
/* Returns SIM_E_INVALID if the GPU is unknown, or lacks the tensor-core type that the kernel uses. At most as
 * many SMs are busy as the launch has blocks. */
SIM_API int sim_roofline(const sim_result *r, const char *gpu, sim_roof *out);
/* "dram", and what it counts. */
SIM_API const char *sim_limit_name(sim_limit l);
SIM_API const char *sim_limit_text(sim_limit l);

/* ---- as a CUDA driver ----------------------------------------------------------------
 *
 * For hosts that look up the CUDA driver's functions by name, as hexc_gpu_open does (HEXC_SIMULATOR):
 * functions of its API on simulated devices, whose ordinal is their compute capability (90).
 * cuDevicePrimaryCtxRetain creates a new context each time, with separate memory, and
 * cuDevicePrimaryCtxRelease_v2 frees the current one. Launches run immediately, one after the other, with all
 * checks. After a fault every call returns CUDA_ERROR_LAUNCH_FAILED, and cuGetErrorString describes it.
 * Graphs run their nodes in another order than captured, as far as dependencies allow. An event's time is the
 * number of launches before it, in milliseconds. Cubins are rejected: PTX is run. */
typedef void (*sim_function)(void);
/* The function of this name, to be cast to its type; NULL: unknown. */
SIM_API sim_function sim_cuda(const char *name);

#ifdef __cplusplus
}
#endif
#endif
