/* bundle.c - opens and reads bundles; loads a module on its first use. */
#include "lib/rt/bundle.h"
#include "lib/rt/file_io.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns bytes [at, at + n) of the bundle, in place or in a block that the caller frees, *own. Returns
 * NULL with why written on failure. */
static const unsigned char *
bytes_at(const hexc_bundle *b, uint64_t at, size_t n, void **own, int *code, char *why, size_t nwhy)
{
	*own = NULL;
	*code = HEXC_OK;
	if (b->data)
		return b->data + at;
	*own = malloc(n + 1);
	if (!*own)
		*code = why_error(HEXC_E_NOMEM, why, nwhy, "%s", hexc_strerror(HEXC_E_NOMEM));
	else if (!disk_at(b->fd, at, *own, n)) {
		*code = why_error(HEXC_E_FILE, why, nwhy, "the bundle cannot be read: %s",
		                  errno ? strerror(errno) : "it was truncated since it was opened");
		free(*own);
		*own = NULL;
	}
	return *own;
}

/* ---- opening -------------------------------------------------------------------------------------- */

typedef struct BundleOpen {
	hexc_bundle *b;
	Wire w;
} BundleOpen;

/* Checks that modules are after the index, in order, inside the bundle. */
static void
places(Wire *w, const hexc_bundle *b, uint64_t end)
{
	for (int i = 0; i < b->x.nmodule && !w->why; i++) {
		const BundleModule *m = &b->x.module[i];

		if (m->at < end || m->at > b->bytes || m->bytes > b->bytes - m->at)
			wire_bad(w, "a module is at an invalid offset");
		end = m->at + m->bytes;
	}
}

/* Runs under arena_protect. */
static void
read_index(void *user)
{
	BundleOpen *j = user;
	hexc_bundle *b = j->b;

	bundle_wire(&j->w, &b->x);
	if (j->w.at != j->w.n)
		wire_bad(&j->w, "unexpected data after the index");
	b->index_end = BUNDLE_HEAD + j->w.n;
	places(&j->w, b, b->index_end);
	b->loaded = NEWN(&b->arena, _Atomic(hexc_module *), b->x.nmodule + 1);
}

/* Checks the header; returns an error text, or NULL with *index the length of the index. */
static const char *
head_wrong(const unsigned char *head, uint64_t bytes, uint64_t *index)
{
	if (bytes < sizeof bundle_magic || memcmp(head, bundle_magic, sizeof bundle_magic) != 0)
		return "not a hexc bundle: it does not start with HEXCBUN; create one with hexc build";
	if (bytes < BUNDLE_HEAD)
		return "it is truncated; copy it again, or build it again";
	if (wire_get_word(head + 8, 4) != BUNDLE_VERSION)
		return "it has another format version; build it again";
	if (wire_get_word(head + 16, 8) != bytes)
		return "its size differs from the size in its header; copy it again, or build it again";
	*index = wire_get_word(head + 32, 8);
	return *index > bytes - BUNDLE_HEAD ? "its index is larger than the file; build it again" : NULL;
}

static int
open_index(hexc_bundle *b, const unsigned char *head, size_t n, char *why, size_t nwhy)
{
	Arena *arena = &b->arena;
	BundleOpen j = { b, { .arena = arena, .in = head + BUNDLE_HEAD, .n = n } };
	uint64_t digest = wire_digest(WIRE_BASIS, head, BUNDLE_DIGEST);
	int code;

	digest = wire_digest(digest, head + BUNDLE_DIGEST + 8, BUNDLE_HEAD - BUNDLE_DIGEST - 8 + n);
	if (wire_get_word(head + BUNDLE_DIGEST, 8) != digest)
		return why_error(HEXC_E_FILE, why, nwhy,
		                 "the checksum of its index is wrong; copy it again, or build it again");
	code = arena_protect(&arena, 1, read_index, &j);
	if (code)
		return why_error(code, why, nwhy, "%s", hexc_strerror(code));
	return j.w.why ? why_error(HEXC_E_FILE, why, nwhy, "%s", j.w.why) : HEXC_OK;
}

