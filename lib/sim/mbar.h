/* mbar.h - what the files of mbarriers share; sync.h has what others use of them. */
#ifndef SIM_MBAR_H
#define SIM_MBAR_H
#include "machine.h"

enum { COUNT_MAX = (1 << 20) - 1, PHASE_MASK = (1 << 24) - 1 };

/* mbar_tab.c: a new one, all zero, in place of one that may be there; NULL: out of memory */
Mbar *mbar_make(Block *b, u32 addr);
/* mbar.c */
Mbar *mbar_live(Warp *w, const Ins *in, int lane, Block *b, u32 addr);  /* NULL: told */
u64 mbar_state(const Mbar *m);                  /* the object's 8 bytes */
void mbar_keep(Block *b, const Mbar *m);        /* brings them to shared memory */
#endif
