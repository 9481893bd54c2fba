/* lower.h - declares what the files of the lowering share: syntax tree -> tile IR, with type checks.
 *
 * One walk over a kernel resolves names, checks and emits. An error is reported where it is found and
 * gives a VK_none value; every use of that value propagates it without another message. */
#ifndef HEXC_LOWER_H
#define HEXC_LOWER_H
#include "hexc/lang/ast.h"

/* Largest rank of tensors and tiles: passes add more dimensions (stages). */
enum { RANK_MAX = 6 };
/* Names visible at once. */
enum { NAMES_MAX = 4096 };
/* Largest extent of a tile, and most elements. */
enum { TILE_MAX = 1 << 20 };

typedef enum LoweredKind {
	VK_none, /* invalid, already reported */
	VK_int,  /* compile-time constants: they adapt to the type of the other operand */
	VK_flt,
	VK_bool,
	VK_type, /* an element type; i: its value as a constant; not usable in arithmetic */
	VK_val,  /* scalar or register tile */
	VK_view, /* memory: a tensor, an alloc, or a view of one */
	VK_mbar, /* v: an array of mbarriers, which are not values */
	VK_array, /* i tiles, which are the names `NAME[0]` and so on */
} LoweredKind;

typedef struct LoweredValue {
	LoweredKind kind;
	int64_t i;
	double f;
	Val *v;
	bool single; /* a view of one element, with an index in every dim */
	const struct Plain *plain; /* v, or a value it was computed from, selects between constants:
	                            * lower_plain_of */
} LoweredValue;

/* A value and its expression, for messages. */
typedef struct Operand {
	LoweredValue v;
	const Expr *e;
} Operand;

/* where(condition, constant, constant), possibly nested: it can be created in any type. */
typedef struct Plain {
	const Expr *e;
	Operand o[3];
	bool flt; /* one of the constants has a fraction */
	const Val *v; /* the select, while its type is undecided */
} Plain;

typedef enum SymKind { SY_const, SY_size, SY_scalar, SY_tensor, SY_let, SY_var } SymKind;

typedef struct Sym Sym;
struct Sym {
	const char *name;
	SymKind kind;
	Src src;
	LoweredValue val;
	const Layout *pin; /* of a var: layout of assigned values; NULL: inferred */
	bool kept;         /* of a var: declared `register` */
	int depth; /* number of visible names, including this one */
	Sym *next; /* declared before this one */
	unsigned hash;
	int frame; /* Lower.frame of its function */
	Sym *chain; /* next in the bucket, declared before */
};

enum { SYM_BUCKETS = 512 };

/* What the current expression may use. */
typedef enum Mode {
	MODE_CONST, /* constants only */
	MODE_SHAPE, /* constants and sizes */
	MODE_HOST,  /* also scalars: the grid and assumptions, evaluated before the launch */
	MODE_BODY,
} Mode;

/* A function being inlined at a call. */
typedef struct FnCall FnCall;
struct FnCall {
	const FnDecl *fn;
	int depth; /* Lower.depth at the call */
	Mode mode; /* Lower.mode at the call */
	int nresult;
	LoweredValue result[RESULT_MAX];
	FnCall *outer;
};

/* What `break`, `continue` and `return` leave, innermost first: a loop, or the kernel. They clear flags;
 * the statements after them run only if the flag is still set. */
typedef struct Leave Leave;
struct Leave {
	Sym *going; /* flag: continue the loop or kernel; NULL: it has no early exit */
	Sym *turn;  /* of a loop with `continue`, flag: continue this iteration; else `going` is used */
	bool loop, roles, asks; /* asks: a condition is evaluated before each iteration */
	Leave *outer;
};

