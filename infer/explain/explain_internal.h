/* explain_internal.h - declares queries about the chosen solution, answered from the IR, shared by all
 * formats of explanations. All results are in the unit's arena. */
#ifndef HEXC_EXPLAIN_INTERNAL_H
#define HEXC_EXPLAIN_INTERNAL_H
#include "infer/explain/explain.h"
#include "infer/memory/memory.h"

typedef struct Explained {
	Kernel *k;
	const Candidates *candidates;
	const LayoutSolution *sol; /* the one applied to the IR; NULL: none */
} Explained;

/* ---- solution_facts.c ------------------------------------------------------------------------------- */

Explained explained(Kernel *k, const Candidates *c);
/* Returns a name such as "acc"; for an unnamed value its source expression, as in "f16(p)", or "dot of line
 * 20". */
const char *explain_name(const Val *v, const Kernel *k);
/* Returns the op that required v's layout; NULL if it is unknown, or v was created later. */
const Op *explain_origin(const Explained *ex, const Val *v);
/* Returns the op that required the layout of packed tensor p; NULL if it is unknown. */
const Op *explain_pack_origin(const Explained *ex, const Param *p);
/* Returns the name of that op: "dot", or "the pin" for a layout that the program specified. */
const char *explain_demand(const Op *who);
/* Computes the resources of one execution of the op by all warps. Returns false if it was created later or
 * has no cost. */
bool explain_res(const Explained *ex, const Op *o, Res *out);
/* Returns the predicted cycles of one execution of the op: by all its warps, without other work on the SM.
 * Returns 0 if it has no cost, and in the main loop of a split, which is reported with the remainder. */
double explain_cycles(const Explained *ex, const Op *o);
/* Returns the cost of candidate i relative to the chosen one, in percent above it. */
double explain_above(const Explained *ex, int i);
/* Returns how often a block executes the op. */
double explain_runs(const Explained *ex, const Op *o);
/* Returns the elements per access, for a staging tile those of its writes; 0 if it makes no accesses. */
int lowering_vec(const Lowering *p);
/* Returns the extents of a TMA box, fastest dim first: "64 x 128". */
const char *explain_box(const Kernel *k, const Lowering *p);
/* Returns the cheapest candidate that lowers o with another instruction or width; -1 if there is none. */
int explain_other_lowering(const Explained *ex, const Op *o);
/* Returns the cheapest other candidate with another layout of v; -1 if there is none. */
int explain_other_layout(const Explained *ex, const Val *v);
/* Returns the cheapest candidate in which tile i of Spaces has the other memory space; -1 if there is
 * none. */
int explain_other_space(const Explained *ex, int i);
/* Returns the cheapest candidate that lowers dots of sparse or scaled tiles the other way; -1 if there is
 * none. The second function: are they scaled? */
int explain_other_parts(const Explained *ex);
bool explain_is_scaled(const Explained *ex);
/* Returns the cheapest candidate with another number of warps; -1 if there is none. */
int explain_other_warps(const Explained *ex);
/* Returns the cheapest candidate with another schedule; -1 if there is none. */
int explain_other_schedule(const Explained *ex);
/* Returns the reason why no candidate is warp-specialized although that was tried; NULL if one is, or it
 * was not tried. */
const char *explain_unscheduled(const Explained *ex);
/* Describes how o accesses the shared tile *root. Returns false if it does not. */
bool explain_access(const Op *o, Val **root, SmemAccess *a);

/* Describes how o writes (a[0]) and reads (a[1]) its staging tile. Returns false if it has none. */
bool explain_staging(const Op *o, SmemAccess a[2]);

/* Returns n lines: for each kind of access to shared tile v, its cost against the minimum. */
const char **explain_accesses(const Explained *ex, const Val *v, int *n);

/* ---- split_loops_text.c ----------------------------------------------------------------------------- */

/* For the remainder of a loop that pass split_loops split: where the main loop ends. For a loop that is not
 * split: why. Returns NULL if there is nothing to report. */
const char *explain_split(const Explained *ex, const Op *loop);
/* Returns the reason only, "not split: .."; NULL if the loop is split, or was not considered. */
const char *explain_whole(const Op *loop);
/* Is o in a main loop, with a copy in the remainder? */
bool explain_is_twin(const Op *o);

/* ---- assume_hints.c: effects of assuming that a size is a multiple --------------------------- */

typedef struct AssumeHint {
	const Param *size;
	int64_t mult;        /* of which size should be a multiple */
	const Param *tensor; /* that is accessed */
} AssumeHint;

/* The possible widths of access o to global memory. */
typedef struct MaxAccessWidth {
	const Op *view;
	const Param *tensor;
	int unit;               /* the view's contiguous dim; -1: unknown */
	int64_t wished, proved; /* elements: contiguous in a thread; allowed by addresses */
} MaxAccessWidth;

/* Returns false if o accesses no tensor, or the element size is not a power of two. */
bool explain_reach(Kernel *k, const Op *o, MaxAccessWidth *r);
/* Would an access o have more elements with the assumption w, or mask o be removed? */
bool explain_wider(Kernel *k, const Op *o, AssumeHint *w);
bool explain_unmasked(Kernel *k, const Op *o, AssumeHint *w);
/* Returns "K % 8 == 0" for either; NULL if neither. */
const char *explain_assumption(Kernel *k, const Op *o);

/* ---- missed_optimizations.c: optional remarks and warnings ----------------------------------- */

void remark_width(Kernel *k, const Op *o);
void remark_copy(const Kernel *k, const Op *o);
void remark_product(const Kernel *k, const Op *dot);
void remark_ahead(Kernel *k, Op *loop);

/* ---- draw.c: SVG ------------------------------------------------------------------------------------ */

/* Starts a drawing of that size in pixels, with a title, an accessible description, a white background and
 * styles. `title` is drawn at the top. */
void svg_start(Text *t, int width, int height, const char *title, const char *about);
void svg_end(Text *t);
/* Draws one line of text with its baseline start at x, y, in style class `cls`. */
void svg_text(Text *t, int x, int y, const char *cls, const char *fmt, ...) PRINTF_LIKE(5, 6);
void svg_rect(Text *t, int x, int y, int w, int h, const char *cls, const char *fill);
/* Returns colour i of a palette of n: evenly spaced hues, light enough for black text. */
const char *svg_colour(Arena *a, int i, int n, int light);

/* ---- draw_tile.c --------------------------------------------------------------------------------- */

const char *draw_tile(const Explained *ex, const Val *v, const char *title);

/* ---- draw_shared.c ------------------------------------------------------------------------------- */

const char *draw_shared(const Explained *ex, const Op *alloc);
#endif
