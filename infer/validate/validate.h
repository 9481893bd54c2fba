/* validate.h - inside the independent checker.
 *
 * It shares no code with the solver: it reads what inference wrote into the IR (layouts, lowerings), spells
 * every layout out as a table of who holds what, and follows each instruction element by element by the rules
 * of the PTX ISA.  Nothing is derived twice from the same formula. */
#ifndef HEXC_VALIDATE_H
#define HEXC_VALIDATE_H
#include "hexc/ir/ir.h"
#include "infer/core/instr.h"

bool pass_validate(Kernel *k);
/* The same of pass wgmma_waits (prove/flight.c). */
bool pass_validate_wgmma(Kernel *k);
/* Of what is waited for, at the end (prove/waits.c). */
bool pass_validate_async_copies(Kernel *k);
/* Of rings between roles, likewise (prove/roles.c). */
bool pass_validate_warp_roles(Kernel *k);
/* Of what orders accesses to memory, likewise (prove/order.c). */
bool pass_validate_barriers(Kernel *k);
/* The same of pass multicast, behind pass wgmma_waits (prove/cluster.c). */
bool pass_validate_multicast(Kernel *k);
/* The same of pass split_loops, right behind it (prove/split.c). */
bool pass_validate_loop_split(Kernel *k);

/* Who holds what of a register tile: elem[thread * regs + register], row-major element number, or -1. */
typedef struct Ownership {
	int64_t *elem;
	int64_t regs;
	bool *acts; /* [thread] the first of its replicas: the one that stores */
	/* what it was spelled from: values that say the same share it */
	const Layout *layout;
	const Type *type;
	int threads;
	const struct Ownership *next;
} Ownership;

typedef struct Prove {
	Kernel *k;
	Arena *arena;
	int threads; /* that run the op */
	const Ownership **held; /* [nval+1] by value id, made on demand */
	const Ownership *spelled; /* all of them, once each */
	uint32_t nval;
	bool ok;
	/* the op being proved, and how to name it */
	const Op *op;
} Prove;

/* Spell a layout out.  NULL after a report: two elements in one place, a place outside the block, an extent
 * that is not the tile's, a register that holds nothing. */
Ownership *held_spell(Prove *p, const Layout *l, const Type *t, bool full);
const Ownership *held_of(Prove *p, const Val *v);
/* Reports once per op: what does not hold, with the thread, register and elements concerned. */
bool prove_error(Prove *p, int thread, int64_t reg, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Of checkers of order: an internal error at o if *ok, which is false then. */
void prove_violation(Kernel *k, bool *ok, const Op *o, const char *what);

int64_t index_elem(const Type *t, const int64_t *c);
const char *elem_text(Prove *p, const Type *t, int64_t elem); /* "(3,5)" */
/* Register of thread 0 that holds an element; -1 none. */
int64_t reg_of(const Ownership *h, int64_t elem);
/* Address of an element of a memory layout, swizzled, in elements. */
int64_t mem_offset(const Layout *l, const int64_t *c);
/* Those of all elements of t; dim_of[d] is the dim of the layout that the index of dim d is of, NULL: d. */
int64_t *mem_offsets(Prove *p, const Layout *l, const Type *t, const int *dim_of);

/* What is known of numbers and views is so in small launches (prove/claims.c). */
bool prove_claims(Kernel *k);

/* The rules: column `prove` of ops.def. */
#define OP_PROVE(name, rule) void prove_##rule(Prove *p, const Op *o);
#include "hexc/ir/ops.def"

/* Where a bit of element e of a lane's narrow elements is: word * 32 + bit of the word (prove/packed.c). */
int64_t bit_in_stream(int bits, int bit_order, int64_t e, int bit);
/* Positions for the instance at row (swapped: column) m0 and k0 of a sparse dot: every warp has in the lanes
 * that the instruction reads those of the rows from c[warp]. */
bool prove_positions(Prove *p, const Op *o, const Instr *in, int64_t m0, int64_t k0, int64_t (*c)[3]);
/* The scales of both operands are where the instance at m0, n0 and k0 reads them; c as above. */
bool prove_scales(Prove *p, const Op *o, const Instr *in, int64_t m0, int64_t n0, int64_t k0,
                  int64_t (*c)[3]);
/* Are two layouts, or the ways in which two ops are done, the same?  Either may be NULL (prove/turned.c). */
bool prove_same_layout(const Layout *a, const Layout *b);
bool prove_same_way(const Lowering *a, const Lowering *b);
/* Of a dot that does a part, by instances of k: others do the rest, each once (prove/turned.c). */
bool prove_part(Prove *p, const Op *o, int k);
/* A copy by boxes of a tensor map, `out` of the tile (prove/box.c). */
void prove_boxes(Prove *p, const Op *o, bool out);
/* A staging tile of type t: `from` fills it and `to` empties it in whole accesses, every element once, in an
 * address of its own. */
bool prove_staging(Prove *p, const Type *t, const Staging *how, const Ownership *from, const Ownership *to);
#endif
