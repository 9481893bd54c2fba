/* file_io.h - files that are read and written whole, and those that are read in parts. */
#ifndef HEXC_FILE_IO_H
#define HEXC_FILE_IO_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Complete at `path` or not at all: written beside it and renamed.  0 or an errno. */
int disk_write(const char *path, const void *data, size_t n);
/* All of a regular file, malloc'ed; NULL: errno says why. */
void *disk_read(const char *path, size_t *n);

/* A regular file of *n bytes, for disk_at; -1: errno says why. */
int disk_open(const char *path, uint64_t *n);
/* Bytes [at, at + n) of it.  False: errno says why, 0 that it has become shorter. */
bool disk_at(int fd, uint64_t at, void *to, size_t n);
void disk_close(int fd); /* -1 is allowed */
#endif