typedef struct Lower {
	Unit *u;
	Arena *arena;
	Diag *diag;
	const KernelDecl *decl;
	const FnDecl *fns;
	const Lost *lost;
	FnCall *call; /* innermost; NULL: the kernel itself */
	Kernel *k;
	Block *b; /* ops are appended here */
	Sym *scope; /* innermost first; set only by scope_leave and scope_enter_call */
	Sym **bucket; /* all declared names by hash, newest first */
	int frame, nframe; /* the function being lowered, and the number of functions so far */
	Mode mode;
	const char *what; /* MODE_CONST .. MODE_HOST: what is being computed, as in "the grid" */
	bool has_grid;
	bool exact; /* inside exact(...) */
	bool in_team; /* inside the consumer role */
	int depth; /* of loops and conditions */
	Leave *leave;
	const Define *def;
	int ndef;
	struct Table *table; /* register tiles that are also in shared memory; see lower_table */
	int assume_cap, condition_cap;
} Lower;

/* ---- lower.c: scopes and blocks -------------------------------------------------------------- */

Sym *sym_find(const Lower *l, const char *name);
/* Declares a name; reports a second declaration of a visible or reserved name (and still adds it). */
Sym *sym_add(Lower *l, const char *name, SymKind kind, Src src, LoweredValue v);
/* Removes the names declared since `scope`. */
void scope_leave(Lower *l, Sym *scope);
/* A function sees only its own names until scope_leave_call, which takes the returned value. */
typedef struct SavedScope {
	Sym *scope;
	int frame;
} SavedScope;
SavedScope scope_enter_call(Lower *l);
void scope_leave_call(Lower *l, SavedScope o);

/* ---- lower_tunables.c, lower_param.c, lower_assume.c ------------------------------------------- */

void lower_consts(Lower *l);
void lower_params(Lower *l);
void lower_assumes(Lower *l);
/* Returns the element type of that name, or of the constant of that name; D_COUNT: none. */
DType lower_find_dtype(const Lower *l, const char *name);
/* Returns the type of an expression that may be a type or a value; a value of that name takes precedence
 * over the type. */
DType lower_expr_dtype(const Lower *l, const Expr *e);
/* Returns the element type that a declaration names; D_COUNT: none, or an unknown name, which is
 * reported. */
DType lower_dtype(Lower *l, const TypeSpec *t);
/* Does it use only constants? */
bool lower_is_const(const Lower *l, const Expr *e);

/* ---- type_check.c: messages and type rules -------------------------------------------------------- */

/* Returns the source text of an expression if it is short, else `other`. */
const char *check_text(const Lower *l, const Expr *e, const char *other);
/* Returns the text of an operand in backquotes if it is short, else `other`. */
const char *check_quoted(const Lower *l, const Operand *o, const char *other);
/* Adds notes on where the names in these operands were declared, after an error about them. */
void check_declared(Lower *l, Src error, int n, const Operand *o);
/* Describes a value: "f16[64, 32]", "the number 3". */
const char *check_describe(const Lower *l, const LoweredValue *v);
/* Reports that no `what` ("", "function ") has that name, with similar names or migration hints; `also`
 * ends the sentence. Silent if text that could not be parsed may have declared it. */
void check_no_name(Lower *l, Src src, const char *what, const char *name, const char *also);
/* Is the op defined on this element type? Reports. */
bool check_dtype(Lower *l, OpCode code, DType d, Src src, const Expr *e);
/* Do both have the same element type? Reports, with the cast to write. */
bool check_same_dtype(Lower *l, Src src, const Operand *x, const Operand *y);
bool check_extent(Lower *l, int64_t n, Src src);
bool check_shape(Lower *l, int rank, const int64_t *shape, Src src);
/* Is this allowed in the current mode? Reports. */
bool check_mode(Lower *l, Mode least, Src src, const char *thing);

/* ---- const_eval.c: arithmetic at compile time ----------------------------------------------- */

