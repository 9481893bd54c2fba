/* file_io.c - implements file_io.h. */
#include "lib/rt/file_io.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
write_all(int fd, const unsigned char *data, size_t n)
{
	while (n) {
		ssize_t k = write(fd, data, n);
		if (k < 0 && errno != EINTR)
			return false;
		if (k > 0) {
			data += k;
			n -= (size_t)k;
		}
	}
	return fsync(fd) == 0;
}

/* Creates a new file next to `path`, and stores its name in `name`; returns -1 with errno on failure. */
static int
open_beside(const char *path, char *name, size_t room)
{
	int fd = -1;

	for (int i = 0; i < 100 && fd < 0; i++) {
		snprintf(name, room, "%s.%ld.%d", path, (long)getpid(), i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

int
disk_write(const char *path, const void *data, size_t n)
{
	size_t room = strlen(path) + 40;
	char *name = malloc(room);
	int fd, bad = 0;

	if (!name)
		return ENOMEM;
	fd = open_beside(path, name, room);
	if (fd < 0) {
		bad = errno;
		free(name);
		return bad;
	}
	if (!write_all(fd, data, n))
		bad = errno;
	if (close(fd) && !bad)
		bad = errno;
	if (!bad && rename(name, path))
		bad = errno;
	if (bad)
		unlink(name);
	free(name);
	return bad;
}

void *
disk_read(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), saved;
	unsigned char *data = NULL;
	struct stat st;
	size_t at = 0;
	ssize_t k = 1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		data = malloc((size_t)st.st_size + 1);
	else
		errno = EINVAL;
	while (data && at < (size_t)st.st_size && k) {
		k = read(fd, data + at, (size_t)st.st_size - at);
		if (k > 0)
			at += (size_t)k;
		else if (k < 0 && errno != EINTR) {
			saved = errno;
			free(data);
			data = NULL;
			errno = saved;
		}
	}
	saved = errno;
	close(fd);
	errno = saved;
	*n = at;
	return data;
}

int
disk_open(const char *path, uint64_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), saved;
	struct stat st;

	if (fd < 0)
		return -1;
	errno = EINVAL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*n = (uint64_t)st.st_size;
		return fd;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

bool
disk_at(int fd, uint64_t at, void *to, size_t n)
{
	unsigned char *p = to;

	while (n) {
		ssize_t k = pread(fd, p, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			errno = k ? errno : 0;
			return false;
		}
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

void
disk_close(int fd)
{
	if (fd >= 0)
		close(fd);
}
