/* lower.h - what the files of the lowering share: syntax tree -> tile IR, checking types on the way.
 *
 * One walk over a kernel resolves names, checks and emits.  Whatever is wrong is reported where it is
 * found and gives a VK_none value, which everything that meets it passes on without a word. */
#ifndef HEXC_LOWER_H
#define HEXC_LOWER_H
#include "hexc/lang/ast.h"

/* Largest rank of tensors and tiles: the passes add dimensions of their own (stages). */
enum { RANK_MAX = 6 };
/* Names visible at once. */
enum { NAMES_MAX = 4096 };
/* Largest extent, and most elements, of a tile. */
enum { TILE_MAX = 1 << 20 };

/* Elements i along a dim with start + i * step < 0 or >= size are outside the tensor the value was read from,
 * and outside of everything in `also`.  Read through a shared tile, that holds only if one copy alone fills
 * the tile.  Pass mask_bounds follows the same rules on the IR; here they serve what counts elements: `mean`, and
 * what takes the last one. */
typedef struct Edge Edge;
struct Edge {
	Val *size, *start;
	int64_t step;
	const Val *tile; /* the alloc it was read through, or NULL */
	const Edge *also;
};

typedef enum LoweredKind {
	VK_none, /* wrong, reported already */
	VK_int,  /* numbers known at compile time: they take the type of what they meet */
	VK_flt,
	VK_bool,
	VK_type, /* an element type, i: a name of it, nothing to compute with */
	VK_val,  /* scalar or register tile */
	VK_view, /* memory: a tensor, an alloc, or a view of one */
	VK_mbar, /* v: barriers, of which there are no values */
} LoweredKind;

typedef struct LoweredValue {
	LoweredKind kind;
	int64_t i;
	double f;
	Val *v;
	bool single; /* a view of one element, by an index in every dim */
	const struct Plain *plain; /* v or what it was computed from is a choice of numbers: lower_plain_of */
	const Edge *edge[RANK_MAX]; /* per dim; NULL: whole */
	const Edge *rest; /* of dims of which one element was taken; NULL: it is there */
} LoweredValue;

/* A value and where it came from, for messages. */
typedef struct Operand {
	LoweredValue v;
	const Expr *e;
} Operand;

/* where(condition, number, number), the numbers maybe such choices again: it can be made in any type. */
typedef struct Plain {
	const Expr *e;
	Operand o[3];
	bool flt; /* one of the numbers has a fraction */
	const Val *v; /* the choice, as long as it has met no type */
} Plain;

typedef enum SymKind { SY_const, SY_size, SY_scalar, SY_tensor, SY_let, SY_var } SymKind;

typedef struct Sym Sym;
struct Sym {
	const char *name;
	SymKind kind;
	Src src;
	LoweredValue val;
	const Layout *pin; /* of a var: what is assigned is laid out so; NULL: as inferred */
	bool kept;         /* of a var: `register` */
	int depth; /* names visible with this one */
	Sym *next; /* declared before */
	unsigned hash;
	int frame; /* Lower.frame of its function */
	Sym *chain; /* of the same bucket, declared before */
};

enum { SYM_BUCKETS = 512 };

/* What the expression at hand may use. */
typedef enum Mode {
	MODE_CONST, /* constants only */
	MODE_SHAPE, /* and sizes */
	MODE_HOST,  /* and scalars: the grid and assumptions, computed before the launch */
	MODE_BODY,
} Mode;

/* What the elements inside along a dim decide, put in when the whole kernel is known: an operand that is */
typedef enum CountKind {
	COUNT_all,  /* their number */
	COUNT_end,  /* where they end */
	COUNT_last, /* the last of them, 0 if there is none */
	COUNT_loop, /* the end of a loop, of which operand 0 is the first of them */
	COUNT_less, /* where they end, of a comparison i < end: false in front of the first of them, too */
	COUNT_first, /* where they begin */
} CountKind;

