/* unsat.h - why a plan has no solution, as the program's author is told. */
#ifndef HEXC_UNSAT_H
#define HEXC_UNSAT_H
#include "hexc/ir/ir.h"

typedef struct Solve Solve; /* infer/core/search_state.h */

/* text NULL: the plan has a solution. */
typedef struct Failure {
	const char *text; /* both demands, where they meet, the fix; arena */
	Src src;
	const char *note; /* the other demand at its own line; NULL: there is none */
	Src note_src;
	int stage; /* of solve_plan(), which the plan came to */
	/* by how much it missed there: registers needed, elements elsewhere; 0 where that is not known */
	int64_t excess;
} Failure;

/* The plan has no solution: s->failure.text, printed, at src. */
void infer_error(Solve *s, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The other demand, for a note there. */
void infer_error_note(Solve *s, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The other side of a demand on an access: the tensor, as the program declares it. */
void infer_error_tensor(Solve *s, Val *mem);
/* A store of elements smaller than a byte, as l, whose neighbours along `unit` are not at hand. */
void infer_error_half_bytes(Solve *s, const Op *o, const Layout *l, int unit);
/* An atomic update of a type for which the target has no instruction. */
void infer_error_no_red(Solve *s, const Op *o);

const char *elem_words(Solve *s, const Type *t, int64_t elem); /* "(3, 5)", of a row-major number */
/* Where layout l has that element: "register 2 of lane 5 of warp 0"; `l` of a register tile. */
const char *coord_text(Solve *s, const Layout *l, const Type *t, int64_t elem);
/* "tile `acc`" or "the tile f32[64, 64]", of a value. */
const char *tile_words(Solve *s, const Val *v);
#endif
