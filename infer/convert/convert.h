/* convert.h - tiles that go from one register layout to another, and reductions over warps. */
#ifndef HEXC_CONVERT_H
#define HEXC_CONVERT_H
#include "infer/base/state.h"

/* ---- stage.c -------------------------------------------------------------------------------------- */
/* Through shared memory from one layout to another: sets vec, vec2 and the scratch of *p; where `matrices`
 * says so, stmatrix and ldmatrix are ways too.  waves[2]: wavefronts of writing and reading by all warps. */
void lowering_staged(Solve *s, const Type *t, const Layout *from, const Layout *to, bool matrices,
                     Lowering *p, int64_t *waves);

/* ---- reduce_warps.c ------------------------------------------------------------------------------- */
/* How a reduction is done: "reduce_shuffle" within warps, or "reduce_shared" with map and map2, who writes
 * and who reads which part of a result, and the scratch.  Adds what the scratch costs to *res. */
Lowering *lowering_reduce(Solve *s, const Op *o, Res *res);

/* ---- convert.c ------------------------------------------------------------------------------------ */
/* How a tile goes from one layout to another: "rename", "select", "shuffle" or "shared", with the scratch it
 * needs.  Adds the cost to *res. */
Lowering *lowering_convert(Solve *s, const Type *t, const Layout *from, const Layout *to, Res *res);
#endif
