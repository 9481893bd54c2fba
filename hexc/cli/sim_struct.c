/* sim_struct.c - parses composite arguments of `hexc sim`: structs by value, arrays of device pointers. */
#include "hexc/cli/sim.h"
#include <string.h>

enum { STRUCT_MAX = 32764 }; /* limit in bytes of all parameters of a kernel, from the PTX ISA */

/* State of the parser. */
typedef struct StructBytes {
	SimJob *j;
	SimArg *a;
	const char *s;             /* the rest of the text */
	unsigned char *data;
	uint32_t bytes, align;
} StructBytes;

/* Returns the next word of a list, up to a blank, ',' or '}'; "" if there is none. */
static const char *
word(StructBytes *b)
{
	size_t n;
	const char *w;

	b->s += strspn(b->s, " \t");
	n = strcspn(b->s, " \t,}");
	w = cli_strndup(b->j->c, b->s, n);
	b->s += n;
	b->s += strspn(b->s, " \t");
	return w;
}

static int
add(StructBytes *b, const void *value, uint32_t size)
{
	uint32_t at = (b->bytes + size - 1) / size * size;

	if (at + size > STRUCT_MAX)
		return cli_error(EXIT_USAGE, "--arg '%.60s': more than %d bytes", b->a->text, STRUCT_MAX);
	memcpy(b->data + at, value, size);
	b->bytes = at + size;
	b->align = size > b->align ? size : b->align;
	return 0;
}

/* Parses a buffer by its --buffer name or argument index, with optional +BYTES; or null. */
static int
pointer(StructBytes *b, const char *w)
{
	size_t n = strcspn(w, "+");
	const char *name = cli_strndup(b->j->c, w, n);
	const SimArg *to = sim_find_buffer(b->j, name);
	int64_t off = 0;
	uint64_t address;

	if (strcmp(w, "null") == 0) {
		address = 0;
		return add(b, &address, sizeof address);
	}
	if (!to || (w[n] && (!cli_int(w + n + 1, &off) || off < 0)))
		return cli_error(EXIT_USAGE, "--arg '%s': '%s' is not a pointer; expected NAME of a "
		                             "--buffer or the index of a buffer argument, optionally with "
		                             "+BYTES, or null", b->a->text, w);
	address = to->ptr + (uint64_t)off;
	return add(b, &address, sizeof address);
}

/* Parses TYPE NUMBER..., or ptr BUFFER... */
static int
field(StructBytes *b)
{
	const char *type = word(b);
	bool ptr = strcmp(type, "ptr") == 0;
	unsigned char value[8];
	uint32_t size;
	int status;

	if (!*b->s || *b->s == ',' || *b->s == '}')
		return cli_error(EXIT_USAGE, "--arg '%s': missing value after '%s' (as in f32 1.0 or ptr "
					     "A)", b->a->text, type);
	do {
		const char *w = word(b);
		status = ptr ? pointer(b, w) : sim_scalar(b->a->text, type, w, value, &size);
		if (!status && !ptr)
			status = add(b, value, size);
	} while (!status && *b->s && *b->s != ',' && *b->s != '}');
	return status;
}

static int
address(StructBytes *b)
{
	return pointer(b, word(b));
}

/* Parses { item, item, ... } up to the end of the text. */
static int
list(StructBytes *b, int (*item)(StructBytes *))
{
	int status;

	do {
		b->s++;
		status = item(b);
	} while (!status && *b->s == ',');
	if (status)
		return status;
	if (*b->s != '}' || b->s[1])
		return cli_error(EXIT_USAGE, "--arg '%s': expected , or } at '%s'", b->a->text, b->s);
	b->bytes = (b->bytes + b->align - 1) / b->align * b->align;
	return 0;
}

/* struct:FILE: the file's bytes are the struct. */
static int
from_file(SimJob *j, SimArg *a, const char *path)
{
	size_t n;
	int status;
	char *s = cli_read(j->c, path, STRUCT_MAX, &n, &status);

	if (!s)
		return status;
	a->block = (unsigned char *)s;
	a->block_bytes = (uint32_t)n;
	return 0;
}

int
sim_read_struct(SimJob *j, SimArg *a)
{
	bool ptrs = strncmp(a->text, "ptrs:", 5) == 0;
	StructBytes b = { .j = j, .a = a, .s = strchr(a->text, ':') + 1, .align = 1 };
	int status;

	if (*b.s != '{' && !ptrs)
		return from_file(j, a, b.s);
	if (*b.s != '{')
		return cli_error(EXIT_USAGE, "--arg '%s': ptrs requires {BUFFER, ...}", a->text);
	b.data = cli_alloc(j->c, STRUCT_MAX);
	status = list(&b, ptrs ? address : field);
	if (status)
		return status;
	if (ptrs)
		return sim_new_buffer(j, a, SIM_B64, b.bytes / 8, b.data);
	a->block = b.data;
	a->block_bytes = b.bytes;
	return 0;
}
