/* timeline_sim.h - inside the timeline: the state of the walk, and what its steps do to the clock. */
#ifndef HEXC_TIMELINE_SIM_H
#define HEXC_TIMELINE_SIM_H
#include "hexc/ir/memory_effects.h"
#include "infer/explain/timeline.h"

enum {
	TURNS_MOST = 16,
	PHASES_MOST = 512,
};

/* Barriers in memory, one for each stage. */
typedef struct StageBarriers {
	const Val *at;
	int stages, arrivals; /* that end a phase, of one team */
	double done[PHASES_MOST], old[PHASES_MOST]; /* when phases were complete; in the walk before */
	int n, waits, came; /* complete, waited for in this walk, arrivals of the phase that is not */
	double landed; /* the copies that the next arrival expects */
	struct StageBarriers *freed_by; /* where its stages are given back; NULL: they are not */
} StageBarriers;

/* What a phase or a group brings. */
typedef struct Fill {
	const StageBarriers *ring; /* NULL: a group */
	const char *tiles;
	int number, stages; /* among those of these tiles */
	double issued, landed, used, freed, smem;
	int turn; /* in which it was asked for */
} Fill;

typedef enum RowKind { ROW_producer, ROW_stage, ROW_warps, ROW_unit } RowKind;

typedef struct TimelineRow {
	RowKind kind;
	int i; /* unit, stage */
	const char *tiles;
} TimelineRow;

typedef struct BusyInterval {
	double from, to;
} BusyInterval;

typedef struct Sim {
	const Explained *ex;
	Timeline *out;
	bool draw; /* times are settled */
	StageBarriers *ring[64];
	int nring;
	Fill *fill;
	int nfill, fillcap;
	TimelineRow row[96];
	/* the role that is walked through */
	bool producer;
	int warps, turn;
	double clock, times;
	Res piece;
	double dearest;
	const Op *what; /* the dearest op of the piece */
	double *group; /* when groups of products are over */
	int ngroup, groupcap;
	double product; /* when those of the open group are */
	double extra; /* clocks of shared memory that copies took which were waited for */
	Fill open; /* copies since the last commit or arrival that expects them */
	StageBarriers *free_stage; /* whose phase the role waited for last */
	/* the block */
	BusyInterval *busy; /* when global memory moves bytes for somebody */
	int nbusy, busycap;
	double tensor; /* busy until then */
	Res load; /* of all loops' turns */
	double waited; /* in them, for copies */
	double start[TURNS_MOST + 1];
	int nstart;
} Sim;

/* ---- timeline_clock.c: the warps' clock, and what is drawn of it ---- */

/* The row of that name, made if it is new. */
int walk_row(Sim *s, RowKind kind, int i, const char *tiles);
/* What happens in a row; nothing shorter than half a clock. */
void walk_span(Sim *s, int row, SpanKind kind, double from, double to, const char *what);
/* A unit works from then on; `turn`: for which turn, if that is another than this one. */
void walk_unit(Sim *s, int unit, double from, double clocks, int turn, const char *what);
/* "wgmma_f32_f16_ss of line 13"; "" while nothing is drawn. */
const char *walk_words(const Sim *s, const Op *o);
/* Global memory moves bytes for so many clocks, as soon as it moves no others: from when. */
double walk_move(Sim *s, double clocks);
/* Warps have more to do before what comes next; they do it. */
void walk_add(Sim *s, const Op *o, const Res *r);
void walk_flush(Sim *s);
/* Warps stand until then, unless it is over. */
void walk_until(Sim *s, double when, const char *what);

/* ---- timeline_wait.c: copies, barriers and products, which others wait for ---- */

/* Is it a copy that a group or a barrier ends? */
bool copy_ends_later(const Op *o);
/* A copy starts; what was copied becomes a phase or a group; groups are waited for. */
void walk_copy(Sim *s, const Op *o, const Res *r);
void walk_close(Sim *s);
void walk_group(Sim *s, const Op *o);
/* Is it a barrier by which teams take turns?  The one that is drawn has its turn. */
bool barrier_tells_turn(const Sim *s, const Val *barrier);
/* At a barrier in memory. */
void walk_phase(Sim *s, const Op *o, const Res *r);
void walk_arrive(Sim *s, const Op *o, const Res *r);
/* Of warpgroups; a commit closes their group. */
void walk_product(Sim *s, const Op *o, const Res *r);
void walk_products(Sim *s, const Op *o);

/* ---- timeline_rows.c: the picture ---- */

/* What was copied, by stage: on its way, there, in use. */
void walk_stages(Sim *s);
/* The turn once the stages are full, and what it takes its time for. */
void walk_steady(Sim *s);
/* Rows in order, and their names: the last thing. */
void walk_order(Sim *s);
#endif