/* Is the constant representable in type d? Reports. */
bool check_fits(Lower *l, const LoweredValue *c, DType d, Src src);
bool value_is_const(const LoweredValue *v);
LoweredValue value_none(void);
LoweredValue value_int(int64_t i);
LoweredValue value_flt(double f);
LoweredValue value_bool(bool b);
double const_double(const LoweredValue *v);
LoweredValue const_unary(Lower *l, TileToken op, Src src, LoweredValue x);
LoweredValue const_binary(Lower *l, TileToken op, Src src, LoweredValue x, LoweredValue y);
/* Evaluates min, max and functions of one float; returns false if the op has no constant form. */
bool const_call(Lower *l, OpCode code, Src src, int n, const Operand *arg, LoweredValue *out);

/* ---- lower_conversion.c: conversions -------------------------------------------------------------- */

LoweredValue value_of(Val *v);
Val *put_op(Lower *l, OpCode code, Src src, int nin, Val *const *in, Type t);
Val *put1(Lower *l, OpCode code, Src src, Val *x, Type t);
Val *put2(Lower *l, OpCode code, Src src, Val *x, Val *y, Type t);
/* Creates a constant of a scalar or tile type; it must be representable. */
Val *put_const(Lower *l, const LoweredValue *c, Type t, Src src);
/* Inserts index arithmetic on i64 scalars, folded. */
Val *put_index(Lower *l, OpCode code, Src src, Val *x, Val *y);
/* Loads memory operands; one element of read-only or shared memory becomes a scalar; other values are
 * returned unchanged. The compiler chooses registers or shared memory for a tile of a tensor. */
LoweredValue lower_load(Lower *l, Operand o);
/* The same to registers; one element becomes a tile of one element. */
LoweredValue lower_load_tile(Lower *l, Operand o);
bool value_is_tile(const LoweredValue *v);
/* Converts to a register tile or scalar of exactly this type: constants adapt, smaller shapes are
 * broadcast. Returns NULL after a report. */
Val *lower_to_type(Lower *l, Operand o, Type t, Src src, const char *what);
/* Loads all operands and converts them to a common element type and, by broadcasting, to a common shape:
 * those of the result. */
bool lower_join(Lower *l, Src src, int n, Operand *o, Type *t);
/* Joins only the shape: rank and extents of `t`; its dtype is unchanged. */
bool lower_join_shape(Lower *l, Src src, int n, const Operand *o, Type *t);
/* Broadcasts a value of the correct element type to the shape of t. */
Val *lower_broadcast_to(Lower *l, Src src, LoweredValue v, Type t);
/* Return an i64 scalar, or NULL after a report that names `what`. */
Val *lower_index_value(Lower *l, const Expr *e, const char *what);
Val *lower_to_index(Lower *l, Operand o, const char *what);
/* Reshapes v; for rank-0 values, to rank `rank` with leading extents of 1. */
Val *put_reshape(Lower *l, Src src, Val *v, int rank, const int64_t *shape);
/* Returns v with `rank` dims, of which the new ones come first and have extent 1. */
Val *put_leading_dims(Lower *l, Src src, Val *v, int rank);

/* ---- lower_expr.c, lower_slice.c, lower_call.c ----------------------------------------------- */

LoweredValue lower_expr(Lower *l, const Expr *e);
Operand lower_operand(Lower *l, const Expr *e);
LoweredValue lower_op2(Lower *l, TileToken op, Src src, Operand x, Operand y);
LoweredValue lower_unary_op(Lower *l, TileToken op, Src src, Operand x);
/* Returns the name of the tile that a[i] selects from an array, also as the base of a slice; else e. An
 * EX_error after a report. */
const Expr *lower_selected(Lower *l, const Expr *e);
/* Returns tile i of an array. */
Sym *lower_array_tile(const Lower *l, const char *array, int64_t i);
/* Evaluates a compile-time integer; returns false after a report that names `what`. */
bool lower_const_int(Lower *l, const Expr *e, const char *what, int64_t *out);
LoweredValue lower_slice(Lower *l, const Expr *e);
/* Returns the index of slice [index]; NULL: it is another slice. */
const Expr *lower_only_index(const Expr *e);
/* Does the slice have new dims, `newaxis`? */
bool lower_has_new_dim(const Expr *e);
/* Returns the slice without its new dims, in memory if its base is there. *full: the type of a register tile
 * with the slice's shape, new dims included. */
