/* bundle.c - implements hexc bundle: lists, verifies and merges bundles. */
#include "hexc/cli/base/json.h"
#include "lib/hexc_family.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *
constants(Cli *c, const hexc_bundle_entry *e)
{
	const char *text = "";

	for (size_t i = 0; i < e->ndefine; i++) {
		const hexc_dtype *t = hexc_value_type(e->define[i].value);
		const char *between = i ? " " : "", *name = e->define[i].name;

		text = t ? cli_printf(c, "%s%s%s=%s", text, between, name, t->name)
		         : cli_printf(c, "%s%s%s=%" PRId64, text, between, name, e->define[i].value);
	}
	return cli_plain(c, text);
}

static int
open_bundle(Cli *c, const char *path, hexc_bundle **out)
{
	char why[400];
	int code, status = cli_input(c, path);

	*out = NULL;
	if (status)
		return status;
	code = hexc_bundle_open(out, path, why, sizeof why);
	return code ? cli_error(code == HEXC_E_FILE ? EXIT_INPUT : EXIT_TROUBLE, "%s", why) : 0;
}

/* Does the kernel match --kernel, if given? */
static bool
asked(const Cli *c, const hexc_bundle_entry *e)
{
	return !cli_has(c, CLI_kernel) || strcmp(cli_get(c, CLI_kernel), e->name) == 0;
}

/* ---- list ------------------------------------------------------------------------------------- */

static cJSON *
entry_json(const hexc_bundle_entry *e)
{
	cJSON *o = cJSON_CreateObject(), *list;
	char source[20];

	cJSON_AddStringToObject(o, "entry", e->name);
	cJSON_AddStringToObject(o, "arch", e->arch);
	cJSON_AddStringToObject(o, "file", e->file);
	snprintf(source, sizeof source, "%016" PRIx64, e->source);
	cJSON_AddStringToObject(o, "source", source);
	json_uint(o, "module", e->module);
	json_uint(o, "candidate", e->candidate);
	list = cJSON_AddObjectToObject(o, "constants");
	for (size_t i = 0; i < e->ndefine; i++)
		if (hexc_value_type(e->define[i].value))
			cJSON_AddStringToObject(list, e->define[i].name,
			                        hexc_value_type(e->define[i].value)->name);
		else
			json_int(list, e->define[i].name, e->define[i].value);
	list = cJSON_AddArrayToObject(o, "cubins");
	for (size_t i = 0; i < e->ncubin; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(e->cubin[i]));
	return o;
}

typedef struct Families {
	Cli *c;
	cJSON *json;  /* NULL: print lines */
	const char *name, *arch;
} Families;

static int
list_want(void *user, const hexc_family_want *w)
{
	Families *f = user;
	bool same = f->name && strcmp(f->name, w->family) == 0 && !f->arch == !w->arch &&
	            (!f->arch || strcmp(f->arch, w->arch) == 0);

	if (same)
		return 0;
	f->name = cli_printf(f->c, "%s", w->family);
	f->arch = w->arch ? cli_printf(f->c, "%s", w->arch) : NULL;
	if (f->json) {
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "family", w->family);
		if (w->arch)
			cJSON_AddStringToObject(o, "arch", w->arch);
		cJSON_AddItemToArray(f->json, o);
	} else {
		printf("family %s%s%s\n", cli_plain(f->c, w->family), w->arch ? "  " : "",
		       w->arch ? w->arch : "");
	}
	return 0;
}

/* Lists the families, as lines or into an array. */
static void
list_families(Cli *c, const char *text, cJSON *array)
{
	Families f = { .c = c, .json = array };

	if (*text)
		hexc_family_wants(text, strlen(text), list_want, &f, NULL, 0);
}

