/* cost.h - predicted cost of a solution: resources of every op, registers per thread, cycles per block. */
#ifndef HEXC_COST_H
#define HEXC_COST_H
#include "infer/core/search_state.h"

/* ---- cost_cast.c ---------------------------------------------------------------------------------- */
/* The cost of a cast from a narrow type. */
typedef struct CastCost {
	bool known, any; /* any: there is a cast sequence */
	int bit_order;
	int steps, last; /* instructions per 32 elements: integer, of the result's type */
} CastCost;
/* Clears the cache of cast costs. */
void forget_casts(Solve *s);
/* Returns the cost of cast o for that bit order of its operand (hexc/ir/bit_order.h). */
const CastCost *cast_cost(const Solve *s, const Op *o, int bit_order);
/* Returns instructions per element of a lookup (ptxgen/element/lut.c).  Four elements take a byte permutation
 * for each of their bytes, selectors, and permutations that combine bytes to elements. */
double lookup_weight(const Solve *s, const Op *o);

/* ---- liveness.c --------------------------------------------------------------------------------------- */
/* 32-bit registers per thread for elements of `bits` bits in layout l. */
int64_t layout_words(const Layout *l, int bits);
/* The same for register tile v in its layout; 0: not a register tile. */
int64_t lane_words(const Solve *s, const Val *v);
/* Returns the tile from which v was permuted, or v. */
const Val *moved_from(const Val *v);
/* Returns the indices of k of operand j whose fragments are in registers together: those of one load for runs
 * along k; computed fragments exist for one instance at a time. */
int64_t dot_k_step(const Op *dot, const DotChoice *c, int j);
/* Computes the live ranges of register tiles, which do not depend on layouts. */
void live_init(Solve *s);
/* Registers per thread for tiles and fragments in b, at their maximum. */
int64_t live_registers(const Solve *s, const Block *b);
/* Registers per thread of the register operand of wgmma o, which are reserved during the loop around it; 0:
 * the operand is in shared memory. */
int64_t held_factor(const Solve *s, const Op *o);

/* ---- register_limit.c ---------------------------------------------------------------------------------- */
/* Returns the register limit of threads that own tiles: as specified for roles, or the thread's share of the
 * register file. */
int lane_limit(const Solve *s);
/* Returns the registers of roles, as the program specifies.  If the compiler has created the roles, they
 * leave registers for as many resident blocks, of `shared` bytes of shared memory, as possible without
 * spills. */
RoleRegisters role_registers(const Solve *s, int64_t shared);
/* Computes sol->registers; loads count with their instructions once these are selected. */
void count_registers(Solve *s);
/* Do the registers that are live in any schedule fit?  Returns false and sets s->failure if not. */
bool registers_fit(Solve *s);

/* Returns the maximum registers per thread for ptxas (.maxnreg); 0: its own choice.  Without a limit, ptxas
 * uses fewer registers for another resident block and spills if they are too few (if it has to spill, all but
 * 32).  The limit prevents that where no further block would fit. */
int registers_limit(const Solve *s, const LayoutSolution *sol);

/* ---- cost_op.c ------------------------------------------------------------------------------------ */
void cost_op(Solve *s, Op *o); /* fills sol->res[o->id] except for conversions */
void forget_pieces(Solve *s); /* clears the cache of global accesses */
void memory_instructions(Res *r, double n); /* n warp instructions */
/* Is the result of load o unused before the next iteration?  A conversion would use it. */
bool is_prefetched(const Solve *s, const Op *o);
/* Adds the cost of a conversion: shuffles and arithmetic of all warps; with a staging tile, wavefronts of
 * both sides, and accesses. */
void cost_conversion(const Solve *s, const Lowering *p, double shuffles, double steps, const int64_t *waves,
                     double accesses, Res *r);
/* 32-byte sectors that one execution of global access o requests, over all its warps, with `vec` elements per
 * lane and access. */
int64_t global_sectors(const Solve *s, const Op *o, const Layout *map, int vec);
/* Sectors of the tile itself: L2 sends each once, however many warps of the block request it at about the
 * same time; later requests hit the L1 cache.  view NULL: its elements are not contiguous. */
double tile_sectors(const Solve *s, const Op *view, const Type *t);
/* Bytes per cycle and SM for memory of the view: from DRAM if every block accesses a separate part, else from
 * L2, where another block has brought it. */
double memory_rate(const Solve *s, const Op *view);

/* ---- cost_async.c ---------------------------------------------------------------------------------- */
void cost_wgmma(const Solve *s, const Op *o, Res *r);
void cost_boxes(const Solve *s, const Op *o, Res *r); /* of a TMA copy */
void cost_signal(const Op *o, Res *r); /* of an mbarrier wait or arrive */
/* Returns the part of r, the cost of o, that its warps execute.  The rest of copies that complete on an
 * mbarrier is done by TMA or the memory system. */
Res by_warps(const Op *o, const Res *r);
/* Returns the resources of the copies into shared memory for one execution of a wait on their mbarrier; for
 * other waits, none. */
Res fill_of(const Solve *s, const Op *wait);
/* Returns cycles from issuing the copies that a wait waits for to their completion; 0: nothing is copied. */
double fill_wait(const Solve *s, const Op *wait);
/* Is wgmma o still in flight when its warps start the next iteration of their loop? */
bool runs_on(const Solve *s, const Op *o);

/* ---- cost_block.c --------------------------------------------------------------------------------- */
/* Executions of region i of an `if`: with code versions they sum to 1, the first more often; else the first
 * region always runs. */
double region_runs(const Op *o, int i);
bool in_loop(const Op *o); /* Is o a loop, or in one? */
/* Returns the cycles of each of `blocks` resident blocks that occupy the SM's busiest unit for `busy` cycles
 * and take `alone` cycles without others. */
double cost_share(double busy, double alone, int blocks);
/* A query for the cycles of a block with more iterations of a loop, or with a given branch of the maximum
 * over roles. */
enum { ROLE_ANY = -1, ROLE_FETCHES, ROLE_TAKES_TURNS, ROLE_COMPUTES, ROLE_WAYS };
typedef struct Question {
	const Op *loop; /* NULL: none */
	double more;
	int role; /* ROLE_ANY: the maximum */
	/* the answer */
	Res total;
	double alone;
} Question;
void cost_asked(Solve *s, const LayoutSolution *sol, Question *q); /* of a complete solution */
void cost_block(Solve *s); /* computes the cost of all ops, sol->cycles and related members */
/* Returns s->sol, whose cost is known, with fragment prefetch (pass prefetch_fragments); NULL: no loop allows
 * it, or registers do not suffice. */
LayoutSolution *cost_rotated(Solve *s);
/* Returns s->sol, whose cost is known, with copies that clusters of `blocks` blocks multicast. */
LayoutSolution *cost_shared(Solve *s, const bool *shared, int blocks);
#endif
