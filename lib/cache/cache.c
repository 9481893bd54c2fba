/* cache.c - hexc_cache.h: caches are opened, and tell of themselves. */
#define _DEFAULT_SOURCE
#include "lib/cache/cache.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t default_bytes = 1 << 30;

size_t
hexc_cache_path(char *out, size_t n)
{
	static const struct {
		const char *variable, *below;
	} place[] = { { "XDG_CACHE_HOME", "/hexc" }, { "HOME", "/.cache/hexc" } };

	if (out && n)
		out[0] = 0;
	for (size_t i = 0; i < COUNT_OF(place); i++) {
		const char *folder = getenv(place[i].variable);
		int bytes;

		if (!folder || folder[0] != '/') /* relative ones are to be ignored, as XDG has it */
			continue;
		bytes = out ? snprintf(out, n, "%s%s", folder, place[i].below) : -1;
		return bytes > 0 && (size_t)bytes < n ? (size_t)bytes : 0;
	}
	return 0;
}

/* The folder that is meant, as an absolute path; NULL: *code, and why is written. */
static char *
absolute(const char *path, int *code, char *why, size_t n)
{
	char here[4096] = "", *out;
	size_t bytes;

	*code = HEXC_OK;
	if (!path && !hexc_cache_path(here, sizeof here))
		*code = why_error(HEXC_E_FILE, why, n,
		                  "the cache has no folder: neither XDG_CACHE_HOME nor HOME is an absolute "
		                  "path; name one");
	else if (path && path[0] != '/' && !getcwd(here, sizeof here))
		*code = why_error(HEXC_E_FILE, why, n, "%s: the working directory has no name: %s", path,
		                  strerror(errno));
	if (*code)
		return NULL;
	bytes = strlen(here) + (path ? strlen(path) : 0) + 2;
	out = malloc(bytes);
	if (out)
		snprintf(out, bytes, "%s%s%s", here, path && *here ? "/" : "", path ? path : "");
	else
		*code = why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	return out;
}

static int
folder_there(const hexc_cache *c, char *why, size_t n)
{
	int bad = c->read_only ? 0 : cache_make_folder(c->path);
	struct stat st;

	if (!bad && stat(c->path, &st))
		bad = errno;
	if (!bad && !S_ISDIR(st.st_mode))
		bad = ENOTDIR;
	return bad ? why_error(HEXC_E_FILE, why, n, "%s: cannot be a cache: %s", c->path, strerror(bad))
	           : HEXC_OK;
}

int
hexc_cache_open(hexc_cache **out, const hexc_cache_opts *opts, char *why, size_t n)
{
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	hexc_cache *c;
	int code;

	if (why && n)
		why[0] = 0;
	if (out)
		*out = NULL;
	if (!out || (!why && n) || (opts && !take_in(&o, sizeof o, opts)) || o.read_only > 1 ||
	    (o.path && !o.path[0]))
		return HEXC_E_INVALID;
	c = calloc(1, sizeof *c);
	if (!c)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	c->read_only = o.read_only;
	c->max_bytes = o.max_bytes ? o.max_bytes : default_bytes;
	c->path = absolute(o.path, &code, why, n);
	if (!code)
		code = folder_there(c, why, n);
	if (code)
		hexc_cache_close(c);
	else
		*out = c;
	return code;
}

void
hexc_cache_close(hexc_cache *c)
{
	if (!c)
		return;
	free(c->path);
	free(c);
}

int
hexc_cache_describe(const hexc_cache *c, hexc_cache_info *out)
{
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;

	if (!c || !out)
		return 0;
	info.path = c->path;
	info.max_bytes = c->max_bytes;
	info.hits = atomic_load(&c->hits);
	info.misses = atomic_load(&c->misses);
	info.stored = atomic_load(&c->stored);
	info.damaged = atomic_load(&c->damaged);
	info.failed = atomic_load(&c->failed);
	info.error = atomic_load(&c->error);
	return hand_out(out, out->size, &info, sizeof info);
}
