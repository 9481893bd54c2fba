/* ptxas.h - the verdict of ptxas on a text, where available: on PATH or where CUDA installs it. */
#ifndef PTXAS_H
#define PTXAS_H
#include "test/check.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PTXAS "PATH=$PATH:/usr/local/cuda/bin; timeout 60 ptxas"

static inline bool
have_ptxas(void)
{
	return system("PATH=$PATH:/usr/local/cuda/bin; command -v ptxas >/dev/null") == 0;
}

/* Does ptxas take the text for arch?  What it has against it goes to standard error if `tell`. */
static inline bool
ptxas_takes(const char *arch, const char *text, bool tell)
{
	char path[] = "/tmp/hexc-ptx-XXXXXX", cmd[200];
	int fd = mkstemp(path);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	snprintf(cmd, sizeof cmd, PTXAS " -arch=%s %s -o /dev/null >%s 2>&1", arch, path,
	         tell ? "&2" : "/dev/null");
	ok = ok && system(cmd) == 0;
	unlink(path);
	return ok;
}

/* For TEST_PROGRAM(.start = ...) of programs that are nothing without it. */
static inline int
need_ptxas(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (have_ptxas())
		return RUN_TESTS;
	puts("no ptxas here");
	return SKIPPED;
}
#endif
