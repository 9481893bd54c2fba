"""The C declarations that this package uses, in C, and the ctypes derived from them.

They repeat the headers in HEADERS. `check_program()` returns C code that compiles only if both match;
test/python/run-abi.sh compiles it.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from . import _find
from ._errors import ArgumentError, LibraryError

HEADERS = (
    "lib/hexc.h",
    "lib/hexc_bundle.h",
    "lib/hexc_cache.h",
    "lib/hexc_family.h",
    "lib/hexc_gpu.h",
    "lib/hexc_ops.h",
    "lib/hexc_plan.h",
    "lib/hexc_weights.h",
    "lib/sim/sim.h",
)

# Callback parameters, for the functions' prototypes; ctypes passes addresses.
CALLBACKS = """
int (*py_each_entry)(void *user, const hexc_cache_entry *e);
int (*py_each_want)(void *user, const hexc_family_want *w);
"""

# Unused callbacks are declared as void *.
STRUCTS = """
hexc_define { const char *name; int64_t value; }
hexc_opts { size_t size; const char *arch; const char *kernel; const hexc_define *define; size_t ndefine;
	uint32_t candidate; uint32_t flags; const char *dump; const char *stop; void *text; uint64_t max_steps;
	size_t max_memory; void *cancel; void *realloc; void *user; uint64_t max_values; const char *warnings;
	const char *schedule; uint32_t cluster[3]; hexc_cache *cache; void *assemble; const char *assembler;
	void *trace; }
hexc_diag_info { size_t size; int severity; uint32_t line; uint32_t col; uint32_t len; const char *file;
	const char *text; const char *warning; }
hexc_kernel_info { size_t size; const char *name; const char *grid[3]; uint32_t block[3]; uint32_t cluster[3];
	uint32_t smem; uint32_t nparam; uint32_t nassume; uint32_t nconst; uint32_t ncandidate; uint32_t candidate;
	uint32_t group; uint32_t group_dim[2]; uint32_t nmap; uint32_t persistent; uint32_t pdl;
	uint32_t cooperative; }
hexc_param_info { size_t size; const char *name; const char *dtype; hexc_kind kind; uint32_t bits; uint32_t bytes;
	uint32_t rank; uint32_t read; uint32_t written; uint32_t align; uint32_t reserved; const char *dim[8];
	const char *stride[8]; }
hexc_candidate_info { size_t size; double cycles; const char *text; double alone; uint32_t together;
	uint32_t registers; uint32_t assembled; uint32_t used; uint32_t spilled; uint32_t used_together;
	double used_cycles; }
hexc_module_info { size_t size; const char *arch; const char *file; uint64_t source; uint32_t nkernel;
	uint32_t ncubin; }
hexc_cubin { const char *arch; const void *data; size_t bytes; }
hexc_arg { void *ptr; double *bound; uint64_t bytes; int64_t i; double f; uint64_t reserved[3]; }
hexc_dtype { const char *name; uint32_t bits; uint32_t kind; uint32_t npy; }
hexc_gpu_info { size_t size; const char *name; const char *arch; uint32_t capability; uint32_t driver; uint32_t sms;
	uint32_t l2; uint64_t memory; uint32_t shared; uint32_t reserved; }
hexc_bundle_info { size_t size; const char *compiler; uint32_t nmodule; uint32_t nkernel; uint64_t bytes;
	const char *families; }
hexc_bundle_entry { size_t size; const char *name; const char *arch; const char *file; uint64_t source;
	const hexc_define *define; size_t ndefine; const char *const *cubin; size_t ncubin; uint32_t module;
	uint32_t kernel; uint32_t candidate; uint32_t reserved; }
hexc_want { size_t size; const char *kernel; const char *arch; const hexc_define *define; size_t ndefine;
	const hexc_arg *arg; uint32_t sms; }
hexc_family_info { size_t size; const char *name; const char *arch; uint32_t nline; uint32_t nparam; }
hexc_family_line { size_t size; const char *guard; uint32_t number; uint32_t nstage; uint32_t ntensor;
	uint32_t reserved; }
hexc_family_want { const char *family; const char *arch; const char *kernel; const hexc_define *define;
	size_t ndefine; int64_t candidate; uint32_t line; }
