/* explain.c - implements hexc explain (text, JSON, drawings) and hexc candidates. */
#include "hexc/cli/base/json.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- JSON -------------------------------------------------------------------------------------- */

/* Describes all kernels of m. */
static cJSON *
kernels_json(const hexc_module *m)
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
		if (!facts) /* out of memory: reported when printing */
			cJSON_AddItemToObject(o, "tiles", NULL);
		cJSON_Delete(facts);
		cJSON_AddItemToObject(o, "candidates", json_candidates(m, k, NULL));
		cJSON_AddStringToObject(o, "text", hexc_explain(m, k));
		cJSON_AddItemToArray(root, o);
	}
	return root;
}

/* ---- pictures --------------------------------------------------------------------------------- */

static const char page_head[] =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>hexc explain</title>\n"
        "<style>\n"
        "body { font: 16px sans-serif; margin: 2em auto; max-width: 100em; padding: 0 1em }\n"
        "pre { font-size: 13px; overflow-x: auto } figure { margin: 1em 0 } img { max-width: 100% }\n"
        "</style>\n";

/* Writes a kernel's section: the summary, its drawings, the full text. */
static void
page_kernel(Page *p, const hexc_module *m, size_t k, const char *entry)
{
	const char *name;

	page_html(p, "<h1>");
	page_text(p, entry);
	page_html(p, "</h1>\n<pre>");
	page_text(p, hexc_explain_short(m, k));
	page_html(p, "</pre>\n");
	for (size_t i = 0; hexc_drawing(m, k, i, &name); i++) {
		page_html(p, "<figure><figcaption>");
		page_text(p, name);
		page_html(p, "</figcaption><img loading=\"lazy\" alt=\"");
		page_text(p, name);
		page_html(p, "\" src=\"");
		page_text(p, cli_printf(p->c, "%s.%s.svg", entry, name));
		page_html(p, "\"></figure>\n");
	}
	page_html(p, "<details><summary>Everything in words</summary>\n<pre>");
	page_text(p, hexc_explain(m, k));
	page_html(p, "</pre></details>\n");
}

/* Writes DIR/index.html: drawings and text on one page. */
static int
draw_page(Cli *c, const hexc_module *m, const char *dir)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	Page p = { .c = c };

	page_html(&p, page_head);
	for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info)
		page_kernel(&p, m, k, info.name);
	return cli_write(c, cli_printf(c, "%s/index.html", dir), p.s, p.n);
}

/* Writes DIR/KERNEL.WHAT.svg for each drawing, and their page. */
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
			const char *path = cli_printf(c, "%s/%s.%s.svg", dir, info.name, name);

			status = cli_write(c, path, svg, strlen(svg));
		}
	}
	return status ? status : draw_page(c, m, dir);
}

/* ---- the command ------------------------------------------------------------------------------- */

static bool
is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* Writes each requested output. */
static int
write_all(Cli *c, const CliProgram *p, const hexc_module *m)
{
	const char *json = cli_get(c, CLI_json), *svg = cli_get(c, CLI_svg), *html = cli_get(c, CLI_html);
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	int status = svg ? draw(c, m, svg) : 0;

	if (!status && json)
		status = json_write(c, json, kernels_json(m));
	if (!status && html)
		status = page_write(c, html, p, kernels_json(m));
	if (status || is_stdout(json) || is_stdout(html))
		return status;
	for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info)
		fputs(cli_has(c, CLI_brief) ? hexc_explain_short(m, k) : hexc_explain(m, k), stdout);
	return cli_flush();
}

int
cli_explain(Cli *c)
{
	uint32_t flags = HEXC_EXPLAIN | HEXC_NO_EMIT | (cli_has(c, CLI_svg) ? HEXC_DRAW : 0);
	CliProgram p;
	hexc_module *m = NULL;
	int status = cli_open(c, flags, NULL, &p);

	if (!status)
		status = cli_build(&p, &m);
	if (!status)
		status = write_all(c, &p, m);
	hexc_module_free(m);
	cli_close(&p);
	return status;
}

/* ---- hexc candidates --------------------------------------------------------------------------- */

/* Does solution a of kernel k rank before b by the assembler? Assembled ones come first, and the chosen
 * one first of these. */
static bool
is_before(const hexc_module *m, size_t k, size_t a, size_t b)
{
	hexc_candidate_info x = HEXC_CANDIDATE_INFO_INIT, y = HEXC_CANDIDATE_INFO_INIT;
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	hexc_kernel(m, k, &info);
	hexc_candidate(m, k, a, &x);
	hexc_candidate(m, k, b, &y);
	if (!x.assembled || !y.assembled)
		return x.assembled != y.assembled ? x.assembled : a < b;
	if (a == info.candidate || b == info.candidate)
		return a == info.candidate;
	if (x.spilled != y.spilled)
		return x.spilled < y.spilled;
	return x.used_cycles < y.used_cycles;
}

/* Returns the indices of all solutions of kernel k, best first, followed by their number. */
static const size_t *
ranked(Cli *c, const hexc_module *m, size_t k)
{
	hexc_candidate_info cand = HEXC_CANDIDATE_INFO_INIT;
	size_t n = 0, *order;

	while (hexc_candidate(m, k, n, &cand))
		n++;
	order = cli_alloc(c, sizeof *order * (n + 1));
	for (size_t i = 0; i < n; i++) { /* insertion sort: few change places */
		size_t at = i;

		for (; at > 0 && is_before(m, k, i, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	order[n] = n;
	return order;
}

static void
print_candidate(size_t i, const hexc_candidate_info *c)
{
	printf("%3zu %12.0f cycles  ", i, c->assembled ? c->used_cycles : c->cycles);
	if (c->assembled && c->spilled)
		printf("%3u registers, %u bytes spilled  ", c->used, c->spilled);
	else if (c->assembled)
		printf("%3u registers  ", c->used);
	printf("%s\n", c->text);
}

static int
print_candidates(Cli *c, const hexc_module *m)
{
	cJSON *root = cJSON_CreateArray();
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "entry", info.name);
		cJSON_AddItemToObject(o, "candidates", json_candidates(m, k, ranked(c, m, k)));
		cJSON_AddItemToArray(root, o);
	}
	return json_write(c, "-", root);
}

int
cli_candidates(Cli *c)
{
	hexc_candidate_info cand = HEXC_CANDIDATE_INFO_INIT;
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	bool asks = cli_has(c, CLI_assemble);
	hexc_module *m;
	int status = cli_compile(c, asks ? HEXC_ASSEMBLE_ALL : HEXC_NO_EMIT, asks ? NULL : "infer", &m);

	if (!status && cli_has(c, CLI_json_out))
		status = print_candidates(c, m);
	else if (!status) {
		for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info) {
			const size_t *i = ranked(c, m, k);

			if (hexc_kernel(m, 1, &info) && hexc_kernel(m, k, &info))
				printf("%s:\n", info.name);
			for (; hexc_candidate(m, k, *i, &cand); i++, cand.size = sizeof cand)
				print_candidate(*i, &cand);
		}
		status = cli_flush();
	}
	hexc_module_free(m);
	return status;
}
