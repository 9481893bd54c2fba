/* weight_load.c - finds, describes and loads the weights of a file. */
#include "lib/weights/format.h"
#include <stdlib.h>
#include <string.h>

/* ---- finding ------------------------------------------------------------------------------------------- */

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

void
file_weights(hexc_file *f)
{
	for (size_t i = 0; i < f->ntensor; i++) {
		const char *name = f->tensor[i].name;

		for (size_t j = 0; j < nformats; j++) {
			const char *suffix = formats[j].part[0].suffix;
			FileWeight w = { NULL, &formats[j] };
			Fit fit;

			if (strcmp(formats[j].container, f->kind) != 0 || !ends_with(name, suffix))
				continue;
			w.name = arena_strndup(&f->arena, name, strlen(name) - strlen(suffix));
			if (fit_file(&fit, &formats[j], f, w.name, NULL, 0) != 1)
				continue;
			VEC_PUSH(&f->arena, f->weight, f->nweight, f->weight_cap, w);
			break;
		}
	}
}

int
hexc_file_weight(const hexc_file *f, size_t i, hexc_weight *out)
{
	Fit fit;

	if (!f || !out || i >= f->nweight ||
	    fit_file(&fit, f->weight[i].format, f, f->weight[i].name, NULL, 0) != 1)
		return 0;
	fit.w.name = f->weight[i].name;
	return hand_out(out, out->size, &fit.w, sizeof fit.w);
}

/* Finds the format of the weight with this name. Returns HEXC_OK, or E_FILE and a sentence. */
static int
find_weight(Fit *fit, const hexc_file *f, const char *name, char *why, size_t n)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	char like[240], shard[100], said[300] = "";

	for (size_t j = 0; j < nformats; j++) {
		char one[300] = "";
		int found = fit_file(fit, &formats[j], f, name, one, sizeof one);

		if (found == 1) {
			if (n)
				why[0] = 0;
			return HEXC_OK;
		}
		if (found < 0 && !said[0])
			memcpy(said, one, sizeof said);
	}
	file_tell_shard(f, shard, sizeof shard);
	if (fit_padded(f, name, why, n))
		;
	else if (said[0])
		why_error(0, why, n, "%s", said);
	else if (fit_nearest(f, name, why, n))
		;
	else if (hexc_file_find(f, name, &t) && gguf_other(t.type))
		why_error(0, why, n,
		             "tensor %s is %s, which %s; quantize it to IQ4_XS, Q4_K or another format "
		             "that hexc supports",
		          name, t.type, gguf_other(t.type));
	else if (hexc_file_find(f, name, &t))
		why_error(0, why, n,
		             "tensor %s is %s, which is not a supported format of quantized weights",
		          name, t.type);
	else {
		file_nearest(f, name, like, sizeof like);
		why_error(0, why, n,
		             "no weight %s in the file; did you mean %s? (hexc weights FILE lists all)%s",
		          name, like[0] ? like : "none, it is empty", shard);
	}
	return HEXC_E_FILE;
}

/* ---- loading ------------------------------------------------------------------------------------------- */

/* Allocates one block for the struct and the planes, each aligned to 64 bytes; NULL if memory is short. */
hexc_weight *
weight_new(const Fit *fit)
{
	const hexc_weight *like = &fit->w;
	const hexc_plane *table;
	size_t size = (sizeof *like + 63) / 64 * 64, at = size, len = like->name ? strlen(like->name) + 1 : 0;
	hexc_weight *w;
	char *block;

	for (int i = 0; i < HEXC_NPLANE; i++) {
		if (like->plane[i].bytes > SIZE_MAX / 4 - at)
			return NULL;
		at += (size_t)(like->plane[i].bytes + 63 + 8) / 64 * 64; /* 8: full words are written */
	}
	block = aligned_alloc(64, (at + len + 63) / 64 * 64);
	if (!block)
		return NULL;
	w = (hexc_weight *)block;
	*w = *like;
	w->size = sizeof *w;
	for (int i = 0; i < HEXC_NPLANE; i++) {
		if (!w->plane[i].dtype)
			continue;
		w->plane[i].data = block + size;
		size += (size_t)(w->plane[i].bytes + 63 + 8) / 64 * 64;
	}
	table = &w->plane[HEXC_PLANE_TABLE];
	for (int64_t i = 0; table->dtype && i < table->cols; i++)
		num_put_i(plane_type(table), table->data, i, fit->format->table[i]);
	if (len)
		w->name = memcpy(block + at, like->name, len);
	return w;
}

void
weight_clear(hexc_weight *w)
{
	for (int i = 0; i < HEXC_PLANE_TABLE; i++)
		if (w->plane[i].dtype)
			memset(w->plane[i].data, 0, (size_t)w->plane[i].bytes);
}

void
hexc_weight_free(hexc_weight *w)
{
	free(w);
}

typedef struct Loading {
	Arena arena;
	const Fit *fit;
	hexc_weight *w; /* its planes have data */
	PartCodec codec[FORMAT_PARTS];
	size_t scratch;
	int nomem;
} Loading;

static void
make_codecs(void *user)
{
	Loading *l = user;

	for (int i = 0; i < FORMAT_PARTS; i++) {
		codec_make(&l->arena, &l->codec[i], l->fit, &l->fit->part[i], false);
		if (codec_scratch(&l->codec[i]) > l->scratch)
			l->scratch = codec_scratch(&l->codec[i]);
	}
}

