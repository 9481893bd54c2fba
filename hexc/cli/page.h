/* page.h - pages of HTML, as explanations are written. */
#ifndef HEXC_CLI_PAGE_H
#define HEXC_CLI_PAGE_H
#include "hexc/cli/json.h"

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