hexc_cache_opts { size_t size; const char *path; uint64_t max_bytes; uint32_t read_only; }
hexc_cache_info { size_t size; const char *path; uint64_t max_bytes; uint64_t hits; uint64_t misses; uint64_t stored;
	uint64_t damaged; uint64_t failed; int32_t error; uint32_t reserved; }
hexc_cache_entry { const char *name; const char *label; uint64_t bytes; int64_t used; }
hexc_op_info { const char *name; const char *what; const char *program; }
hexc_op_set { const char *name; const char *value; }
hexc_op_opts { size_t size; const char *arch; hexc_cache *cache; const char *families; uint32_t flags; void *realloc;
	void *user; }
hexc_file_tensor { size_t size; const char *name; const char *type; const char *dtype; uint32_t rank; int64_t dim[8];
	const void *data; uint64_t bytes; }
hexc_format { size_t size; const char *name; const char *container; const char *code; int64_t group;
	const char *what; }
hexc_plane { const char *dtype; int64_t rows; int64_t cols; int64_t group; void *data; uint64_t bytes; }
hexc_weight { size_t size; const char *name; const char *format; int64_t n; int64_t k; int64_t bias; uint64_t bytes;
	uint64_t reserved[4]; hexc_plane plane[8]; }
hexc_plan_opts { size_t size; uint32_t streams; uint32_t align; double sync_us; uint64_t max_steps; uint32_t beam;
	hexc_gpu *gpu; void *realloc; void *user; }
hexc_plan_work { size_t size; const char *name; double us; double fill; hexc_call *call; void *launch; void *user; }
hexc_plan_info { size_t size; double makespan_us; double serial_us; double critical_us; uint64_t bytes; uint64_t live;
	uint64_t total; uint32_t align; uint32_t nodes; uint32_t stages; uint32_t streams; uint32_t waits;
	uint32_t exact; uint64_t captures; uint64_t updates; }
sim_message { uint32_t line; const char *text; }
sim_tmap { uint64_t opaque[16]; }
sim_place { uint32_t line; uint32_t source_line; const char *source; uint32_t block[3]; uint32_t thread[3]; }
sim_fault { sim_fault_kind kind; sim_place at; sim_place other; sim_space space; uint64_t addr; uint32_t bytes;
	uint64_t times; int warning; const char *text; }
sim_trace { void *hook; void *user; const uint32_t *lines; size_t nlines; int64_t block; int64_t warp; }
sim_launch { size_t size; uint32_t grid[3]; uint32_t block[3]; uint32_t cluster[3]; uint32_t smem;
	const void *const *args; const void *params; size_t param_bytes; int checks; int counts; uint32_t threads;
	uint64_t max_steps; uint32_t max_faults; uint32_t smem_limit; void *cancel; void *suppress; void *user;
	sim_trace trace; uint64_t seed; uint64_t l2_bytes; uint32_t l2_blocks;
	uint32_t dependent; uint32_t resident; uint32_t cooperative; }
sim_counts { uint64_t threads; uint64_t warps; uint64_t global_requests; uint64_t global_sectors_read;
	uint64_t global_sectors_written; uint64_t global_bytes_read; uint64_t global_bytes_written;
	uint64_t shared_requests; uint64_t shared_wavefronts; uint64_t shared_min; }
sim_stats { sim_counts all; sim_counts by_class[19]; uint64_t mma; uint64_t mma_macs; uint64_t barriers;
	uint64_t blocks; uint64_t block_sectors_read; uint64_t block_sectors_written; uint64_t grid_sectors_read;
	uint64_t grid_sectors_written; double seconds; }