typedef struct ExtentSource {
	CountKind kind;
	Op *op;
	int operand;
	const Edge *edge;
	int64_t extent;
} ExtentSource;

/* A function's body being lowered in place of a call. */
typedef struct FnCall FnCall;
struct FnCall {
	const FnDecl *fn;
	int depth; /* Lower.depth at the call */
	Mode mode; /* Lower.mode at the call */
	int nresult;
	LoweredValue result[RESULT_MAX];
	FnCall *outer;
};

/* What `break`, `continue` and `return` leave, innermost first: a loop, or the kernel.  They clear flags, and
 * what stands behind them runs where its flag still holds. */
typedef struct Leave Leave;
struct Leave {
	Sym *going; /* is it to go on?  NULL: nothing leaves it early */
	Sym *turn;  /* of a loop with `continue`: is this turn to go on?  Others ask `going` */
	bool loop, roles, asks; /* asks: a condition in front of each turn */
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
	Block *b; /* ops go to its end */
	Sym *scope; /* innermost first; set by scope_leave and scope_enter_call alone */
	Sym **bucket; /* all declared names by hash, newest first */
	int frame, nframe; /* the function being lowered, and how many there were */
	Mode mode;
	const char *what; /* MODE_CONST .. MODE_HOST: what is being computed, "the grid" */
	bool has_grid;
	bool exact; /* inside of exact(...) */
	bool in_team; /* in what consumers do */
	int depth; /* of loops and conditions */
	Leave *leave;
	const Define *def;
	int ndef;
	struct Table *table; /* register tiles that are in shared memory too; see lower_table */
	ExtentSource *count;
	int ncount, count_cap, assume_cap, condition_cap;
} Lower;

/* ---- lower.c: scopes and blocks -------------------------------------------------------------- */

Sym *sym_find(const Lower *l, const char *name);
/* Declare; a second declaration of a visible name or a reserved one is reported (and still made). */
Sym *sym_add(Lower *l, const char *name, SymKind kind, Src src, LoweredValue v);
/* The names declared since are gone. */
void scope_leave(Lower *l, Sym *scope);
/* A function sees no names but its own until scope_leave_call, which gets what this returns. */
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
/* The element type of that name, or of the constant of that name; D_COUNT: none. */
DType lower_find_dtype(const Lower *l, const char *name);
/* Of an expression that may be a type as well as a value: a value of that name goes before the type. */
DType lower_expr_dtype(const Lower *l, const Expr *e);
/* The element type that a declaration names; D_COUNT: none, or none of that name, which is reported. */
DType lower_dtype(Lower *l, const TypeSpec *t);
/* Does it use constants only? */
bool lower_is_const(const Lower *l, const Expr *e);

/* ---- type_check.c: messages and type rules -------------------------------------------------------- */

/* The source text of an expression if it is short, else `other`. */
const char *check_text(const Lower *l, const Expr *e, const char *other);
/* The text of an operand in backquotes if it is short, else `other`. */
const char *check_quoted(const Lower *l, const Operand *o, const char *other);
/* Notes where the names in these operands were declared, behind an error about them. */
void check_declared(Lower *l, Src error, int n, const Operand *o);
/* "f16[64, 32]", "the number 3": what a value is. */
const char *check_describe(const Lower *l, const LoweredValue *v);
/* Say that there is no `what` ("", "function ") of that name, and what looks like it or is meant instead;
 * `also` ends the sentence.  Not if text that could not be parsed may have declared it. */
void check_no_name(Lower *l, Src src, const char *what, const char *name, const char *also);
/* Is the code defined on this element type?  Reports. */
bool check_dtype(Lower *l, OpCode code, DType d, Src src, const Expr *e);
/* Do both have one element type?  Reports, with the cast to write. */
bool check_same_dtype(Lower *l, Src src, const Operand *x, const Operand *y);
bool check_extent(Lower *l, int64_t n, Src src);
bool check_shape(Lower *l, int rank, const int64_t *shape, Src src);
/* May this stand in the present mode? */
bool check_mode(Lower *l, Mode least, Src src, const char *thing);

