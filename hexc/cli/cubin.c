/* cubin.c - --cubin: what ptxas makes of PTX, for bundles. */
#include "hexc/cli/ptxas.h"
#include <stdlib.h>
#include <string.h>

/* "sm_86": 86, and the letter behind it or 0. */
static int
sm_of(const char *arch, char *letter)
{
	char *end;
	long sm = strncmp(arch, "sm_", 3) == 0 ? strtol(arch + 3, &end, 10) : 0;

	*letter = sm > 0 ? *end : 0;
	return sm > 0 && sm < 10000 ? (int)sm : 0;
}

static bool
runs(const char *ptx, const char *cubin)
{
	char of, to;
	int from = sm_of(ptx, &of), sm = sm_of(cubin, &to);

	return of ? from == sm && of == to : from <= sm;
}

/* Is this the arch to make that cubin of: the newest that runs there? */
static bool
best_for(const CliWords *archs, const char *arch, const char *cubin)
{
	char letter;

	if (!runs(arch, cubin))
		return false;
	for (int i = 0; i < archs->n; i++)
		if (runs(archs->word[i], cubin) && sm_of(archs->word[i], &letter) > sm_of(arch, &letter))
			return false;
	return true;
}

/* The cubin of m for an arch, by ptxas, in a folder of its own. */
static int
make_cubin(Cli *c, const hexc_module *m, const char *arch, hexc_cubin *out)
{
	const char *folder, *text, *why;
	size_t n;
	int status = 0;

	if (!ptxas_path(c))
		return cli_error(EXIT_TROUBLE,
		                 "--cubin needs ptxas of the CUDA toolkit, which neither --assembler, $PTXAS nor "
		                 "$PATH has");
	if (!(folder = ptxas_folder(c)))
		return EXIT_TROUBLE;
	text = hexc_ptx(m, &n);
	out->arch = arch;
	if (!ptxas_run(c, folder, arch, text, n, NULL, &why))
		status = cli_error(EXIT_TROUBLE, "--cubin: %s", why);
	else
		out->data = cli_read(c, cli_printf(c, "%s/a.cubin", folder), (size_t)1 << 30, &out->bytes, &status);
	ptxas_leave(c, folder);
	return status;
}

int
cli_add_cubins(Cli *c, const CliWords *archs, const CliWords *cubins, hexc_module **m, const char *arch)
{
	hexc_cubin *made = cli_alloc(c, sizeof *made * (size_t)(cubins->n + 1));
	size_t n = 0, bytes = 0;
	hexc_module *with;
	void *data;
	int code;

	for (int i = 0; i < cubins->n; i++)
		if (best_for(archs, arch, cubins->word[i])) {
			int status = make_cubin(c, *m, cubins->word[i], &made[n++]);

			if (status)
				return status;
		}
	if (!n)
		return 0;
	code = hexc_module_save(*m, made, n, NULL, 0, &bytes);
	data = malloc(bytes + 1);
	if (!code && data)
		code = hexc_module_save(*m, made, n, data, bytes, &bytes);
	if (!code)
		code = data ? hexc_module_load(&with, data, bytes, NULL, 0) : HEXC_E_NOMEM;
	free(data);
	if (code)
		return cli_error(cli_status(code), "%s", hexc_strerror(code));
	hexc_module_free(*m);
	*m = with;
	return 0;
}

int
cli_check_cubins(const CliWords *archs, const CliWords *cubins)
{
	for (int i = 0; i < cubins->n; i++) {
		bool any = false;

		for (int a = 0; a < archs->n; a++)
			any = any || runs(archs->word[a], cubins->word[i]);
		if (!any)
			return cli_error(EXIT_USAGE, "--cubin %s: no PTX of --arch runs there",
			                 cubins->word[i]);
	}
	return 0;
}