"""

FUNCTIONS = """
int hexc_open(hexc_ctx **out, const hexc_opts *opts);
void hexc_close(hexc_ctx *ctx);
int hexc_compile(hexc_module **out, hexc_ctx *ctx, const char *file, const char *src, size_t len);
void hexc_module_free(hexc_module *m);
int hexc_diag(const hexc_ctx *ctx, size_t i, hexc_diag_info *out);
const char *hexc_ptx(const hexc_module *m, size_t *len);
int hexc_kernel(const hexc_module *m, size_t i, hexc_kernel_info *out);
int hexc_param(const hexc_module *m, size_t k, size_t i, hexc_param_info *out);
const char *hexc_assume(const hexc_module *m, size_t k, size_t i);
int hexc_const(const hexc_module *m, size_t k, size_t i, hexc_define *out);
int hexc_candidate(const hexc_module *m, size_t k, size_t i, hexc_candidate_info *out);
const char *hexc_explain(const hexc_module *m, size_t k);
const char *hexc_explain_short(const hexc_module *m, size_t k);
const char *hexc_explain_json(const hexc_module *m, size_t k);
const char *hexc_drawing(const hexc_module *m, size_t k, size_t i, const char **name);
int hexc_module_describe(const hexc_module *m, hexc_module_info *out);
int hexc_module_save_file(const hexc_module *m, const hexc_cubin *cubin, size_t ncubin, const char *path, char *why, size_t n);
int hexc_module_load_file(hexc_module **out, const char *path, char *why, size_t nwhy);
int hexc_check_args(const hexc_module *m, size_t k, const hexc_arg *arg, char *why, size_t n);
int hexc_check_sizes(const hexc_module *m, size_t k, const hexc_arg *arg, char *why, size_t n);
int hexc_grid(const hexc_module *m, size_t k, const hexc_arg *arg, uint32_t out[3]);
int hexc_launch_params(const hexc_module *m, size_t k, const hexc_arg *arg, uint64_t *value, void **params);
int hexc_tensor(const hexc_module *m, size_t k, size_t i, const hexc_arg *arg, int64_t dim[8], int64_t stride[8]);
int hexc_tensor_maps(const hexc_module *m, size_t k, const hexc_arg *arg, hexc_encode encode, void *maps, void **params, char *why, size_t n);
const char *hexc_module_pack(const hexc_module *m, size_t k, size_t i);
int hexc_pack_bytes(const char *pack, uint32_t rank, const int64_t *dim, uint64_t *bytes, char *why, size_t n);
int hexc_pack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to, const hexc_workers *workers, char *why, size_t n);
int hexc_unpack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to, const hexc_workers *workers, char *why, size_t n);
const hexc_dtype *hexc_dtype_find(const char *name);
int64_t hexc_type_value(const char *name);
const hexc_dtype *hexc_value_type(int64_t value);
const char *hexc_strerror(int code);
const char *hexc_arch(size_t i);
int hexc_version(void);
const char *hexc_build_info(void);
int hexc_gpu_open(hexc_gpu **out, int device, char *why, size_t n);
void hexc_gpu_close(hexc_gpu *g);
const char *hexc_gpu_why(const hexc_gpu *g);
int hexc_gpu_describe(const hexc_gpu *g, hexc_gpu_info *out);
int hexc_gpu_alloc(hexc_gpu *g, uint64_t bytes, void **out);
int hexc_gpu_free(hexc_gpu *g, void *ptr);
int hexc_gpu_write(hexc_gpu *g, void *to, const void *from, uint64_t bytes);
int hexc_gpu_read(hexc_gpu *g, void *to, const void *from, uint64_t bytes);
int hexc_gpu_cache(hexc_gpu *g, hexc_cache *cache);
int hexc_gpu_load(hexc_gpu *g, const hexc_module *m, hexc_gpu_module **out);
const char *hexc_gpu_cubin(const hexc_gpu_module *gm);
void hexc_gpu_unload(hexc_gpu_module *gm);
int hexc_gpu_launch_on(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, void *stream);
int hexc_gpu_wait(hexc_gpu *g);
const char *sim_strerror(int code);
int hexc_family_call_new(hexc_family_call **out, hexc_gpu *g, const hexc_family *f);
void hexc_family_call_free(hexc_family_call *c);
const char *hexc_family_call_why(const hexc_family_call *c);
int hexc_family_call_find(const hexc_family_call *c, const char *name);
int hexc_family_call_ptr(hexc_family_call *c, int i, void *ptr, uint64_t bytes);
int hexc_family_call_int(hexc_family_call *c, int i, int64_t x);
int hexc_family_call_float(hexc_family_call *c, int i, double x);
int hexc_family_call_line(hexc_family_call *c, size_t *line, uint64_t *workspace);
int hexc_family_call_workspace(hexc_family_call *c, void *ptr, uint64_t bytes);
int hexc_family_call_launch(hexc_family_call *c, void *stream);
int hexc_stream_new(void **out, hexc_gpu *g);
int hexc_stream_free(hexc_gpu *g, void *stream);
int hexc_event_new(hexc_event **out, hexc_gpu *g);
void hexc_event_free(hexc_event *e);
int hexc_event_record(hexc_event *e, void *stream);
int hexc_event_wait(hexc_event *e);
int hexc_event_us(hexc_event *from, hexc_event *to, double *us);
void *hexc_event_handle(const hexc_event *e);
int hexc_compile_async(hexc_job **out, const hexc_opts *opts, const char *file, const char *src, size_t len, const hexc_executor *on);
hexc_module *hexc_job_take(hexc_job *j);
int hexc_job_wait(hexc_job *j);
void hexc_job_cancel(hexc_job *j);
int hexc_job_diag(const hexc_job *j, size_t i, hexc_diag_info *out);
void hexc_job_free(hexc_job *j);
int hexc_bundle_open(hexc_bundle **out, const char *path, char *why, size_t n);
int hexc_bundle_memory(hexc_bundle **out, const void *data, size_t bytes, char *why, size_t n);
void hexc_bundle_close(hexc_bundle *b);
int hexc_bundle_describe(const hexc_bundle *b, hexc_bundle_info *out);
int hexc_bundle_at(const hexc_bundle *b, size_t i, hexc_bundle_entry *out);
int hexc_bundle_find(const hexc_bundle *b, const hexc_want *want, size_t *out, char *why, size_t n);
int hexc_bundle_module(const hexc_bundle *b, size_t i, const hexc_module **out, size_t *k, char *why, size_t n);
int hexc_bundle_verify(const hexc_bundle *b, char *why, size_t n);
int hexc_bundle_save_families(const hexc_module *const *m, size_t n, const char *compiler, const char *families, void *out, size_t room, size_t *bytes, char *why, size_t nwhy);
int hexc_family_open(hexc_family **out, const hexc_bundle *b, const char *name, const char *arch, char *why, size_t n);
int hexc_family_read(hexc_family **out, const hexc_bundle *b, const char *text, size_t bytes, const char *name, const char *arch, char *why, size_t n);
void hexc_family_close(hexc_family *f);
int hexc_family_describe(const hexc_family *f, hexc_family_info *out);
int hexc_family_param(const hexc_family *f, size_t i, hexc_param_info *out);
int hexc_family_at(const hexc_family *f, size_t i, hexc_family_line *out);
int hexc_family_pick(const hexc_family *f, const hexc_arg *arg, size_t *line, char *why, size_t n);
int hexc_family_stage(const hexc_family *f, size_t line, size_t s, size_t *kernel, const hexc_module **m, size_t *k);
int hexc_family_args(const hexc_family *f, size_t line, size_t s, const hexc_arg *arg, void *workspace, hexc_arg *out);
int hexc_family_wants(const char *text, size_t bytes, py_each_want each, void *user, char *why, size_t n);
int hexc_cache_open(hexc_cache **out, const hexc_cache_opts *opts, char *why, size_t n);
void hexc_cache_close(hexc_cache *c);
int hexc_cache_describe(const hexc_cache *c, hexc_cache_info *out);
int hexc_cache_each(const hexc_cache *c, py_each_entry each, void *user);
int hexc_cache_clear(hexc_cache *c, uint64_t *removed);
int hexc_op_at(size_t i, hexc_op_info *out);
int hexc_op_plan(hexc_op **out, const char *name, const hexc_op_set *set, size_t nset, const hexc_op_opts *opts, char *why, size_t n);
void hexc_op_free(hexc_op *op);
const hexc_family *hexc_op_family(const hexc_op *op);
const hexc_bundle *hexc_op_bundle(const hexc_op *op);
const void *hexc_op_bytes(const hexc_op *op, size_t *bytes);
const char *hexc_op_program(const hexc_op *op);
int hexc_linear_new(hexc_linear **out, hexc_gpu *g, const hexc_weight *w, const hexc_linear *like, const hexc_op_set *set, size_t nset, const hexc_op_opts *opts, const hexc_workers *workers, char *why, size_t n);
void hexc_linear_free(hexc_linear *l);
int hexc_linear_call(const hexc_linear *l, hexc_family_call **out);
const hexc_op *hexc_linear_op(const hexc_linear *l);
uint64_t hexc_linear_bytes(const hexc_linear *l);
int hexc_call_new(hexc_call **out, hexc_gpu_module *gm, size_t k);
void hexc_call_free(hexc_call *c);
const char *hexc_call_why(const hexc_call *c);
int hexc_call_int(hexc_call *c, int i, int64_t x);
int hexc_call_float(hexc_call *c, int i, double x);
int hexc_plan_new(hexc_plan **out, const hexc_plan_opts *opts);
void hexc_plan_free(hexc_plan *p);
const char *hexc_plan_why(const hexc_plan *p);
int hexc_plan_buffer(hexc_plan *p, uint64_t bytes, uint32_t *id);
int hexc_plan_outside(hexc_plan *p, void *ptr, uint64_t bytes, uint32_t *id);
int hexc_plan_node(hexc_plan *p, const hexc_plan_work *work, uint32_t *id);
int hexc_plan_arg(hexc_plan *p, uint32_t node, int param, uint32_t buffer);
int hexc_plan_solve(hexc_plan *p);
int hexc_plan_describe(const hexc_plan *p, hexc_plan_info *out);
int hexc_plan_offset(const hexc_plan *p, uint32_t buffer, uint64_t *offset);
int hexc_plan_bind(hexc_plan *p, void *memory, uint64_t bytes);
int hexc_plan_launch(hexc_plan *p, void *const *stream, uint32_t n);
int hexc_plan_capture(hexc_plan *p, void *const *stream, uint32_t n);
int hexc_plan_replay(hexc_plan *p, void *stream);
int hexc_plan_update(hexc_plan *p);
int hexc_file_open(hexc_file **out, const char *path, char *why, size_t n);
int hexc_file_config(hexc_file *f, const char *json, size_t bytes, char *why, size_t n);
void hexc_file_close(hexc_file *f);
const char *hexc_file_kind(const hexc_file *f);
int hexc_file_tensor_at(const hexc_file *f, size_t i, hexc_file_tensor *out);
int hexc_file_meta(const hexc_file *f, size_t i, const char **key, const char **value);
int hexc_file_weight(const hexc_file *f, size_t i, hexc_weight *out);
int hexc_format_at(size_t i, hexc_format *out);
int hexc_weight_load(hexc_weight **out, const hexc_file *f, const char *name, const hexc_workers *workers, char *why, size_t n);
void hexc_weight_free(hexc_weight *w);
int hexc_weight_float(const hexc_weight *w, float *out, const hexc_workers *workers, char *why, size_t n);
int hexc_weight_quantize(hexc_weight **out, const char *format, const float *x, int64_t n, int64_t k, int64_t group, const hexc_workers *workers, char *why, size_t nwhy);
sim *sim_open(void);
void sim_close(sim *s);
uint64_t sim_alloc(sim *s, size_t bytes, const char *name);
int sim_write(sim *s, uint64_t ptr, const void *src, size_t bytes);
int sim_read(sim *s, uint64_t ptr, void *dst, size_t bytes);
int sim_load(sim *s, const char *text, size_t len, sim_module **out);
int sim_message_at(const sim *s, size_t i, sim_message *out);
int sim_tmap_tiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int l2, int fill);
int sim_run(sim *s, const sim_module *m, const char *entry, const sim_launch *launch, sim_result **out);
void sim_result_free(sim_result *r);
const char *sim_result_text(const sim_result *r);
const char *sim_result_output(const sim_result *r, size_t *bytes);
int sim_fault_at(const sim_result *r, size_t i, sim_fault *out);
const sim_stats *sim_stats_of(const sim_result *r);
"""

NUMBERS = {
    "HEXC_OK": 0,
    "HEXC_E_SOURCE": -1,
    "HEXC_E_LAYOUT": -2,
    "HEXC_E_LIMIT": -3,
    "HEXC_E_ARCH": -4,
    "HEXC_E_INVALID": -5,
    "HEXC_E_NOMEM": -6,
    "HEXC_E_INTERNAL": -7,
    "HEXC_E_ARGS": -8,
    "HEXC_E_FILE": -9,
    "HEXC_E_DEVICE": -10,
    "HEXC_E_FAULT": -11,
    "HEXC_PROVE": 1,
    "HEXC_EXPLAIN": 8,
    "HEXC_DRAW": 16,
    "HEXC_WERROR": 32,
    "HEXC_LINEINFO": 64,
    "HEXC_REMARKS": 128,
    "HEXC_POINTER": 0,
    "HEXC_SIZE": 1,
    "HEXC_SCALAR": 2,
    "HEXC_MAX_RANK": 8,
    "HEXC_MAX_PARAMS": 64,
    "HEXC_NPLANE": 8,
    "HEXC_SIMULATOR(90)": -90,
    "SIM_OK": 0,
    "SIM_E_FAULT": -2,
}

_SCALARS: dict[str, Any] = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "hexc_kind": ctypes.c_uint,
    "sim_fault_kind": ctypes.c_uint,
    "sim_space": ctypes.c_uint,
}


def structs_text() -> list[tuple[str, list[str]]]:
    """Name and members, as C, of each struct."""
    found = re.findall(r"^(\w+) \{(.*?)\}", STRUCTS, re.M | re.S)
    return [(name, [" ".join(f.split()) for f in body.split(";") if f.strip()]) for name, body in found]


def _split(declaration: str) -> tuple[str, str, int]:
    """Type, name and array length (0: none) of ``const char *grid[3]``."""
    match = re.fullmatch(r"(.*?)(\w+)(?:\[(\d+)\])?", declaration.strip())
    assert match, declaration
    return match[1].strip(), match[2], int(match[3] or 0)


def _ctype(text: str) -> Any:
    stars = text.count("*")
    base = re.sub(r"\bconst\b|\*", "", text).strip()
    if base == "void" and stars == 0:
        return None
    if base == "char":
        kind: Any = ctypes.c_char_p
        stars -= 1
    elif base in _SCALARS:
        kind = _SCALARS[base]
    elif base in STRUCT:
        kind = STRUCT[base]
    else:  # opaque, or void
        kind = ctypes.c_void_p
        stars -= 1
    for _ in range(stars):
        kind = ctypes.POINTER(kind)
    return kind


def check_text(value: object, name: str) -> None:
    """Raises :class:`ArgumentError` if a string that C reads up to the first NUL contains a NUL."""
    if isinstance(value, bytes) and b"\0" in value:
        kept = value[: value.index(b"\0")].decode(errors="replace")
        raise ArgumentError(f"{name} has a NUL character, where C would end it: {kept!r} is in front of it")


_INTEGERS = {*"bBhHiIlLqQP"}  # ctypes' codes of integer types, and of addresses


@functools.cache
def _range(kind: Any) -> tuple[int, int] | None:
    """The smallest and largest value of an integer type of C; None for other types."""
    if getattr(kind, "_type_", None) not in _INTEGERS:
        return None
    n = 8 * ctypes.sizeof(kind)
    return (-(1 << n - 1), (1 << n - 1) - 1) if kind._type_.islower() else (0, (1 << n) - 1)


def check(value: object, kind: Any, name: str) -> None:
    """Is the value valid for this C type? Raises :class:`ArgumentError` if ctypes would cut a string at a
    NUL, or truncate an integer.

    All values passed to C are checked here: members of structs, elements of arrays (:func:`array`) and arguments
    of functions (:func:`function`), except strings passed with their length.
    """
    if kind is ctypes.c_char_p:
        check_text(value, name)
    elif isinstance(value, int):
        limits = _range(kind)
        if limits and not limits[0] <= value <= limits[1]:
            raise ArgumentError(f"{name} is {value}, and C holds {limits[0]} to {limits[1]} there")
    elif isinstance(value, (tuple, list)) and isinstance(kind, type) and issubclass(kind, ctypes.Array):
        for x in value:
            check(x, kind._type_, name)


def array(kind: Any, values: Sequence[Any], name: str) -> Any:
    """An array of a C type with these elements."""
    for x in values:
        check(x, kind, name)
    return (kind * len(values))(*values)


class _Checked(ctypes.Structure):
    """A struct whose members are checked when they are set, also in its constructor."""

    def __setattr__(self, name: str, value: Any) -> None:
        check(value, _MEMBERS[type(self)].get(name), name)
        super().__setattr__(name, value)


_MEMBERS: dict[type, dict[str, Any]] = {}  # their types
STRUCT: dict[str, type[ctypes.Structure]] = {}
for _name, _members in structs_text():
    _fields = []
    for _type, _member, _length in map(_split, _members):
        _kind = _ctype(_type)
        _fields.append((_member, _kind * _length if _length else _kind))
    STRUCT[_name] = type(_name, (_Checked,), {"_fields_": _fields})
    _MEMBERS[STRUCT[_name]] = dict(_fields)


def new(name: str, /, **members: Any) -> Any:
    """A zero-initialized struct with its size and these members set."""
    kind = STRUCT[name]
    if kind._fields_[0][0] == "size":
        members["size"] = ctypes.sizeof(kind)
    return kind(**members)


_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {}
_LOOKED_AT: dict[str, list[tuple[int, str, Any]]] = {}  # index, name and type of each argument that may be invalid


def _looked_at(parameters: list[tuple[str, str, int]]) -> list[tuple[int, str, Any]]:
    """Strings that C reads up to a NUL (`const char *` without a length after it), integers and addresses."""
    out = []
    for i, (kind, name, length) in enumerate(parameters):
        is_text = kind == "const char *" and (i + 1 == len(parameters) or parameters[i + 1][0] != "size_t")
        if is_text or (not length and _range(_ctype(kind))):
            out.append((i, name, _ctype(kind)))
    return out


for _line in FUNCTIONS.split(";"):
    if not _line.strip():
        continue
    _head, _, _parameters = _line.strip().partition("(")
    _result, _function = _split(_head)[:2]
    _declared = [] if _parameters == "void)" else [*map(_split, _parameters.rstrip(")").split(","))]
    _SIGNATURES[_function] = (
        _ctype(_result),
        [_ctype(kind + (" *" if length else "")) for kind, _, length in _declared],
    )
    _LOOKED_AT[_function] = _looked_at(_declared)


@functools.cache
def _library(prefix: str) -> ctypes.CDLL:
    if prefix == "sim":
        return _find.load("hexc_sim")
    try:
        return _find.load("hexc")
    except LibraryError as missing:
        try:  # sufficient for modules from files
            return _find.load("hexc_rt")
        except LibraryError:
            raise missing from None


@functools.cache
def _found(name: str) -> Any:
    try:
        found = getattr(_library(name.partition("_")[0]), name)
    except AttributeError:
        raise LibraryError(f"the library that is here has no {name}: only libhexc compiles") from None
    found.restype, found.argtypes = _SIGNATURES[name]
    return found


def address(name: str) -> ctypes.c_void_p:
    """The address of this C function, as a callback for other functions."""
    return ctypes.cast(_found(name), ctypes.c_void_p)


@functools.cache
def function(name: str) -> Callable[..., Any]:
    """The C function of this name; :class:`LibraryError` if the loaded library lacks it."""
    result: Callable[..., Any] = _found(name)
    looked_at = _LOOKED_AT[name]
    if not looked_at:
        return result

    def checked(*args: Any) -> Any:
        for i, parameter, kind in looked_at:
            check(args[i], kind, parameter)
        return result(*args)

    return checked


def check_program() -> str:
    """C code that compiles only if the headers match the declarations here."""
    out = [f'#include "{header}"' for header in HEADERS] + ["#include <stddef.h>"]
    out += [f"typedef {line};" for line in CALLBACKS.split(";") if line.strip()]
    out += [line + ";" for line in FUNCTIONS.split(";") if line.strip()]
    out += [f'_Static_assert({name} == {value}, "{name}");' for name, value in NUMBERS.items()]
    for name, members in structs_text():
        out.append(f"struct py_{name} {{ {' '.join(m + ';' for m in members)} }};")
        out.append(f'_Static_assert(sizeof(struct py_{name}) == sizeof({name}), "{name}: size");')
        out.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(STRUCT[name])}, "{name}: size in ctypes");')
        for text, member, _ in map(_split, members):
            out.append(
                f"_Static_assert(offsetof({name}, {member}) == {getattr(STRUCT[name], member).offset} &&"
                f" sizeof((({name} *)0)->{member}) == {getattr(STRUCT[name], member).size},"
                f' "{name}.{member}: place");'
            )
            if text != "void *":
                out.append(
                    f"_Static_assert(__builtin_types_compatible_p(__typeof__((({name} *)0)->{member}),"
                    f' __typeof__(((struct py_{name} *)0)->{member})), "{name}.{member}: type");'
                )
    return "\n".join(out) + "\n"