/* Opens b; b->data or b->fd, and b->bytes, are set. */
static int
open_bundle(hexc_bundle **out, hexc_bundle *b, char *why, size_t nwhy)
{
	size_t first = b->bytes < BUNDLE_HEAD ? (size_t)b->bytes : BUNDLE_HEAD;
	const unsigned char *p;
	const char *wrong;
	uint64_t index = 0;
	void *own;
	int code;

	p = bytes_at(b, 0, first, &own, &code, why, nwhy);
	if (!code && (wrong = head_wrong(p, b->bytes, &index)) != NULL)
		code = why_error(HEXC_E_FILE, why, nwhy, "%s", wrong);
	free(own);
	own = NULL;
	if (!code)
		p = bytes_at(b, 0, (size_t)(BUNDLE_HEAD + index), &own, &code, why, nwhy);
	if (!code)
		code = open_index(b, p, (size_t)index, why, nwhy);
	free(own);
	if (code)
		hexc_bundle_close(b);
	else
		*out = b;
	return code;
}

static hexc_bundle *
bundle_new(const void *data, uint64_t bytes, int fd)
{
	hexc_bundle *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	arena_init(&b->arena, NULL, NULL);
	b->data = data;
	b->bytes = bytes;
	b->fd = fd;
	return b;
}

int
hexc_bundle_memory(hexc_bundle **out, const void *data, size_t bytes, char *why, size_t n)
{
	hexc_bundle *b;

	if (why && n)
		why[0] = 0;
	if (out)
		*out = NULL;
	if (!out || !data || (!why && n))
		return HEXC_E_INVALID;
	b = bundle_new(data, bytes, -1);
	if (!b)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	return open_bundle(out, b, why, n);
}

int
hexc_bundle_open(hexc_bundle **out, const char *path, char *why, size_t n)
{
	char text[300];
	uint64_t bytes = 0;
	hexc_bundle *b;
	int fd, code;

	if (why && n)
		why[0] = 0;
	if (out)
		*out = NULL;
	if (!out || !path || (!why && n))
		return HEXC_E_INVALID;
	fd = disk_open(path, &bytes);
	if (fd < 0)
		return why_error(HEXC_E_FILE, why, n, "%s: cannot be read: %s", path, strerror(errno));
	b = bundle_new(NULL, bytes, fd);
	if (!b) {
		disk_close(fd);
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	}
	code = open_bundle(out, b, text, sizeof text);
	return code ? why_error(code, why, n, "%s: %s", path, text) : HEXC_OK;
}

void
hexc_bundle_close(hexc_bundle *b)
{
	if (!b)
		return;
	for (int i = 0; b->loaded && i < b->x.nmodule; i++)
		hexc_module_free(atomic_load(&b->loaded[i]));
	disk_close(b->fd);
	arena_free(&b->arena);
	free(b);
}

/* ---- looking -------------------------------------------------------------------------------------- */

int
hexc_bundle_describe(const hexc_bundle *b, hexc_bundle_info *out)
{
	hexc_bundle_info info = HEXC_BUNDLE_INFO_INIT;

	if (!b || !out)
		return 0;
	info.compiler = b->x.compiler;
	info.nmodule = (uint32_t)b->x.nmodule;
	info.nkernel = (uint32_t)b->x.nkernel;
	info.bytes = b->bytes;
	info.families = b->x.families;
	return hand_out(out, out->size, &info, sizeof info);
}

int
hexc_bundle_at(const hexc_bundle *b, size_t i, hexc_bundle_entry *out)
{
	hexc_bundle_entry entry = HEXC_BUNDLE_ENTRY_INIT;
	const BundleModule *m;
	const BundleKernel *k;

	if (!b || !out || i >= (size_t)b->x.nkernel)
		return 0;
	k = &b->x.kernel[i];
	m = &b->x.module[k->module];
	entry.name = k->name;
	entry.arch = m->arch;
	entry.file = m->file;
	entry.source = m->source;
	entry.define = k->constant;
	entry.ndefine = (size_t)k->nconstant;
	entry.cubin = m->cubin;
	entry.ncubin = (size_t)m->ncubin;
	entry.module = (uint32_t)k->module;
	entry.kernel = (uint32_t)k->number;
	entry.candidate = (uint32_t)k->candidate;
	return hand_out(out, out->size, &entry, sizeof entry);
}

/* ---- modules -------------------------------------------------------------------------------------- */

