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
/* What tells solution i from the others, one line: "mma_m16n8k16_f32_f16, warps 2x2; a ldmatrix_x4; ..." */
const char *infer_describe(const Kernel *k, int i);
/* Steps of search the pass has counted. */
uint64_t infer_steps(const Kernel *k);
#endif