LoweredValue lower_slice_memory(Lower *l, const Expr *e, Type *full);
/* A part of a register tile that is assigned. */
typedef struct AssignedPart {
	Val *start[RANK_MAX];     /* per dim of the tile */
	int64_t extent[RANK_MAX];
	Type full;                /* the slice's type, with new dims and without those of a single index */
	int dim[2 * RANK_MAX];    /* per dim of it that of the tile; -1: new */
	Type type;                /* the slice's type, without new dims */
	int64_t dropped;          /* bit set: dims of the tile that it lacks */
} AssignedPart;
/* Computes the part that slice e of a register tile selects; returns false after a report. */
bool lower_part(Lower *l, const Expr *e, AssignedPart *p);
/* Returns the part p of a register tile, which slice e selects, in type p->full. */
LoweredValue lower_part_value(Lower *l, const Expr *e, const LoweredValue *tile, const AssignedPart *p);
/* Converts o to type `full` of a slice and then to the slice's own shape, that of t. Returns NULL after a
 * report that names `what`. */
Val *lower_to_slice(Lower *l, Operand o, Type full, const Type *t, Src src, const char *what);
LoweredValue lower_call(Lower *l, const Expr *e);
/* Is it the name of a built-in function, or of one of prelude.def? */
bool lower_is_builtin(const char *name);
bool lower_keeps_name(const char *name); /* and not of a program's function */
const char *lower_builtin(int i); /* NULL past the last */
/* Returns the select of constants whose type is undecided; NULL if v is none, or only computed from one. */
const Plain *lower_plain_of(const LoweredValue *v);
/* Is it a compile-time float, or a select with one? */
bool lower_has_fraction(const LoweredValue *v);
/* Creates such a select in type d; other operands are unchanged. Returns false if a constant is not
 * representable. */
bool lower_plain(Lower *l, Operand *o, DType d);

/* ---- lower_dot_accumulate.c ------------------------------------------------------------------------- */

/* Lowers x + y or x - y (op); a dot that is written as an operand is fused. */
LoweredValue lower_sum(Lower *l, TileToken op, Src src, const Expr *x, const Expr *y);
/* The same with a value on the left. */
LoweredValue lower_sum_onto(Lower *l, TileToken op, Src src, Operand x, const Expr *y);
/* Is it a product that a sum fuses? */
bool lower_is_product(const Lower *l, const Expr *e);
/* Lowers x + f[0] * f[1] or x - f[0] * f[1]; e: the product. */
LoweredValue lower_product_onto(Lower *l, TileToken op, Src src, Operand x, const Operand *f, const Expr *e);

/* ---- lower_shape_ops.c ---------------------------------------------------------------------------- */

/* Evaluates argument i of a call as a register tile. */
bool lower_tile_arg(Lower *l, const Expr *e, int i, Operand *o);
/* Evaluates argument i as a dimension of a tile of that rank; -1 is the last. */
bool lower_dim_arg(Lower *l, const Expr *e, int i, int rank, int *dim);
LoweredValue lower_transpose(Lower *l, const Expr *e);
LoweredValue lower_swap(Lower *l, const Expr *e); /* x.T */
LoweredValue lower_iota(Lower *l, const Expr *e);
LoweredValue lower_reshape(Lower *l, const Expr *e);
/* Lowers reshape(x, ...) that is sliced: for a shared tile a view of its memory, not a load. */
LoweredValue lower_alias(Lower *l, const Expr *e);

/* ---- lower_reduce.c -------------------------------------------------------------------------- */

