/* convert.h - tiles that go from one register layout to another, and reductions over warps. */
#ifndef HEXC_CONVERT_H
#define HEXC_CONVERT_H
#include "infer/core/search_state.h"

/* ---- convert_via_smem.c -------------------------------------------------------------------------------------- */
/* Through shared memory from one layout to another: sets *p, all but the offset; where `matrices` says so,
 * stmatrix and ldmatrix are ways too.  waves[2]: wavefronts of writing and reading by all warps. */
void stage_find(Solve *s, const Type *t, const Layout *from, const Layout *to, bool matrices, Staging *p,
                int64_t *waves);

/* ---- cross_warp_reduce.c ------------------------------------------------------------------------------- */
/* How a reduction is done: within warps, or with a staging tile of which the maps say who writes and who
 * reads which part of a result.  Adds what the tile costs to *res. */
Lowering *lowering_reduce(Solve *s, const Op *o, Res *res);

/* ---- convert.c ------------------------------------------------------------------------------------ */
/* How a tile goes from one layout to another: LW_rename, LW_select, LW_shuffle or LW_shared.
 * Adds the cost to *res. */
Lowering *lowering_convert(Solve *s, const Type *t, const Layout *from, const Layout *to, Res *res);
#endif
