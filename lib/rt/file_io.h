/* file_io.h - declares reading and writing of entire files, and reading of parts of files. */
#ifndef HEXC_FILE_IO_H
#define HEXC_FILE_IO_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a file atomically: to a temporary file next to `path`, then renamed. Returns 0 or an errno. */
int disk_write(const char *path, const void *data, size_t n);
/* Returns the contents of a regular file, allocated with malloc; NULL with errno on failure. */
void *disk_read(const char *path, size_t *n);

/* Opens a regular file of *n bytes, for disk_at; -1 with errno on failure. */
int disk_open(const char *path, uint64_t *n);
/* Reads bytes [at, at + n). Returns false with errno, which is 0 if the file was truncated. */
bool disk_at(int fd, uint64_t at, void *to, size_t n);
void disk_close(int fd); /* fd may be -1 */
#endif
