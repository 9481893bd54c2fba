/* video.h - a decoded video instruction. */
#ifndef SIM_VIDEO_H
#define SIM_VIDEO_H
#include "lib/sim/base/sim_base.h"

enum { V_ADD, V_SUB, V_ABSDIFF, V_MIN, V_MAX, V_SHL, V_SHR, V_MAD, V_SET, V_AVRG };
enum { SEC_NONE, SEC_ADD, SEC_MIN, SEC_MAX };
typedef struct VideoLane { u8 bits, shift; } VideoLane;   /* of a register */

typedef struct Video {          /* members that do not fit into Ins */
	u8 op, sec;
	u8 relation;            /* vset: 1 less, 2 equal, 4 greater */
	u8 lanes, bits;         /* SIMD: 2 of 16 or 4 of 8 bits; scalar: 1 of 32 */
	bool dsign, asign, bsign, sat, clamp, neg_product, neg_c, plus_one;
	u8 shift;               /* .shr7, .shr15 */
	VideoLane d, a, b;           /* scalar: d.bits 32: no merge */
	u8 pick[2][4];          /* SIMD: part of the pair (a, b) for each lane of a and b */
	u8 mask;                /* SIMD: lanes of d that are written */
} Video;
#endif