/* ---- const_eval.c: arithmetic at compile time ----------------------------------------------- */

/* Can the constant be a value of type d?  Reports. */
bool check_fits(Lower *l, const LoweredValue *c, DType d, Src src);
bool value_is_const(const LoweredValue *v);
LoweredValue value_none(void);
LoweredValue value_int(int64_t i);
LoweredValue value_flt(double f);
LoweredValue value_bool(bool b);
double const_double(const LoweredValue *v);
LoweredValue const_unary(Lower *l, TileToken op, Src src, LoweredValue x);
LoweredValue const_binary(Lower *l, TileToken op, Src src, LoweredValue x, LoweredValue y);
/* min, max and the functions of one float; false when the op has no constant form */
bool const_call(Lower *l, OpCode code, Src src, int n, const Operand *arg, LoweredValue *out);

/* ---- lower_conversion.c: conversions -------------------------------------------------------------- */

LoweredValue value_of(Val *v);
Val *put_op(Lower *l, OpCode code, Src src, int nin, Val *const *in, Type t);
Val *put1(Lower *l, OpCode code, Src src, Val *x, Type t);
Val *put2(Lower *l, OpCode code, Src src, Val *x, Val *y, Type t);
/* A constant of a scalar or tile type; it must fit. */
Val *put_const(Lower *l, const LoweredValue *c, Type t, Src src);
/* Index arithmetic on i64 scalars, folded. */
Val *put_index(Lower *l, OpCode code, Src src, Val *x, Val *y);
/* What is in memory is loaded, one element of read-only or shared memory as a scalar; the rest stays.  A tile
 * of a tensor comes to registers or to shared memory, as the compiler likes. */
LoweredValue lower_load(Lower *l, Operand o);
/* The same to registers, one element as a tile of one. */
LoweredValue lower_load_tile(Lower *l, Operand o);
bool value_is_tile(const LoweredValue *v);
/* A register tile or scalar of exactly this type: constants adapt, smaller shapes are broadcast.
 * NULL after a report. */
Val *lower_to_type(Lower *l, Operand o, Type t, Src src, const char *what);
/* Load all, give all one element type and, by broadcasting, one shape: that of the result. */
bool lower_join(Lower *l, Src src, int n, Operand *o, Type *t);
/* Only the shape: rank and extents of `t`, whose dtype is left alone. */
bool lower_join_shape(Lower *l, Src src, int n, const Operand *o, Type *t);
/* Broadcast a value of the right element type to the shape of t. */
Val *lower_broadcast_to(Lower *l, Src src, LoweredValue v, Type t);
/* The edges a and b together. */
const Edge *lower_join_edge(Lower *l, const Edge *a, const Edge *b);
/* The edges x, as they are while the shared tile has what it was filled with; each once. */
const Edge *lower_edges_of(Lower *l, const Val *tile, const Edge *x);
/* Edges of the elementwise combination of n operands with result type t. */
void lower_join_edges(Lower *l, int n, const Operand *o, const Type *t, LoweredValue *r);
/* An i64 scalar, or NULL after a report that names `what`. */
Val *lower_index_value(Lower *l, const Expr *e, const char *what);
Val *lower_to_index(Lower *l, Operand o, const char *what);
/* The slice's dimension r of a shape; rank-0 values get rank `rank` by extents of 1 in front. */
Val *put_reshape(Lower *l, Src src, Val *v, int rank, const int64_t *shape);

/* ---- lower_expr.c, lower_slice.c, lower_call.c ----------------------------------------------- */

