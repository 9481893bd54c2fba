/* search_state.h - the state of a search: what it knows of the kernel, and the solution that it is building.
 *
 * A Plan fixes the free choices.  Demands turn it into layouts for all values, accesses into instructions
 * and address layouts, and the result has a cost.  All of it is written into a Solution, never into the IR;
 * that is done once, for the solution taken. */
#ifndef HEXC_SEARCH_STATE_H
#define HEXC_SEARCH_STATE_H
#include "infer/core/solution.h"

typedef struct OperandUse {
	Op *op;
	int i;
} OperandUse;

/* Fixed while the search runs, but for memos and from `sol` on. */
struct Solve {
	Kernel *k;
	const VariantChoices *spaces; /* that it has */
	const struct Rates *rates; /* of the target */
	Arena *arena;
	Op **op; /* [nop+1] by id, NULL holes */
	Op **order; /* program order */
	int norder;
	Val **vals; /* [nval+1] by id */
	OperandUse **use; /* [nval+1] */
	int *nuse;
	const uint8_t *dims; /* [nval+1] of the grid, that the value depends on */
	double *weight; /* [nop+1] how often the op runs in a block (trip counts multiplied) */
	const uint64_t *under_way; /* products_under_way() */
	bool *prefetched; /* [nop+1] loads of what only the next iteration of a loop reads */
	int *unit; /* [nval+1] allocs: the dim whose elements are neighbours in memory */
	Op **access; /* loads and stores of register tiles, those that move most bytes first */
	int naccess;
	const struct Contiguity **run; /* [nval+1] memory/run.c */
	Op ***touch; /* [nval+1] loads, stores and copies of a shared tile, in program order */
	int *ntouch;
	Op **forms; /* ops that may need a form of a shared tile: wgmma, copies that may be of boxes */
	int nforms, capforms;
	struct FormOps **form_ops; /* [nval+1] those of a tile, in program order */
	Op **listed; /* the first access of each kind to each memory */
	int nlisted;
	Op **dot; /* in program order */
	int *dot_at; /* [nop+1] which of them an op is */
	int ndot;
	/* what rooms remember of what they were asked */
	struct InternedLayout **interned; /* intern_layout.c: by hash */
	struct ViewFact *view; /* memory/view.c: [nval+1] views of global memory */
	struct SharedMemo *memo; /* memory/shared.c: layouts found before */
	struct StageMemo *stages; /* convert/stage.c: the same */
	struct CastCost *cast; /* cost/cost_cast.c */
	struct PiecesMemo **pieces; /* cost/cost_op.c: [nop+1] of accesses to global memory */
	struct Lives *live; /* cost/live.c */

	LayoutSolution *sol; /* the one being built */
	char *room; /* of the tables of one that was dropped; NULL: none was */
	size_t room_size;
	Op **queue; /* ops that may know more now, for propagate_layouts() */
	int nqueue, capqueue;
	bool *queued;
	/* the last plan has a load that the other choice of Plan.load would do otherwise */
	bool load_matters;
	/* the last plan moves less than words through a staging tile, and has a tile to turn (Plan.turned) */
	bool narrow, turnable;
	const Op *unpackable; /* an unpack that no layout of its tile suits, found under this plan */
	Failure failure; /* why the last plan failed */
	struct Question *question; /* cost/cost_block.c: what is asked of a known solution; else NULL */
};

static inline bool
is_reg(const Val *v)
{
	return v->type.space == S_reg;
}

static inline int
bits_of(const Val *v) /* of an element */
{
	return dtype_info[v->type.dtype].bits;
}

/* A value's layout, NULL: it has none yet. */
static inline const Layout *
known_layout(const Solve *s, const Val *v)
{
	return s->sol->val[v->id];
}

/* The layout operand i has when o reads it. */
static inline const Layout *
operand_layout(const Solve *s, const Op *o, int i)
{
	const Layout *want = s->sol->want[o->id][i];

	return want ? want : known_layout(s, o->in[i]);
}

/* The layout in which o makes result i. */
static inline const Layout *
result_layout(const Solve *s, const Op *o, int i)
{
	const Layout *made = s->sol->made[o->id][i];

	return made ? made : known_layout(s, o->out[i]);
}

/* ---- constraint.c ------------------------------------------------------------------------------------- */
/* Give a value its layout if it has none; true if that is what it has now (equal), false on conflict. */
bool set_layout(Solve *s, Val *v, const Layout *l, const Op *who);
/* o makes result i in layout l: what readers already count on is converted to from there. */
void set_result(Solve *s, Op *o, int i, const Layout *l);
/* Operand i of o must be laid out as l: gives it when unknown, else records a conversion on the edge. */
void require_operand(Solve *s, Op *o, int i, const Layout *l);
/* An access to mem by `map`: each thread holds the indices of the elements it touches. */
void require_indices(Solve *s, Val *mem, const Layout *map);
/* Is operand i of o wanted just as its maker made it, before the conversion for the others? */
bool wanted_as_made(const Solve *s, const Op *o, int i);
/* Whose demand does `who` pass on? */
const Op *first_cause(const Solve *s, const Op *who);
/* Does the layout of v come from one that the program gave? */
bool value_is_pinned(const Solve *s, const Val *v);

/* ---- intern_layout.c ------------------------------------------------------------------------------------- */
/* A layout like l that lives as long as the search, and is never written to. */
const Layout *layout_intern(Solve *s, const Layout *l);
#endif
