/* work.h - the launches that compute one ggml operation.
 *
 * A Work is written by a function of ops.def from the operation's tensors: names and settings of hexc's
 * operators, and their arguments. Settings select a kernel, which is compiled once for each combination;
 * arguments do not. Nothing here touches a device, of which only limits are known, and tensors need no
 * memory yet. */
#ifndef GGML_HEXC_WORK_H
#define GGML_HEXC_WORK_H
#include "examples/ggml/versions.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>

enum { RANK = GGML_MAX_DIMS, LAUNCHES_MOST = 24, SETTINGS_MOST = 32, ARGS_MOST = 96, TEXT_MOST = 24576,
       TAIL_MOST = 8, OPERANDS_MOST = 6, NUMBERS_MOST = 4 };

/* A tensor as hexc reads it, the outermost dim first: dim 3 is ggml's dim 0. Strides are in elements. */
typedef struct View {
	enum ggml_type type;
	void *data;             /* device memory; may be NULL before it is allocated */
	bool scratch;           /* scratch memory, from `offset` on, instead of data */
	int64_t offset;
	int64_t size[RANK];
	int64_t stride[RANK];
} View;

typedef struct Setting {
	const char *name, *value;
} Setting;

typedef enum ArgKind { ARG_POINTER, ARG_SCRATCH, ARG_CODEBOOK, ARG_INT, ARG_FLOAT } ArgKind;

typedef struct Arg {
	const char *name;
	ArgKind kind;
	void *pointer;
	int64_t integer;        /* of ARG_SCRATCH the offset in the scratch memory; of ARG_CODEBOOK the
	                         * block type */
	double number;
} Arg;

/* One operator of hexc with its settings and arguments. */
typedef struct Launch {
	const char *op;
	Setting setting[SETTINGS_MOST];
	int settings;
	Arg arg[ARGS_MOST];
	int args;
} Launch;

/* What else the launch of an operation computes. The nodes are operations of elements, each of which reads
 * the result of the one before, the first that of the operation, which nothing else reads; all have its
 * shape. */
typedef struct Tail {
	const struct ggml_tensor *node[TAIL_MOST];
	int nodes;
	/* the other operand of node 0, a product of the same src[1]; or NULL */
	const struct ggml_tensor *second;
	const struct ggml_tensor *rows;   /* the SET_ROWS that stores the result; or NULL */
	/* an operation like it, on the same src[1], whose result is stored as it is; or NULL */
	const struct ggml_tensor *also;
} Tail;

/* What a device has of what kernels may need. */
typedef struct Limits {
	int64_t shared;         /* bytes of shared memory, at most, that a block may use */
	struct ggml_backend_buffer_type *memory; /* where operands are when kernels run */
} Limits;

typedef struct Work {
	const Limits *limits;
	const struct ggml_tensor *op;
	const Tail *tail;       /* to be computed by the same launches; may be NULL */
	bool tail_done;         /* they do */
	Launch launch[LAUNCHES_MOST];
	int launches;
	int64_t scratch;        /* bytes of device memory for values between launches */
	int packed;             /* launches that read packed weights */
	bool failed;            /* a list was full */
	char text[TEXT_MOST];   /* the settings' values and the arguments' names */
	size_t used;
} Work;

/* Writes the launches of an operation and of its tail, which may be NULL. Returns false if no kernel of hexc
 * computes it on a device of these limits, or not together with this tail. *limits must outlive w. */
bool describe(Work *w, const Limits *limits, const struct ggml_tensor *op, const Tail *tail);

/* ---- view.c */

/* Sets *v to tensor t. Returns false if its elements are in blocks, or its strides are no multiples of an
 * element. */
bool view_of(View *v, const struct ggml_tensor *t);
/* Sets the strides of adjacent elements. */
void view_pack(View *v);
/* The number of elements. */
int64_t view_count(const View *v);
/* Makes v, tensor t, one row of all its elements. Returns false if these are not adjacent. */
bool view_flatten(View *v, const struct ggml_tensor *t);
/* Splits dim `dim` of v into `parts` halves and returns number `part`. */
View view_part(View v, int dim, int64_t part, int64_t parts);
/* Repeats dims of size 1 up to `size`, by strides of 0. Returns false if another dim differs. */
bool view_repeat(View *v, const int64_t size[RANK]);
/* Merges those of the outer `dims` dims that are adjacent in memory in all views, which have equal sizes,
 * into the inner ones of them. */
