/* timeline.h - declares the timeline of a block's first iterations: what each role and unit does when, by
 * the costs of the chosen solution. */
#ifndef HEXC_TIMELINE_H
#define HEXC_TIMELINE_H
#include "infer/explain/explain_internal.h"

/* What happens in a span: its name, its letter in text (0: the iteration's last digit), its description. */
#define SPANS(X)                                                                                             \
	X(work, '#', "warps work")                                                                           \
	X(wait, '.', "warps wait")                                                                           \
	X(way, '-', "copies in flight")                                                               \
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
	int turn; /* of the innermost loop; -1: none */
	double from, to; /* cycles since the block started */
	const char *what; /* "wgmma_f32_f16_ss of line 13" */
} TimelineSpan;

typedef struct Timeline {
	const char **row; /* names, in display order */
	int nrow;
	TimelineSpan *span; /* unordered */
	int n, cap;
	double total; /* cycles until the end */
	int turns, stages; /* iterations drawn of each pipeline loop; stages of the deepest one */
	double turn; /* cycles/iteration once the stages are full; 0: no loop has waiting iterations */
	const char *limit; /* the limiting resource: a unit's name, or text */
} Timeline;

/* Simulates the kernel alone on an SM, with the costs that the search used (Res of each op, infer/cost).
 * Returns NULL if no copies are prefetched. Of a pipeline loop the first `turns` iterations are simulated,
 * stages + 4 of them or its trip count; of a loop around it one iteration. What follows the loop follows
 * the last of these. Assumptions:
 *
 *   - a section of code between waits takes its warps as long as its busiest unit and the delays by
 *     other units (res_busy), or the time to issue it, plus what cannot overlap: latencies, waits for memory;
 *   - copies that complete at a barrier, or with a group, take issue slots of their warps. Global memory
 *     transfers are serialized, each by its bytes; the latency (dram_wait, for TMA boxes BOX_CLOCKS more)
 *     overlaps with other copies;
 *   - wgmma queue for the tensor cores; one takes the cycles of its multiplications, or of the shared-memory
 *     wavefronts of it and the copies that it waited for. It is complete DOT_CLOCKS cycles after its last
 *     instance;
 *   - a stage is free when all arrivals at its barrier are complete, or, without barriers, at the next wait;
 *   - one consumer group represents all; other blocks on the SM and of the cluster are ignored. */
const Timeline *timeline(const Explained *ex);
/* Prints it as text: "  ", the row's name, a letter per time step. */
void timeline_text(Text *t, const Timeline *tl);
/* Prints it as member `timeline` of a JSON object; hexc.1 lists its fields. */
void timeline_json(Text *t, const Timeline *tl);
/* Draws it as SVG. */
const char *draw_timeline(const Explained *ex, const Timeline *tl);
#endif