LoweredValue lower_reduce(Lower *l, const Expr *e, OpCode code);
LoweredValue lower_mean(Lower *l, const Expr *e);
LoweredValue lower_inside(Lower *l, const Expr *e);
/* A bool tile: which elements of x are in bounds. */
Val *lower_inside_of(Lower *l, Src src, Val *x);
LoweredValue lower_fill(Lower *l, const Expr *e);
Val *lower_put_reduce(Lower *l, const Expr *e, OpCode code, Val *x, int dim);
/* Returns x, of extent 1 along dim, where `of` has an element along it that is in bounds, else 0. */
Val *lower_if_any(Lower *l, Src src, Val *x, int dim, Val *of);
/* An i64 scalar: the first element of x along dim that is in bounds (O_inside_first), or their end. */
Val *lower_inside_end(Lower *l, Src src, OpCode code, Val *x, int dim);
/* x with elements that are all in bounds; those that were not are undefined. */
Val *lower_unmask(Lower *l, Src src, Val *x);
/* Returns v with the bounds of x; `reduced` is the dim along which v has one element of x's, or -1.
 * Expressed as a select between both, which pass fold replaces with v. */
Val *lower_as_far(Lower *l, const Expr *e, Val *v, Val *x, int reduced);

/* ---- lower_dot.c, lower_expand.c ------------------------------------------------------------ */

/* dot(a, b) without an accumulator argument, to which `+ x` may be fused */
bool lower_is_plain_dot(const Lower *l, const Expr *e);
LoweredValue lower_dot(Lower *l, const Expr *e, const Operand *acc);
/* Can dot(...) multiply them, and with which accumulator type? Reports. */
bool lower_check_dot(Lower *l, const Expr *e, const Operand *a, const Operand *b, DType *acc);
LoweredValue lower_sparse(Lower *l, const Expr *e); /* sparse(values, positions) */
LoweredValue lower_lookup(Lower *l, const Expr *e); /* lookup(table, indices) */

/* ---- lower_atomic.c, lower_print.c --------------------------------------------------------- */

/* Lowers a statement atomic_add(T[slice], x) or similar; returns false if it is none. */
bool lower_atomic(Lower *l, const Expr *e);
LoweredValue lower_atomic_value(Lower *l, const Expr *e); /* the same as an expression: returns the old
                                                           * value */
/* Lowers a statement grid_barrier(T[index]); returns false if it is none. */
bool lower_grid_barrier(Lower *l, const Expr *e);
LoweredValue lower_grid_barrier_value(Lower *l, const Expr *e); /* where a value is required: an error */
/* Reports grid barriers that only some blocks of the grid reach, or that a loop's copies run ahead of; k is
 * the result of lowering. */
void check_grid_barriers(Kernel *k);
/* Lowers a statement print("text", x, ...) or assert(condition, "text"); returns false if it is none. */
bool lower_message(Lower *l, const Expr *e);
LoweredValue lower_message_value(Lower *l, const Expr *e); /* where a value is required: an error */

/* ---- lower_scan.c ---------------------------------------------------------------------------- */

LoweredValue lower_shift(Lower *l, const Expr *e);
LoweredValue lower_cumulative(Lower *l, const Expr *e); /* cumsum, cumprod, cummax, cummin */
/* Lowers scan and reduce with a function of the program: one result per tile. */
bool lower_scan(Lower *l, const Expr *e, int want, LoweredValue *out);
LoweredValue lower_reduce_last(Lower *l, const Expr *e);

/* ---- lower_subtile.c ---------------------------------------------------------------------------- */

/* Maximum arguments of concat. */
enum { CALL_ARG_MAX = 16 };
/* Can register tile t be distributed over threads such that its slice of `extent` elements at `start` is a
 * tile without going through memory? The second: such that its reshape is? */
