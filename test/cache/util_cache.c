/* util_cache.c - creates cache folders and known entries for tests (util_cache.h). */
#define _XOPEN_SOURCE 700
#include "test/cache/util_cache.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *
folder_new(void)
{
	char *path = strdup("/tmp/hexc-cache-XXXXXX");

	ck_assert(mkdtemp(path) != NULL);
	return path;
}

void
folder_remove(char *path)
{
	DIR *d = opendir(path);
	char name[400];
	struct dirent *e;

	while (d && (e = readdir(d)) != NULL) {
		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(name))
			rmdir(name);
	}
	if (d)
		closedir(d);
	ck_assert_int_eq(rmdir(path), 0);
	free(path);
}

hexc_cache *
cache_in(const char *path, uint64_t max_bytes)
{
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	hexc_cache *c;
	char why[300];

	o.path = path;
	o.max_bytes = max_bytes;
	if (hexc_cache_open(&c, &o, why, sizeof why) != HEXC_OK) /* see right_answer */
		ck_abort_msg("%s", why);
	return c;
}

static int
keep_name(void *user, const hexc_cache_entry *e)
{
	char **name = user;

	ck_assert(*name == NULL);
	*name = strdup(e->name);
	return 0;
}

char *
only_entry(const char *path)
{
	hexc_cache *c = cache_in(path, 0);
	char *name = NULL, *out;

	ck_assert_int_eq(hexc_cache_each(c, keep_name, &name), HEXC_OK);
	ck_assert(name != NULL);
	hexc_cache_close(c);
	out = malloc(strlen(path) + strlen(name) + 2);
	sprintf(out, "%s/%s", path, name);
	free(name);
	return out;
}

CacheKey
key_of(int i, char text[40])
{
	snprintf(text, 40, "key number %d", i);
	return (CacheKey){ text, text, strlen(text) };
}

size_t
answer_of(int i, unsigned char *out)
{
	uint64_t x = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) + 1;
	size_t n = 100 + x % (ANSWER_MAX - 100);

	for (size_t k = 0; k < n; k++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		out[k] = (unsigned char)(x >> 56);
	}
	return n;
}

int
right_answer(hexc_cache *c, int i)
{
	unsigned char want[ANSWER_MAX];
	char text[40];
	CacheKey key = key_of(i, text);
	size_t n, is = answer_of(i, want);
	void *data = cache_get(c, &key, &n);

	if (!data)
		return 0;
	/* where it holds, too, an assertion of Check writes where it stands, to a file that processes share:
	 * one that is killed meanwhile leaves half of that */
	if (n != is || memcmp(data, want, n) != 0)
		ck_abort_msg("a wrong answer to %s is served", text);
	free(data);
	return 1;
}

void
put_answer(hexc_cache *c, int i)
{
	unsigned char answer[ANSWER_MAX];
	char text[40];
	CacheKey key = key_of(i, text);

	cache_put(c, &key, answer, answer_of(i, answer));
}
