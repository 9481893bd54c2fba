/* infer.h - layout synthesis: what the rest of the library may ask.
 *
 * pass_infer fills kernel->cands with every complete solution found, cheapest first, and writes the one
 * unit->candidate asks for into the IR: layouts of all register and shared tiles, a Pick on every op that
 * moves or combines data, converts where two layouts meet. */
#ifndef HEXC_INFER_H
#define HEXC_INFER_H
#include "hexc/ir/ir.h"

bool pass_infer(Kernel *k);

/* The search alone: fills k->cands, perhaps with nothing.  `like`: a kernel that was searched, whose
 * layouts of shared memory need not be found again; or NULL. */
void infer_find(Kernel *k, const Kernel *like);
/* Predicted cycles of the best that it found; infinity: there is none that fits. */
double infer_best(const Kernel *k);
/* Has it products that skip the zeros of sparse tiles?  With k->dense set there will be none. */
bool infer_skips_zeros(const Kernel *k);
/* Of n kernels that were searched, which differ in where tiles live (hexc/pass/place.h) and in k->dense: the
 * one with the solution that unit->candidate asks for, counted through all; its list is that of all then, and
 * pass_infer takes it.  -1: an error. */
int infer_join(Kernel *const *k, int n);

/* Complete solutions of a kernel, cheapest first; at least 1 after a successful pass_infer. */
int infer_ncand(const Kernel *k);
/* Predicted cycles of one block on one SM, from the cost model in infer/cost/cost.c.  It ranks. */
double infer_cycles(const Kernel *k, int i);
/* Of one op, once, in the solution taken: all its warps, alone on the SM; 0 for what takes nothing. */
double infer_op_cycles(const Kernel *k, const Op *o);
/* What tells solution i from the others, one line: "mma_m16n8k16_f32_f16, warps 2x2; a ldmatrix_x4; ..." */
const char *infer_describe(const Kernel *k, int i);
/* Steps of search the pass has counted. */
uint64_t infer_steps(const Kernel *k);
/* The chosen solution in words: each tile with its layout, who demanded it, each op with its instruction, the
 * runner-up and why it lost.  Text in the unit's arena; infer/explain/explain.c. */
const char *infer_explain(Kernel *k);
/* The same for programs: one JSON object, whose fields hexc.1 lists; infer/explain/json.c.  Where shared
 * tiles lie is in it once pass smem has run. */
const char *infer_explain_json(Kernel *k);
/* The same as pictures, SVG documents: register tiles with the owner of every element, shared tiles with
 * their banks, pipelines in time; infer/explain/draw*.c.  Sets *out to an array in the unit's arena,
 * returns how many. */
typedef struct Drawing {
	const char *name; /* what is drawn, of letters, digits, - and . */
	const char *svg;
} Drawing;
int infer_draw(Kernel *k, const Drawing **out);
#endif