bool lower_slice_shared_out(const Lower *l, const Type *t, const int64_t *start, const int64_t *extent);
bool lower_reshapes_shared_out(const Lower *l, const Type *from, const Type *to);
/* Slices register tile x. */
Val *lower_put_slice(Lower *l, Src src, Val *x, int dim, int64_t start, int64_t extent);
/* Allocates an unnamed shared tile like t. */
Val *lower_put_alloc(Lower *l, Src src, Type t);
/* Copies a register tile to shared memory, to slice it; the regions are preserved. */
LoweredValue lower_stage(Lower *l, Src src, const LoweredValue *x);
/* The same with rows of full bytes, once for all slices that are taken where it is. */
LoweredValue lower_staged(Lower *l, Src src, const LoweredValue *x);
/* The same for tiles that are never written again: one shared tile serves all reads of x, and is filled
 * before the loops in which x is invariant. */
LoweredValue lower_table(Lower *l, Src src, const LoweredValue *x);
/* Reads one element of a shared tile, with an index in every dim, as a scalar for all threads. */
LoweredValue lower_element(Lower *l, Src src, Val *tile);
/* Returns memory to be read; for a tensor without a slice, the view of all of it. */
Val *lower_whole(Lower *l, Src src, Val *mem);
LoweredValue lower_concat(Lower *l, const Expr *e);
/* Changes x's extent along dim through a shared tile: longer, zero-filled at the end, or a part of it. */
Val *lower_resized(Lower *l, Src src, Val *x, int dim, int64_t extent);
/* Returns the element at index `at`, an i64 scalar, of the dim, with extent 1. */
LoweredValue lower_at(Lower *l, Src src, const LoweredValue *x, int dim, Val *at);
/* Lowers an assignment to a part of a variable that is a register tile. */
void lower_assign_part(Lower *l, const Stmt *s, Sym *sym);
/* Returns the index of the largest (O_reduce_max) or smallest element along a dim. */
LoweredValue lower_arg_extreme(Lower *l, const Expr *e, OpCode code);
/* ---- lower_sort.c ---------------------------------------------------------------------------------- */

LoweredValue lower_sort(Lower *l, const Expr *e); /* and argsort */
/* topk: the first `want` of its two values. Returns false after a report. */
bool lower_topk(Lower *l, const Expr *e, int want, LoweredValue *out);
LoweredValue lower_topk_values(Lower *l, const Expr *e);

/* ---- inline_fn.c ------------------------------------------------------------------------------ */

/* Reports functions whose names are not unique. */
void lower_check_fns(Unit *u, const File *file);
/* Returns the function that a call at src names, of the program or, inside the prelude, of the prelude;
 * NULL if there is none. */
const FnDecl *lower_find_fn(Lower *l, const char *name, Src src);
/* Computes the `want` results of f for n arguments; returns false after a report. src: the call. */
bool lower_fn_call(Lower *l, const FnDecl *f, Src src, int n, const LoweredValue *arg, int want,
		   LoweredValue *out);
bool lower_fn_expr(Lower *l, const FnDecl *f, const Expr *e, int want, LoweredValue *out);
/* Returns the n values of a call that returns several. */
bool lower_fn_parts(Lower *l, const Expr *e, int n, LoweredValue *out);
void lower_call_stmt(Lower *l, const Stmt *s);
void lower_return(Lower *l, const Stmt *s);
void lower_static_assert(Lower *l, const Stmt *s);

/* ---- lower_builtin.c --------------------------------------------------------------------------- */

/* Returns the function of prelude.def, parsed again for each call; NULL if there is none. */
const FnDecl *lower_prelude_text(Lower *l, const char *name, Src src);
/* Returns a prelude function that computes in its arguments' types; NULL if there is none. */
const FnDecl *lower_prelude_own(Lower *l, const char *name, Src src);
bool lower_is_prelude(const char *name); /* one that programs may call */
const char *lower_prelude_name(int n); /* name of the n-th one; NULL past the last */
/* Annotates y = f(x) as function f of x, for error bounds: select true, y, x. Returns y if f needs no
 * annotation. */
