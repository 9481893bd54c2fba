/* gen.h - one kernel being emitted.
 *
 * Words.  A lane's part of a register tile is an array of SSA values, never memory.  Element r of a
 * type of b < 32 bits lives in word r*b/32, packed little-endian, where b is a power of two: types of 3
 * bits have places of 4, those of 5, 6 and 7 places of 8 (dtype_place), what is above the element being
 * open.  Wider ones and bool take a word each:
 *	f32 float   f64 double   i64/u64 i64   bool i1   everything else i32
 * A scalar is a tile of one register.  A tile in a spread order (hexc/ir/spread.h) has its groups' words.
 *
 * Pull.  An op without effect is not emitted where it stands: it leaves a Tile with a `pull` rule, and
 * whoever needs word w of its result calls word_get, which emits just the instruction instance that
 * makes that word (and remembers it).  So in a dot, loads, dequantization and mma of a step end up
 * together, and few registers are alive.  Reads of shared memory that nobody has pulled are forced,
 * in program order, before anything that may change what they read (gen_flush) and before a region
 * starts or ends; values used inside a region are forced before it, so every word dominates its
 * uses.
 *
 * Control flow is uniform over the block: every place in a kernel is reached by all threads
 * together, so collective instructions may be emitted anywhere. */
#ifndef HEXC_PTXGEN_GEN_H
#define HEXC_PTXGEN_GEN_H
#include "infer/base/instr.h"
#include "ptxgen/llvm.h"

typedef LLVMValueRef LV;

enum { AF_MEM = 1, AF_WARP = 2 };
typedef enum AsmId {
#define ASM(name, flags, features, text, cons) A_##name,
#include "ptxgen/asm.def"
	A_COUNT
} AsmId;
typedef struct AsmInfo {
	const char *name;
	int flags;
	unsigned features;
	const char *text, *cons;
} AsmInfo;
extern const AsmInfo asm_info[A_COUNT];

typedef struct Gen Gen;
/* Emit word w of the op's result; it may set others of the same instance too. */
typedef void (*PullFn)(Gen *g, Op *o, int w);

typedef struct Tile {
	Val *v;
	DType dtype;
	const Layout *l; /* NULL: scalar */
	int nreg;        /* elements of a lane */
	int epw, nword;  /* elements per word, words of a lane */
	LV *word;        /* NULL: not emitted yet */
	PullFn pull;
	void *plan;      /* what the op's visit prepared for pull */
	bool remat;      /* words are cheap: made anew at each use, never kept */
	int depth;       /* pulls that a pull may nest */
} Tile;

struct Gen {
	Unit *u;
	Kernel *k;
	Arena *a;
	Session *s;
	LLVMContextRef ctx;
	LLVMBuilderRef b, pre;
	LV fn;
	LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, h2, ptr1, nothing;
	LV tid, lane, warp; /* i32; lane < 32 */
	LV smem;            /* i32: shared address of the block's dynamic memory; NULL until asked for */
	Tile **tile;        /* by Val.id; NULL: not visited */
	LV *arg;            /* kernel arguments, by parameter */
	struct Read {       /* shared loads not wholly pulled, in program order */
		Op *op;
		Val *root;
	} *read;
	int nread, read_cap;
	const char *ptext[INSTR_COUNT]; /* predicated text of instruction rows, made when first used */
	const char *pcons[INSTR_COUNT];
};

/* ---- gen.c: tiles and pulling ---------------------------------------------------------------- */

/* Memory of n words. */
LV *lv_array(Gen *g, int n);
Tile *tile_new(Gen *g, Val *v);          /* words all NULL */
Tile *tile_of(Gen *g, const Val *v);     /* of a visited value */
/* The result of o is made word by word, when asked for. */
Tile *tile_lazy(Gen *g, Op *o, PullFn pull, void *plan);
LV word_get(Gen *g, Val *v, int w);
void tile_force(Gen *g, Val *v);         /* pull all words */
LV scalar_get(Gen *g, Val *v);
int64_t tile_reg(Gen *g, const Val *v, const int64_t *coord); /* register of an element */
void tile_coord(const Tile *t, int64_t reg, int64_t *coord);  /* what lane 0 of warp 0 holds there */
/* Remember a shared load that is not wholly pulled yet. */
void gen_reads(Gen *g, Op *o, Val *root);
/* Force remembered loads: all, or those of one root. */
void gen_flush(Gen *g, const Val *root);
/* Before a region: force what its ops use from outside. */
void gen_enter(Gen *g, Block *b);
void gen_block(Gen *g, Block *b);        /* visit all ops but the yield */
void gen_unsupported(Gen *g, const Op *o, const char *what);
#define OP(name, in, out, flags, shape, layout, emit, eval) void emit_##emit(Gen *g, Op *o);
#include "hexc/ir/ops.def"

/* ---- entry.c --------------------------------------------------------------------------------- */

bool gen_kernel(Session *s, Unit *u, Kernel *k);
LV smem_base(Gen *g);

