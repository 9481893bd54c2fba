/* search_state.h - the state of a search: kernel properties and the solution under construction.
 *
 * A SearchPlan fixes the free choices.  Layout constraints determine the layouts of all values; accesses
 * determine instructions and address layouts; the result has a predicted cost.  All of it is stored in a
 * LayoutSolution.  Only the selected solution is written into the IR, once. */
#ifndef HEXC_SEARCH_STATE_H
#define HEXC_SEARCH_STATE_H
#include "infer/core/solution.h"

typedef struct OperandUse {
	Op *op;
	int i;
} OperandUse;

/* Constant during the search, except for caches and the members from `sol` on. */
struct Solve {
	Kernel *k;
	const VariantChoices *spaces; /* of this kernel variant */
	const struct Rates *rates; /* of the target */
	Arena *arena;
	Op **op; /* [nop+1] by id; NULL: no such op */
	Op **order; /* program order */
	int norder;
	Val **vals; /* [nval+1] by id */
	OperandUse **use; /* [nval+1] uses of a value, [nuse[v]] */
	int *nuse;
	const uint8_t *dims; /* [nval+1] grid dimensions on which the value depends, bits 1 << axis */
	double *weight; /* [nop+1] executions of the op per block (product of the trip counts) */
	const uint64_t *under_way; /* by op id, wgmma results in flight: products_under_way() */
	bool *prefetched; /* [nop+1] loads whose results only the next iteration reads */
	int *unit; /* [nval+1] allocs: the dim that is contiguous in memory */
	struct TileOrigin *origin; /* [nval+1] tile_origin.c */
	Op **access; /* loads and stores of register tiles, most bytes first */
	int naccess;
	const struct Contiguity **run; /* [nval+1] memory/vector_width.c */
	Op ***touch; /* [nval+1] loads, stores and copies of a shared tile, in program order */
	int *ntouch;
	Op **forms; /* ops that may require a smem layout atom: wgmma, copies that may use TMA */
	int nforms, capforms;
	struct FormOps **form_ops; /* [nval+1] those of one tile, in program order */
	Op **listed; /* the first access of each kind to each memory */
	int nlisted;
	Op **dot; /* in program order */
	int *dot_at; /* [nop+1] index of an op in dot[] */
	int ndot;
	/* Caches of other components. */
	struct InternedLayout **interned; /* intern_layout.c: by hash */
	struct ViewFact *view; /* memory/access_width.c: [nval+1] views of global memory */
	struct SharedMemo *memo; /* memory/smem_swizzle.c: layouts found before */
	struct StageMemo *stages; /* convert/convert_via_smem.c: staging tiles found before */
	struct CastCost *cast; /* cost/cost_cast.c */
	struct PiecesMemo **pieces; /* cost/cost_op.c: [nop+1] of accesses to global memory */
	struct Lives *live; /* cost/liveness.c */

	LayoutSolution *sol; /* the solution under construction */
	char *room; /* tables of a dropped solution, for reuse; NULL: none */
	size_t room_size;
	Op **queue; /* ops whose layout rules must run again, for propagate_layouts() */
	int nqueue, capqueue;
	bool *queued;
	/* The last plan has a load that the other value of SearchPlan.load would lower differently. */
	bool load_matters;
	/* The last plan accesses shared memory or a staging tile with less than 32 bits per lane, and has a
	 * tile for which SearchPlan.turned makes a difference. */
	bool narrow, turnable;
	const Op *unpackable; /* an unpack whose tile fits no layout under this plan */
	Failure failure; /* reason why the last plan failed */
	struct Question *question; /* cost/cost_block.c: query about a complete solution; else NULL */
};

static inline bool
is_reg(const Val *v)
{
	return v->type.space == S_reg;
}

static inline int
bits_of(const Val *v) /* bits per element */
{
	return dtype_info[v->type.dtype].bits;
}

/* Returns a value's layout; NULL: none yet. */
static inline const Layout *
known_layout(const Solve *s, const Val *v)
{
	return s->sol->val[v->id];
}

/* Returns the layout of operand i as read by o. */
static inline const Layout *
operand_layout(const Solve *s, const Op *o, int i)
{
	const Layout *want = s->sol->want[o->id][i];

	return want ? want : known_layout(s, o->in[i]);
}

/* Returns the layout in which o produces result i. */
static inline const Layout *
result_layout(const Solve *s, const Op *o, int i)
{
	const Layout *made = s->sol->made[o->id][i];

	return made ? made : known_layout(s, o->out[i]);
}

/* ---- constraint.c ------------------------------------------------------------------------------------- */
/* Gives v layout l if it has none.  Returns true if v now has a layout equal to l, false on conflict. */
bool set_layout(Solve *s, Val *v, const Layout *l, const Op *who);
/* o produces result i in layout l.  If readers already rely on another layout, a conversion to it is
 * recorded. */
void set_result(Solve *s, Op *o, int i, const Layout *l);
/* Requires layout l of operand i of o: gives it to a value without layout, else records a conversion at
 * the use. */
void require_operand(Solve *s, Op *o, int i, const Layout *l);
/* Constrains the index operands of view `mem` for an access by `map`: each thread owns the indices of its
 * elements. */
void require_indices(Solve *s, Val *mem, const Layout *map);
/* Does o require operand i in the layout in which its defining op produced it, before the conversion for
 * others? */
bool wanted_as_made(const Solve *s, const Op *o, int i);
/* Returns the op from which the constraint that `who` propagates originates. */
const Op *first_cause(const Solve *s, const Op *who);
/* Does the layout of v originate in a pinned layout? */
bool value_is_pinned(const Solve *s, const Val *v);

/* ---- intern_layout.c -------------------------------------------------------------------------------- */
/* Returns an interned layout identical to l, which lives as long as the search and is never modified. */
const Layout *layout_intern(Solve *s, const Layout *l);
#endif
