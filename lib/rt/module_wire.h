/* module_wire.h - a module's fields to bytes and back. */
#ifndef HEXC_RT_MODULE_WIRE_H
#define HEXC_RT_MODULE_WIRE_H
#include "lib/rt/rt.h"
#include "lib/rt/wire.h"

/* All of m but its source, times, explanations and drawings. */
void wire_module(Wire *w, hexc_module *m);
#endif