static int
list(Cli *c, const hexc_bundle *b)
{
	hexc_bundle_info info = HEXC_BUNDLE_INFO_INIT;
	hexc_bundle_entry e = HEXC_BUNDLE_ENTRY_INIT;
	cJSON *root;

	hexc_bundle_describe(b, &info);
	if (cli_has(c, CLI_json_out)) {
		root = cJSON_CreateObject();
		cJSON_AddStringToObject(root, "compiler", info.compiler);
		json_uint(root, "bytes", info.bytes);
		json_uint(root, "modules", info.nmodule);
		cJSON *kernels = cJSON_AddArrayToObject(root, "kernels");
		for (size_t i = 0; hexc_bundle_at(b, i, &e); i++, e.size = sizeof e)
			if (asked(c, &e))
				cJSON_AddItemToArray(kernels, entry_json(&e));
		if (*info.families)
			list_families(c, info.families, cJSON_AddArrayToObject(root, "families"));
		return json_write(c, "-", root);
	}
	printf("%" PRIu64 " bytes, %u modules, %u kernels, by %s\n", info.bytes, info.nmodule, info.nkernel,
	       cli_plain(c, info.compiler));
	for (size_t i = 0; hexc_bundle_at(b, i, &e); i++, e.size = sizeof e) {
		if (!asked(c, &e))
			continue;
		printf("%3zu  %s  %s  %s", i, cli_plain(c, e.name), cli_plain(c, e.arch), constants(c, &e));
		for (size_t k = 0; k < e.ncubin; k++)
			printf("%s%s", k ? " " : "  cubins: ", cli_plain(c, e.cubin[k]));
		putchar('\n');
	}
	list_families(c, info.families, NULL);
	return cli_flush();
}

/* ---- show ------------------------------------------------------------------------------------- */

/* Shows the manifests of the modules that have a requested kernel. */
static int
show(Cli *c, const hexc_bundle *b)
{
	hexc_bundle_info info = HEXC_BUNDLE_INFO_INIT;
	hexc_bundle_entry e = HEXC_BUNDLE_ENTRY_INIT;
	cJSON *root = cJSON_CreateArray();
	int64_t last = -1;
	char why[400];

	hexc_bundle_describe(b, &info);
	for (size_t i = 0; hexc_bundle_at(b, i, &e); i++, e.size = sizeof e) {
		const hexc_module *m;
		int code;

		if (!asked(c, &e) || e.module == last)
			continue;
		last = e.module;
		code = hexc_bundle_module(b, i, &m, NULL, why, sizeof why);
		if (code) {
			cJSON_Delete(root);
			return cli_error(code == HEXC_E_FILE ? EXIT_INPUT : EXIT_TROUBLE, "%s", why);
		}
		cJSON_AddItemToArray(root, json_manifest(m, e.arch, info.compiler));
	}
	if (last < 0 && cli_has(c, CLI_kernel)) {
		cJSON_Delete(root);
		return cli_error(EXIT_INPUT,
		                 "the bundle has no kernel %s; hexc bundle list lists its kernels",
		                 cli_get(c, CLI_kernel));
	}
	return json_write(c, "-", root);
}

static int
verify(Cli *c, const hexc_bundle *b)
{
	char why[400];
	int code = hexc_bundle_verify(b, why, sizeof why);

	(void)c;
	return code ? cli_error(code == HEXC_E_FILE ? EXIT_INPUT : EXIT_TROUBLE, "%s", why) : 0;
}

/* ---- merge ------------------------------------------------------------------------------------ */

typedef struct Merge {
	Cli *c;
	hexc_bundle **bundle;
	const hexc_module **m;
	void **saved; /* serialized modules, for detecting duplicates */
	size_t *bytes, n, cap;
} Merge;

/* Adds a module, unless it is a duplicate. */
static int
merge_module(Merge *j, const hexc_module *m)
{
	size_t bytes;
	void *data;

	if (hexc_module_save(m, NULL, 0, NULL, 0, &bytes) != HEXC_OK ||
	    (data = cli_try_alloc(j->c, bytes)) == NULL ||
	    hexc_module_save(m, NULL, 0, data, bytes, &bytes) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "out of memory");
	for (size_t i = 0; i < j->n; i++)
		if (j->bytes[i] == bytes && memcmp(j->saved[i], data, bytes) == 0)
			return 0;
	j->m[j->n] = m;
	j->saved[j->n] = data;
	j->bytes[j->n++] = bytes;
	return 0;
}

