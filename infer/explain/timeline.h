/* timeline.h - a block's first turns in time: who does what when, by the costs of the solution taken. */
#ifndef HEXC_TIMELINE_H
#define HEXC_TIMELINE_H
#include "infer/explain/explain_internal.h"

/* What happens in a span: its name, its letter in text (0: the turn's last digit), what it is. */
#define SPANS(X)                                                                                             \
	X(work, '#', "warps work")                                                                           \
	X(wait, '.', "warps wait")                                                                           \
	X(way, '-', "copies are on their way")                                                               \
	X(there, '=', "their data is there, and waits")                                                      \
	X(use, 0, "their data is in use")                                                                    \
	X(busy, 0, "a unit is busy")

typedef enum SpanKind {
#define X(name, letter, what) SPAN_##name,
	SPANS(X)
#undef X
	SPAN_KINDS
} SpanKind;
extern const char *const span_name[SPAN_KINDS];

typedef struct TimelineSpan {
	int row;
	SpanKind kind;
	int turn; /* of the loop around; -1: there is none */
	double from, to; /* clocks since the block began */
	const char *what; /* "wgmma_f32_f16_ss of line 13" */
} TimelineSpan;

typedef struct Timeline {
	const char **row; /* names, in the order in which they are shown */
	int nrow;
	TimelineSpan *span; /* in no order */
	int n, cap;
	double total; /* clocks until all is over */
	int turns, stages; /* drawn of each pipeline loop; buffers of the deepest */
	double turn; /* clocks of a turn once the stages are full; 0: no loop has turns here */
	const char *limit; /* what it is that takes so long: a unit's name, or words */
} Timeline;

/* The kernel as the code says it, alone on a multiprocessor, with the costs that the search reckoned with
 * (Res of each op, infer/cost): NULL where nothing is copied ahead.  Of a pipeline loop the first `turns`
 * turns run, stages + 4 of them or as many as it has, of a loop around it one; what follows the loop follows
 * the last of these.  It assumes:
 *
 *   - a piece of code between waits takes its warps as long as its busiest unit and the others in its way
 *     (res_busy), or its warps to issue it, and then what cannot overlap: latencies, waits for memory;
 *   - copies that end at a barrier, or with a group, take their warps the issue slots.  Global memory moves
 *     one after the other, each in its bytes' clocks; the way (dram_wait, for boxes BOX_CLOCKS more) is
 *     under way beside other copies;
 *   - products of warpgroups queue for the tensor cores; one takes its multiplications' clocks, or those of
 *     the wavefronts that it and the copies that it waited for take of shared memory, and is over DOT_CLOCKS
 *     behind its last instance;
 *   - a stage is free when all arrivals at its barrier are there, or, without barriers, with the next wait;
 *   - one team stands for all; other blocks of the multiprocessor and the cluster are not there. */
const Timeline *timeline(const Explained *ex);
/* The same as lines of text: "  ", the row's name, a letter for so many clocks. */
void timeline_text(Text *t, const Timeline *tl);
/* The same as member `timeline` of a JSON object, whose fields hexc.1 lists. */
void timeline_json(Text *t, const Timeline *tl);
/* The same as a picture. */
const char *draw_timeline(const Explained *ex, const Timeline *tl);
#endif
