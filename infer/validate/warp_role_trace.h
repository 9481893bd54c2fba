/* warp_role_trace.h - what each role of a kernel does to rings of stages and their barriers, in small launches. */
#ifndef HEXC_WARP_ROLE_TRACE_H
#define HEXC_WARP_ROLE_TRACE_H
#include "hexc/ir/ir.h"

typedef enum EventKind {
	EV_WAIT, /* for the end of a phase of that parity */
	EV_ARRIVE, /* n times: so many blocks of the cluster do the same */
	EV_FILL, /* a copy that the barrier tells of begins to write the cells */
	EV_WRITE, /* the role writes them */
	EV_READ,
	EV_ISSUE, /* a product begins to read them */
	EV_COMMIT, /* of products */
	EV_SETTLE, /* all groups of products but the latest n have ended */
} EventKind;

typedef struct RoleEvent {
	const Op *op;
	EventKind kind;
	int bar; /* wait, arrive, fill: a barrier's number among the kernel's */
	int64_t n; /* parity, arrivals, groups */
	int cell, to; /* cell .. to - 1: indices of the first dim of a tile */
	bool whole; /* all elements of these, else some */
} RoleEvent;

typedef struct RoleTrace {
	RoleEvent *a;
	int n, cap;
	int team; /* -1: the producers */
} RoleTrace;

/* The kernel's barriers, one by one, and the cells of all tiles that copies with a barrier fill. */
typedef struct Rings {
	Kernel *k;
	const Op *roles;
	int *bar, *cell; /* [nval+1] by a value's id: the first number of its own; -1: none */
	int *arrivals; /* [nbar] that end a phase */
	int nbar, ncell;
} Rings;

/* NULL: the kernel has no roles. */
Rings *rings_of(Kernel *k);

enum { TRACE_LAUNCHES = 18 };
/* Traces of the producers, t[0], and teams, t[1] and on, of a block in small launch i: the first, or, where i
 * is odd, the last.  false: it cannot be told, as the kernel takes no such sizes, or what a role does depends
 * on what tensors hold. */
bool rings_trace(const Rings *r, int i, RoleTrace *t);
#endif
