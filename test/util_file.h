/* util_file.h - files read by tests. */
#ifndef TEST_UTIL_FILE_H
#define TEST_UTIL_FILE_H
#include <stddef.h>

/* A whole file with a NUL behind, kept until the test ends; *n, unless NULL: its bytes.  Fails the test when
 * it cannot be read. */
const char *file_read(const char *path, size_t *n);
#endif
