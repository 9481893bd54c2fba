/* convert.h - conversions of tiles between register layouts, and cross-warp reductions. */
#ifndef HEXC_CONVERT_H
#define HEXC_CONVERT_H
#include "infer/core/search_state.h"

/* ---- convert_via_smem.c ----------------------------------------------------------------------------- */
/* Chooses a conversion through shared memory: sets *p except for the offset; `matrices`: stmatrix and
 * ldmatrix are permitted.  waves[2]: wavefronts of writing and reading by all warps. */
void stage_find(Solve *s, const Type *t, const Layout *from, const Layout *to, bool matrices, Staging *p,
                int64_t *waves);

/* ---- cross_warp_reduce.c ------------------------------------------------------------------------------- */
/* Lowers a reduction: within warps, or with a staging tile whose maps define the writer and the readers of
 * each partial sum.  Adds the cost of the tile to *res. */
Lowering *lowering_reduce(Solve *s, const Op *o, Res *res);

/* ---- convert.c ------------------------------------------------------------------------------------ */
/* Lowers a conversion between two layouts to LW_rename, LW_select, LW_shuffle or LW_shared.  Adds the cost to
 * *res. */
Lowering *lowering_convert(Solve *s, const Type *t, const Layout *from, const Layout *to, Res *res);
#endif
