/* timeline_sim.h - declares the state of the timeline simulation, and the steps that advance its clock. */
#ifndef HEXC_TIMELINE_SIM_H
#define HEXC_TIMELINE_SIM_H
#include "hexc/ir/memory_effects.h"
#include "infer/explain/timeline.h"

enum {
	TURNS_MOST = 16,
	PHASES_MOST = 512,
};

/* mbarriers, one for each stage. */
typedef struct StageBarriers {
	const Val *at;
	int stages, arrivals; /* arrivals per phase, of one consumer group */
	/* completion times of phases; in the previous simulation */
	double done[PHASES_MOST], old[PHASES_MOST];
	int n, waits, came; /* completed; waited for in this simulation; arrivals of the incomplete phase */
	double landed; /* landing time of the copies that the next arrival expects */
	struct StageBarriers *freed_by; /* the barriers that release its stages; NULL: none */
} StageBarriers;

/* The copies of a phase or group. */
typedef struct Fill {
	const StageBarriers *ring; /* NULL: a group */
	const char *tiles;
	int number, stages; /* index, and number of stages, among the fills of these tiles */
	double issued, landed, used, freed, smem;
	int turn; /* iteration of its issue */
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
	bool draw; /* times are stable */
	StageBarriers *ring[64];
	int nring;
	Fill *fill;
	int nfill, fillcap;
	TimelineRow row[96];
	/* the role being simulated */
	bool producer;
	int warps, turn;
	double clock, times;
	Res piece;
	double dearest;
	const Op *what; /* the most expensive op of the section */
	double *group; /* completion times of MMA groups */
	int ngroup, groupcap;
	double product; /* completion time of the open group's MMAs */
	double extra; /* cycles of shared memory taken by copies that were waited for */
	Fill open; /* copies since the last commit, or arrival that expects them */
	StageBarriers *free_stage; /* whose phase the role waited for last */
	/* the block */
	BusyInterval *busy; /* when global memory transfers bytes for any role */
	int nbusy, busycap;
	double tensor; /* busy until then */
	Res load; /* of all loops' iterations */
	double waited; /* in them, for copies */
	double start[TURNS_MOST + 1];
	int nstart;
} Sim;

/* ---- timeline_clock.c: the warps' clock, and the spans to draw ------ */

/* Returns the row of that name, creating it if it is new. */
int walk_row(Sim *s, RowKind kind, int i, const char *tiles);
/* Adds a span to a row, unless it is shorter than half a cycle. */
void walk_span(Sim *s, int row, SpanKind kind, double from, double to, const char *what);
/* Marks a unit busy from then on; `turn`: the iteration it works for, if not the current one. */
void walk_unit(Sim *s, int unit, double from, double clocks, int turn, const char *what);
/* Returns "wgmma_f32_f16_ss of line 13"; "" if nothing is drawn. */
const char *walk_words(const Sim *s, const Op *o);
/* Schedules a transfer of `clocks` cycles when global memory is free; returns its start. */
double walk_move(Sim *s, double clocks);
/* Adds work to the warps' current section; the second function executes the section. */
void walk_add(Sim *s, const Op *o, const Res *r);
void walk_flush(Sim *s);
/* Makes the warps wait until `when`, unless it has passed. */
void walk_until(Sim *s, double when, const char *what);

/* ---- timeline_wait.c: copies, barriers and MMAs that others wait for ---------- */

/* Does a group or a barrier track the copy's completion? */
bool copy_ends_later(const Op *o);
/* Starts a copy; closes a phase or a group; waits for groups. */
void walk_copy(Sim *s, const Op *o, const Res *r);
void walk_close(Sim *s);
void walk_group(Sim *s, const Op *o);
/* Is it a barrier by which consumer groups alternate? The one that is drawn never waits for it. */
bool barrier_tells_turn(const Sim *s, const Val *barrier);
/* Waits for, or arrives at, an mbarrier. */
void walk_phase(Sim *s, const Op *o, const Res *r);
void walk_arrive(Sim *s, const Op *o, const Res *r);
/* Issues wgmma; the second function commits the group or waits for groups. */
void walk_product(Sim *s, const Op *o, const Res *r);
void walk_products(Sim *s, const Op *o);

/* ---- timeline_rows.c: the drawing ---- */

/* Adds spans for copies, by stage: in flight, landed, in use. */
void walk_stages(Sim *s);
/* Computes the steady-state cycles/iteration once the stages are full, and the limiting resource. */
void walk_steady(Sim *s);
/* Sorts the rows and names them; called last. */
void walk_order(Sim *s);
#endif
