/* op_page.h - what the text of an operator (hexc-op(5)) says of it. */
#ifndef HEXC_CLI_OP_PAGE_H
#define HEXC_CLI_OP_PAGE_H
#include "hexc/cli/cli.h"
#include "lib/hexc_ops.h"

enum { MOST_ITEMS = 256 };

/* One declaration, and the hole that brings it in or takes it away. */
typedef struct Item {
	const char *name, *text; /* of a limit: name "" and the condition */
	const char *hole;        /* NULL: always there */
	bool without;            /* there while nothing is set for `hole`, else with it */
} Item;

typedef struct Items {
	Item item[MOST_ITEMS];
	int n;
} Items;

/* What kernels declare. */
typedef struct Declared {
	Items argument, constant, tunable, limit;
} Declared;

/* What the text of an operator says. */
typedef struct OpPage {
	Cli *c;
	hexc_op_info op;
	Items about; /* lines of the heading comment */
	Items hole, line;
	Declared all;
} OpPage;

/* Fill in all but p->c and p->op, which are there. */
void op_page_read(OpPage *p);
#endif
