/* cost_constants.h - constants of the cost model and of the search, from cost_constants.def. */
#ifndef HEXC_COST_CONSTANTS_H
#define HEXC_COST_CONSTANTS_H

enum {
#define COUNT(name, value, unit, why) name = (value),
#define WEIGHT(name, value, unit, why)
#include "infer/core/cost_constants.def"
};

#define COUNT(name, value, unit, why)
#define WEIGHT(name, value, unit, why) static const double name = (value);
#include "infer/core/cost_constants.def"
#endif
