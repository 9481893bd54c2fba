/* kernel_args.h - declares arguments of `hexc run`: converts text to buffers in device format, and writes
 * them back to files. */
#ifndef HEXC_KERNEL_ARGS_H
#define HEXC_KERNEL_ARGS_H
#include "hexc/cli/file_tensor.h"
#include "hexc/cli/base/npy.h"

typedef enum ArgValueKind {
	V_NONE,
	V_FILE,
	V_NUMBER,
	V_RANDOM,
	V_RANDINT,
	V_POSITIONS,
	V_ZEROS,
	V_ARANGE,
} ArgValueKind;

/* The value of an --arg NAME=VALUE. */
typedef struct ArgValue {
	ArgValueKind kind;
	const char *text;   /* as written */
	const char *path;   /* V_FILE */
	const char *held;   /* V_FILE: its NAME or NAME:PLANE; NULL: it is a .npy */
	bool is_int;        /* V_NUMBER: `i` is exact */
	int64_t i;
	double f;
	int64_t seed, lo, hi;
	bool shaped;        /* a [shape] follows */
	int rank;
	int64_t shape[HEXC_MAX_RANK];
} ArgValue;

/* Parses the text; returns 0, or EXIT_USAGE with the reason printed. */
int value_parse(Cli *c, const char *name, const char *text, ArgValue *out);

#define BOUND_UNWRITTEN (-1.0)

/* One parameter of the kernel. */
typedef struct Tensor {
	hexc_param_info info;
	const hexc_dtype *type;
	ArgValue value;
	Npy npy;              /* V_FILE */
	bool packed;          /* npy has several codes per byte */
	bool natural;         /* npy.data are elements of the type, without gaps */
	int64_t dim[HEXC_MAX_RANK], stride[HEXC_MAX_RANK];
	uint64_t span, bytes; /* elements and bytes from the first to the last element */
	unsigned char *start; /* contents before the run, in device format */
	unsigned char *tile;  /* after --exec=tile; NULL: not run */
	unsigned char *device; /* after --exec=sim or gpu */
	double *estimate;     /* NULL: none; estimated error of elements without a bound, from noisy runs */
	double *most;         /* NULL: none; largest error of runs with more noise than allowed */
	double *bound;        /* of tile, per element of the span; BOUND_UNWRITTEN where an `out` tensor
	                       * was not written; NULL: not requested */
} Tensor;

/* All parameters of the kernel, and the launch arguments. */
typedef struct Args {
	const hexc_module *m;
	size_t kernel;
	Tensor *t;
	int n;
	hexc_arg *arg; /* sizes and scalars set; ptr and bytes are set by the executor */
	char lost[400]; /* the value of the program that lost its bound; "": none, or unknown */
} Args;

/* Reads the --arg options, infers the sizes, allocates and fills. Returns 0, or a status with the reason
 * printed. */
int args_read(Cli *c, const hexc_module *m, size_t kernel, Args *out);
/* Infers sizes from the given tensors (bind_sizes.c). */
int args_sizes(Args *a);
/* Checks the given data's shape against t's extents. Returns 0, or a status with the reason printed. */
int tensor_check_shape(Tensor *t);
/* Reads the expected elements of t from @FILE or @FILE:TENSOR, in device format, in memory of c. Returns
 * 0, or a status with the reason printed. */
int tensor_expect(Cli *c, const Tensor *t, const char *text, unsigned char **out);
/* Returns the tensor of that name, or NULL. */
Tensor *args_find(const Args *a, const char *name, size_t n);
/* Copies the initial contents; returns NULL if out of memory. */
unsigned char *tensor_copy(Cli *c, const Tensor *t);

/* Does the type match the file's? `what`: the tensor that is read, NULL for a .npy. Returns 0, or
 * EXIT_INPUT with the reason printed. */
int tensor_check_type(const Tensor *t, const char *what);
/* Fills t->start from its value. */
int tensor_fill(Tensor *t);
/* Writes contents (in device format) as .npy. */
int tensor_save(Cli *c, const Tensor *t, const unsigned char *data, const char *path);

/* Iterates over the elements in row-major order: `at` is the offset of the current one. */
typedef struct Each {
	const Tensor *t;
	int64_t index[HEXC_MAX_RANK];
	uint64_t at;
	bool done;
} Each;
void each_start(Each *w, const Tensor *t);
void each_next(Each *w);

/* Device-independent parts of a launch. Returns the initial bytes of tensor i on the device; for a packed
 * tensor, its packed form. Returns 0, or a status with the reason printed. */
int launch_form(Cli *c, const Args *a, int i, const unsigned char **data, uint64_t *bytes);
/* Reads written tensors into t->device: `read` gets tensor i's bytes. Both return 0, or a status with the
 * reason printed. */
typedef int LaunchRead(void *user, int i, void *to, uint64_t bytes);
int launch_results(Cli *c, Args *a, LaunchRead *read, void *user);
#endif
