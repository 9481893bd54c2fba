/* module_serialize.h - declares the serialization of a module's fields. */
#ifndef HEXC_MODULE_SERIALIZE_H
#define HEXC_MODULE_SERIALIZE_H
#include "lib/rt/rt.h"
#include "lib/rt/serialize.h"

/* Format versions: the one that is written, and an older one that is still read. */
enum { MODULE_VERSION = 4, MODULE_WITHOUT_COOPERATIVE = 3, MODULE_WITHOUT_TURNS = 2 };
/* Serializes m in that version, except its source, times, explanations and drawings. */
void wire_module(Wire *w, hexc_module *m, int version);
#endif
