/* candidates.c - hexc candidates. */
#include "hexc/cli/json.h"

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
