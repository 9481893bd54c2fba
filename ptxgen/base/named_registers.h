/* named_registers.h - tiles that products under way read and write: registers with names of their own.
 *
 * Of what a wgmma writes while other code runs neither LLVM nor ptxas may make a copy: these find one
 * register by its name in all of the text.  A web is a set of values of which no two live at once, and which
 * hand their elements to each other in products and around loops: they share the registers, and nothing
 * moves. */
#ifndef HEXC_NAMED_REGISTERS_H
#define HEXC_NAMED_REGISTERS_H
#include "ptxgen/base/codegen.h"

typedef struct Web {
	bool flt;  /* .f32, else .b32 */
	int first; /* number of the register of word 0 */
	int nword;
	const int *at; /* [nword] how far behind the first a word's register is; NULL: as far as the word */
} Web;

/* Which values are in webs, and the declaration of their registers; before anything else of the kernel. */
void file_plan(Codegen *g);
/* NULL: v has no names. */
const Web *file_web(const Codegen *g, const Val *v);
/* The register of word w. */
const char *web_name(Codegen *g, const Web *web, int w);
LV web_get(Codegen *g, const Web *web, int w);
/* NULL: the register keeps what it has. */
void web_put(Codegen *g, const Web *web, LV *word);
/* Something else is written to registers with names. */
void file_written(Codegen *g);
/* The register that still has the word, so that an instruction that is emitted now may have its name instead;
 * NULL: none surely has. */
const char *file_name(Codegen *g, LV word);
/* Words that were read, and that nobody has but by name, are not. */
void file_end(Codegen *g);
/* What o read of registers with names is computed now: others may write them behind it. */
void file_take(Codegen *g, Op *o);
#endif
