/* flight.h - between the files of the checker of products under way. */
#ifndef HEXC_PROVE_FLIGHT_H
#define HEXC_PROVE_FLIGHT_H
#include "hexc/ir/ir.h"

/* Does anything read v that may run behind the start of o, an op that has it, with the v that o had? */
bool read_behind(const Val *v, const Op *o);
/* The value in whose registers v is made, if all products on the way add in place: an argument of a loop, or
 * what begins there. */
const Val *value_home(const Val *v);
#endif