LoweredValue lower_expr(Lower *l, const Expr *e);
Operand lower_operand(Lower *l, const Expr *e);
LoweredValue lower_op2(Lower *l, TileToken op, Src src, Operand x, Operand y);
LoweredValue lower_unary_op(Lower *l, TileToken op, Src src, Operand x);
/* Compile-time integer, or false after a report that names `what`. */
bool lower_const_int(Lower *l, const Expr *e, const char *what, int64_t *out);
LoweredValue lower_slice(Lower *l, const Expr *e);
LoweredValue lower_call(Lower *l, const Expr *e);
/* Name of a built-in function, or of one that is written in the language? */
bool lower_is_builtin(const char *name);
bool lower_keeps_name(const char *name); /* and of none of the program */
const char *lower_builtin(int i); /* NULL past the last */
/* What a choice of numbers is of, until it meets a type; NULL: v is none, or computed from one. */
const Plain *lower_plain_of(const LoweredValue *v);
/* Is it a float known at compile time, or such a choice of which one is? */
bool lower_has_fraction(const LoweredValue *v);
/* Such a choice in type d, others stay; false: a number does not fit. */
bool lower_plain(Lower *l, Operand *o, DType d);

/* ---- lower_dot_accumulate.c ----------------------------------------------------------------------------- */

/* x + y or x - y (op): a product among them that is written as one is fused. */
LoweredValue lower_sum(Lower *l, TileToken op, Src src, const Expr *x, const Expr *y);
/* The same with a value on the left. */
LoweredValue lower_sum_onto(Lower *l, TileToken op, Src src, Operand x, const Expr *y);

/* ---- lower_shape_ops.c ---------------------------------------------------------------------------- */

/* Argument i of a call as a register tile. */
bool lower_tile_arg(Lower *l, const Expr *e, int i, Operand *o);
/* Argument i as a dimension of a tile of that rank; -1 is the last. */
bool lower_dim_arg(Lower *l, const Expr *e, int i, int rank, int *dim);
LoweredValue lower_transpose(Lower *l, const Expr *e);
LoweredValue lower_swap(Lower *l, const Expr *e); /* x.T */
LoweredValue lower_iota(Lower *l, const Expr *e);
LoweredValue lower_reshape(Lower *l, const Expr *e);
/* reshape(x, ...) that is sliced: of a shared tile memory, not what is in it. */
LoweredValue lower_alias(Lower *l, const Expr *e);

/* ---- lower_reduce.c -------------------------------------------------------------------------- */

LoweredValue lower_reduce(Lower *l, const Expr *e, OpCode code);
LoweredValue lower_mean(Lower *l, const Expr *e);
LoweredValue lower_inside(Lower *l, const Expr *e);
Val *lower_put_reduce(Lower *l, const Expr *e, OpCode code, Val *x, int dim);
/* Operand i of o is such a count of a dim with these edges. */
void lower_count(Lower *l, CountKind kind, Op *o, int i, const Edge *edge, int64_t extent);
/* Where the elements of an edge that exist begin (below 1: at the first) and end: scalars at the end of b,
 * or in front of `at`. */
Val *edge_first(Block *b, Op *at, const Edge *e);
Val *edge_end(Block *b, Op *at, const Edge *e);
/* x, of extent 1 along dim, or 0 where no element of the edge exists, of a dim of that extent. */
Val *lower_if_any(Lower *l, Src src, Val *x, int dim, const Edge *edge, int64_t extent);
/* v, which exists where x does; `reduced` is the dim along which v has one element of x's, or -1.  To pass
 * mask_bounds that is a choice between both, of which pass fold leaves v. */
Val *lower_as_far(Lower *l, const Expr *e, Val *v, Val *x, int reduced);
/* May elements of the tile be in front of the first of the tensor? */
bool edge_has_front(const Lower *l, const Edge *e);
/* Put the counts in. */
void lower_counts(Lower *l);

/* ---- lower_dot.c, lower_sparse.c, lower_lookup.c --------------------------------------------- */

