/* memcheck.h - memory accesses: bounds and alignment checks, and counts. */
#ifndef SIM_ACCESS_H
#define SIM_ACCESS_H
#include "lib/sim/state/execution.h"

/* memcheck.c: one lane's access to memory, checked for bounds and alignment. mem_access returns false after
 * reporting a fault. */
typedef struct MemAccess {
	sim_space space;
	u64 addr;               /* in its space; shared: offset in the block's */
	Alloc *al;              /* global */
	Cta *cta;               /* shared: the block it is in */
	u8 *p;
} MemAccess;
bool mem_access(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 bytes, bool write,
                MemAccess *out);
/* All lanes of `mask`: addresses from s[0] + off. Returns the lanes whose access is valid. */
u32 mem_resolve(Warp *w, const Ins *in, const Ref *base, s64 off, sim_space sp, u32 mask, u32 bytes,
                bool write, MemAccess *acc);
/* Lane of w accesses shared memory of another block, which must be alive, and stay so. */
bool cluster_reach(Warp *w, const Ins *in, int lane, Cta *b, u32 off, u32 bytes);
/* mem_counters.c */
void count_access(Warp *w, const Ins *in, const MemAccess *acc, u32 mask, u32 bytes, bool rd, bool wr);
void count_sectors(Warp *w, const Ins *in, const MemAccess *acc, u32 mask, const u8 *bytes, bool wr);
/* Contiguous bytes of global memory that belong to a copy. */
typedef struct ByteRange {
	Alloc *al;
	u64 addr;
	u32 at, n;              /* offset in the copy's data; bytes */
} ByteRange;
void count_runs(Warp *w, const Ins *in, const ByteRange *run, u32 n, bool wr);
void count_banks(Warp *w, const Ins *in, const u32 *addr, u32 mask, u32 bytes);
void count_matrix(Warp *w, const Ins *in, const u32 *rows, u32 nmat);
#endif
