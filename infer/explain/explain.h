/* explain.h - why the solution that is in the IR of k is as it is, among all that there were. */
#ifndef HEXC_EXPLAIN_H
#define HEXC_EXPLAIN_H
#include "hexc/ir/ir.h"

typedef struct Candidates Candidates; /* infer/core/solution.h */

/* The chosen solution in words: each tile with its layout, who demanded it, each op with its instruction, the
 * runner-up and why it lost.  Text in the unit's arena. */
const char *infer_explain(Kernel *k, const Candidates *c);
/* A few lines instead: each tile that has a name, each loop with what limits it. */
const char *infer_explain_short(Kernel *k, const Candidates *c);
/* The same for programs: one JSON object, whose fields hexc.1 lists.  Where shared
 * tiles are placed is in it once pass allocate_smem has run. */
const char *infer_explain_json(Kernel *k, const Candidates *c);
/* The same as pictures, SVG documents: register tiles with the owner of every element, shared tiles with
 * their banks, pipelines in time.  Sets *out to an array in the unit's arena,
 * returns how many. */
typedef struct Drawing {
	const char *name; /* what is drawn, of letters, digits, - and . */
	const char *svg;
} Drawing;
int infer_draw(Kernel *k, const Candidates *c, const Drawing **out);
#endif