/* Does module i agree with the index? */
static bool
as_said(const hexc_bundle *b, int i, const hexc_module *m)
{
	const BundleModule *said = &b->x.module[i];

	if (strcmp(said->arch, m->target->name) != 0 || strcmp(said->file, m->file) != 0 ||
	    said->source != m->digest || said->nkernel != m->nkernel || said->ncubin != m->ncubin)
		return false;
	for (int c = 0; c < m->ncubin; c++)
		if (strcmp(said->cubin[c], m->cubin[c].arch) != 0)
			return false;
	for (int k = 0; k < m->nkernel; k++) {
		const ModKernel *mk = &m->kernel[k];
		BundleKernel is = { mk->name, mk->constants, mk->nconstants, mk->candidate, i, k };
		const BundleKernel *other = &b->x.kernel[said->first + k];

		if (strcmp(mk->name, other->name) != 0 || !bundle_same_choice(&is, other))
			return false;
	}
	return true;
}

/* Reads a module, owned by the caller. */
static int
read_module(const hexc_bundle *b, int i, hexc_module **out, char *why, size_t n)
{
	const BundleModule *m = &b->x.module[i];
	const unsigned char *p;
	char text[300];
	void *own;
	int code;

	*out = NULL;
	p = bytes_at(b, m->at, (size_t)m->bytes, &own, &code, why, n);
	if (code)
		return code;
	code = hexc_module_load(out, p, (size_t)m->bytes, text, sizeof text);
	free(own);
	if (code)
		return why_error(code, why, n, "module %d of the bundle (%s, %s): %s", i, m->file,
		                 m->arch, text);
	if (as_said(b, i, *out))
		return HEXC_OK;
	hexc_module_free(*out);
	*out = NULL;
	return why_error(HEXC_E_FILE, why, n,
	                 "module %d of the bundle (%s, %s) does not match the index; build it again", i,
	                 m->file, m->arch);
}

int
bundle_load(const hexc_bundle *b, int i, const hexc_module **out, char *why, size_t n)
{
	hexc_module *have = atomic_load(&b->loaded[i]), *new;
	int code;

	*out = have;
	if (have)
		return HEXC_OK;
	code = read_module(b, i, &new, why, n);
	if (code)
		return code;
	if (atomic_compare_exchange_strong(&b->loaded[i], &have, new))
		have = new;
	else /* another thread was faster */
		hexc_module_free(new);
	*out = have;
	return HEXC_OK;
}

int
hexc_bundle_module(const hexc_bundle *b, size_t i, const hexc_module **out, size_t *k, char *why, size_t n)
{
	if (why && n)
		why[0] = 0;
	if (out)
		*out = NULL;
	if (!b || !out || i >= (size_t)b->x.nkernel || (!why && n))
		return HEXC_E_INVALID;
	if (k)
		*k = (size_t)b->x.kernel[i].number;
	return bundle_load(b, b->x.kernel[i].module, out, why, n);
}

/* Verifies that bytes [from, to) between two modules are 0. */
static int
verify_gap(const hexc_bundle *b, uint64_t from, uint64_t to, char *why, size_t n)
{
	const unsigned char *p;
	bool zero = to - from < BUNDLE_ALIGN;
	void *own;
	int code;

	if (from == to)
		return HEXC_OK;
	p = zero ? bytes_at(b, from, (size_t)(to - from), &own, &code, why, n) : NULL;
	if (zero && code)
		return code;
	for (uint64_t i = 0; zero && i < to - from; i++)
		zero = p[i] == 0;
	if (p)
		free(own);
	return zero ? HEXC_OK
	            : why_error(HEXC_E_FILE, why, n, "bytes %llu to %llu belong to no module; build it again",
	                        (unsigned long long)from, (unsigned long long)to);
}

int
hexc_bundle_verify(const hexc_bundle *b, char *why, size_t n)
{
	uint64_t end;
	int code;

	if (why && n)
		why[0] = 0;
	if (!b || (!why && n))
		return HEXC_E_INVALID;
	end = b->index_end;
	for (int i = 0; i < b->x.nmodule; i++) {
		const BundleModule *m = &b->x.module[i];
		hexc_module *read;

		if ((code = verify_gap(b, end, m->at, why, n)))
			return code;
		if ((code = read_module(b, i, &read, why, n)))
			return code;
		hexc_module_free(read);
		end = m->at + m->bytes;
	}
	return verify_gap(b, end, b->bytes, why, n);
}
