/* ast.h - declares the syntax tree: the parsed program, with names not yet resolved.
 *
 * Pointers to expressions are never NULL where the grammar requires one: an EX_error node represents what
 * could not be parsed. */
#ifndef HEXC_AST_H
#define HEXC_AST_H
#include "hexc/ir/ir.h"
#include "hexc/lang/lex.h"

/* Maximum nesting of expressions and length of operator chains; maximum nesting of statements. */
enum { EXPR_DEPTH_MAX = 200, STMT_DEPTH_MAX = 40 };
/* Maximum kernels and functions per file; declared parameters, and assumptions, constants and tunables,
 * per kernel. */
enum { KERNEL_MAX = 4096, FN_MAX = 1000, PARAM_MAX = 200, CLAUSE_MAX = 1000 };
/* Maximum results of a function; nested calls of functions. */
enum { RESULT_MAX = 16, CALL_DEPTH_MAX = 16 };

typedef enum ExprKind {
	EX_error,
	EX_int,    /* i */
	EX_float,  /* f */
	EX_bool,   /* i */
	EX_name,   /* name */
	EX_text,   /* name: the text between the quotes */
	EX_unary,  /* op arg[0] */
	EX_binary, /* arg[0] op arg[1] */
	EX_call,   /* name(arg...) */
	EX_index,  /* arg[0][slice...] */
	EX_member, /* arg[0].name */
	EX_tuple,  /* (arg, ...): targets of an assignment of several values */
} ExprKind;

typedef struct Expr Expr;

typedef enum SliceKind { SL_all, SL_one, SL_range } SliceKind;

/* One dimension of a slice: `:` or `at` or `at :+ extent` or `at :+ extent step step`; each may be
 * followed by `from first`, `below end` or both. */
typedef struct Slice {
	SliceKind kind;
	Expr *at, *extent, *step, *from, *below; /* all but `at` of SL_one and SL_range may be NULL */
	Src src;
} Slice;

struct Expr {
	ExprKind kind;
	Src src;
	uint32_t at, end; /* bytes of the source */
	int depth;
	TileToken op;
	int64_t i;
	double f;
	const char *name;
	Expr **arg;
	int narg;
	Slice *slice;
	int nslice;
};

/* `f16[M, K]`, `shared f16[2, BM]`, `register`, `f32` */
typedef struct TypeSpec {
	bool given;
	Space space; /* S_scalar: unspecified */
	DType dtype; /* D_COUNT: unspecified, or given by `name` */
	const char *name; /* of a constant that is an element type; or NULL */
	Src name_src;
	bool shaped;
	Expr **dim;
	int ndim;
	const char *layout; /* the pinned layout; NULL: inferred */
	Src src, layout_src;
} TypeSpec;

typedef struct ParamDecl {
	const char *name;
	bool in, out;
	bool packed;
	const char *pack; /* the pack's text; NULL: chosen by inference */
	Src pack_src;
	TypeSpec type;
	Expr **stride;
	int nstride; /* 0: row-major */
	Src src, stride_src;
} ParamDecl;

typedef struct ValueRange {
	Expr *lo, *hi; /* hi NULL: one value */
} ValueRange;

typedef enum ClauseKind { CL_assume, CL_const, CL_tune } ClauseKind;

typedef struct Clause {
	ClauseKind kind;
	const char *name;
	Expr *value; /* assume: condition;  const: value;  tune: default or NULL */
	ValueRange *range; /* tune: allowed values */
	int nrange;
	Src src;
} Clause;

typedef enum StmtKind {
	ST_grid,    /* grid(arg...) */
	ST_let,     /* let/var name: type = value;  let/var (part[0], ...) = value */
	ST_assign,  /* target op value */
	ST_for,     /* name in lo..hi step by { body }, and pipeline */
	ST_while, /* value, body */
	ST_break,
	ST_continue,
	ST_if, /* value, body, other */
	ST_copy, /* async copy(value, target, slot); slot may be NULL */
	ST_store, /* async store(value, target) */
	ST_commit,
	ST_wait, /* value: number of groups of wait_for left in flight */
	ST_barrier,
	ST_roles, /* role[0] { body } role[1] { other } */
	ST_await, /* await slot, value */
	ST_arrive, /* arrive slot */
	ST_call,          /* value; */
	ST_return,        /* return arg...; */
	ST_static_assert, /* static_assert(value, text); */
} StmtKind;

/* Which asynchronous operations a wait is for. */
typedef enum WaitFor { WAIT_COPIES, WAIT_DOTS, WAIT_STORES } WaitFor;

/* `producer` or `consumer`, and how many warps run it; unspecified members are NULL */
typedef struct RoleSpec {
	Expr *warps, *teams, *registers;
	Src src;
} RoleSpec;

typedef struct Stmt Stmt;
struct Stmt {
	StmtKind kind;
	bool broken; /* could not be parsed: a declaration keeps its names, without a value; others are
	              * dropped */
	Src src;
	Stmt *next;
	const char *name;
	Src name_src;
	struct Part { /* names of a `let (a, b) = ...` */
		const char *name;
		Src src;
	} *part;
	int npart;
	const char *text;
	bool is_var;
	Expr *count; /* of an array of tiles; NULL: none */
	TypeSpec type;
	TileToken op;
	bool async; /* target op async dot(...) */
	Expr *target, *value, *slot;
	WaitFor wait_for;
	RoleSpec role[2];
	Expr **arg;
	int narg;
	bool pipeline, unroll;
	Expr *lo, *hi, *step, *stages; /* step, stages may be NULL */
	Stmt *body, *other;
};

typedef struct KernelDecl KernelDecl;
struct KernelDecl {
	const char *name;
	Src src;
	ParamDecl *param;
	int nparam;
	Clause *clause;
	int nclause;
	Stmt *body;
	Src end; /* the closing brace */
	bool broken_header, broken_body; /* parts of it could not be parsed */
	KernelDecl *next;
};

typedef struct FnParam {
	const char *name;
	Src src;
} FnParam;

/* fn name(param, ...) { body } */
typedef struct FnDecl FnDecl;
struct FnDecl {
	const char *name;
	Src src;
	FnParam *param;
	int nparam;
	Stmt *body;
	Src end;
	bool broken; /* parts of it could not be parsed */
	bool prelude; /* of prelude.def: it sees no function of the program */
	FnDecl *next;
};

/* Names that unparsable text may have declared: uses of them are not reported. */
enum { LOST_MAX = 256 };
typedef struct Lost {
	const char *name[LOST_MAX];
	int n;
	bool more; /* than LOST_MAX: any name may be lost */
} Lost;

/* Kernels and functions, each in source order. */
typedef struct File {
	KernelDecl *kernel;
	FnDecl *fn;
	Lost *lost;
	bool stop; /* parsing gave up */
} File;

/* Parses the source of u; errors go to u->diag. */
File parse_file(Unit *u);
/* Parses the function in `text`, with `at` as the location of everything in it. */
const FnDecl *parse_prelude(Unit *u, const char *text, Src at);
#endif
