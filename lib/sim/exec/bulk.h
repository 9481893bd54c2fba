/* bulk.h - bulk copies: declarations shared by their decoder and the files that execute them. */
#ifndef SIM_BULK_H
#define SIM_BULK_H
#include "lib/sim/exec/tmap.h"

typedef enum BulkDir {
	B_LOAD,                 /* global to shared memory, completes on an mbarrier */
	B_SEND,                 /* shared memory to that of another block, likewise */
	B_STORE,                /* shared to global memory, completes as part of a bulk group */
	B_FETCH                 /* prefetch of global memory */
} BulkDir;

/* A decoded operand in [ ]: a register or constant, and an offset. */
typedef struct BulkAddr { Ref base; s64 off; } BulkAddr;

/* Operands by name, which do not fit into Ins. */
typedef struct BulkArg {
	BulkDir dir;
	bool reduce;
	u8 op;                  /* of a reduction, AT_; its type is Ins.type if not a tensor */
	bool own;               /* destination .shared::cta */
	bool multicast;
	bool im2col, offsets;
	u8 rank;                /* tensor: its dimensions; 0: plain bytes */
	BulkAddr dst, src;      /* memory; of a tensor, the global one is the map's address */
	BulkAddr mbar;
	Ref size, mask, coord[5], off[3];
} BulkArg;

/* One issued copy or reduction. Data is staged in the order of the box, without swizzle: read from the source
 * late, written to the destination later. */
typedef struct Bulk {
	PendingOp f;               /* B_LOAD, B_SEND */
	struct Bulk *next;      /* B_STORE: of the same warp, oldest first */
	Warp *w;
	const Ins *in;
	int lane;
	u32 group;              /* B_STORE: bulk group of the lane */
	bool have;              /* the source has been read */
	bool idle;              /* no data moves: a fault was reported. It only completes */
	bool reported;          /* part of its global memory does not exist, which was reported */
	u32 sh;                 /* shared address: of the source, or in every destination block */
	u32 to;                 /* B_SEND: address in the destination block */
	u32 mbar;
	u32 ranks;              /* destination blocks, one bit each */
	u32 bytes;
	const sim_tmap_desc *d; /* NULL: plain */
	u32 nrun;
	ByteRange *run;
	u8 *data, *def;
} Bulk;

/* bulk.c */
void bulk_finish(Cta *b);
void bulk_free(Warp *w);
Bulk *bulk_new(Warp *w, const Ins *in, int lane, u32 bytes, u32 runs, const sim_tmap_desc *d);
/* All operands but the data are known: checks the accesses, counts them, and puts it in flight. */
void bulk_issue(Bulk *k);
int bulk_issued(Warp *w);                       /* the return value of the instruction after that */
/* bulk_operand.c */
/* Shared memory [addr, addr + bytes) of any block of the cluster, aligned to `align`. */
bool bulk_shared(Warp *w, const Ins *in, int lane, u64 addr, u32 bytes, u32 align, MemAccess *a);
/* Resolves destination blocks and mbarrier of a copy that has one. */
bool bulk_target(Bulk *k, const MemAccess *dst);
/* Adds the global bytes [addr, addr + n), which hold data[at...]; out-of-bounds bytes are reported and
 * omitted. */
void bulk_run(Bulk *k, u64 addr, u32 at, u32 n);
u64 bulk_value(const Warp *w, const BulkAddr *a, int lane);
void bulk_use_addr(Warp *w, const Ins *in, const BulkAddr *a, u32 mask, const char *what);
/* Reports it; returns false. */
bool bulk_misaligned(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 align);
/* bulk_data.c */
bool bulk_reduces(u32 op, PtxType t, bool shared);      /* does a reduction exist for this type? */
/* Do two stores of equally many bytes have the same source data now? */
bool bulk_alike(const Bulk *k, const Bulk *other);
/* Checks its reads and writes when it is issued; `again`: another copy in flight writes the same data. */
void bulk_check(const Bulk *k, bool again);
void bulk_read(Bulk *k);                        /* stages the source, once; an idle copy reads nothing */
void bulk_write_global(Bulk *k);
void bulk_write_shared(Bulk *k, Cta *b, u32 base);      /* at `base` of b's shared memory */
#endif
