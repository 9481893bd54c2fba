/* launch_expr.h - declares expressions of launch parameters that outlive the compilation: grids, extents,
 * strides, assumptions. An expression is a table of nodes, operands before their users, evaluated with
 * overflow detected. */
#ifndef HEXC_LAUNCH_EXPR_H
#define HEXC_LAUNCH_EXPR_H
#include "hexc/ir/ir.h"

typedef int ExprRef; /* index into ExprTable.node; -1: none */

enum { EXPR_MAX = 2048 }; /* maximum nodes per table, so that evaluation needs no heap */

typedef struct ExprNode {
	OpCode op;     /* O_none: parameter index imm; O_const: imm; else op of in[] */
	DType dtype;   /* an integer type or bool */
	ExprRef in[3];
	int64_t imm;
} ExprNode;

typedef struct ExprTable {
	ExprNode *node;
	int n, cap;
	const char *const *name; /* of the parameters */
	const bool *from_0;      /* which of them are never negative; NULL: unknown */
} ExprTable;

/* Is op supported in nodes? */
bool expr_op_known(OpCode op);

/* Values of all nodes for one set of parameters. */
typedef struct ExprValues {
	int64_t value[EXPR_MAX];
	bool bad[EXPR_MAX]; /* overflow, division by zero, or a bad operand */
} ExprValues;
/* Evaluates all nodes; param[i] is the value of parameter i (tensors: ignored). */
void expr_eval(const ExprTable *t, const int64_t *param, ExprValues *out);
#endif
