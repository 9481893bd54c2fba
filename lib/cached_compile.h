/* cached_compile.h - declares lookup and storage of compilations in hexc_opts.cache. */
#ifndef HEXC_CACHED_COMPILE_H
#define HEXC_CACHED_COMPILE_H
#include "lib/pass_manager.h"

/* Reads module and messages from the cache; returns false on a miss. Call under arena_protect. */
bool cached_find(CompileJob *j);
/* Stores a compilation without errors, if the cache was queried before. */
void cached_keep(const CompileJob *j);
#endif
