/* kernel_args.h - arguments of `hexc run`: from words to buffers in device format, and back to files. */
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

/* What stands behind NAME= of an --arg. */
typedef struct ArgValue {
	ArgValueKind kind;
	const char *text;   /* as written */
	const char *path;   /* V_FILE */
	const char *held;   /* V_FILE: what of it, NAME or NAME:PLANE; NULL: it is a .npy */
	bool is_int;        /* V_NUMBER: `i` has it exactly */
	int64_t i;
	double f;
	int64_t seed, lo, hi;
	bool shaped;        /* a [shape] is behind it */
	int rank;
	int64_t shape[HEXC_MAX_RANK];
} ArgValue;

/* 0, or EXIT_USAGE with the reason printed. */
int value_parse(Cli *c, const char *name, const char *text, ArgValue *out);

#define BOUND_UNWRITTEN (-1.0)

/* One parameter of the kernel. */
typedef struct Tensor {
	hexc_param_info info;
	const hexc_dtype *type;
	ArgValue value;
	Npy npy;              /* V_FILE */
	bool packed;          /* npy holds several codes in a byte */
	bool natural;         /* npy.data are elements of the type, without gaps between them */
	int64_t dim[HEXC_MAX_RANK], stride[HEXC_MAX_RANK];
	uint64_t span, bytes; /* elements and bytes from the first to the last element */
	unsigned char *start; /* contents before the run, in device format */
	unsigned char *tile;  /* after --exec=tile; NULL: not run */
	unsigned char *device; /* after --exec=sim or gpu */
	double *estimate;     /* NULL: none; how far elements without a bound may be off, by noisy runs */
	double *most;         /* NULL: none; how far runs with more noise than there may be have come */
	double *bound;        /* of tile, for each element of the span, BOUND_UNWRITTEN where a tensor that is
	                       * `out` was not written; NULL: not asked for */
} Tensor;

/* All parameters of the kernel, and the launch arguments made of them. */
typedef struct Args {
	const hexc_module *m;
	size_t kernel;
	Tensor *t;
	int n;
	hexc_arg *arg; /* sizes and scalars set; ptr and bytes by whoever runs */
	char lost[400]; /* which value of the program has no bound; "": all have, or it is not known */
} Args;

/* Read the --arg options, solve the sizes, allocate and fill.  0, or a status with the reason printed. */
int args_read(Cli *c, const hexc_module *m, size_t kernel, Args *out);
/* Sizes from the tensors given (cli/sizes.c). */
int args_sizes(Args *a);
/* With its extents known: has what t is given this shape?  0, or a status with the reason printed. */
int tensor_check_shape(Tensor *t);
/* Elements that t should have: what @FILE or @FILE:TENSOR holds, in device format, memory of c.  0, or a
 * status with the reason printed. */
int tensor_expect(Cli *c, const Tensor *t, const char *text, unsigned char **out);
/* The tensor of that name, or NULL. */
Tensor *args_find(const Args *a, const char *name, size_t n);
/* A copy of the start contents; NULL when out of memory. */
unsigned char *tensor_copy(Cli *c, const Tensor *t);

/* Does the type go with the file's?  `what`: what is read, NULL for a .npy.  0, or EXIT_INPUT with the reason
 * printed. */
int tensor_check_type(const Tensor *t, const char *what);
/* Fill t->start from its value. */
int tensor_fill(Tensor *t);
/* Write contents (in device format) as .npy. */
int tensor_save(Cli *c, const Tensor *t, const unsigned char *data, const char *path);

/* Each the elements in row-major order: `at` is the offset of the current one. */
typedef struct Each {
	const Tensor *t;
	int64_t index[HEXC_MAX_RANK];
	uint64_t at;
	bool done;
} Each;
void each_start(Each *w, const Tensor *t);
void each_next(Each *w);

/* What of a launch is the same on every device.  The bytes that tensor i starts with there,
 * of a packed one another form of those that we have.  0, or a status with the reason printed. */
int launch_form(Cli *c, const Args *a, int i, const unsigned char **data, uint64_t *bytes);
/* Fetch what was written into t->device: `read` gets tensor i's bytes.  0, or a status with the reason
 * printed, as `read` has it too. */
typedef int LaunchRead(void *user, int i, void *to, uint64_t bytes);
int launch_results(Cli *c, Args *a, LaunchRead *read, void *user);
#endif
