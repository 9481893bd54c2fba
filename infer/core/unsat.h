/* unsat.h - the reason why a plan has no solution, as reported to the program's author. */
#ifndef HEXC_UNSAT_H
#define HEXC_UNSAT_H
#include "hexc/ir/ir.h"

typedef struct Solve Solve; /* infer/core/search_state.h */

/* text NULL: the plan has a solution. */
typedef struct Failure {
	const char *text; /* both constraints, where they conflict, the fix; arena */
	Src src;
	const char *note; /* the other constraint at its source line; NULL: none */
	Src note_src;
	int stage; /* the stage of solve_plan() that failed */
	/* How far that stage is from success: registers needed, elements with different owners; 0:
	 * unknown. */
	int64_t excess;
} Failure;

/* Sets s->failure: the plan has no solution, because of the printed text, at src. */
void infer_error(Solve *s, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds the other constraint as a note. */
void infer_error_note(Solve *s, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds a note with the tensor's declaration to an error about an access. */
void infer_error_tensor(Solve *s, Val *mem);
/* Reports a store of sub-byte elements in layout l, whose thread does not own all elements of a byte along
 * `unit`. */
void infer_error_half_bytes(Solve *s, const Op *o, const Layout *l, int unit);
/* Reports an atomic update of a type for which the target has no instruction. */
void infer_error_no_red(Solve *s, const Op *o);

const char *elem_words(Solve *s, const Type *t, int64_t elem); /* "(3, 5)", from a row-major index */
/* Position of the element in layout l of a register tile: "register 2 of lane 5 of warp 0". */
const char *coord_text(Solve *s, const Layout *l, const Type *t, int64_t elem);
/* "`acc`" or "the tile f32[64, 64]", of a value. */
const char *tile_words(Solve *s, const Val *v);
#endif
