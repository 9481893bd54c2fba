/* base.h - what every file of the simulator uses: integers, the types of PTX, lanes, the arena.
 *
 * The files.  Pipeline of a load:  text -> lex.c -> parse*.c (ptx.h) -> vars.c -> decode*.c,
 * link.c (ins.h) -> cfg.c (where lanes meet again).  Pipeline of a launch:  launch.c -> sched.c,
 * paths.c (blocks, warps, divergence: machine.h) -> alu.c and exec_*.c (one Ins for 32 lanes)
 * -> mem.c (access.h), check.c (shadow.c, granule.c), order.c, taint.c (check.h), count.c
 * -> roofline.c.  view.c looks on.
 */
#ifndef SIM_BASE_H
#define SIM_BASE_H
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

enum { WARP = 32, MAX_WARPS = 32 };       /* lanes of a warp; warps of a block */
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
	X(none, 0) X(pred, 1) X(b1, 1) X(u2, 2) X(s2, 2) X(u4, 4) X(s4, 4) \
	X(b8, 8) X(u8, 8) X(s8, 8) X(e4m3, 8) X(e5m2, 8) \
	X(b16, 16) X(u16, 16) X(s16, 16) X(f16, 16) X(bf16, 16) X(e4m3x2, 16) X(e5m2x2, 16) \
	X(b32, 32) X(u32, 32) X(s32, 32) X(f32, 32) X(tf32, 32) X(f16x2, 32) X(bf16x2, 32) \
	X(u16x2, 32) X(s16x2, 32) \
	X(b64, 64) X(u64, 64) X(s64, 64) X(f64, 64) X(f32x2, 64) X(b128, 128)
typedef enum Type {
#define X(n, b) T_##n,
	PTX_TYPES(X)
#undef X
	T_COUNT
} Type;
u32 type_bits(Type t);
bool type_signed(Type t);
bool type_float(Type t);
const char *type_name(Type t);
bool type_find(const char *s, size_t n, Type *out);

/* ---- arena: everything of a module; no single frees; failure jumps ---- */
typedef struct Chunk Chunk;
typedef struct Arena {
	Chunk *head;
	size_t used, cap;
	jmp_buf *fail;          /* out of memory: longjmp here */
} Arena;
void *arena_get(Arena *a, size_t bytes);        /* zeroed, 16-byte aligned */
char *arena_str(Arena *a, const char *s, size_t n);
void sim_arena_free(Arena *a);
/* Grow *v (elements of `size`) so that index n is valid; new capacity in *cap. */
void *sim_arena_grow(Arena *a, void *v, u32 n, u32 *cap, size_t size);
#endif
