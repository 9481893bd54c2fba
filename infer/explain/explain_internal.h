/* explain_internal.h - what explanations share, whatever their form: facts of the solution taken, read off the IR that
 * it was written into.  All results live in the unit's arena. */
#ifndef HEXC_EXPLAIN_INTERNAL_H
#define HEXC_EXPLAIN_INTERNAL_H
#include "infer/explain/explain.h"
#include "infer/memory/memory.h"

typedef struct Explained {
	Kernel *k;
	const Candidates *candidates;
	const LayoutSolution *sol; /* the one in the IR; NULL: there is none */
} Explained;

/* ---- solution_facts.c ---------------------------------------------------------------------------------------- */

Explained explained(Kernel *k, const Candidates *c);
/* "acc"; for a value without a name what the program says there, as in "f16(p)", or "dot of line 20". */
const char *explain_name(const Val *v, const Kernel *k);
/* The op that demanded v's layout, NULL: unknown, or v was made later. */
const Op *explain_origin(const Explained *ex, const Val *v);
/* The op that demanded how packed tensor p is laid out, NULL: unknown. */
const Op *explain_pack_origin(const Explained *ex, const Param *p);
/* What it is called: "dot", "the pin" of a layout that the program gave. */
const char *explain_demand(const Op *who);
/* What the op costs, all warps, once; false: it was made later or costs nothing. */
bool explain_res(const Explained *ex, const Op *o, Res *out);
/* Predicted cycles of the op, once: all its warps, alone on the SM; 0 for what takes nothing, and
 * in a loop without masks, which is told of with the other. */
double explain_cycles(const Explained *ex, const Op *o);
/* What candidate i costs more than the one taken, in percent. */
double explain_above(const Explained *ex, int i);
/* How often the op runs in a block. */
double explain_runs(const Explained *ex, const Op *o);
/* Elements of one access, of a staging tile's writes; 0: it makes none. */
int lowering_vec(const Lowering *p);
/* Of a copy of boxes, what one has, the fastest dim first: "64 x 128". */
const char *explain_box(const Kernel *k, const Lowering *p);
/* The cheapest other candidate that does o by another instruction or width, -1: all do it so. */
int explain_other_lowering(const Explained *ex, const Op *o);
/* The cheapest other candidate with another layout of v, -1: none. */
int explain_other_layout(const Explained *ex, const Val *v);
/* The cheapest candidate of those for which tile i of Spaces lives elsewhere, -1: there is none. */
int explain_other_space(const Explained *ex, int i);
/* The cheapest candidate of those that do products of sparse or scaled tiles the other way, -1: there is
 * none; and are these scaled? */
int explain_other_parts(const Explained *ex);
bool explain_is_scaled(const Explained *ex);
/* The cheapest candidate with another number of warps, -1: there is none. */
int explain_other_warps(const Explained *ex);
/* The cheapest candidate with another schedule, -1: there is none. */
int explain_other_schedule(const Explained *ex);
/* Why there is none with roles of warps, which were tried; NULL: there are, or they were not. */
const char *explain_unscheduled(const Explained *ex);
/* How o touches the shared tile *root; false: it does not. */
bool explain_access(const Op *o, Val **root, SmemAccess *a);

/* How o fills (a[0]) and empties (a[1]) its staging tile; false: it has none. */
bool explain_staging(const Op *o, SmemAccess a[2]);

/* In words, what each kind of access to shared tile v costs against the least: n lines. */
const char **explain_accesses(const Explained *ex, const Val *v, int *n);

/* ---- split_loops_text.c ---------------------------------------------------------------------------------------- */

/* Of a loop of which pass split_loops has made two, the second one: where the turns without masks end; of one that
 * stayed whole: why.  NULL: nothing is to be said. */
const char *explain_split(const Explained *ex, const Op *loop);
/* The reason alone, "not split, as .."; NULL: it is not whole, or nobody has asked. */
const char *explain_whole(const Op *loop);
/* Is o in the loop without masks, and so there again in the other? */
bool explain_is_twin(const Op *o);

/* ---- assume_hints.c: what a size would give if it were known to be a multiple ---------------------------------- */

typedef struct AssumeHint {
	const Param *size;
	int64_t mult;        /* of which size should be a multiple */
	const Param *tensor; /* that is accessed */
} AssumeHint;

/* How wide access o to global memory could be. */
typedef struct MaxAccessWidth {
	const Op *view;
	const Param *tensor;
	int unit;               /* the view's contiguous dim; -1: none is known */
	int64_t wished, proved; /* elements: that a thread holds next to each other; that addresses allow */
} MaxAccessWidth;

/* False: o accesses no tensor, or one of odd elements. */
bool explain_reach(Kernel *k, const Op *o, MaxAccessWidth *r);
/* Would access o be of more elements, w->mult?  Would mask o go? */
bool explain_wider(Kernel *k, const Op *o, AssumeHint *w);
bool explain_unmasked(Kernel *k, const Op *o, AssumeHint *w);
/* "K % 8 == 0", of either; NULL: neither. */
const char *explain_assumption(Kernel *k, const Op *o);

/* ---- missed_optimizations.c: what is wanted and not there, told if it is asked for --------------------------------- */

void remark_width(Kernel *k, const Op *o);
void remark_copy(const Kernel *k, const Op *o);
void remark_product(const Kernel *k, const Op *dot);
void remark_ahead(Kernel *k, Op *loop);

/* ---- draw.c: SVG ------------------------------------------------------------------------------------ */

/* Begin a picture of that size in pixels: title and description for readers who cannot see it, white ground,
 * styles.  `title` stands on top of it. */
void svg_start(Text *t, int width, int height, const char *title, const char *about);
void svg_end(Text *t);
/* One line of text at x, y (its base line), of a style's class. */
void svg_text(Text *t, int x, int y, const char *cls, const char *fmt, ...) PRINTF_LIKE(5, 6);
void svg_rect(Text *t, int x, int y, int w, int h, const char *cls, const char *fill);
/* Colour i of a palette of n: hues around the circle, light enough for black text. */
const char *svg_colour(Arena *a, int i, int n, int light);

/* ---- draw_tile.c --------------------------------------------------------------------------------- */

const char *draw_tile(const Explained *ex, const Val *v, const char *title);

/* ---- draw_shared.c ------------------------------------------------------------------------------- */

const char *draw_shared(const Explained *ex, const Op *alloc);
#endif
