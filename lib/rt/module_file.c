/* module_file.c - saves and loads modules: the header and checksum around the fields of
 * module_serialize.c. */
#include "lib/rt/module_serialize.h"
#include "lib/rt/file_io.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Header before the fields: magic, version, 0, bytes of the file, digest of everything else. */
enum { HEAD = 32, HEAD_DIGESTED = 24 };
static const char magic[8] = "HEXCMOD\n";

static uint64_t
file_digest(const unsigned char *data, size_t n)
{
	return wire_digest(wire_digest(WIRE_BASIS, data, HEAD_DIGESTED), data + HEAD, n - HEAD);
}

/* ---- to bytes --------------------------------------------------------------------------------- */

static bool
cubins_right(const hexc_cubin *cubin, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!cubin || !cubin[i].arch || (!cubin[i].data && cubin[i].bytes))
			return false;
	return n <= INT16_MAX;
}

int
hexc_module_save(const hexc_module *m, const hexc_cubin *cubin, size_t ncubin, void *out, size_t room,
                 size_t *bytes)
{
	Wire w = { .out = out, .room = out ? room : 0, .at = HEAD };
	hexc_module copy;

	if (!m || !bytes || !cubins_right(cubin, ncubin))
		return HEXC_E_INVALID;
	copy = *m;
	if (ncubin) {
		hexc_cubin *all = calloc((size_t)m->ncubin + ncubin, sizeof *all);
		if (!all)
			return HEXC_E_NOMEM;
		if (m->ncubin)
			memcpy(all, m->cubin, sizeof *all * (size_t)m->ncubin);
		memcpy(all + m->ncubin, cubin, sizeof *all * ncubin);
		copy.cubin = all;
		copy.ncubin = m->ncubin + (int)ncubin;
	}
	wire_module(&w, &copy, MODULE_VERSION);
	if (ncubin)
		free(copy.cubin);
	*bytes = w.at;
	if (!out)
		return HEXC_OK;
	if (w.at > room)
		return HEXC_E_INVALID;
	memcpy(w.out, magic, sizeof magic);
	wire_put_word(w.out + 8, MODULE_VERSION, 4);
	wire_put_word(w.out + 12, 0, 4);
	wire_put_word(w.out + 16, w.at, 8);
	wire_put_word(w.out + HEAD_DIGESTED, file_digest(w.out, w.at), 8);
	return HEXC_OK;
}

/* ---- from bytes ------------------------------------------------------------------------------- */

/* Checks header and digest; returns an error text, or NULL. */
static const char *
head_wrong(const unsigned char *data, size_t n)
{
	uint64_t version;

	if (n < sizeof magic || memcmp(data, magic, sizeof magic) != 0)
		return "not a hexc module: it does not start with HEXCMOD";
	if (n < HEAD)
		return "it is truncated";
	version = wire_get_word(data + 8, 4);
	if (version < MODULE_WITHOUT_TURNS || version > MODULE_VERSION)
		return "it has another format version; compile it again";
	if (wire_get_word(data + 16, 8) != n)
		return "its size differs from the size in its header; copy it again, or compile it again";
	if (wire_get_word(data + HEAD_DIGESTED, 8) != file_digest(data, n))
		return "its checksum is wrong; copy it again, or compile it again";
	return NULL;
}

typedef struct LoadJob {
	hexc_module *m;
	Wire w;
} LoadJob;

/* Runs under arena_protect. */
static void
load(void *user)
{
	LoadJob *j = user;

	wire_module(&j->w, j->m, (int)wire_get_word(j->w.in + 8, 4));
	if (j->w.at != j->w.n)
		wire_bad(&j->w, "unexpected data after its end");
}

int
hexc_module_load(hexc_module **out, const void *data, size_t n, char *why, size_t nwhy)
{
	const char *wrong;
	Arena *arena;
	LoadJob j;
	int code;

	if (why && nwhy)
		why[0] = 0;
	if (out)
		*out = NULL;
	if (!out || (!data && n) || (!why && nwhy))
		return HEXC_E_INVALID;
	wrong = head_wrong(data, n);
	if (wrong)
		return why_error(HEXC_E_FILE, why, nwhy, "%s", wrong);
	j.m = module_new(libc_realloc, NULL);
	if (!j.m)
		return why_error(HEXC_E_NOMEM, why, nwhy, "%s", hexc_strerror(HEXC_E_NOMEM));
	arena = &j.m->arena;
	j.w = (Wire){ .arena = arena, .in = data, .n = n, .at = HEAD };
	code = arena_protect(&arena, 1, load, &j);
	if (code)
		why_error(code, why, nwhy, "%s", hexc_strerror(code));
	else if (j.w.why)
		code = why_error(HEXC_E_FILE, why, nwhy, "%s", j.w.why);
	if (code)
		hexc_module_free(j.m);
	else
		*out = j.m;
	return code;
}

/* ---- files ------------------------------------------------------------------------------------ */

int
hexc_module_save_file(const hexc_module *m, const hexc_cubin *cubin, size_t ncubin, const char *path,
                      char *why, size_t n)
{
	size_t bytes;
	void *data;
	int code, bad;

	if (why && n)
		why[0] = 0;
	if (!path || (!why && n))
		return HEXC_E_INVALID;
	code = hexc_module_save(m, cubin, ncubin, NULL, 0, &bytes);
	if (code)
		return why_error(code, why, n, "%s", hexc_strerror(code));
	data = malloc(bytes);
	if (!data)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	code = hexc_module_save(m, cubin, ncubin, data, bytes, &bytes);
	bad = code ? 0 : disk_write(path, data, bytes);
	free(data);
	if (code)
		return why_error(code, why, n, "%s", hexc_strerror(code));
	return bad ? why_error(bad == ENOMEM ? HEXC_E_NOMEM : HEXC_E_FILE, why, n,
	                       "%s: cannot be written: %s", path, strerror(bad))
	           : HEXC_OK;
}

int
hexc_module_load_file(hexc_module **out, const char *path, char *why, size_t nwhy)
{
	char text[300];
	void *data;
	size_t n;
	int code;

	if (why && nwhy)
		why[0] = 0;
	if (out)
		*out = NULL;
	if (!out || !path || (!why && nwhy))
		return HEXC_E_INVALID;
	data = disk_read(path, &n);
	if (!data)
		return why_error(errno == ENOMEM ? HEXC_E_NOMEM : HEXC_E_FILE, why, nwhy,
		                 "%s: cannot be read: %s", path, strerror(errno));
	code = hexc_module_load(out, data, n, text, sizeof text);
	free(data);
	return code ? why_error(code, why, nwhy, "%s: %s", path, text) : HEXC_OK;
}
