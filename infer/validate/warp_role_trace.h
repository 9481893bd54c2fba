/* warp_role_trace.h - declares the events of each warp role on pipeline stages and their mbarriers, in
 * small launches. */
#ifndef HEXC_WARP_ROLE_TRACE_H
#define HEXC_WARP_ROLE_TRACE_H
#include "hexc/ir/ir.h"

typedef enum EventKind {
	EV_WAIT, /* for the end of a phase of that parity */
	EV_ARRIVE, /* n times: n blocks of the cluster do the same */
	EV_FILL, /* a copy tracked by the barrier starts to write the cells */
	EV_WRITE, /* the role writes them */
	EV_READ,
	EV_ISSUE, /* an MMA starts to read them */
	EV_COMMIT, /* of MMAs */
	EV_SETTLE, /* all groups of MMAs but the latest n are complete */
} EventKind;

typedef struct RoleEvent {
	const Op *op;
	EventKind kind;
	int bar; /* wait, arrive, fill: index among the kernel's barriers */
	int64_t n; /* parity, arrivals, groups */
	int cell, to; /* [cell, to): indices of the first dim of a tile */
	bool whole; /* all elements of these, else some */
} RoleEvent;

typedef struct RoleTrace {
	RoleEvent *a;
	int n, cap;
	int team; /* consumer group; -1: the producers */
} RoleTrace;

/* The kernel's individual barriers, and the cells of all tiles that copies with a barrier fill. */
typedef struct Rings {
	Kernel *k;
	const Op *roles;
	int *bar, *cell; /* [nval+1] by value id: its first index; -1: none */
	int *arrivals; /* [nbar] arrivals per phase */
	int nbar, ncell;
} Rings;

/* Returns NULL if the kernel has no roles. */
Rings *rings_of(Kernel *k);

enum { TRACE_LAUNCHES = 18 };
/* Traces the producers, t[0], and the consumer groups, t[1] and on, of a block in small launch i: the first
 * block, or, if i is odd, the last. Returns false if the kernel does not accept these sizes, or if the
 * events depend on the contents of tensors. */
bool rings_trace(const Rings *r, int i, RoleTrace *t);
#endif
