/* cached_compile.h - compilations whose result is in hexc_opts.cache. */
#ifndef HEXC_CACHED_COMPILE_H
#define HEXC_CACHED_COMPILE_H
#include "lib/pass_manager.h"

/* The module and the messages from the cache; false: it has none.  Under arena_protect. */
bool cached_find(CompileJob *j);
/* Put there what was compiled without an error, if it was asked before. */
void cached_keep(const CompileJob *j);
#endif