static int
merge_bundle(Merge *j, const hexc_bundle *b, const char *path)
{
	hexc_bundle_entry e = HEXC_BUNDLE_ENTRY_INIT;
	int64_t last = -1;
	char why[400];

	for (size_t i = 0; hexc_bundle_at(b, i, &e); i++, e.size = sizeof e) {
		const hexc_module *m;
		int status;

		if (e.module == last)
			continue;
		last = e.module;
		if (hexc_bundle_module(b, i, &m, NULL, why, sizeof why) != HEXC_OK)
			return cli_error(EXIT_INPUT, "%s: %s", path, why);
		if ((status = merge_module(j, m)))
			return status;
	}
	return 0;
}

static int
merge(Cli *c, const char **path, int n)
{
	hexc_bundle_info info = HEXC_BUNDLE_INFO_INIT;
	Merge j = { .c = c, .bundle = cli_alloc(c, sizeof *j.bundle * (size_t)n) };
	const char *compiler = NULL, *families = "";
	int status = 0;

	if (!cli_has(c, CLI_bundle_o) && !cli_has(c, CLI_c_array))
		return cli_error(EXIT_USAGE, "missing -o FILE.hxb");
	for (int i = 0; i < n && !status; i++)
		if (!(status = open_bundle(c, path[i], &j.bundle[i]))) {
			hexc_bundle_describe(j.bundle[i], &info);
			j.cap += info.nmodule;
			if (!strstr(families, info.families))
				families = cli_printf(c, "%s%s", families, info.families);
			if (!compiler)
				compiler = info.compiler;
			else if (strcmp(compiler, info.compiler) != 0)
				compiler = cli_printf(c, "%s", "several");
		}
	j.m = cli_alloc(c, sizeof *j.m * (j.cap + 1));
	j.saved = cli_alloc(c, sizeof *j.saved * (j.cap + 1));
	j.bytes = cli_alloc(c, sizeof *j.bytes * (j.cap + 1));
	for (int i = 0; i < n && !status; i++)
		status = merge_bundle(&j, j.bundle[i], path[i]);
	if (!status)
		status = cli_write_bundle(c, j.m, j.n, compiler, families);
	for (int i = 0; i < n; i++)
		hexc_bundle_close(j.bundle[i]);
	return status;
}

int
cli_bundle(Cli *c)
{
	static const struct {
		const char *word;
		int (*each)(Cli *c, const hexc_bundle *b); /* NULL: merge, which takes all bundles */
	} acts[] = { { "list", list }, { "show", show }, { "verify", verify }, { "merge", NULL } };
	const char *word = c->nfile ? c->file[0] : "";
	hexc_bundle *b;
	int status = 0;

	for (size_t i = 0; i < CLI_COUNT(acts); i++) {
		if (strcmp(word, acts[i].word) != 0)
			continue;
		if (c->nfile < 2)
			return cli_error(EXIT_USAGE, "no input bundle");
		if (!acts[i].each)
			return merge(c, c->file + 1, c->nfile - 1);
		if (cli_has(c, CLI_bundle_o) || cli_has(c, CLI_c_array))
			return cli_error(EXIT_USAGE, "-o has no effect with hexc bundle %s",
			                 word);
		for (int f = 1; f < c->nfile && !status; f++) {
			status = open_bundle(c, c->file[f], &b);
			if (!status)
				status = acts[i].each(c, b);
			hexc_bundle_close(b);
		}
		return status;
	}
	return cli_error(EXIT_USAGE, "unknown command hexc bundle '%s'; expected list, show, verify or "
	                             "merge", word);
}