LoweredValue lower_prelude_known(Lower *l, const FnDecl *f, Src src, LoweredValue y, LoweredValue x);
/* Computes the `want` values of a call of one; returns false after a report. */
bool lower_prelude_expr(Lower *l, const Expr *e, int want, LoweredValue *out);
/* Calls the function with n floats, or constants, as f32; returns the result in type `own`. */
LoweredValue lower_prelude_f32(Lower *l, const char *name, Src src, int n, const Operand *o, DType own);
/* Calls the function with one f64 argument. */
LoweredValue lower_prelude_f64(Lower *l, const char *name, Src src, LoweredValue x);

/* ---- lower_stmt.c, lower_decl.c, lower_flow.c ------------------------------------------------- */

void lower_stmts(Lower *l, const Stmt *s);
/* Assigns v to a variable; reports what does not fit. */
void lower_set_var(Lower *l, const Stmt *s, Sym *sym, Operand v);
void lower_let(Lower *l, const Stmt *s);
/* If v was just lowered from X[...], which may be cast to the type that it has, or from fill(X[...], 0), and
 * has no name, returns the slice, for a copy to shared memory: *filled, with zeros out of bounds. The load is
 * then dead code. Else returns VK_none. */
LoweredValue lower_copied(Lower *l, const LoweredValue *v, bool *filled);
/* Marks v as `register`: it stays in registers. */
void lower_keep(Val *v);
void lower_for(Lower *l, const Stmt *s);
void lower_while(Lower *l, const Stmt *s);
void lower_if(Lower *l, const Stmt *s);
/* Lowers break, continue, and the return of a kernel. */
void lower_leave(Lower *l, const Stmt *s);
/* Lowers a statement that may leave the enclosing loop or kernel, and the statements after it. Returns
 * false, with nothing lowered, if it cannot leave. */
bool lower_leaving(Lower *l, const Stmt *s);
/* Lowers the body of the kernel. */
void lower_kernel_body(Lower *l, const Stmt *s);
/* Returns the first variable of an outer scope that the statements assign; NULL if there is none. */
const Sym *lower_first_assigned(Lower *l, const Stmt *s);
/* Returns the assigned variable; NULL after a report. */
Sym *lower_find_var(Lower *l, const Expr *e);
/* May the tensor of a memory view be read, written? Reports. */
bool lower_check_read(Lower *l, Operand o);
bool lower_check_written(Lower *l, const Expr *e, const Val *view);

/* ---- lower_async.c, lower_warp_roles.c ------------------------------------------------------------- */

void lower_copy(Lower *l, const Stmt *s);
void lower_async_store(Lower *l, const Stmt *s);
void lower_async_dot(Lower *l, const Stmt *s);
void lower_wait(Lower *l, const Stmt *s);
void lower_roles(Lower *l, const Stmt *s);
void lower_await(Lower *l, const Stmt *s);
void lower_arrive(Lower *l, const Stmt *s);
/* Does a declaration name the type mbarrier? The second lowers such a declaration. */
bool lower_is_mbar(const Lower *l, const TypeSpec *t);
LoweredValue lower_let_mbar(Lower *l, const Stmt *s);
/* Reports o outside of roles: `what` is only allowed inside. */
void lower_check_role(Lower *l, const Op *o, const char *what);
/* Lowers one mbarrier of an array, `full[s]`; returns false after a report. */
bool lower_slot(Lower *l, const Expr *e, Val **mbar, Val **slot);

/* ---- lower_pinned_layout.c: layouts that the program gives --------------------------------------------- */

/* Returns the layout written in `spec` for a tile of type t (S_reg or S_shared); NULL after a report. */
const Layout *lower_layout(Lower *l, const TypeSpec *spec, const Type *t, const char *name);
/* Returns v with that pinned layout. */
Val *lower_pin(Lower *l, Src src, Val *v, const Layout *layout);
LoweredValue lower_relayout(Lower *l, const Expr *e);
#endif
