/* racecheck.h - the current access to a word, and the verdict of racecheck.c on it and a recorded one. */
#ifndef SIM_RACE_H
#define SIM_RACE_H
#include "lib/sim/sanitizer/shadow_cell.h"

typedef struct Now {            /* the current access */
	Warp *w;
	const Ins *in;
	int lane;
	const MemAccess *acc;
	u32 bytes;
	u32 kind;
	bool look;              /* compare only */
	bool odd;               /* violations are warnings */
	const u8 *value;
	u64 a, b;               /* slot without the byte mask */
	u32 block, thread;
} Now;

static inline bool
writes(u32 kind)
{
	return kind == A_WRITE || kind == A_SWRITE || kind == A_ASYNC || kind == A_LANDED;
}

static inline bool
strong(u32 kind)
{
	return kind == A_SREAD || kind == A_SWRITE;
}

/* racecheck_report.c */
void slot_place(Launch *l, const ShadowCell *s, sim_place *out);
void race_fault(const Now *n, const ShadowCell *s);           /* the two are not ordered */
void noncoherent_fault(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes,
                       const sim_place *other);
void unfinished_fault(const Now *n, const ShadowCell *s);     /* s is of a copy in flight */
#endif