/* dot(a, b) without an accumulator of its own, to which `+ x` may be added */
bool lower_is_plain_dot(const Lower *l, const Expr *e);
LoweredValue lower_dot(Lower *l, const Expr *e, const Operand *acc);
/* Can dot(...) multiply them, and in which type does it add?  Reports. */
bool lower_check_dot(Lower *l, const Expr *e, const Operand *a, const Operand *b, DType *acc);
LoweredValue lower_sparse(Lower *l, const Expr *e); /* sparse(values, positions) */
LoweredValue lower_lookup(Lower *l, const Expr *e); /* lookup(table, indices) */

/* ---- lower_atomic.c, lower_print.c --------------------------------------------------------- */

/* A statement atomic_add(T[slice], x) or such; false: it is none. */
bool lower_atomic(Lower *l, const Expr *e);
LoweredValue lower_atomic_value(Lower *l, const Expr *e); /* the same, and what was there */
/* A statement print("text", x, ...) or assert(condition, "text"); false: it is none. */
bool lower_message(Lower *l, const Expr *e);
LoweredValue lower_message_value(Lower *l, const Expr *e); /* where a value is wanted: an error */

/* ---- lower_scan.c ---------------------------------------------------------------------------- */

LoweredValue lower_shift(Lower *l, const Expr *e);
LoweredValue lower_cumulative(Lower *l, const Expr *e); /* cumsum, cumprod, cummax, cummin */
/* scan and reduce with a function of the program: as many values as tiles. */
bool lower_scan(Lower *l, const Expr *e, int want, LoweredValue *out);

/* ---- lower_subtile.c ---------------------------------------------------------------------------- */

/* Arguments of concat. */
enum { CALL_ARG_MAX = 16 };
/* Can threads share out register tile t well where its part of `extent` elements at `start` is to be a tile
 * without a trip through memory; where it is to have another shape? */
bool lower_slice_shared_out(const Lower *l, const Type *t, const int64_t *start, const int64_t *extent);
bool lower_reshapes_shared_out(const Lower *l, const Type *from, const Type *to);
/* That part of register tile x. */
Val *lower_put_slice(Lower *l, Src src, Val *x, int dim, int64_t start, int64_t extent);
/* A new shared tile like t, with no name. */
Val *lower_put_alloc(Lower *l, Src src, Type t);
/* The same register tile in shared memory, to take parts of; it keeps its edges. */
LoweredValue lower_stage(Lower *l, Src src, const LoweredValue *x);
/* The same, its rows whole bytes, once for all parts that are taken of it where it is. */
LoweredValue lower_staged(Lower *l, Src src, const LoweredValue *x);
/* The same for tiles that are never written again: one tile serves all that x is read by, and it is made in
 * front of the loops in which x stays as it is. */
LoweredValue lower_table(Lower *l, Src src, const LoweredValue *x);
/* A shared tile of one element, by an index in every dim: what all threads read as a scalar. */
LoweredValue lower_element(Lower *l, Src src, Val *tile);
/* Memory to be read: of a tensor, without a slice, the view of all of it, as of a slice. */
Val *lower_whole(Lower *l, Src src, Val *mem);
LoweredValue lower_concat(Lower *l, const Expr *e);
/* x with another extent along dim, by way of a shared tile: longer, by zeros behind its end, or a part of
 * it. */
Val *lower_resized(Lower *l, Src src, Val *x, int dim, int64_t extent);
/* The element at `at`, an i64 scalar, of the dim, with extent 1. */
LoweredValue lower_at(Lower *l, Src src, const LoweredValue *x, int dim, Val *at);
LoweredValue lower_reduce_last(Lower *l, const Expr *e);
/* Where the largest (O_reduce_max) or smallest element along a dim is. */
LoweredValue lower_arg_extreme(Lower *l, const Expr *e, OpCode code);

/* ---- inline_fn.c ------------------------------------------------------------------------------ */

