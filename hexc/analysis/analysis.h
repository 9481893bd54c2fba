/* analysis.h - what can be shown of a kernel's values: ranges and divisors of integers, bounds of views, alignment. */
#ifndef HEXC_ANALYSIS_H
#define HEXC_ANALYSIS_H
#include "hexc/ir/ir.h"

/* ---- facts about index values (value_range.c) --------------------------------------------------------- */

/* value % mult == 0 (mult >= 1; 0 means the value is 0) and lo <= value <= hi */
typedef struct Fact { int64_t mult, lo, hi; } Fact;
Fact val_fact(Kernel *k, const Val *v);
/* The same where op `at` stands: inside `if x % c == 0 { .. }` x is a multiple of c too, inside `if x < y` it
 * is less than the most that y can be. */
Fact val_fact_at(Kernel *k, const Op *at, const Val *v);
/* From facts_keep to facts_drop answers are remembered: values keep their meaning, whatever becomes of the
 * ops. Pairs may nest. */
void facts_keep(Kernel *k);
void facts_drop(Kernel *k);

/* ---- facts about indices (distinct_indices.c) --------------------------------------------------------- */

/* Does a view along indices name no element twice, as far as can be seen? */
bool view_names_once(const Op *view);

/* ---- views (view_bounds.c) ----------------------------------------------------------------------------------- */

/* Is dim d of this view (counted in the view: dropped dims not) inside its tensor for every block
 * and iteration in which the op runs, up to view_within?  False: not known.  An alloc is inside itself. */
bool view_in_bounds(Kernel *k, const Op *view, int d);
/* The same for dim d of the view's operand, in[1 + d] its start: dropped dims too, which a view that
 * is not in bounds there must be predicated on as a whole. */
bool view_operand_in_bounds(Kernel *k, const Op *view, int d);
/* Largest power of two (elements, <= cap) that divides the address of every row's start in a global
 * view: the starts and, where there is more than one row, the strides of all dims but the contiguous
 * one. 1 where no dim is contiguous and for shared tiles. */
int64_t view_align(Kernel *k, const Op *view, int64_t cap);
/* Bytes that the address of tensor p is a multiple of: TENSOR_ALIGN, or what `const ALIGN` says, where its
 * elements have whole bytes, and those of an element at least. */
enum { TENSOR_ALIGN = 16 };
int64_t tensor_align(const Kernel *k, const Param *p);
/* The contiguous dim (stride 1) of a global view's root in view coordinates; -1 none.  Of a shared
 * view or alloc: the last dim of the alloc. */
int view_unit_dim(Kernel *k, const Op *view);
#endif
