/* launch.c - tensors on their way to a device and back: the forms of packed ones. */
#include "hexc/cli/run.h"
#include <string.h>

int
launch_form(Cli *c, const Args *a, int i, const unsigned char **data, uint64_t *bytes)
{
	const Tensor *t = &a->t[i];
	const char *pack = hexc_module_pack(a->m, a->kernel, (size_t)i);
	char why[300] = "";
	unsigned char *to;

	*data = t->start;
	*bytes = t->bytes;
	if (!pack)
		return 0;
	if (hexc_pack_bytes(pack, t->info.rank, t->dim, bytes, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_INPUT, "%s cannot be packed: %s", t->info.name, why);
	*data = to = cli_try_alloc(c, *bytes);
	if (!to)
		return cli_error(EXIT_TROUBLE, "out of memory for %s", t->info.name);
	if (hexc_pack(pack, t->info.rank, t->dim, t->start, to, NULL, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "%s cannot be packed: %s", t->info.name, why);
	return 0;
}

/* An output in its natural form. */
static int
fetch(Cli *c, const Args *a, int i, LaunchRead *read, void *user)
{
	const Tensor *t = &a->t[i];
	const char *pack = hexc_module_pack(a->m, a->kernel, (size_t)i);
	char why[300] = "";
	uint64_t bytes = t->bytes;
	void *data = t->device;
	int status;

	if (pack) {
		hexc_pack_bytes(pack, t->info.rank, t->dim, &bytes, why, sizeof why);
		data = cli_try_alloc(c, bytes);
	}
	if (!data)
		return cli_error(EXIT_TROUBLE, "out of memory for %s", t->info.name);
	status = read(user, i, data, bytes);
	if (status || !pack)
		return status;
	if (hexc_unpack(pack, t->info.rank, t->dim, data, t->device, NULL, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "%s cannot be unpacked: %s", t->info.name, why);
	return 0;
}

int
launch_results(Cli *c, Args *a, LaunchRead *read, void *user)
{
	int status = 0;

	for (int i = 0; i < a->n && !status; i++) {
		Tensor *t = &a->t[i];

		if (t->info.kind != HEXC_POINTER)
			continue;
		t->device = tensor_copy(c, t);
		if (!t->device)
			return cli_error(EXIT_TROUBLE, "out of memory for %s", t->info.name);
		if (t->bytes && t->info.written)
			status = fetch(c, a, i, read, user);
	}
	return status;
}