void views_merge(View *const *v, int n, int dims);
bool view_same_size(const View *a, const View *b);
/* Does v repeat to the sizes of y in a dim by more than a stride of 0? */
bool view_wraps(const View *v, const View *y);
/* Can v be repeated to the sizes of y? */
bool view_divides(const View *v, const View *y);
bool is_float(const View *v); /* f32, f16 or bf16 */
bool is_row(const View *v);   /* are elements of dim 3 adjacent? */
/* hexc's name of an element type; NULL if it has none. */
const char *type_name(enum ggml_type type);

/* ---- work.c */

/* Starts another launch. */
Launch *work_launch(Work *w, const char *op);
/* Sets a setting; the value is formatted. */
void set(Work *w, Launch *l, const char *name, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Appends to the setting `tensors`: declarations of tensors and numbers for expressions. */
void declare(Work *w, Launch *l, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Set arguments. `name` is a literal, or text of w. */
void arg_int(Work *w, Launch *l, const char *name, int64_t value);
void arg_float(Work *w, Launch *l, const char *name, double value);
void arg_pointer(Work *w, Launch *l, const char *name, void *pointer);
void arg_scratch(Work *w, Launch *l, const char *name, int64_t offset);
/* Sets it to the device's copy of the codebook of a block type. */
void arg_codebook(Work *w, Launch *l, const char *name, enum ggml_type type);
/* Formats text that lives as long as w. */
const char *text(Work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Reserves scratch memory and returns its offset, a multiple of 256. */
int64_t work_scratch(Work *w, int64_t bytes);
/* Reserves a tensor in it, whose elements are adjacent. */
View scratch_view(Work *w, enum ggml_type type, int64_t p, int64_t q, int64_t m, int64_t n);
/* Sets argument `name` to v's memory, which may be scratch memory, and its strides to the arguments
 * `letter`p, q, m and n. */
void arg_view(Work *w, Launch *l, const char *name, char letter, const View *v);

/* The same for tensors whose elements of dim 3 are adjacent: strides of the outer dims, in arguments
 * letters[0] letters[1], letters[0] letters[2], letters[0] letters[3]. */
void arg_rows(Work *w, Launch *l, const char *name, const char *letters, const View *v);
/* Sets v's sizes in the arguments P, Q, M and N, with a suffix. */
void arg_sizes(Work *w, Launch *l, const View *v, const char *suffix);
/* op_params[i], as a float. */
float param(const struct ggml_tensor *op, int i);

/* ---- blocks.c */

/* The name of a block type as hexc's format; "" if hexc has none. */
const char *block_format(enum ggml_type type);
/* Sets *v to the bytes of a tensor in blocks: dim 3 counts bytes. Returns false if it is none, or its blocks
 * are not adjacent. */
bool view_of_bytes(View *v, const struct ggml_tensor *t);
/* The same, but false also for blocks that hexc has no format for. */
bool view_of_blocks(View *v, const struct ggml_tensor *t);
/* The value of an element in blocks as an expression (hexc_format_expr); "" marks w as failed. */
const char *block_value(Work *w, enum ggml_type type, const char *row, const char *index);
/* Declares and sets the tensor that the values of this type read, if there is one. */
void declare_codebook(Work *w, Launch *l, enum ggml_type type);
/* Adds a launch that decodes rows of n elements, and returns the f16 tensor in scratch memory. */
View decode_blocks(Work *w, const View *blocks, int64_t n);
/* Adds a launch that decodes them to y, floats of the same shape. */
void decode_to(Work *w, const View *blocks, const View *y);
/* Adds a launch that decodes the rows that index[p, q, m] names to y. */
void decode_rows(Work *w, const View *blocks, const View *index, const View *y);

/* Adds a launch that writes rows of x as blocks to those rows of `to` that index[p, q, m] names; NULL: to row
 * m. Returns false if no operator writes such blocks. */
bool encode_rows(Work *w, const View *x, const View *index, const struct ggml_tensor *to);

/* ---- chain.c */

/* An operation of elements: y = expression(x, b, c0, c1, ..). */
typedef struct Pointwise {
	View x, y, b;
	bool has_b;
	const char *expression; /* NULL: x */
	float number[NUMBERS_MOST];
	int numbers;
} Pointwise;

/* Operations of elements as one expression of x, operands t0, t1, .. and numbers c0, c1, .. */
typedef struct Chain {
	const char *value;
	const char *hole;       /* the setting of a launch that it becomes */
	enum ggml_type type;    /* of the tensor that would hold the value */
	const void *result;     /* its memory */
	/* the operator's name of it, if an operand in its place is to be read by this name, so that the
	 * kernel knows that it overwrites what it reads (the setting `in_place`); or NULL */
	const char *result_name;
	View operand[OPERANDS_MOST]; /* of the result's sizes, with strides of 0; others are wrapped */
	bool wrapped[OPERANDS_MOST];
	int operands;
	float number[NUMBERS_MOST * TAIL_MOST];
	int numbers;
	const struct ggml_tensor *rows; /* as in Tail */
	View index;             /* of these rows */
} Chain;

typedef struct Word {
	const char *name, *text;
} Word;

/* Replaces whole words of an expression. */
const char *replace(Work *w, const char *expression, const Word *words, int n);

/* Parts of a tail that only some operations take. */
enum { TAKES_SECOND = 1, TAKES_ROWS = 2, TAKES_ALSO = 4 };

/* The value is x, what the launch computes without a chain. The hole is `epilogue`. */
void chain_start(Chain *c);
/* Adds an operation whose x (else whose b) is the value so far. `other` is the other operand's word; NULL: it
 * is a tensor. */
bool chain_add(Work *w, Chain *c, const Pointwise *e, bool by_x, const char *other);
/* Adds the tail of w; *y, the result of w->op, becomes the tensor that is stored to: its last node's, or that
 * of which SET_ROWS stores rows. The value of `second` is z. */
bool chain_tail(Work *w, Chain *c, View *y, int takes);
/* Is an operand wrapped? Then dims cannot be merged. */
bool chain_wraps(const Chain *c);
/* Sets the hole of a launch whose indices are p, q, m and n, with declarations and arguments. */
void chain_write(Work *w, Launch *l, const Chain *c);

/* ---- elementwise.c */

/* Reads an operation of elements; false if it is none. */
bool pointwise_of(Pointwise *e, const struct ggml_tensor *op);

/* Starts a launch of hexc's copy from x to y, of the same sizes. */
Launch *copy_launch(Work *w, const View *x, const View *y);
/* Adds a launch that copies x to y, of the same sizes. */
void copy_view(Work *w, const View *x, const View *y);

/* ---- rows.c */

/* Are they indices of rows? */
bool is_index(const View *v);
/* Sets argument I, indices [1, P, Q, M] of ggml, and its strides ip, iq and im. */
void arg_index(Work *w, Launch *l, const View *v);

/* ---- matmul.c */

/* Adds a launch: C[p,q,m,n] = sum_k A[p,q,m,k] B[p PB / P, q QB / Q, n, k]. */
Launch *product(Work *w, const View *a, const View *b, const View *c);

/* Can a launch multiply by both weights, of the same shape? Packed ones may be of different types. */
bool products_are_one(const struct ggml_tensor *a, const struct ggml_tensor *b);

/* Adds a launch that transposes the matrices of v, and returns them, f32 in scratch memory. */
View transposed(Work *w, const View *v);

/* ---- rearrange.c */

/* Adds a launch that computes y from tensor a, which may be NULL. `numbers`: names of i64 arguments,
 * "l0 l1 ". `value` NULL: the caller sets the expression. */
Launch *compute(Work *w, const View *a, const View *y, const char *numbers, const char *value);
/* The same of the sum of `count` terms, each of which `term` computes from its number t. */
Launch *compute_terms(Work *w, const View *a, const View *y, const char *numbers, int64_t count,
                      const char *term);
/* Sets these arguments. */
void arg_numbers(Work *w, Launch *l, const char *names, const int64_t *number);

/* ---- reduce.c */

/* Adds a launch that sums the rows of x: y has one number of each. */
Launch *reduce_rows(Work *w, const View *x, const View *y);

/* ---- norm.c */

/* Adds a launch of `name` for rows of x and y, which have the same sizes. With `strided` they may have any
 * strides, otherwise the rows are those of one matrix. */
Launch *start_rows(Work *w, const char *name, const View *x, const View *y, bool strided);

/* ALiBi's slopes of heads: exp2(out[1] * (h + 1)) for h < out[0], exp2(out[2] * (2 * (h - out[0]) + 1)) for
 * others; 1 if max_bias is 0. */
void alibi(float max_bias, int64_t heads, double out[3]);

/* ---- the operations */

#define OP(op, function) bool function(Work *w, const struct ggml_tensor *op);
#include "examples/ggml/ops.def"
#undef OP
#endif
