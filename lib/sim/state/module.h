/* module.h - the device: modules, their code, and allocations of global memory. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H
#include "lib/sim/state/ins.h"

/* Address map.  Shared, local and parameter addresses are offsets in their own spaces; the
 * generic address adds the window. */
#define WIN_SHARED 0x00007f0000000000ull
#define WIN_LOCAL  0x00007f1000000000ull
#define WIN_PARAM  0x00007f2000000000ull
#define WIN_BYTES  0x0000000020000000ull
#define WIN_CODE   0x00007fc000000000ull        /* addresses of functions */
#define WIN_CODE_STEP 16ull                     /* between two of them */
#define GLOBAL_BASE 0x0000100000000000ull

/* ---- memory ---- */
typedef struct ShadowCell { u64 a, b; } ShadowCell;         /* see sanitizer/shadow_cell.h */
typedef struct WordRec { u64 *w, *r[2]; } WordRec;      /* see sanitizer/racecheck_fast.c */
enum { SHARED_SLOTS = 4, GLOBAL_SLOTS = 3, PAGE_WORDS = 1024 };

typedef struct Alloc {
	u64 base, size;
	u8 *data, *init;        /* init: 1 per written byte */
	void *raw;
	bool freed, readonly;
	bool full;              /* all bytes written: init need not be read */
	char name[48];
	ShadowCell **page;            /* race shadow of a launch */
	ShadowCell **granule;         /* the same for pages that are only read, per 16 bytes */
	u8 *sect[2];            /* sectors accessed in a launch: read, written; one bit each */
	u8 *lock;               /* one per page */
} Alloc;

struct sim {
	Alloc **alloc;          /* by address; never moved while a launch runs */
	u32 nalloc, calloc_;
	u64 next;
	sim_module *modules;
	u64 heap;               /* allocation that kernels' malloc divides, 0: none yet */
	struct HeapBlock {
		u32 at, size;
	} * heap_block; /* in use, by address */
	u32 nheap, cheap;
	Messages messages;
};

typedef struct KnownOp {        /* an existing opcode: its row of isa.def, and the row's words among its
                                 * parts */
	const char *op;
	const struct IsaRow *row;
	u32 taken;
} KnownOp;

struct sim_module {
	Ptx ptx;
	sim_module *next;
	sim *s;
	Ins *code;
	u32 ncode, ccode;
	u32 *constants;                 /* constant planes */
	u32 nconstants, cconstants;     /* units */
	u32 fn_units, fn_preds;                 /* registers of all .func */
	u64 *allocs;            /* device addresses of variables */
	u32 nallocs, callocs;
	u32 smem;               /* shared variables of more than one user */
	bool wgmma;             /* has wgmma or setmaxnreg */
	KnownOp known[256];
};

/* alloc.c */
enum { ALLOC_GUARD = 4096 };    /* bytes without an allocation after each */
Alloc *mem_find(const sim *s, u64 addr);
Alloc *mem_new(sim *s, u64 bytes, const char *name);
void mem_drop(Alloc *al);
#endif