static void
decode_range(void *user, int64_t lo, int64_t hi)
{
	Loading *l = user;
	void *scratch = aligned_alloc(64, l->scratch);

	if (!scratch) {
		__atomic_store_n(&l->nomem, 1, __ATOMIC_RELAXED);
		return;
	}
	for (int i = 0; i < FORMAT_PARTS; i++)
		codec_run(&l->codec[i], l->w, lo, hi, scratch);
	free(scratch);
}

/* Fills w, of these sizes, from the parts' data. Returns HEXC_OK, E_NOMEM or E_INTERNAL. */
static int
decode_planes(hexc_weight *w, const Fit *fit, const Workers *workers)
{
	Loading l;
	Arena *arena = &l.arena;
	int code;

	memset(&l, 0, sizeof l);
	l.fit = fit;
	l.w = w;
	arena_init(arena, NULL, NULL);
	code = arena_protect(&arena, 1, make_codecs, &l);
	if (code == HEXC_OK) {
		parallel_for(workers, w->n, 64, decode_range, &l);
		code = l.nomem ? HEXC_E_NOMEM : HEXC_OK;
	}
	arena_free(arena);
	return code;
}

static int
load(hexc_weight **out, const hexc_file *f, const char *name, const Workers *workers, char *why, size_t n)
{
	Fit fit;
	hexc_weight *w;
	int code;

	if (!file_whole(f))
		return why_error(HEXC_E_FILE, why, n,
		                 "%s: the file was truncated since it was opened; open it again", name);
	code = find_weight(&fit, f, name, why, n);
	if (code != HEXC_OK)
		return code;
	fit.w.name = name;
	w = weight_new(&fit);
	if (!w)
		return why_error(HEXC_E_NOMEM, why, n, "%s: out of memory for its planes", name);
	code = decode_planes(w, &fit, workers);
	if (code == HEXC_OK)
		code = weight_verify(f, w, why, n);
	if (code == HEXC_E_NOMEM || code == HEXC_E_INTERNAL)
		why_error(code, why, n, "%s: %s", name, hexc_strerror(code));
	if (code == HEXC_OK)
		*out = w;
	else
		hexc_weight_free(w);
	return code;
}

int
hexc_weight_load(hexc_weight **out, const hexc_file *f, const char *name, const hexc_workers *workers,
                 char *why, size_t n)
{
	HostWorkers threads;
	Arithmetic host;
	int code;

	if (!out || !f || !name || (!why && n))
		return HEXC_E_INVALID;
	*out = NULL;
	if (!workers_of(&threads, workers))
		return why_error(HEXC_E_INVALID, why, n, "hexc_workers was compiled with a newer hexc.h");
	arithmetic_enter(&host);
	code = load(out, f, name, &threads.workers, why, n);
	arithmetic_leave(&host);
	return code;
}

/* ---- blocks in memory ---------------------------------------------------------------------------------- */

/* Computes the sizes of W[n, k] in a format of GGUF. Returns HEXC_OK, or E_INVALID and a sentence. */
static int
fit_blocks(Fit *fit, const char *format, int64_t n, int64_t k, char *why, size_t nwhy)
{
	const Format *f = format ? format_find(format) : NULL;

	if (!f || strcmp(f->container, "gguf") != 0)
		return why_error(HEXC_E_INVALID, why, nwhy, "GGUF has no format %s that hexc loads",
		                 format ? format : "(none)");
	return fit_sizes(fit, f, n, k, 0, NULL, why, nwhy) ? HEXC_OK : HEXC_E_INVALID;
}

int
hexc_format_weight(const char *format, int64_t n, int64_t k, hexc_weight *out, char *why, size_t nwhy)
{
	Fit fit;
	int code;

	if (!out || (!why && nwhy))
		return HEXC_E_INVALID;
	code = fit_blocks(&fit, format, n, k, why, nwhy);
	if (code == HEXC_OK)
		hand_out(out, out->size, &fit.w, sizeof fit.w);
	return code;
}

static int
load_blocks(hexc_weight **out, const Fit *fit, const Workers *workers, char *why, size_t nwhy)
{
	hexc_weight *w = weight_new(fit);
	int code = w ? HEXC_OK : HEXC_E_NOMEM;

	if (w && fit->part[0].data)
		code = decode_planes(w, fit, workers);
	else if (w)
		weight_clear(w);
	if (code == HEXC_OK) {
		*out = w;
		return code;
	}
	hexc_weight_free(w);
	return why_error(code, why, nwhy, "%s: %s", fit->format->name, hexc_strerror(code));
}

int
hexc_weight_blocks(hexc_weight **out, const char *format, const void *data, uint64_t bytes, int64_t n,
                   int64_t k, const hexc_workers *workers, char *why, size_t nwhy)
{
	HostWorkers threads;
	Arithmetic host;
	Fit fit;
	int code;

	if (!out || (!why && nwhy))
		return HEXC_E_INVALID;
	*out = NULL;
	if (!workers_of(&threads, workers))
		return why_error(HEXC_E_INVALID, why, nwhy, "hexc_workers was compiled with a newer hexc.h");
	code = fit_blocks(&fit, format, n, k, why, nwhy);
	if (code != HEXC_OK)
		return code;
	if (data && bytes != fit.w.bytes)
		return why_error(HEXC_E_INVALID, why, nwhy,
		                 "%s: %lld x %lld weights are %llu bytes, not %llu", format,
		                 (long long)n, (long long)k, (unsigned long long)fit.w.bytes,
		                 (unsigned long long)bytes);
	fit.part[0].data = data;
	arithmetic_enter(&host);
	code = load_blocks(out, &fit, &threads.workers, why, nwhy);
	arithmetic_leave(&host);
	return code;
}
