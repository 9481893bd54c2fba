/* result.h - the result of a launch: faults, counts, output. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H
#include "lib/sim/state/execution.h"

struct sim_result {
	char text[256];
	sim_stats st;
	sim_l2 l2;
	bool has_l2;
	sim_fault *fault;
	FaultRec *recs;
	u32 nfault;
	char *hang;
	sim_line *line;
	u32 nline;
	char *out;
	size_t nout;
};

/* result.c: SIM_OK or SIM_E_NOMEM */
int collect_faults(Launch *l, sim_result *r);
int collect_counts(Launch *l, sim_result *r, const Worker *k);
bool collect_output(Launch *l, sim_result *r);
#endif
