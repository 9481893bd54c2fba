/* exec.h - the functions that execute instructions for the lanes of a warp. */
#ifndef SIM_EXEC_H
#define SIM_EXEC_H
#include "lib/sim/state/ins.h"

#define I(id, mnemonic, cls, dec, exec, pat, mods) exec_fn exec_##exec;
#include "lib/sim/ptx/isa.def"
/* Functions that decoders select instead of the row's. */
exec_fn exec_builtin, exec_frame, exec_ldparam, exec_lds, exec_lop3p, exec_mma884, exec_mmab1,
	exec_pack, exec_pbool, exec_sreg, exec_sts, exec_tmprefetch;

/* alu_table.c: the function of a row for a type; NULL: there is none */
alu_fn *alu_find(u32 id, PtxType t, bool plain);
alu_fn *rel_find(PtxType t);                    /* three-way compare: 1 <, 2 =, 4 >, 8 unordered */
alu_fn *testp_find(PtxType t, const char *what);
/* atom.c: one element by AT_ operation and type; returns the old value */
u64 atom_rmw(u8 *p, u32 bytes, u32 op, PtxType t, u64 b, u64 c, bool global);
#endif
