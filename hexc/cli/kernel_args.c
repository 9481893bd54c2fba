/* kernel_args.c - matches the parameters of a kernel with the --arg options. */
#include "hexc/cli/kernel_args.h"
#include <string.h>

/* Limit in bytes of all tensors of a run, and of one file. */
static const uint64_t memory_max = (uint64_t)4 << 30;

Tensor *
args_find(const Args *a, const char *name, size_t n)
{
	for (int i = 0; i < a->n; i++)
		if (strlen(a->t[i].info.name) == n && memcmp(a->t[i].info.name, name, n) == 0)
			return &a->t[i];
	return NULL;
}

static int
no_parameter(const Args *a, const char *name, int n)
{
	cli_begin_error("--arg: the kernel has no parameter '%.*s'; it has", n, name);
	for (int i = 0; i < a->n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", a->t[i].info.name);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

/* Reads a tensor from a tensor file as if it were a .npy: in its type, or in the one that .npy files use
 * for it. */
static int
read_held(Cli *c, Tensor *t)
{
	FileTensorData held;
	int status = held_read(c, t->value.path, t->value.held, &held);

	if (status)
		return status;
	t->natural = held.type == t->type;
	t->npy = (Npy){ .kind = (char)held.type->kind,
		        .size = (int)held.type->bits / 8, /* 0: never true of a .npy */
		        .rank = (int)held.rank,
		        .count = 1,
		        .data = held.data };
	for (uint32_t d = 0; d < held.rank; d++) {
		t->npy.shape[d] = held.dim[d];
		t->npy.count *= held.dim[d];
	}
	return t->natural ? 0 : tensor_check_type(t, cli_printf(c, "%s (%s)", held.type->name, held.what));
}

static int
read_file(Cli *c, Tensor *t)
{
	char why[200];
	size_t n;
	int status;
	char *s;

	if (t->value.held)
		return read_held(c, t);
	s = cli_read(c, t->value.path, memory_max, &n, &status);
	if (!s)
		return status;
	if (!npy_parse(&t->npy, s, n, why, sizeof why))
		return cli_error(EXIT_INPUT, "%s: %s%s", t->value.path, why,
		                 held_file(t->value.path) ? "; one of its tensors is @FILE:TENSOR" : "");
	return tensor_check_type(t, NULL);
}

/* Reads a scalar from a tensor with one element, such as a scale of an entire matrix. */
static int
read_scalar(Cli *c, const Tensor *t, hexc_arg *arg)
{
	FileTensorData held;
	int64_t count = 1;
	int status = held_read(c, t->value.path, t->value.held, &held);

	if (status)
		return status;
	for (uint32_t d = 0; d < held.rank; d++)
		count *= held.dim[d];
	if (count != 1)
		return cli_error(EXIT_INPUT, "%s is a scalar, but %s has %lld elements", t->info.name,
		                 t->value.text, (long long)count);
	if ((held.type->kind == 'f') != (t->type->kind == 'f'))
		return cli_error(EXIT_INPUT, "%s is %s, but %s is %s (%s)", t->info.name, t->type->name,
		                 t->value.text, held.type->name, held.what);
	arg->f = hexc_get(held.type, held.data, 0);
	arg->i = held.type->kind == 'f' ? 0 : hexc_get_int(held.type, held.data, 0);
	return 0;
}

/* Sizes and scalars accept only a number. */
static int
read_number(Cli *c, Tensor *t, hexc_arg *arg)
{
	const ArgValue *v = &t->value;
	bool integer = t->info.kind == HEXC_SIZE || t->type->kind != 'f';

	if (v->held && t->info.kind == HEXC_SCALAR)
		return read_scalar(c, t, arg);
	if (v->kind != V_NUMBER || v->shaped)
		return cli_error(EXIT_USAGE, "--arg %s: %s is a %s and requires a number", t->info.name,
		                 t->info.name, t->info.kind == HEXC_SIZE ? "size" : "scalar");
	arg->i = v->i;
	if (integer && !v->is_int && !(strcmp(t->info.dtype, "u64") == 0 && cli_u64(v->text, &arg->i)))
		return cli_error(EXIT_USAGE, "--arg %s: %s is %s, but '%s' is not an integer", t->info.name,
		                 t->info.name, t->info.dtype, v->text);
	if (t->info.kind == HEXC_SIZE && v->i < 0)
		return cli_error(EXIT_INPUT, "the size %s is %lld; sizes must not be negative",
		                 t->info.name, (long long)v->i);
	arg->f = v->f;
	return 0;
}

static int
read_arg(Cli *c, Args *a, const char *text)
{
	const char *eq = strchr(text, '=');
	Tensor *t;
	int status;

	if (!eq || eq == text)
		return cli_error(EXIT_USAGE, "--arg: expected NAME=VALUE, got '%s'", text);
	t = args_find(a, text, (size_t)(eq - text));
	if (!t)
		return no_parameter(a, text, (int)(eq - text));
	if (t->value.kind != V_NONE)
		return cli_error(EXIT_USAGE, "--arg %s given twice", t->info.name);
	status = value_parse(c, t->info.name, eq + 1, &t->value);
	if (status)
		return status;
	if (t->info.kind != HEXC_POINTER)
		return read_number(c, t, &a->arg[t - a->t]);
	return t->value.kind == V_FILE ? read_file(c, t) : 0;
}

static int
check_given(const Args *a)
{
	for (int i = 0; i < a->n; i++) {
		const Tensor *t = &a->t[i];
		bool needed = t->info.kind == HEXC_SCALAR || (t->info.kind == HEXC_POINTER && t->info.read);
		if (needed && t->value.kind == V_NONE)
			return cli_error(EXIT_USAGE, "missing --arg %s=... for parameter %s",
			                 t->info.name, t->info.name);
	}
	return 0;
}

static void
declare(Cli *c, Args *a)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;

	while (hexc_param(a->m, a->kernel, (size_t)a->n, &p))
		a->n++;
	a->t = cli_alloc(c, sizeof *a->t * (size_t)(a->n + 1));
	a->arg = cli_alloc(c, sizeof *a->arg * (size_t)(a->n + 1));
	for (int i = 0; i < a->n; i++) {
		a->t[i].info.size = sizeof a->t[i].info;
		hexc_param(a->m, a->kernel, (size_t)i, &a->t[i].info);
		a->t[i].type = hexc_dtype_find(a->t[i].info.dtype);
	}
}

/* Computes elements and bytes from the first to the last element; returns false on overflow. */
static bool
measure(Tensor *t)
{
	uint64_t last = 0;

	for (uint32_t d = 0; d < t->info.rank; d++)
		if (t->dim[d] == 0)
			return true; /* span and bytes stay 0 */
	for (uint32_t d = 0; d < t->info.rank; d++) {
		uint64_t n = (uint64_t)t->dim[d] - 1, s = (uint64_t)t->stride[d];
		if (t->stride[d] < 0 || (s && n > (memory_max * 8 - last) / s))
			return false;
		last += n * s;
	}
	t->span = last + 1;
	t->bytes = (t->span * t->type->bits + 7) / 8;
	return true;
}

/* Overlapping output elements cannot be written to a file; a broadcast input is allowed. */
static int
allocate(Cli *c, Args *a)
{
	uint64_t sum = 0;

	for (int i = 0; i < a->n; i++) {
		Tensor *t = &a->t[i];
		uint64_t each = 1;
		if (t->info.kind != HEXC_POINTER)
			continue;
		if (!measure(t) || t->bytes > memory_max || (sum += t->bytes) > memory_max)
			return cli_error(EXIT_TROUBLE, "the tensors need more than %llu MiB (at %s)",
			                 (unsigned long long)(memory_max >> 20), t->info.name);
		for (uint32_t d = 0; d < t->info.rank;
		     d++) /* a stride of 0 repeats elements without memory */
			if (t->dim[d] && (each *= (uint64_t)t->dim[d]) > memory_max * 8)
				return cli_error(EXIT_TROUBLE,
				                "%s is too large to generate",
				                 t->info.name);
		t->start = cli_try_alloc(c, t->bytes);
		if (!t->start)
			return cli_error(EXIT_TROUBLE, "out of memory for %s (%llu bytes)", t->info.name,
			                 (unsigned long long)t->bytes);
	}
	return 0;
}

int
args_read(Cli *c, const hexc_module *m, size_t kernel, Args *a)
{
	char why[300];
	int status = 0;

	memset(a, 0, sizeof *a);
	a->m = m;
	a->kernel = kernel;
	declare(c, a);
	for (int i = 0; i < c->narg && !status; i++)
		if (c->arg[i].opt == CLI_arg)
			status = read_arg(c, a, c->arg[i].value);
	if (!status)
		status = check_given(a);
	if (!status)
		status = args_sizes(a);
	if (!status && hexc_check_sizes(m, kernel, a->arg, why, sizeof why) != HEXC_OK)
		status = cli_error(EXIT_INPUT, "%s", why);
	if (!status)
		status = allocate(c, a);
	for (int i = 0; i < a->n && !status; i++)
		if (a->t[i].info.kind == HEXC_POINTER)
			status = tensor_fill(&a->t[i]);
	return status;
}

int
tensor_expect(Cli *c, const Tensor *t, const char *text, unsigned char **out)
{
	Tensor want = *t;
	int status;

	want.packed = want.natural = false;
	status = value_parse(c, t->info.name, text, &want.value);
	if (!status && want.value.kind != V_FILE)
		status = cli_error(EXIT_USAGE, "--expect requires a file, as in %s=@FILE.npy:1e-3, got '%s'",
		                   t->info.name, text);
	if (!status)
		status = read_file(c, &want);
	if (!status)
		status = tensor_check_shape(&want);
	if (!status && !(want.start = cli_try_alloc(c, t->bytes)))
		status = cli_error(EXIT_TROUBLE, "out of memory for %s", text);
	if (!status)
		status = tensor_fill(&want);
	*out = want.start;
	return status;
}

/* ---- to a device and back ---------------------------------------------------------------------- */

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

/* Reads an output, unpacked. */
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