/* Names of functions must be new; reports. */
void lower_check_fns(Unit *u, const File *file);
/* The function that a call at src names, of the program or, in one of these, of the language; NULL: none. */
const FnDecl *lower_find_fn(Lower *l, const char *name, Src src);
/* The `want` results of f for n arguments, or false after a report; src: the call. */
bool lower_fn_call(Lower *l, const FnDecl *f, Src src, int n, const LoweredValue *arg, int want, LoweredValue *out);
bool lower_fn_expr(Lower *l, const FnDecl *f, const Expr *e, int want, LoweredValue *out);
/* The n values of a call that returns several. */
bool lower_fn_parts(Lower *l, const Expr *e, int n, LoweredValue *out);
void lower_call_stmt(Lower *l, const Stmt *s);
void lower_return(Lower *l, const Stmt *s);
void lower_static_assert(Lower *l, const Stmt *s);

/* ---- lower_builtin.c --------------------------------------------------------------------------- */

/* The function of prelude.def, read anew for each call; NULL: none. */
const FnDecl *lower_prelude_text(Lower *l, const char *name, Src src);
/* One of those that computes in the types of its arguments, whichever they are; NULL: none. */
const FnDecl *lower_prelude_own(Lower *l, const char *name, Src src);
bool lower_is_prelude(const char *name); /* one that programs may call */
const char *lower_prelude_name(int n); /* of the n-th of those; NULL past the last */
/* y, the value of f at x, with what is known of it beside its ops: select true, y, x.  y: it is nothing. */
LoweredValue lower_prelude_known(Lower *l, const FnDecl *f, Src src, LoweredValue y, LoweredValue x);
/* The `want` values of a call of one, or false after a report. */
bool lower_prelude_expr(Lower *l, const Expr *e, int want, LoweredValue *out);
/* The function of one f64. */
LoweredValue lower_prelude_f64(Lower *l, const char *name, Src src, LoweredValue x);

/* ---- lower_stmt.c, lower_decl.c, lower_flow.c ------------------------------------------------- */

void lower_stmts(Lower *l, const Stmt *s);
void lower_let(Lower *l, const Stmt *s);
/* The program says that this stays in registers; what it is to be when it is computed. */
void lower_keep(Val *v);
/* A copy from global memory fills a shared tile: it has the source's edges. */
void lower_tile_edges(Lower *l, LoweredValue *tile, const LoweredValue *src);
void lower_for(Lower *l, const Stmt *s);
void lower_while(Lower *l, const Stmt *s);
void lower_if(Lower *l, const Stmt *s);
/* break, continue, and the return of a kernel. */
void lower_leave(Lower *l, const Stmt *s);
/* A statement that may leave what it stands in, and those behind it; false: it does not, and is left. */
bool lower_leaving(Lower *l, const Stmt *s);
/* The body of the kernel. */
void lower_kernel_body(Lower *l, const Stmt *s);
/* The first variable of a scope outside that the statements assign; NULL: none. */
const Sym *lower_first_assigned(Lower *l, const Stmt *s);
/* The variable that is assigned; NULL after a report. */
Sym *lower_find_var(Lower *l, const Expr *e);
/* Is the tensor that a view of memory is of read, written?  Reports. */
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
/* Does a declaration name the type of barriers?  What it declares. */
bool lower_is_mbar(const Lower *l, const TypeSpec *t);
LoweredValue lower_let_mbar(Lower *l, const Stmt *s);
/* Reports, where o is outside of the roles: `what` is between them only. */
void lower_check_role(Lower *l, const Op *o, const char *what);
/* Barriers and one of them, `full[s]`; false after a report. */
bool lower_slot(Lower *l, const Expr *e, Val **mbar, Val **slot);

/* ---- lower_pinned_layout.c: layouts that the program gives --------------------------------------------- */

/* The layout written in `spec` for a tile of type t (S_reg or S_shared); NULL after a report. */
const Layout *lower_layout(Lower *l, const TypeSpec *spec, const Type *t, const char *name);
/* v, laid out so. */
Val *lower_pin(Lower *l, Src src, Val *v, const Layout *layout);
LoweredValue lower_relayout(Lower *l, const Expr *e);
#endif
