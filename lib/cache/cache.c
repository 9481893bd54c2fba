/* cache.c - implements hexc_cache.h: opens, closes and describes caches. */
#define _GNU_SOURCE
#include "lib/cache/cache.h"
#include <errno.h>
#include <fcntl.h>
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
		/* NULL in programs that run with elevated privileges */
		const char *folder = secure_getenv(place[i].variable);
		int bytes;

		if (!folder || folder[0] != '/') /* XDG requires relative paths to be ignored */
			continue;
		bytes = out ? snprintf(out, n, "%s%s", folder, place[i].below) : -1;
		return bytes > 0 && (size_t)bytes < n ? (size_t)bytes : 0;
	}
	return 0;
}

/* Returns the directory as an absolute path; NULL with *code and why written on failure. */
static char *
absolute(const char *path, int *code, char *why, size_t n)
{
	char here[4096] = "", *out;
	size_t bytes;

	*code = HEXC_OK;
	if (!path && !hexc_cache_path(here, sizeof here))
		*code = why_error(HEXC_E_FILE, why, n,
		                  "no cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path; "
		                  "specify one");
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
folder_there(hexc_cache *c, char *why, size_t n)
{
	int bad = c->read_only ? 0 : cache_make_folder(c->path), folder = -1;
	struct stat st;

	if (!bad) {
		folder = cache_open_folder(c, O_PATH);
		bad = folder < 0 ? errno : 0;
	}
	if (folder >= 0)
		close(folder);
	if (bad != EPERM || stat(c->path, &st))
		return bad ? why_error(HEXC_E_FILE, why, n, "%s: cannot be used as a cache: %s", c->path,
		                       strerror(bad))
		           : HEXC_OK;
	atomic_store(&c->error, EPERM);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		why_error(0, why, n,
		             "%s is not used: it is owned by user %lu, who controls its contents; use a "
		             "folder of your own",
		          c->path, (unsigned long)st.st_uid);
	else
		why_error(0, why, n,
		             "%s is not used: it is writable by others than its owner (mode %03o); run "
		             "chmod go-w on it and remove its contents",
		          c->path, (unsigned)st.st_mode & 0777);
	return HEXC_OK;
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
