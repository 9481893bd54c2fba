/* op_page.h - what the program text of an operator declares (hexc-op(5)). */
#ifndef HEXC_OP_PAGE_H
#define HEXC_OP_PAGE_H
#include "hexc/cli/base/cli.h"
#include "lib/hexc_ops.h"

enum { MOST_ITEMS = 256 };

/* A declaration, and the placeholder that enables or disables it. */
typedef struct Item {
	const char *name, *text; /* for a limit: name "" and the condition */
	const char *hole;        /* NULL: unconditional */
	bool without;            /* present only if `hole` is not set; else only if it is */
	const char *inner;       /* present only if this is not set, either; NULL: unconditional */
} Item;

typedef struct Items {
	Item item[MOST_ITEMS];
	int n;
} Items;

/* Declarations of kernels. */
typedef struct Declared {
	Items argument, constant, tunable, limit;
} Declared;

/* The parsed text of an operator. */
typedef struct OpPage {
	Cli *c;
	hexc_op_info op;
	Items about; /* lines of the heading comment */
	Items hole, line;
	Declared all;
} OpPage;

/* Reads p->op.program into the empty lists of p; strings are the command's. */
void op_page_read(OpPage *p);
#endif
