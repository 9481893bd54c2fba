/* bundle_save.c - writes modules to a bundle. */
#include "lib/rt/bundle.h"
#include "lib/rt/file_io.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct SaveJob {
	const hexc_module *const *m;
	size_t n;
	const char *compiler, *families;
	BundleIndex x;
	Wire w;        /* serializes the index */
	Arena *arena;
	size_t bytes;  /* of the bundle */
	int code;
	char *why;
	size_t nwhy;
} SaveJob;

/* Reports two kernels that hosts could not distinguish; returns false if there are none. */
static bool
twins(SaveJob *j)
{
	for (int i = 1; i < j->x.nkernel; i++)
		for (int o = 0; o < i; o++) {
			const BundleKernel *a = &j->x.kernel[i], *b = &j->x.kernel[o];
			const BundleModule *in = &j->x.module[a->module], *is = &j->x.module[b->module];
			char text[400];

			if (strcmp(a->name, b->name) != 0 || strcmp(in->arch, is->arch) != 0 ||
			    !bundle_same_choice(a, b))
				continue;
			bundle_constants_text(a->constant, (size_t)a->nconstant, text, sizeof text);
			j->code = why_error(
				HEXC_E_INVALID, j->why, j->nwhy,
				"duplicate kernel %s for %s%s%s, from %s and %s; omit or rename one",
				a->name, in->arch, *text ? " with " : "", text, is->file, in->file);
			return true;
		}
	return false;
}

/* Computes the index with the offsets of all modules, and writes it if there is space. Runs under
 * arena_protect. */
static void
lay_out(void *user)
{
	SaveJob *j = user;
	uint64_t at;

	bundle_index(j->arena, &j->x, j->m, j->n, j->compiler, j->families);
	if (twins(j))
		return;
	j->w.at = BUNDLE_HEAD;
	bundle_wire(&j->w, &j->x); /* to get its length: offsets have a fixed width */
	at = j->w.at;
	for (int i = 0; i < j->x.nmodule; i++) {
		size_t bytes = 0;

		if ((j->code = hexc_module_save(j->m[i], NULL, 0, NULL, 0, &bytes)))
			return;
		at = (at + BUNDLE_ALIGN - 1) / BUNDLE_ALIGN * BUNDLE_ALIGN;
		j->x.module[i].at = at;
		j->x.module[i].bytes = bytes;
		at += bytes;
	}
	j->bytes = (size_t)at;
	if (!j->w.out || at > j->w.room)
		return;
	memset(j->w.out, 0, (size_t)at);
	j->w.at = BUNDLE_HEAD;
	bundle_wire(&j->w, &j->x);
	for (int i = 0; i < j->x.nmodule && !j->code; i++) {
		const BundleModule *m = &j->x.module[i];
		size_t bytes;

		j->code = hexc_module_save(j->m[i], NULL, 0, j->w.out + m->at, (size_t)m->bytes, &bytes);
	}
}

/* Writes the header before the index, once everything else is written. */
static void
put_head(unsigned char *out, size_t bytes, size_t index)
{
	uint64_t digest;

	memcpy(out, bundle_magic, sizeof bundle_magic);
	wire_put_word(out + 8, BUNDLE_VERSION, 4);
	wire_put_word(out + 16, bytes, 8);
	wire_put_word(out + 32, index, 8);
	digest = wire_digest(WIRE_BASIS, out, BUNDLE_DIGEST);
	digest = wire_digest(digest, out + BUNDLE_DIGEST + 8, BUNDLE_HEAD - BUNDLE_DIGEST - 8 + index);
	wire_put_word(out + BUNDLE_DIGEST, digest, 8);
}

int
hexc_bundle_save_families(const hexc_module *const *m, size_t n, const char *compiler, const char *families,
                          void *out, size_t room, size_t *bytes, char *why, size_t nwhy)
{
	SaveJob j = { .m = m, .n = n, .compiler = compiler, .families = families, .why = why, .nwhy = nwhy };
	Arena arena;
	int code;

	if (why && nwhy)
		why[0] = 0;
	if ((!m && n) || n > INT16_MAX || !compiler || !families || !bytes || (!why && nwhy))
		return HEXC_E_INVALID;
	for (size_t i = 0; i < n; i++)
		if (!m[i] || !m[i]->nptx)
			return why_error(HEXC_E_INVALID, why, nwhy,
			                 "module %zu has no PTX: its compilation stopped after an earlier "
			                 "pass",
			                 i);
	arena_init(&arena, NULL, NULL);
	j.arena = &arena;
	j.w = (Wire){ .out = out, .room = out ? room : 0 };
	code = arena_protect(&j.arena, 1, lay_out, &j);
	if (code)
		why_error(code, why, nwhy, "%s", hexc_strerror(code));
	else
		code = j.code;
	*bytes = j.bytes;
	if (!code && out && j.bytes > room)
		code = why_error(HEXC_E_INVALID, why, nwhy, "the bundle has %zu bytes, but the buffer has "
		                                            "%zu",
		                 j.bytes, room);
	if (!code && out)
		put_head(out, j.bytes, j.w.at - BUNDLE_HEAD);
	arena_free(&arena);
	return code;
}

int
hexc_bundle_save(const hexc_module *const *m, size_t n, const char *compiler, void *out, size_t room,
                 size_t *bytes, char *why, size_t nwhy)
{
	return hexc_bundle_save_families(m, n, compiler, "", out, room, bytes, why, nwhy);
}

int
hexc_bundle_save_file(const hexc_module *const *m, size_t n, const char *compiler, const char *path,
                      char *why, size_t nwhy)
{
	size_t bytes = 0;
	void *data;
	int code = hexc_bundle_save(m, n, compiler, NULL, 0, &bytes, why, nwhy), bad;

	if (code || !path)
		return code ? code : HEXC_E_INVALID;
	data = malloc(bytes);
	if (!data)
		return why_error(HEXC_E_NOMEM, why, nwhy, "%s", hexc_strerror(HEXC_E_NOMEM));
	code = hexc_bundle_save(m, n, compiler, data, bytes, &bytes, why, nwhy);
	bad = code ? 0 : disk_write(path, data, bytes);
	free(data);
	return bad ? why_error(bad == ENOMEM ? HEXC_E_NOMEM : HEXC_E_FILE, why, nwhy,
	                       "%s: cannot be written: %s", path, strerror(bad))
	           : code;
}
