/* json.h - JSON out, on cJSON: every function may meet a lack of memory, which shows when printing. */
#ifndef HEXC_CLI_JSON_H
#define HEXC_CLI_JSON_H
#include "hexc/cli/cli.h"
#include <cjson/cJSON.h>

/* A number with all its digits: cJSON's own are doubles. */
void json_int(cJSON *object, const char *name, int64_t x);
void json_uint(cJSON *object, const char *name, uint64_t x);
cJSON *json_dims(const uint32_t dims[3]);
/* What a host needs to launch every kernel of m: hexc-manifest(5). */
cJSON *json_manifest(const hexc_module *m, const char *arch, const char *compiler);
/* One kernel's candidates. */
cJSON *json_candidates(const hexc_module *m, size_t k);
/* As text without white space, and delete it; NULL: no memory. */
char *json_line(Cli *c, cJSON *root);
/* Write as text with a newline ("-": standard output) and delete it.  0, or a status with the reason
 * printed. */
int json_write(Cli *c, const char *path, cJSON *root);
#endif
