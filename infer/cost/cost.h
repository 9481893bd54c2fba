/* cost.h - what a solution costs: resources of every op, registers, clocks of a block. */
#ifndef HEXC_COST_H
#define HEXC_COST_H
#include "infer/core/search_state.h"

/* ---- cost_cast.c ---------------------------------------------------------------------------------- */
/* What a cast from a narrow type takes. */
typedef struct CastCost {
	bool known, any; /* is there a recipe? */
	int bit_order;
	int steps, last; /* instructions for 32 elements: of integers, of the result's type */
} CastCost;
/* No cast has been asked for yet. */
void forget_casts(Solve *s);
/* Of cast o if its operand's words are in that order (hexc/ir/bit_order.h). */
const CastCost *cast_cost(const Solve *s, const Op *o, int bit_order);
/* Instructions per element of a lookup (ptxgen/element/lut.c): each four take byte permutations for each
 * of their bytes, selectors, and permutations that join bytes to elements. */
double lookup_weight(const Solve *s, const Op *o);

/* ---- liveness.c --------------------------------------------------------------------------------------- */
/* Words of a lane that has elements of so many bits in layout l. */
int64_t layout_words(const Layout *l, int bits);
/* The same of register tile v, as it is laid out; 0 if it is no register tile. */
int64_t lane_words(const Solve *s, const Val *v);
/* The tile whose elements v has, perhaps in another order. */
const Val *moved_from(const Val *v);
/* Indices of k of operand j whose fragments are in registers together: what loads of a run along k bring at
 * once; what is computed is so for one instance after the other. */
int64_t dot_k_step(const Op *dot, const DotChoice *c, int j);
/* Which register tiles there are at the same time does not depend on layouts: find it. */
void live_init(Solve *s);
/* Registers of a lane that hold tiles and fragments in b, where most do. */
int64_t live_registers(const Solve *s, const Block *b);
/* Those that the factor of o has, a product of warpgroups, as long as the loop around runs; 0: it is in
 * shared memory. */
int64_t held_factor(const Solve *s, const Op *o);

/* ---- register_limit.c ---------------------------------------------------------------------------------- */
/* What a lane that holds tiles may have: with roles what these say, or its share of the file. */
int lane_limit(const Solve *s);
/* Registers of roles, as the program says; where the compiler has parted the warps, as many as leave room for
 * the blocks that fit beside this one, of so many bytes of shared memory, without spills. */
RoleRegisters role_registers(const Solve *s, int64_t shared);
/* sol->registers: of loads, once their instructions are known, as many as these take. */
void count_registers(Solve *s);
/* Registers that must live at once whatever the schedule: false when a lane cannot hold them; s->failure. */
bool registers_fit(Solve *s);

/* Registers that a lane is to have at most (.maxnreg); 0: as ptxas likes.  By itself it makes do with
 * fewer, for another block on an SM, and spills where they are too few (where it has to spill, all but 32):
 * it is told where none is to be had. */
int registers_limit(const Solve *s, const LayoutSolution *sol);

/* ---- cost_op.c ------------------------------------------------------------------------------------ */
void cost_op(Solve *s, Op *o); /* fills sol->res[o->id] but for conversions */
void forget_pieces(Solve *s); /* what was counted of global memory */
void memory_instructions(Res *r, double n); /* n warp instructions */
/* Does nothing wait for load o before the next iteration?  A conversion would. */
bool is_prefetched(const Solve *s, const Op *o);
/* A conversion: shuffles and arithmetic of all warps; with scratch, wavefronts of both sides, and
 * accesses. */
void cost_conversion(const Solve *s, const Lowering *p, double shuffles, double steps, const int64_t *waves,
                     double accesses, Res *r);
/* 32-byte sectors that one execution of global access o by all its warps touches, vec elements a lane at a
 * time. */
int64_t global_sectors(const Solve *s, const Op *o, const Layout *map, int vec);
/* Sectors of a tile of that type itself: what comes from L2 however often the warps of a block ask for it, at
 * about the same time; the first-level cache has it from the first of them.  view: NULL, where its elements
 * are not next to each other. */
double tile_sectors(const Solve *s, const Op *view, const Type *t);
/* Bytes a clock and SM of what the view is of: where every block has its own part it comes from DRAM, else
 * others have brought it to L2. */
double memory_rate(const Solve *s, const Op *view);

/* ---- cost_async.c ---------------------------------------------------------------------------------- */
void cost_wgmma(const Solve *s, const Op *o, Res *r);
void cost_boxes(const Solve *s, const Op *o, Res *r); /* of a copy by tensor maps */
void cost_signal(const Op *o, Res *r); /* of a wait for a barrier in memory, or an arrival there */
/* What of r, which o costs, its warps have to do: of copies that end at a barrier the rest is an engine's, or
 * the memory's. */
Res by_warps(const Op *o, const Res *r);
/* What copies into shared memory do for one execution of a wait at the barrier where they end; at others,
 * nothing. */
Res fill_of(const Solve *s, const Op *wait);
/* Clocks from asking for what a wait waits for to its arrival, 0: nothing is copied. */
double fill_wait(const Solve *s, const Op *wait);
/* Is product o under way while its warps go on to the next turn of their loop? */
bool runs_on(const Solve *s, const Op *o);

/* ---- cost_block.c --------------------------------------------------------------------------------- */
/* How often region i of an if runs: one of two versions, the first more often; else the first one always. */
double region_runs(const Op *o, int i);
bool in_loop(const Op *o); /* is o a loop, or in one? */
/* The cycles of one of so many blocks of an SM that each keep its busiest unit so long, and take `alone` by
 * themselves. */
double cost_share(double busy, double alone, int blocks);
/* What a block takes if a loop runs some turns more, or with this of what its time is the most of. */
enum { ROLE_ANY = -1, ROLE_FETCHES, ROLE_TAKES_TURNS, ROLE_COMPUTES, ROLE_WAYS };
typedef struct Question {
	const Op *loop; /* NULL: none */
	double more;
	int role; /* ROLE_ANY: the most */
	/* the answer */
	Res total;
	double alone;
} Question;
void cost_asked(Solve *s, const LayoutSolution *sol, Question *q); /* of a solution whose cost is known */
void cost_block(Solve *s); /* costs all ops; fills sol->cycles and what belongs to it */
/* s->sol, whose cost is known, with its loops rotated (pass prefetch_fragments); NULL: none can be, or a lane has too
 * few registers. */
LayoutSolution *cost_rotated(Solve *s);
/* s->sol, whose cost is known, with copies that so many blocks fetch together. */
LayoutSolution *cost_shared(Solve *s, const bool *shared, int blocks);
#endif
