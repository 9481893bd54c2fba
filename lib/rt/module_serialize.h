/* module_serialize.h - a module's fields to bytes and back. */
#ifndef HEXC_MODULE_SERIALIZE_H
#define HEXC_MODULE_SERIALIZE_H
#include "lib/rt/rt.h"
#include "lib/rt/serialize.h"

/* Of the format: the one that is written, and an older one that is read. */
enum { MODULE_VERSION = 3, MODULE_WITHOUT_TURNS = 2 };
/* All of m but its source, times, explanations and drawings, as that version has it. */
void wire_module(Wire *w, hexc_module *m, int version);
#endif
