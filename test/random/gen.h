/* gen.h - generation of random tile programs.
 *
 * The generator tracks the shape, type and maximum magnitude of every value. So a program is valid, does not
 * overflow, and has a result that can be judged. A value whose bits depend on the order of additions or on an
 * approximation is `loose`, and no discontinuous operation (comparison, cast to integer) is applied to it.
 */
#ifndef GEN_H
#define GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Dt { F16,
	          BF16,
	          F32,
	          F64,
	          I8,
	          U8,
	          I16,
	          U16,
	          I32,
	          U32,
	          I64,
	          U4,
	          I4,
	          BOOL,
	          NDT } Dt;
enum { MAX_VAL = 200,
       MAX_TENSOR = 40,
       MAX_SIZE = 40,
       RANKS = 4,
       TEXT = 1 << 16 };

typedef struct Val {
	char name[24];
	Dt t;
	int rank, e[RANKS];
	double mag; /* no element is larger in magnitude */
	bool whole; /* floats: integers that the type holds exactly */
	bool loose; /* not determined to the bit */
	bool shared; /* a tile in shared memory */
	bool var; /* may be assigned */
	bool used;
} Val;

typedef struct Tensor {
	Dt t;
	int rank;
	double mag;
	bool whole;
} Tensor;

typedef struct Text {
	char s[TEXT];
	int n;
} Text;

typedef struct Gen {
	uint64_t rng;
	Text args, params, assumes, body;
	Val val[MAX_VAL];
	int nval, nname, nsize, nout;
	Tensor in[MAX_TENSOR];
	int nin;
	int grid[2];
	int depth; /* of blocks */
	int busy; /* vals from here on are not to be read: the vars of the loop being written */
	char iv[24]; /* loop counter in elements, empty outside of loops */
	int iv_step, iv_end;
	bool async; /* directly in the body of a pipeline */
} Gen;

/* gen.c */
int below(Gen *g, int n); /* 0 .. n-1 */
bool chance(Gen *g, int percent);
void put(Text *t, const char *fmt, ...);
void line(Gen *g, const char *fmt, ...); /* one indented line of the body */
const char *dt_name(Dt t);
bool is_float(Dt t);
bool is_arith(Dt t);
double dt_max(Dt t); /* largest magnitude that the generator lets a type reach */
double dt_whole(Dt t); /* integers up to here are exact */
Val *new_val(Gen *g, Dt t, int rank, const int *e); /* named, not yet declared */
void fit(Val *v); /* after setting mag: wrap integers, decide whether still whole */
int elements(const Val *v);
int extent(Gen *g);
Val *pick(Gen *g, bool (*want)(const Val *, const void *), const void *with); /* or NULL */
const char *dims(const Val *v, char *to); /* "16, 8" */

/* gen_memory.c */
Val *load(Gen *g, Dt t, int rank, const int *e);
void store(Gen *g, Val *v);

/* gen_shared.c */
Val *to_shared(Gen *g);
Val *part(Gen *g);
Val *buffer(Gen *g);
void ring(Gen *g);
void ahead(Gen *g);

/* gen_ops.c */
Val *cast(Gen *g, Val *v, Dt t);
Val *arith(Gen *g, Val *v); /* v, cast to a type with arithmetic where it has none */
Val *unary(Gen *g);
Val *binary(Gen *g);
Val *choose(Gen *g);
Val *index_tile(Gen *g);
Val *rearrange(Gen *g);
Val *reduce(Gen *g);
Val *dot(Gen *g, const Val *acc); /* a fresh product, or a nameless one that acc += it */
Val *products(Gen *g); /* of a batch of matrices */

/* gen_parts.c */
Val *parts(Gen *g); /* scans, extremes, slices, joins, chosen rows */

/* gen_calls.c */
extern const char *const functions; /* what stands in front of a program */
Val *fold(Gen *g);
Val *bits(Gen *g);
Val *table(Gen *g);
Val *narrow(Gen *g);

/* gen_access.c */
Val *chosen(Gen *g);
Val *histogram(Gen *g);
void atomic(Gen *g);
void store_steps(Gen *g);

/* gen_loops.c */
void loops(Gen *g, char *grid, size_t cap); /* all of a program; its grid, as text */

/* gen_flow.c */
void loop(Gen *g);
void turns(Gen *g); /* a while, or a for that is left or counts down */
void branch(Gen *g);
bool operation(Gen *g); /* a random one that makes a value */

#endif
