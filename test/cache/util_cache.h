/* util_cache.h - cache folders, and entries with known contents. */
#ifndef TEST_UTIL_CACHE_H
#define TEST_UTIL_CACHE_H
#include "lib/cache/cache.h"
#include <dirent.h>

/* A new folder, removed with what is in it by folder_remove. */
char *folder_new(void);
void folder_remove(char *path);
/* A cache there. */
hexc_cache *cache_in(const char *path, uint64_t max_bytes);
/* The path of its only entry, to be freed. */
char *only_entry(const char *path);

/* The key of number i and its answer: `n` bytes that only it has. */
enum { ANSWER_MAX = 5000 };
CacheKey key_of(int i, char text[40]);
size_t answer_of(int i, unsigned char *out);
/* 1: the cache has the answer of key i, the right one; 0: none.  A wrong one fails the test. */
int right_answer(hexc_cache *c, int i);
void put_answer(hexc_cache *c, int i);
#endif
