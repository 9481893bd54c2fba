/* support.h - shared by all folders: one arena per compilation, growing text, small macros, integers.
 *
 * Memory.  Everything that a compilation allocates lives in one Arena and is freed with it.  Allocation
 * never returns NULL: when memory or a limit runs out, the arena longjmps to the one setjmp of the
 * compilation (lib/compile.c) with the reason.  The jump skips only hexc's own frames: no arena call is
 * made from inside an LLVM callback. */
#ifndef HEXC_SUPPORT_H
#define HEXC_SUPPORT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN __attribute__((noreturn))
#else
#define PRINTF_LIKE(fmt, args)
#define NORETURN
#endif

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Reason why a compilation stopped early. */
typedef enum ArenaFail {
	ARENA_NOMEM = 1, /* realloc failed, or max_memory was reached */
	ARENA_LIMIT = 2, /* the step budget is spent, or cancel() returned true */
	ARENA_BUG = 3,   /* BUG_IF fired: an internal contract is broken */
} ArenaFail;

typedef struct ArenaChunk ArenaChunk;

/* All memory and every budget of one compilation. */
typedef struct Arena {
	void *(*realloc)(void *user, void *p, size_t n); /* n == 0 frees; never NULL here */
	int (*cancel)(void *user);                       /* NULL: cannot be cancelled */
	void *user;
	ArenaChunk *head;      /* newest chunk */
	size_t used, capacity; /* bytes used and available in the newest chunk */
	size_t held, limit;    /* bytes held in all chunks; 0: no limit */
	uint64_t steps, max_steps; /* search steps done and allowed; 0: no limit */
	uint64_t work, asked_at;   /* work done, and its value at the last call of cancel() */
	jmp_buf *fail;         /* target of arena_fail, with an ArenaFail */
	const char *why;       /* static text of the broken contract, for ARENA_BUG */
} Arena;

/* realloc and free with the signature of arenas' and hosts' hooks; `user` is ignored. */
void *libc_realloc(void *user, void *p, size_t n);
/* Starts an empty arena.  `fn` may be NULL (libc).  Cannot fail: the first chunk is allocated on use. */
void arena_init(Arena *a, void *(*fn)(void *, void *, size_t), void *user);
/* Frees every chunk.  The arena may be used again. */
void arena_free(Arena *a);
/* Returns `n` zeroed bytes, aligned to 16.  Never NULL; on failure jumps to arena->fail. */
void *arena_alloc(Arena *a, size_t n);
/* Returns an array grown to `n` elements of `size` bytes; contents are kept, the new part is zeroed. */
void *arena_grow(Arena *a, const void *old, size_t old_n, size_t n, size_t size);
/* Returns a copy of `n` bytes at `s` with a NUL appended. */
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
NORETURN void arena_fail(Arena *a, ArenaFail code, const char *why);
/* Fails with ARENA_LIMIT if cancel() returns true. */
void arena_poll(Arena *a);
/* Counts one step of a search; fails with ARENA_LIMIT if the budget is spent or cancel() returns true. */
void arena_step(Arena *a);

enum { ARENA_WORK = 1 << 16 }; /* units of work between calls of cancel() */

/* Counts n units of work of some nanoseconds each, such as visiting an op or comparing list elements.  Fails
 * with ARENA_LIMIT if cancel() returns true, which is called every few milliseconds.  arena_alloc and
 * walk_next count their own work; a loop that uses neither must call this. */
static inline void
arena_work(Arena *a, size_t n)
{
	a->work += n;
	if (a->work - a->asked_at >= ARENA_WORK)
		arena_poll(a);
}

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEWN(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))
#define BUG_STR2(x) #x
#define BUG_STR(x) BUG_STR2(x)
/* Checks a contract between stages: failure means HEXC_E_INTERNAL, never abort(). */
#define BUG_IF(a, cond)                                                                            \
	do {                                                                                       \
		if (cond)                                                                          \
			arena_fail((a), ARENA_BUG, __FILE__ ":" BUG_STR(__LINE__) ": " #cond);     \
	} while (0)

/* Growing text in an arena; always NUL-terminated once something was added. */
typedef struct Text {
	Arena *arena;
	char *s;
	size_t n, cap;
} Text;

void text_printf(Text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void text_add(Text *t, const char *s, size_t n);

/* Returns the number of letters to insert, remove or replace to turn a into b; only the first EDIT_LETTERS of
 * each are compared. */
enum { EDIT_LETTERS = 63 };
int edit_distance(const char *a, const char *b);

/* ---- integers ---------------------------------------------------------------------------------- */

/* *r = x + y, x * y; false on overflow. */
bool add64(int64_t x, int64_t y, int64_t *r);
bool mul64(int64_t x, int64_t y, int64_t *r);
int64_t gcd64(int64_t x, int64_t y); /* of magnitudes; gcd(0, x) = x */
int log2_floor(int64_t x);           /* of x > 0; 0 for less */

static inline int64_t
min64(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

static inline int64_t
max64(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

/* x / c rounded down, for c > 0. */
static inline int64_t
floor_div(int64_t x, int64_t c)
{
	return x / c - (x % c < 0);
}

/* x / c rounded up, for x >= 0 and c > 0. */
static inline int64_t
ceil_div(int64_t x, int64_t c)
{
	return x / c + (x % c != 0);
}

/* The least multiple of c > 0 that is >= x, for x >= 0. */
static inline int64_t
align_up(int64_t x, int64_t c)
{
	return ceil_div(x, c) * c;
}

static inline bool
is_pow2(int64_t x)
{
	return x > 0 && (x & (x - 1)) == 0;
}

/* The largest power of two that divides x; 0 for 0. */
static inline int64_t
pow2_part(int64_t x)
{
	return (int64_t)((uint64_t)x & -(uint64_t)x);
}

#if defined(__GNUC__)
#define CTZ64(x) __builtin_ctzll((unsigned long long)(x))
#else
#define CTZ64(x) ctz64(x)
static inline int
ctz64(int64_t x)
{
	int n = 0;

	while (!(x >> n & 1))
		n++;
	return n;
}
#endif

/* a / b for a >= 0, b > 0.  Most extents are powers of two, and the 32-bit divider is several times
 * faster than the 64-bit one. */
static inline int64_t
fast_div(int64_t a, int64_t b)
{
	if ((b & (b - 1)) == 0)
		return a >> CTZ64(b);
	if ((((uint64_t)a | (uint64_t)b) >> 32) == 0)
		return (int64_t)((uint32_t)a / (uint32_t)b);
	return a / b;
}

/* ---- vectors ----------------------------------------------------------------------------------- */

/* Appends an element to an arena array that doubles: VEC_PUSH(arena, ptr, count, capacity, value) */
#define VEC_PUSH(a, ptr, n, cap, value)                                                            \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? (cap) * 2 : 8;                                             \
			(ptr) = arena_grow((a), (ptr), (size_t)(n), (size_t)(cap), sizeof *(ptr)); \
		}                                                                                  \
		(ptr)[(n)++] = (value);                                                            \
	} while (0)
#endif
