/* weight_encode.c - encodes a weight to the tensors of its format. */
#include "lib/weights/format.h"
#include <stdlib.h>
#include <string.h>

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
	int nomem;
	void *data; /* of the part, to be written */
} Encoding;

/* Copies the planes of the part whose values the file stores in another way, and converts them. */
static void
stored_planes(Arena *a, const Fit *fit, const FormatPart *part, hexc_weight *w)
{
	for (int id = 0; id < HEXC_NPLANE; id++) {
		hexc_plane *q = &w->plane[id];

		if (!q->dtype || fit->format->plane[id].op == OP_none || !part_holds(part, (hexc_plane_id)id))
			continue;
		q->data = memcpy(arena_alloc(a, (size_t)q->bytes), q->data, (size_t)q->bytes);
		plane_operate(fit->format, w, (hexc_plane_id)id, 0, w->n, -1);
	}
}

static void
encode(void *user)
{
	Encoding *e = user;
	hexc_weight w = *e->w;
	PartCodec codec;
	void *scratch;

	codec_make(&e->arena, &codec, e->fit, e->part, true);
	if (!codec.planes) { /* the weight has none of the part's */
		memset(e->data, 0, (size_t)e->part->bytes);
		return;
	}
	stored_planes(&e->arena, e->fit, e->part->part, &w);
	scratch = aligned_alloc(64, codec_scratch(&codec));
	e->nomem = !scratch;
	if (scratch)
		codec_run(&codec, &w, 0, w.n, scratch);
	free(scratch);
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
	Encoding e = { .w = w };
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
		fit.part[i].data = data;
		e.fit = &fit;
		e.part = &fit.part[i];
		e.data = data;
		arena_init(arena, NULL, NULL);
		if (arena_protect(&arena, 1, encode, &e) == HEXC_OK && !e.nomem)
			t.data = data;
		arena_free(arena);
	}
	return hand_out(out, out->size, &t, sizeof t);
}
