/* json.h - declares JSON output, on cJSON, and the HTML pages that embed it. Out of memory is reported
 * when printing. */
#ifndef HEXC_CLI_JSON_H
#define HEXC_CLI_JSON_H
#include "hexc/cli/base/cli.h"
#include <cjson/cJSON.h>

/* Add a number with all its digits: cJSON's own are doubles. */
void json_int(cJSON *object, const char *name, int64_t x);
void json_uint(cJSON *object, const char *name, uint64_t x);
cJSON *json_dims(const uint32_t dims[3]);
/* Describes everything that a host needs to launch each kernel of m: hexc-manifest(5). */
cJSON *json_manifest(const hexc_module *m, const char *arch, const char *compiler);
/* Describes one kernel's candidates, in this order, which ends with an index past the last; NULL: best
 * first. */
cJSON *json_candidates(const hexc_module *m, size_t k, const size_t *order);
/* Prints as text without white space, and deletes root; returns NULL if memory is short. */
char *json_line(Cli *c, cJSON *root);
/* Writes as text with a newline ("-": standard output) and deletes root. Returns 0, or a status with the
 * reason printed. */
int json_write(Cli *c, const char *path, cJSON *root);

/* ---- html_report.c: pages of HTML, as explanations are written ---- */

/* A page under construction. */
typedef struct Page {
	Cli *c;
	char *s;
	size_t n, cap;
} Page;

void page_html(Page *p, const char *s); /* unescaped */
void page_text(Page *p, const char *s); /* escapes HTML's special characters */

/* Writes a self-contained page: the files of hexc/cli/page/, the program's text and `kernels` as in
 * explain --json, which it frees. Returns 0, or a status with the reason printed. */
int page_write(Cli *c, const char *path, const CliProgram *p, cJSON *kernels);
#endif
