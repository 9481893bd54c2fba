/* decode.h - declarations shared by the statement decoders: instruction.c has the common functions, the
 * others the
 * rows. */
#ifndef SIM_DECODE_H
#define SIM_DECODE_H
#include "lib/sim/exec/exec.h"
#include "lib/sim/state/module.h"

struct Dec;
typedef struct IsaRow {
	const char *name;
	u8 cls;
	bool (*dec)(struct Dec *);
	exec_fn *exec;
	const char *pat, *mods;
	u16 id;
} IsaRow;
typedef struct Dec {
	sim_module *m;
	Arena *arena;           /* the module's */
	Fn *f;
	PtxStmt *st;
	Ins *in;
	const IsaRow *row;
	char op[160];
	const char *part[24];   /* of the opcode, without those of the row's name */
	u32 npart;
	u32 used;               /* bit per part */
	PtxType ty[6];
	u32 nty;
} Dec;
bool dec_fail(Dec *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* instruction.c: parts of the opcode are marked used; an unused part is an error. */
bool dec_has(Dec *d, const char *word);         /* the part with this name */
bool dec_first(Dec *d, const char *word);       /* the part after the row's name */
bool dec_follow(Dec *d, const char *first, const char *then); /* both, in this order */
const char *dec_prefix(Dec *d, const char *pre);/* one with this prefix */
bool dec_types(Dec *d);                         /* all that are types */
bool dec_space(Dec *d, sim_space *out);
bool dec_scope(Dec *d);                         /* .cta, .cluster, .gpu or .sys, to Ins.scope */
bool dec_atomic(Dec *d, u8 *op);                /* the operation of an atomic or reduction, AT_ */
/* Requires target sm_`sm` or newer; DEC_LETTER + sm: exactly that, with a letter, as sm_90a; DEC_LETTERS +
 * sm: that or newer, with a letter. what: the feature for the message; NULL, the instruction. */
enum { DEC_LETTER = 1000, DEC_LETTERS = 2000 };
bool dec_needs(Dec *d, u32 sm, const char *what);
Dec dec_start(sim_module *m, Fn *f, PtxStmt *st);
bool dec_stmt(Dec *d);
Ins *dec_emit(Dec *d);                          /* a further instruction of this statement */
/* decode_operand.c */
Ref *dec_room(Dec *d, u32 nd, u32 ns);          /* for Ins.d and Ins.s, contiguous, and one more */
bool dec_src(Dec *d, const Opnd *o, PtxType t, Ref *out);
bool dec_dst(Dec *d, const Opnd *o, PtxType t, Ref *out);
bool dec_psrc(Dec *d, const Opnd *o, s32 *p, bool *neg);
bool dec_pdst(Dec *d, const Opnd *o, s32 *p);
bool dec_imm(const Opnd *o, u64 *v);
bool dec_addr(Dec *d, const Opnd *o, Ref *base, s64 *off, sim_space *space);
bool dec_refs(Dec *d, const Opnd *o, PtxType t, bool dst, u32 want, Ref *out, u32 *n);
void dec_reg(Dec *d, Reg *r);                   /* assigns a unit, if it has none yet */
bool dec_frame(const Dec *d, const Var *v);     /* the variable is in a frame of a .func */
void dec_fp(Dec *d, Ref *out);                  /* its frame pointer */

#define I(id, mnemonic, cls, dec, exec, pat, mods) bool dec_##dec(Dec *d);
#include "lib/sim/ptx/isa.def"
/* Decoders that others delegate to. */
bool dec_pbool(Dec *d), dec_tmprefetch(Dec *d);
/* mma_operands.c */
PtxType type_family(PtxType t);                       /* the representative of types that may be mixed */
bool dec_shape(Dec *d);                         /* .m16n8k16 to Ins.mma */
bool dec_layouts(Dec *d, bool any);             /* .row.col, or any two, to Ins.mma */
void dec_product(Dec *d, PtxType a, PtxType b, PtxType c, PtxType dt);
bool dec_satfinite(Dec *d, PtxType ab);
u32 fragment_regs(u32 elements, PtxType t);     /* of a warp */
/* Operands 0 to 3 as registers of D, A, B and C. Returns where one more source fits after them; NULL:
 * reported. */
Ref *dec_fragments(Dec *d, u32 nd, u32 na, u32 nb, u32 nc);
/* decode_mma.c: .and.popc or .xor.popc of single-bit MMAs, to Ins.mma */
bool dec_bit_op(Dec *d, bool bits);
/* decode_mma.c: metadata of a sparse A and their selector, as the last source */
bool dec_metadata(Dec *d, const Opnd *o, Ref *r, u32 k, u32 bits);
/* decode_wgmma.c */
bool wgmma_mark(sim_module *m, u32 units);      /* sets Ins.wg; false if there is no wgmma */
/* var_layout.c: addresses and initial values */
bool place_vars(sim_module *m);
/* link.c */
bool decode_module(sim_module *m);
/* address_base.c: sets Ins.owner */
void find_owners(sim_module *m, const Fn *f);
/* reconvergence.c */
void cfg_reconverge(sim_module *m, Fn *f);
#endif
