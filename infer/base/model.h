/* model.h - the constants of the cost model and of the search (model.def). */
#ifndef HEXC_MODEL_H
#define HEXC_MODEL_H

enum {
#define COUNT(name, value, unit, why) name = (value),
#define WEIGHT(name, value, unit, why)
#include "infer/base/model.def"
};

#define COUNT(name, value, unit, why)
#define WEIGHT(name, value, unit, why) static const double name = (value);
#include "infer/base/model.def"
#endif
