/* html_report.c - writes HTML pages: text, and the page of `hexc explain --html`. */
#include "hexc/cli/base/json.h"
#include <string.h>

#include "hexc/cli/page.inc" /* the files of hexc/cli/page/, converted to arrays of lines by the Makefile */

static void
page_add(Page *p, const char *s, size_t n)
{
	if (n > p->cap - p->n) {
		size_t cap = 2 * (p->n + n) + 1000;
		char *old = p->s;

		p->s = cli_alloc(p->c, cap);
		memcpy(p->s, old ? old : "", p->n);
		p->cap = cap;
	}
	memcpy(p->s + p->n, s, n);
	p->n += n;
}

void
page_html(Page *p, const char *s)
{
	page_add(p, s, strlen(s));
}

void
page_text(Page *p, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "<>&\"");

		page_add(p, s, n);
		s += n;
		if (*s)
			page_html(p, *s == '<'   ? "&lt;"
			             : *s == '>' ? "&gt;"
			             : *s == '&' ? "&amp;"
			                         : "&quot;");
		s += *s != 0;
	}
}

/* ---- the page that draws itself -------------------------------------------------------------- */

static void
page_lines(Page *p, const char *const *line)
{
	while (*line)
		page_html(p, *line++);
}

/* Writes JSON in which no `<` can end the surrounding element. */
static void
page_json(Page *p, const char *s)
{
	for (size_t n; *s; s += n + (s[n] != 0)) {
		n = strcspn(s, "<");
		page_add(p, s, n);
		page_html(p, s[n] ? "\\u003c" : "");
	}
	page_html(p, "\n");
}

int
page_write(Cli *c, const char *path, const CliProgram *program, cJSON *kernels)
{
	cJSON *root = cJSON_CreateObject();
	Page p = { .c = c };
	char *text;

	cJSON_AddStringToObject(root, "file", program->path);
	cJSON_AddStringToObject(root, "build", hexc_build_info());
	cJSON_AddStringToObject(root, "source", cli_strndup(c, program->src, program->n));
	cJSON_AddItemToObject(root, "kernels", kernels);
	text = json_line(c, root);
	if (!text)
		return cli_error(EXIT_TROUBLE, "out of memory");
	for (const char *const *line = file_html; *line; line++) {
		if (strcmp(*line, "@css\n") == 0)
			page_lines(&p, file_css);
		else if (strcmp(*line, "@js\n") == 0)
			page_lines(&p, file_js);
		else if (strcmp(*line, "@data\n") == 0)
			page_json(&p, text);
		else
			page_html(&p, *line);
	}
	return cli_write(c, path, p.s, p.n);
}
