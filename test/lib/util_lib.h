/* util_lib.h - programs for the tests of the API, and an allocator that counts and fails. */
#ifndef TEST_UTIL_LIB_H
#define TEST_UTIL_LIB_H
#include "lib/hexc.h"
#include <stdbool.h>

/* Compile with opts (NULL: defaults); the module, or NULL with *code set and the first message in why. */
hexc_module *lib_compile(const char *src, const hexc_opts *opts, int *code, char *why, size_t nwhy);
/* The same; anything but success fails the test. */
hexc_module *lib_must(const char *src, const hexc_opts *opts);
/* As files they are the same bytes. */
void lib_same(const hexc_module *a, const hexc_module *b);

extern const char lib_add[];  /* C = A + B, f32, one size N */
extern const char lib_gemm[]; /* C = A B^T, f16, small tiles; K % 8 == 0 */
extern const char lib_mapped[]; /* the same with roles, for sm_90a: tensor maps of A and B */

/* `user` for lib_realloc: fails from call number `fail_at` on (0: never), once or for good. */
typedef struct LibAlloc {
	long calls, live, fail_at;
	bool once;
} LibAlloc;
void *lib_realloc(void *user, void *p, size_t n);

/* The checksum of the first n bytes of a module's or bundle's file, where hexc-module(5) and hexc-bundle(5)
 * want it. */
void lib_seal(unsigned char *data, size_t n);
#endif
