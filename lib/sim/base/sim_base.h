/* sim_base.h - declares what every file of the simulator uses: integer types, lane loops and the PTX types.
 *
 * Components, each built only on those listed before it:
 *	base       integers, lanes, types, rounding, messages
 *	ptx        text to functions and statements: lex.c, parse.c and its parts (ptx.h); the instruction
 *	           set as tables: isa.def, opcode_syntax.def, special_register.h
 *	state      decoded instructions (ins.h), modules and memory (module.h), a launch in progress
 *	           (execution.h, sync.h), its faults
 *	sanitizer  memcheck, racecheck, initcheck and synccheck; counts of memory accesses
 *	exec       executes one instruction for the 32 lanes of a warp
 *	decode     statements to instructions (instruction.c and a file for each kind), link.c, the
 *	           reconvergence points of branches (reconvergence.c)
 *	launch     workers, clusters, blocks, warp scheduling; hangs; results and the roofline
 * sim.c and sim_mem.c above them implement the public functions of sim.h.
 */
#ifndef SIM_BASE_H
#define SIM_BASE_H
#include "lib/sim/sim.h"
#include "taskmap/support/support.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

enum { WARP = 32, MAX_WARPS = 32 };     /* lanes of a warp; warps of a block */
#define ALL_LANES 0xffffffffu

static inline u32
popcount(u32 x)
{
	return (u32)__builtin_popcount(x);
}
static inline int
low_lane(u32 x)
{
	return __builtin_ctz(x);
}
#define FOR_LANES(l, mask) \
	for (u32 rest_ = (mask); rest_ && ((l) = low_lane(rest_), 1); rest_ &= rest_ - 1)

/* Rounding: to nearest even, to zero, down, up, to nearest away from zero. */
enum { RN, RZ, RM, RP, RNA };

/* ---- types ---- */
/*	name   bits */
#define PTX_TYPES(X) \
	X(none, 0) X(pred, 1) X(b1, 1) X(u2, 2) X(s2, 2) X(u4, 4) X(s4, 4) X(e2m1, 4) \
	X(b8, 8) X(u8, 8) X(s8, 8) X(e4m3, 8) X(e5m2, 8) X(ue4m3, 8) X(ue8m0, 8) \
	X(b16, 16) X(u16, 16) X(s16, 16) X(f16, 16) X(bf16, 16) X(e4m3x2, 16) X(e5m2x2, 16) \
	X(b32, 32) X(u32, 32) X(s32, 32) X(f32, 32) X(tf32, 32) X(f16x2, 32) X(bf16x2, 32) \
	X(u16x2, 32) X(s16x2, 32) \
	X(b64, 64) X(u64, 64) X(s64, 64) X(f64, 64) X(f32x2, 64) X(b128, 128)
typedef enum PtxType {
#define X(n, b) T_##n,
	PTX_TYPES(X)
#undef X
	T_COUNT
} PtxType;
/* type.c */
u32 type_bits(PtxType t);
bool type_signed(PtxType t);
bool type_float(PtxType t);
const char *type_name(PtxType t);
bool type_find(const char *s, size_t n, PtxType *out);
#endif
