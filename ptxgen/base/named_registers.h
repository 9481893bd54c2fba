/* named_registers.h - declares named registers for tiles that asynchronous MMAs read and write.
 *
 * Neither LLVM nor ptxas may copy a register that a wgmma writes while other code runs. Both identify one
 * register by its name in the whole text. A web is a set of values of which no two are live at the same
 * time, and which forward their elements to each other in MMAs and around loops. They share the registers,
 * and nothing is moved. */
#ifndef HEXC_NAMED_REGISTERS_H
#define HEXC_NAMED_REGISTERS_H
#include "ptxgen/base/codegen.h"

typedef struct Web {
	bool flt;  /* .f32, else .b32 */
	int first; /* index of word 0's register */
	int nword;
	const int *at; /* [nword] offset of a word's register from the first; NULL: the word's index */
} Web;

/* Determines the values in webs, and declares their registers; before anything else in the kernel. */
void file_plan(Codegen *g);
/* Returns NULL if v has no named registers. */
const Web *file_web(const Codegen *g, const Val *v);
/* Returns the name of word w's register. */
const char *web_name(Codegen *g, const Web *web, int w);
LV web_get(Codegen *g, const Web *web, int w);
/* Writes the words that are not NULL; the others' registers are unchanged. */
void web_put(Codegen *g, const Web *web, LV *word);
/* Records that other code writes named registers. */
void file_written(Codegen *g);
/* Returns the name of a register that still contains the word, which an instruction emitted now may use
 * instead; NULL if that is not certain. */
const char *file_name(Codegen *g, LV word);
/* Removes words that were read, but are used by name only. */
void file_end(Codegen *g);
/* Computes now what o reads from named registers: later code may write them. */
void file_take(Codegen *g, Op *o);
#endif
