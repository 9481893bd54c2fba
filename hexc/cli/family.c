/* family.c - implements --family: finds the kernels that family texts name, and checks that a bundle has
 * them. */
#include "hexc/cli/base/cli.h"
#include "lib/hexc_family.h"
#include <string.h>

enum { TEXT_MAX = 64 << 20 };

typedef struct FamilyNames {
	Cli *c;
	CliFamilies *to;
} FamilyNames;

static bool
same_want(const CliWant *a, const CliWant *b)
{
	if (strcmp(a->kernel, b->kernel) != 0 || a->candidate != b->candidate || a->ndefine != b->ndefine ||
	    !a->arch != !b->arch || (a->arch && strcmp(a->arch, b->arch) != 0))
		return false;
	for (size_t i = 0; i < a->ndefine; i++)
		if (strcmp(a->define[i].name, b->define[i].name) != 0 ||
		    a->define[i].value != b->define[i].value)
			return false;
	return true;
}

/* Adds the kernel, without duplicates. */
static int
add_want(void *user, const hexc_family_want *w)
{
	FamilyNames *r = user;
	CliFamilies *f = r->to;
	CliWant *new;

	if (f->n == f->cap) {
		CliWant *more = cli_alloc(r->c, sizeof *more * (2 * f->cap + 16));

		if (f->n)
			memcpy(more, f->want, sizeof *more * f->n);
		f->want = more;
		f->cap = 2 * f->cap + 16;
	}
	new = &f->want[f->n];
	memset(new, 0, sizeof *new);
	new->kernel = cli_printf(r->c, "%s", w->kernel);
	new->arch = w->arch ? cli_printf(r->c, "%s", w->arch) : NULL;
	new->candidate = w->candidate;
	new->ndefine = w->ndefine;
	new->define = cli_alloc(r->c, sizeof *new->define * (w->ndefine + 1));
	for (size_t i = 0; i < w->ndefine; i++)
		new->define[i] = (hexc_define){ cli_printf(r->c, "%s", w->define[i].name),
		                                w->define[i].value };
	for (size_t i = 0; i < f->n; i++)
		if (same_want(&f->want[i], new))
			return 0;
	f->n++;
	return 0;
}

int
cli_read_families(Cli *c, CliFamilies *out)
{
	FamilyNames r = { c, out };
	char why[400];

	*out = (CliFamilies){ .text = "" };
	for (int i = 0; i < c->narg; i++) {
		const char *path = c->arg[i].value;
		char *text;
		size_t n;
		int status, code;

		if (c->arg[i].opt != CLI_family)
			continue;
		text = cli_read(c, path, TEXT_MAX, &n, &status);
		if (!text)
			return status;
		if (strlen(text) != n)
			return cli_error(EXIT_INPUT, "%s: contains a NUL; not a text file", path);
		code = hexc_family_wants(text, n, add_want, &r, why, sizeof why);
		if (code)
			return cli_error(code == HEXC_E_FILE ? EXIT_INPUT : EXIT_TROUBLE, "%s: %s", path,
			                 why);
		out->text = cli_printf(c, "%s%s%s", out->text, text, n && text[n - 1] != '\n' ? "\n" : "");
	}
	return 0;
}

/* ---- are they whole? --------------------------------------------------------------------------- */

typedef struct Check {
	const hexc_bundle *b;
	char family[200], arch[40]; /* of the family opened last */
	char why[400];
	int code;
} Check;

static int
open_family(void *user, const hexc_family_want *w)
{
	const char *arch = w->arch ? w->arch : "";
	Check *j = user;
	hexc_family *f;

	if (strcmp(j->family, w->family) == 0 && strcmp(j->arch, arch) == 0)
		return 0;
	snprintf(j->family, sizeof j->family, "%s", w->family);
	snprintf(j->arch, sizeof j->arch, "%s", arch);
	j->code = hexc_family_open(&f, j->b, w->family, w->arch, j->why, sizeof j->why);
	hexc_family_close(f);
	return j->code;
}

int
cli_check_families(const void *bundle, size_t n, const char *text)
{
	hexc_bundle *b;
	Check j = { .code = HEXC_OK };
	char why[400] = "";
	int code;

	if (!*text)
		return 0;
	code = hexc_bundle_memory(&b, bundle, n, why, sizeof why);
	j.b = b;
	if (!code)
		code = hexc_family_wants(text, strlen(text), open_family, &j, why, sizeof why);
	hexc_bundle_close(b);
	if (!code && !j.code)
		return 0;
	if (!code)
		memcpy(why, j.why, sizeof why);
	return cli_error((code ? code : j.code) == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s", why);
}
