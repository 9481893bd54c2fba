/* json.h - JSON out, on cJSON, and the pages that show it: a lack of memory shows when printing. */
#ifndef HEXC_CLI_JSON_H
#define HEXC_CLI_JSON_H
#include "hexc/cli/base/cli.h"
#include <cjson/cJSON.h>

/* A number with all its digits: cJSON's own are doubles. */
void json_int(cJSON *object, const char *name, int64_t x);
void json_uint(cJSON *object, const char *name, uint64_t x);
cJSON *json_dims(const uint32_t dims[3]);
/* What a host needs to launch every kernel of m: hexc-manifest(5). */
cJSON *json_manifest(const hexc_module *m, const char *arch, const char *compiler);
/* One kernel's candidates, in this order, which ends with a number that none has; NULL: best first. */
cJSON *json_candidates(const hexc_module *m, size_t k, const size_t *order);
/* As text without white space, and delete it; NULL: no memory. */
char *json_line(Cli *c, cJSON *root);
/* Write as text with a newline ("-": standard output) and delete it.  0, or a status with the reason
 * printed. */
int json_write(Cli *c, const char *path, cJSON *root);

/* ---- html_report.c: pages of HTML, as explanations are written ---- */

/* A page in the making. */
typedef struct Page {
	Cli *c;
	char *s;
	size_t n, cap;
} Page;

void page_html(Page *p, const char *s); /* as it is */
void page_text(Page *p, const char *s); /* as text, which HTML's own characters are not */

/* One page that needs nothing else: the files of hexc/cli/page/, and what they show, the
 * program's text and `kernels` as explain --json has them, which it frees.  0, or a status with the reason
 * printed. */
int page_write(Cli *c, const char *path, const CliProgram *p, cJSON *kernels);
#endif
