/* weight_load.c - finds, describes and loads the weights of a file, and encodes their tensors. */
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
		memset(w->plane[i].data, 0, (size_t)w->plane[i].bytes);
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
hexc_weight_free(hexc_weight *w)
{
	free(w);
}

typedef struct Loading {
	Decode d;
	Arena arena;
	int nomem;
} Loading;

static void
make_segs(void *user)
{
	Loading *l = user;

	for (int i = 0; i < FORMAT_PARTS; i++)
		for (int id = 0; id < HEXC_NPLANE; id++)
			l->d.segs[i][id] =
				format_segs(&l->arena, l->d.fit, &l->d.fit->part[i], (hexc_plane_id)id);
}

static void
decode_range(void *user, int64_t lo, int64_t hi)
{
	Loading *l = user;
	const PartMap *codes = &l->d.fit->part[0];
	uint8_t *band = malloc((size_t)(codes->tile_n * l->d.w->k));

	if (!band) {
		__atomic_store_n(&l->nomem, 1, __ATOMIC_RELAXED);
		return;
	}
	decode_codes(&l->d, lo, hi, band);
	free(band);
	for (int id = HEXC_PLANE_SCALE; id < HEXC_NPLANE; id++)
		if (l->d.w->plane[id].cols > 1 || l->d.w->n == 1)
			decode_numbers(&l->d, (hexc_plane_id)id, lo, hi);
}

/* Fills w, of these sizes, from the parts' data. Returns HEXC_OK, E_NOMEM or E_INTERNAL. */
static int
decode_planes(hexc_weight *w, const Fit *fit, const Workers *workers)
{
	Loading l;
	Arena *arena = &l.arena;
	int code;

	memset(&l, 0, sizeof l);
	l.d.fit = fit;
	l.d.w = w;
	arena_init(arena, NULL, NULL);
	code = arena_protect(&arena, 1, make_segs, &l);
	if (code == HEXC_OK) {
		parallel_for(workers, w->n, 64, decode_range, &l);
		for (int id = HEXC_PLANE_SCALE; id < HEXC_NPLANE; id++)
			if (w->plane[id].cols == 1 && w->n > 1)
				decode_numbers(&l.d, (hexc_plane_id)id, 0, w->n);
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

/* ---- back to tensors --------------------------------------------------------------------------------- */

void
part_shape(const PartMap *m, const hexc_weight *w, const char *dtype, hexc_file_tensor *t)
{
	const FormatPart *part = m->part;
	int64_t e = dtype ? dtype_info[dtype_find(dtype, strlen(dtype))].bits : 0;

	t->rank = 2;
	if (!e) {
		t->dim[0] = w->n;
		t->dim[1] = w->k;
	} else if (part->tile_n == -1) {
		t->rank = 1;
		t->dim[0] = m->nk;
	} else if (part->tile_k == -1) {
		t->rank = 1;
		t->dim[0] = 1;
	} else if (part->order == 'b') {
		t->rank = 3;
		t->dim[0] = m->nn;
		t->dim[1] = m->nk;
		t->dim[2] = m->chunk / e;
	} else {
		t->dim[0] = (part->order == 'n' ? m->nk : m->nn) * part->rows;
		t->dim[1] = m->row / e;
	}
}

typedef struct Encoding {
	Arena arena;
	const Fit *fit;
	const hexc_weight *w;
	const PartMap *part;
	unsigned char *data;
} Encoding;

static void
encode(void *user)
{
	Encoding *e = user;

	for (int id = 0; id < HEXC_NPLANE; id++) {
		Segs segs = format_segs(&e->arena, e->fit, e->part, (hexc_plane_id)id);

		if (segs.n)
			encode_part(e->fit, e->w, e->part, (hexc_plane_id)id, &segs, e->data);
	}
}

/* Does the weight have a plane of the part, or must files have the part? Optional parts are the last. */
static bool
part_present(const FormatPart *part, const hexc_weight *w)
{
	for (int id = 0; part->optional && id < HEXC_NPLANE; id++)
		if (w->plane[id].dtype && part_holds(part, (hexc_plane_id)id))
			return true;
	return !part->optional;
}

int
hexc_weight_tensor(const hexc_weight *w, size_t i, hexc_file_tensor *out, void *data, uint64_t bytes)
{
	const Format *format = w ? format_find(w->format) : NULL;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	DType types[FORMAT_PARTS], scale = w ? plane_type(&w->plane[HEXC_PLANE_SCALE]) : D_COUNT;
	Encoding e = { .w = w, .data = data };
	Arena *arena = &e.arena;
	FileType type;
	Fit fit;

	if (!out || !format || i >= FORMAT_PARTS || !format->part[i].types || scale == D_COUNT ||
	    (data && weight_check(w, NULL, 0) != HEXC_OK))
		return 0;
	for (int j = 0; j < FORMAT_PARTS; j++)
		types[j] = scale;
	if (!fit_sizes(&fit, format, w->n, w->k, w->plane[HEXC_PLANE_SCALE].group, types, NULL, 0) ||
	    !part_present(&format->part[i], w))
		return 0;
	t.name = format->part[i].suffix;
	type = *file_type(format->container, format->part[i].types,
	                  format->part[i].chunk ? NULL : dtype_info[scale].name);
	t.type = type.name;
	t.dtype = type.dtype;
	t.bytes = fit.part[i].bytes;
	part_shape(&fit.part[i], w, type.dtype, &t);
	if (data && bytes >= t.bytes) {
		for (int id = 0; id < HEXC_NPLANE; id++)
			if (!w->plane[id].dtype)
				fit.w.plane[id].dtype = NULL;
		memset(data, 0, (size_t)t.bytes);
		e.fit = &fit;
		e.part = &fit.part[i];
		arena_init(arena, NULL, NULL);
		if (arena_protect(&arena, 1, encode, &e) == HEXC_OK)
			t.data = data;
		arena_free(arena);
	}
	return hand_out(out, out->size, &t, sizeof t);
}
