/* explain.h - why the solution taken is as it is, after pass infer. */
#ifndef HEXC_EXPLAIN_H
#define HEXC_EXPLAIN_H
#include "hexc/ir/ir.h"

/* The chosen solution in words: each tile with its layout, who demanded it, each op with its instruction, the
 * runner-up and why it lost.  Text in the unit's arena. */
const char *infer_explain(Kernel *k);
/* The same for programs: one JSON object, whose fields hexc.1 lists.  Where shared
 * tiles lie is in it once pass smem has run. */
const char *infer_explain_json(Kernel *k);
/* The same as pictures, SVG documents: register tiles with the owner of every element, shared tiles with
 * their banks, pipelines in time.  Sets *out to an array in the unit's arena,
 * returns how many. */
typedef struct Drawing {
	const char *name; /* what is drawn, of letters, digits, - and . */
	const char *svg;
} Drawing;
int infer_draw(Kernel *k, const Drawing **out);
#endif
