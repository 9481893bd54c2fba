/* access.h - accesses to memory: bounds and alignment, and what is counted of them. */
#ifndef SIM_ACCESS_H
#define SIM_ACCESS_H
#include "machine.h"

/* mem.c: one lane's access to memory, checked for bounds and alignment.  Returns the host
 * address or NULL after reporting. */
typedef struct Access {
	sim_space space;
	u64 addr;               /* in its space; shared: offset in the block's */
	Alloc *al;              /* global */
	Block *blk;             /* shared: the block it is in */
	u8 *p;
} Access;
bool mem_access(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 bytes, bool write,
                Access *out);
/* All lanes of `mask`: addresses from s[0] + off.  Returns the lanes whose access is good. */
u32 mem_resolve(Warp *w, const Ins *in, const Ref *base, s64 off, sim_space sp, u32 mask, u32 bytes,
                bool write, Access *acc);
/* count.c */
void count_access(Warp *w, const Ins *in, const Access *acc, u32 mask, u32 bytes, bool rd, bool wr);
void count_sectors(Warp *w, const Ins *in, const Access *acc, u32 mask, const u8 *bytes, bool wr);
struct Run;
void count_runs(Warp *w, const Ins *in, const struct Run *run, u32 n, bool wr);
void count_banks(Warp *w, const Ins *in, const u32 *addr, u32 mask, u32 bytes);
void count_matrix(Warp *w, const Ins *in, const u32 *rows, u32 nmat);
/* exec_atom.c: one element, as in->sub and in->type say; returns the old value */
u64 atom_rmw(u8 *p, u32 bytes, const Ins *in, u64 b, u64 c, bool global);
#endif