/* ---- asm.c ----------------------------------------------------------------------------------- */

/* One short sequence; its result or NULL. */
LV asm_op(Gen *g, AsmId id, LV x, LV y, LV z);
/* One instance of an instruction row.  `in`: inputs in order of the template; `exec`: i1, lanes
 * that take part, NULL: all.  cp.async: the last input is the number of bytes to read (i32),
 * constant or not. */
void asm_instr(Gen *g, const Instr *i, const LV *in, int nin, LV exec, LV *out);
/* The predicated form of a row's text and constraints (the predicate is the last operand). */
void instr_predicated(Arena *a, const Instr *i, const char **text, const char **cons);
/* Operands of a constraint string: outputs and inputs.  False: a letter we do not use. */
bool cons_count(const char *cons, int *nout, int *nin);
/* Largest $i in a text, -1 without. */
int text_operands(const char *text);

/* Most elements of a word. */
enum { WORD_ELEMS = 32 };

/* ---- word.c: types, words, elements ---------------------------------------------------------- */

int dtype_per_word(DType d);                  /* elements per word */
LLVMTypeRef word_type(Gen *g, DType d);
LV word_zero(Gen *g, DType d);
LV const_i32(Gen *g, int64_t x);
LV const_i64(Gen *g, int64_t x);
LV const_f32(Gen *g, double x);
LV as_i32(Gen *g, LV word);               /* bits of a float or i32 word */
LV as_f32(Gen *g, LV word);
LV as_h2(Gen *g, LV word);                /* <2 x half> */
LV from_h2(Gen *g, LV x);
LV prmt(Gen *g, LV lo, LV hi, unsigned selector);
/* Numbers.  Elements to compute with: f16, bf16, f32 as float, integers up to 32 bits as i32
 * holding the value, the rest as its word.  Packing rounds and wraps. */
LV elem_get(Gen *g, Val *v, int64_t r);
LV elem_unpack(Gen *g, DType d, LV word, int pos);
LV elem_pack(Gen *g, DType d, const LV *e, int n);
/* Bits.  Move elements without looking at them: word `word[i]`, element `pos[i]`, for i < n. */
LV bits_gather(Gen *g, DType d, const LV *word, const int *pos, int n);
LV word_splat(Gen *g, DType d, LV word);  /* element 0 in every place */
LV word_const(Gen *g, DType d, int64_t i, double f); /* every element i (integers) or f (floats) */
/* ---- stream.c: elements that lie across bytes ------------------------------------------------ */

enum { PIECES_MAX = 7 }; /* instructions of one access: dtype_pieces */
/* As many elements as a word has places, each in its place, from bit `at` of two words of a stream on; the
 * second may be NULL where the stream ends. */
LV stream_places(Gen *g, DType d, const LV *two, int at);
/* `count` elements, packed in words by places, as a stream of words; their number. */
int stream_pack(Gen *g, DType d, const LV *word, int count, LV *out);
/* Parts of `bits` (8 or 16), each in the low bits of its own value, as words; their number. */
int stream_join(Gen *g, int bits, const LV *part, int n, LV *out);
/* Part i of so many bits of a stream of words. */
LV stream_part(Gen *g, int bits, const LV *stream, int i);

/* f32 to the nearest bf16, as the low 16 bits of an i32, where the machine has no instruction */
LV f32_to_bf16_bits(Gen *g, LV x);

/* ---- place.c: layouts as lane arithmetic ----------------------------------------------------- */

/* Coordinate d of what this thread's register 0 holds (i32, entry block): lane and warp digits. */
LV lane_coord(Gen *g, const Layout *l, int d);
/* The thread's digits of dim d on one axis (lane or warp) alone, as one number from 0 (i32, entry
 * block). */
LV axis_digits(Gen *g, const Layout *l, int d, Axis axis);
/* i1: this thread holds the first replica; NULL: there is only one. */
LV lane_first(Gen *g, const Layout *l);
/* Bits that lane_coord(d) may have; false: extents or weights are not powers of two. */
bool lane_coord_bits(Gen *g, const Layout *l, int d, uint64_t *bits);
/* A function of the lane given by its 32 values (i32, entry block). */
LV lane_table(Gen *g, const int *value);
LV lane_mask(Gen *g, uint32_t mask);      /* i1: bit `lane` of the mask */

/* ---- others that several files use ----------------------------------------------------------- */

/* The row picked for o, of that kind; on a mismatch a bug. */
const Instr *pick_instr(Gen *g, const Op *o, InstrKind kind);
const Instr *mem_instr(Gen *g, InstrKind kind, int bits);
void emit_block_barrier(Gen *g);
LV elt_number(Gen *g, const Op *o, DType d, const LV *e); /* one element of an elementwise op */
LV cast_number(Gen *g, DType to, DType from, LV e);
bool cast_word_fast(Gen *g, Op *o, int w);
bool elt_word_fast(Gen *g, Op *o, int w);
#endif
