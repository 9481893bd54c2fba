/* analysis.h - declares analyses of a kernel's values, for all passes: range and divisibility of integers,
 * bounds and alignment of views. */
#ifndef HEXC_ANALYSIS_H
#define HEXC_ANALYSIS_H
#include "hexc/ir/ir.h"

/* ---- facts about index values (value_range.c) --------------------------------------------------------- */

/* value % mult == 0 (mult >= 1; 0 means the value is 0) and lo <= value <= hi */
typedef struct Fact { int64_t mult, lo, hi; } Fact;
Fact val_fact(Kernel *k, const Val *v);
/* As val_fact, where op `at` is executed: inside `if x % c == 0 { .. }` x is also a multiple of c, inside `if
 * x < y` it is below the maximum of y. */
Fact val_fact_at(Kernel *k, const Op *at, const Val *v);
/* Between facts_keep and facts_drop results are memoized: values must keep their meaning, whatever ops are
 * changed. Pairs may nest. */
void facts_keep(Kernel *k);
void facts_drop(Kernel *k);

/* ---- facts about indices (distinct_indices.c) --------------------------------------------------------- */

/* Does a gathered view select no element twice? Returns false if unknown. */
bool view_names_once(const Op *view);

/* ---- views (view_bounds.c) -------------------------------------------------------------------------- */

/* Is dim d of this view in bounds of its tensor, up to view_within, whenever the op runs? d is a view dim:
 * dropped dims are not counted. Returns false if unknown. An alloc is in bounds. */
bool view_in_bounds(Kernel *k, const Op *view, int d);
/* As view_in_bounds, for dim d of the view's operand with start view_start(view, d), dropped dims included.
 * If it is not in bounds there, accesses by the view must be predicated in full. */
bool view_operand_in_bounds(Kernel *k, const Op *view, int d);
/* As view_operand_in_bounds, without the bounds that views have of their own (view_from, view_below). */
bool view_operand_in_tensor(Kernel *k, const Op *view, int d);
/* After pass mask_bounds, return along dim d of the view's operand the index of the first element of its
 * tensor that exists (NULL: 0), and the index after the last one: those of the tensor, or of a slice
 * with bounds of its own, which are inside of it. i64 scalars. view_end NULL: not of a tensor. */
Val *view_first(const Op *view, int d);
Val *view_end(const Kernel *k, const Op *view, int d);
/* Returns the largest power of two (elements, <= cap) that divides the address of every row start in a global
 * view: the starts and, with more than one row, the strides of all dims but the contiguous one. Returns 1 if
 * no dim is contiguous, and for shared tiles. */
int64_t view_align(Kernel *k, const Op *view, int64_t cap);
/* Returns the alignment of tensor p in bytes: TENSOR_ALIGN, or the value of `const ALIGN` if its elements are
 * whole bytes, and at least an element. */
enum { TENSOR_ALIGN = 16 };
int64_t tensor_align(const Kernel *k, const Param *p);
/* Returns the contiguous dim (stride 1) of a global view's root in view coordinates; -1: none. For a shared
 * view or alloc: the last dim of the alloc. */
int view_unit_dim(Kernel *k, const Op *view);
#endif
