/* candidates.c - hexc candidates and hexc explain. */
#include "hexc/cli/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int
print_json(Cli *c, const hexc_module *m)
{
	cJSON *root = cJSON_CreateArray();
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "entry", info.name);
		cJSON_AddItemToObject(o, "candidates", json_candidates(m, k));
		cJSON_AddItemToArray(root, o);
	}
	return json_write(c, "-", root);
}

int
cli_candidates(Cli *c)
{
	hexc_candidate_info cand = HEXC_CANDIDATE_INFO_INIT;
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	hexc_module *m;
	int status = cli_compile(c, HEXC_NO_EMIT, "infer", &m);

	if (!status && cli_has(c, CLI_json_out))
		status = print_json(c, m);
	else if (!status) {
		for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info) {
			if (hexc_kernel(m, 1, &info) && hexc_kernel(m, k, &info))
				printf("%s:\n", info.name);
			for (size_t i = 0; hexc_candidate(m, k, i, &cand); i++, cand.size = sizeof cand)
				printf("%3zu %12.0f cycles  %s\n", i, cand.cycles, cand.text);
		}
		status = cli_flush();
	}
	hexc_module_free(m);
	return status;
}

static int
explain_json(Cli *c, const hexc_module *m, const char *path)
{
	cJSON *root = cJSON_CreateArray();
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info) {
		cJSON *o = cJSON_CreateObject(), *facts = cJSON_Parse(hexc_explain_json(m, k));

		cJSON_AddStringToObject(o, "entry", info.name);
		json_uint(o, "candidate", info.candidate);
		while (facts && facts->child) {
			cJSON *x = cJSON_DetachItemViaPointer(facts, facts->child);
			cJSON_AddItemToObject(o, x->string, x);
		}
		if (!facts) /* no memory: shows when printing */
			cJSON_AddItemToObject(o, "tiles", NULL);
		cJSON_Delete(facts);
		cJSON_AddItemToObject(o, "candidates", json_candidates(m, k));
		cJSON_AddStringToObject(o, "text", hexc_explain(m, k));
		cJSON_AddItemToArray(root, o);
	}
	return json_write(c, path, root);
}

/* DIR/KERNEL.WHAT.svg for each picture. */
static int
draw(Cli *c, const hexc_module *m, const char *dir)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	int status = 0;

	if (mkdir(dir, 0777) && errno != EEXIST)
		return cli_error(EXIT_TROUBLE, "%s: %s", dir, strerror(errno));
	for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info) {
		const char *name, *svg;

		for (size_t i = 0; !status && (svg = hexc_drawing(m, k, i, &name)) != NULL; i++) {
			size_t n = strlen(dir) + strlen(info.name) + strlen(name) + 8;
			char *path = malloc(n);

			if (!path)
				return cli_error(EXIT_TROUBLE, "out of memory");
			snprintf(path, n, "%s/%s.%s.svg", dir, info.name, name);
			status = cli_write(c, path, svg, strlen(svg));
			free(path);
		}
	}
	return status;
}

int
cli_explain(Cli *c)
{
	const char *json = cli_get(c, CLI_json), *svg = cli_get(c, CLI_svg);
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	hexc_module *m;
	int status;

	status = cli_compile(c, HEXC_EXPLAIN | HEXC_NO_EMIT | (svg ? HEXC_DRAW : 0), NULL, &m);
	if (!status && svg)
		status = draw(c, m, svg);
	if (!status && json)
		status = explain_json(c, m, json);
	if (!status && !(json && json[0] == '-' && !json[1])) {
		for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info)
			fputs(hexc_explain(m, k), stdout);
		status = cli_flush();
	}
	hexc_module_free(m);
	return status;
}
