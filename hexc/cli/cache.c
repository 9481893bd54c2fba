/* cache.c - implements --cache and hexc cache: opens, lists and clears the cache of compiled modules. */
#include "hexc/cli/base/json.h"
#include "lib/hexc_cache.h"
#include <inttypes.h>
#include <string.h>

int
cli_open_cache(Cli *c, hexc_cache **out)
{
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	char why[400];

	*out = NULL;
	if (!cli_has(c, CLI_cache))
		return 0;
	o.path = cli_get(c, CLI_cache);
	if (o.path && !*o.path)
		return cli_error(EXIT_USAGE, "--cache= requires a folder; --cache alone uses the user's");
	if (hexc_cache_open(out, &o, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "--cache: %s", why);
	if (*why && !c->cache_told)
		cli_warning("--cache: %s", why);
	c->cache_told = true;
	return 0;
}

/* ---- hexc cache ------------------------------------------------------------------------------- */

static int
show_path(Cli *c)
{
	char path[4096];

	if (c->nfile > 1)
		return cli_error(EXIT_USAGE, "hexc cache path has no argument; unexpected '%s'",
		                 c->file[1]);
	if (!hexc_cache_path(path, sizeof path))
		return cli_error(EXIT_INPUT, "neither XDG_CACHE_HOME nor HOME is an absolute path");
	puts(cli_plain(c, path));
	return cli_flush();
}

typedef struct CacheListing {
	Cli *c;
	cJSON *json; /* NULL: print lines */
	uint64_t n, bytes;
} CacheListing;

static int
list_entry(void *user, const hexc_cache_entry *e)
{
	CacheListing *l = user;
	cJSON *o;

	l->n++;
	l->bytes += e->bytes;
	if (l->json) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "name", e->name);
		if (e->label)
			cJSON_AddStringToObject(o, "label", e->label);
		json_uint(o, "bytes", e->bytes);
		json_int(o, "used", e->used);
		cJSON_AddItemToArray(l->json, o);
	} else {
		printf("%s %9" PRIu64 "  %s\n", e->name, e->bytes,
		       e->label ? cli_plain(l->c, e->label) : "damaged");
	}
	return 0;
}

static int
list(Cli *c, hexc_cache *cache)
{
	CacheListing l = { .c = c };
	cJSON *root = NULL;
	int code;

	if (cli_has(c, CLI_json_out)) {
		root = cJSON_CreateObject();
		l.json = cJSON_AddArrayToObject(root, "entries");
	}
	code = hexc_cache_each(cache, list_entry, &l);
	if (code) {
		cJSON_Delete(root);
		return cli_error(EXIT_TROUBLE, "the cache cannot be read: %s", hexc_strerror(code));
	}
	if (root)
		return json_write(c, "-", root);
	printf("%" PRIu64 " entries, %" PRIu64 " bytes\n", l.n, l.bytes);
	return cli_flush();
}

static int
clear(Cli *c, hexc_cache *cache)
{
	uint64_t n;
	int code = hexc_cache_clear(cache, &n);

	(void)c;
	if (code)
		return cli_error(EXIT_TROUBLE, "the cache could not be removed completely: %s",
		                 hexc_strerror(code));
	printf("%" PRIu64 " entries removed\n", n);
	return cli_flush();
}

int
cli_cache(Cli *c)
{
	static const struct {
		const char *word;
		int (*each)(Cli *c, hexc_cache *cache);
		bool reads; /* does not modify the cache */
	} acts[] = { { "list", list, true }, { "clear", clear, false } };
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	const char *word = c->nfile ? c->file[0] : "";
	hexc_cache *cache;
	char why[400];
	int status;

	if (strcmp(word, "path") == 0)
		return show_path(c);
	for (size_t i = 0; i < CLI_COUNT(acts); i++) {
		if (strcmp(word, acts[i].word) != 0)
			continue;
		if (c->nfile > 2)
			return cli_error(EXIT_USAGE, "only one folder is allowed; unexpected '%s'",
			                 c->file[2]);
		o.path = c->nfile == 2 ? c->file[1] : NULL;
		o.read_only = acts[i].reads;
		if (hexc_cache_open(&cache, &o, why, sizeof why) != HEXC_OK)
			return cli_error(EXIT_INPUT, "%s", *why ? why : "the folder name is empty");
		if (*why) {
			hexc_cache_close(cache);
			return cli_error(EXIT_INPUT, "%s", why);
		}
		status = acts[i].each(c, cache);
		hexc_cache_close(cache);
		return status;
	}
	return cli_error(EXIT_USAGE, "unknown command hexc cache '%s'; expected path, list or clear", word);
}
