/* explain.h - explains the chosen solution of kernel k, and its alternatives, as text, JSON and SVG. */
#ifndef HEXC_EXPLAIN_H
#define HEXC_EXPLAIN_H
#include "hexc/ir/ir.h"

typedef struct Candidates Candidates; /* infer/core/solution.h */

/* Explains the chosen solution as text: each tile with its layout and the op that required it, each op with
 * its instruction, the next-best alternative and its cost. The result is in the unit's arena. */
const char *infer_explain(Kernel *k, const Candidates *c);
/* A summary: each named tile, each loop with its limiting resource. */
const char *infer_explain_short(Kernel *k, const Candidates *c);
/* The same as one JSON object, for programs; hexc.1 lists its fields. It has the offsets of shared tiles
 * after pass allocate_smem. */
const char *infer_explain_json(Kernel *k, const Candidates *c);
/* The same as SVG documents: register tiles with the owner of every element, shared tiles with their banks,
 * timelines of pipelines. Sets *out to an array in the unit's arena; returns the number of drawings. */
typedef struct Drawing {
	const char *name; /* what is drawn: letters, digits, - and . */
	const char *svg;
} Drawing;
int infer_draw(Kernel *k, const Candidates *c, const Drawing **out);
#endif
