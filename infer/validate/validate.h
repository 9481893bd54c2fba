/* validate.h - declares the translation validator: the passes, the ownership tables and the checks that its
 * rules share.
 *
 * It shares no code with the solver. It reads what inference wrote into the IR (layouts, lowerings),
 * expands every layout into an ownership table, and evaluates each instruction element by element by the
 * rules of the PTX ISA. Nothing is derived twice from the same formula. */
#ifndef HEXC_VALIDATE_H
#define HEXC_VALIDATE_H
#include "hexc/ir/ir.h"
#include "infer/core/instr.h"

bool pass_validate(Kernel *k);
/* Validates pass wgmma_waits (validate/async_mma.c). */
bool pass_validate_wgmma(Kernel *k);
/* Validates waits for asynchronous copies, at the end (validate/async_copies.c). */
bool pass_validate_async_copies(Kernel *k);
/* Validates pipeline stages between roles, at the end (validate/warp_roles.c). */
bool pass_validate_warp_roles(Kernel *k);
/* Validates the order of memory accesses, at the end (validate/memory_order.c). */
bool pass_validate_barriers(Kernel *k);
/* Validates pass multicast, after pass wgmma_waits (validate/multicast_protocol.c). */
bool pass_validate_multicast(Kernel *k);
/* Validates pass split_loops, directly after it (validate/loop_split.c). */
bool pass_validate_loop_split(Kernel *k);

/* Ownership of a register tile: elem[thread * regs + register] is a row-major element index, or -1. */
typedef struct Ownership {
	int64_t *elem;
	int64_t regs;
	bool *acts; /* [thread] it is the first of its replicas: the one that stores */
	/* what it was expanded from; values with equal layouts share it */
	const Layout *layout;
	const Type *type;
	int threads;
	const struct Ownership *next;
} Ownership;

typedef struct Prove {
	Kernel *k;
	Arena *arena;
	int threads; /* that run the op */
	const Ownership **held; /* [nval+1] by value id, computed on demand */
	const Ownership *spelled; /* all of them, once each */
	uint32_t nval;
	bool ok;
	/* the op being validated, and how to name it */
	const Op *op;
} Prove;

/* Expands a layout. Returns NULL after a report: two elements in one location, a location outside the
 * block, an extent that is not the tile's, a register without an element. */
Ownership *held_spell(Prove *p, const Layout *l, const Type *t, bool full);
const Ownership *held_of(Prove *p, const Val *v);
/* Reports a violation, once per op, with the thread, register and elements concerned. */
bool prove_error(Prove *p, int thread, int64_t reg, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Reports an internal error at o if *ok, which becomes false. For validators of order. */
void prove_violation(Kernel *k, bool *ok, const Op *o, const char *what);

int64_t index_elem(const Type *t, const int64_t *c);
const char *elem_text(Prove *p, const Type *t, int64_t elem); /* "(3,5)" */
/* Returns the register of thread 0 that has an element; -1 if there is none. */
int64_t reg_of(const Ownership *h, int64_t elem);
/* Returns the address of an element of a memory layout, swizzled, in elements. */
int64_t mem_offset(const Layout *l, const int64_t *c);
/* Returns the addresses of all elements of t; dim_of[d] is the dim of the layout that dim d of the index
 * corresponds to; NULL: d. */
int64_t *mem_offsets(Prove *p, const Layout *l, const Type *t, const int *dim_of);

/* Validates range analysis of scalars and views in small launches (validate/claimed_facts.c). */
bool prove_claims(Kernel *k);

/* The rules: column `prove` of ops.def. */
#define OP_PROVE(name, rule) void prove_##rule(Prove *p, const Op *o);
#include "hexc/ir/ops.def"

/* Returns the position of a bit of element e of a lane's narrow elements: word * 32 + bit of the word
 * (validate/unpack.c). */
int64_t bit_in_stream(int bits, int bit_order, int64_t e, int bit);
/* Validates the metadata of the instance at row (swapped: column) m0 and k0 of a sparse dot: the lanes of
 * every warp that the instruction reads have the positions of the rows from c[warp]. */
bool prove_positions(Prove *p, const Op *o, const Instr *in, int64_t m0, int64_t k0, int64_t (*c)[3]);
/* Validates that the scales of both operands are where the instance at m0, n0 and k0 reads them; c as
 * above. */
bool prove_scales(Prove *p, const Op *o, const Instr *in, int64_t m0, int64_t n0, int64_t k0,
                  int64_t (*c)[3]);
/* Are two layouts, or two lowerings, equal? Either may be NULL (validate/prefetched_fragments.c). */
bool prove_same_layout(const Layout *a, const Layout *b);
bool prove_same_way(const Lowering *a, const Lowering *b);
/* Validates a dot that computes a k slice, of multiples of k: other dots compute the rest, each once
 * (validate/prefetched_fragments.c). */
bool prove_part(Prove *p, const Op *o, int k);
/* Validates a TMA tensor copy; `out`: from the tile to the tensor (validate/tma_copies.c). */
void prove_boxes(Prove *p, const Op *o, bool out);
/* Validates a staging tile of type t: `from` is stored to it and `to` loaded from it in full accesses,
 * every element once, each at a separate address. */
bool prove_staging(Prove *p, const Type *t, const Staging *how, const Ownership *from, const Ownership *to);
#endif
