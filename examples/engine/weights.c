/* weights.c - loads a model's tensors to the device from the published model file. */
#include "examples/engine/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind "KEY": in a file of JSON; `otherwise` where it has none. */
static double
config_number(const char *json, const char *key, double otherwise)
{
	char quoted[80];
	const char *at;

	snprintf(quoted, sizeof quoted, "\"%s\"", key);
	at = strstr(json, quoted);
	at = at ? strchr(at, ':') : NULL;
	return at ? strtod(at + 1, NULL) : otherwise;
}

static bool
read_config(Weights *w, const char *dir)
{
	char path[1000], json[10000];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "%s/config.json", dir);
	f = fopen(path, "rb");
	n = f ? fread(json, 1, sizeof json - 1, f) : 0;
	if (f)
		fclose(f);
	json[n] = 0;
	w->shape.hidden = (int64_t)config_number(json, "hidden_size", 0);
	w->shape.inner = (int64_t)config_number(json, "intermediate_size", 0);
	w->shape.heads = (int64_t)config_number(json, "num_attention_heads", 0);
	w->shape.layers = (int64_t)config_number(json, "num_hidden_layers", 0);
	w->shape.positions = (int64_t)config_number(json, "max_position_embeddings", 0);
	w->shape.eps = config_number(json, "layer_norm_eps", 1e-12);
	if (w->shape.hidden > 0 && w->shape.inner > 0 && w->shape.heads > 0 && w->shape.layers > 0 &&
	    w->shape.positions > 0 && w->shape.hidden % (16 * w->shape.heads) == 0)
		return true;
	snprintf(w->why, WHY, "%.300s: that is no encoder with heads of 16, 32, .. numbers", path);
	return false;
}

bool
weights_open(Weights *w, hexc_gpu *gpu, const char *dir)
{
	char path[1000];

	memset(w, 0, sizeof *w);
	w->gpu = gpu;
	snprintf(path, sizeof path, "%s/model.safetensors", dir);
	return read_config(w, dir) && hexc_file_open(&w->file, path, w->why, WHY) == HEXC_OK;
}

void
weights_close(Weights *w)
{
	hexc_file_close(w->file);
}

void *
weights_tensor(Weights *w, const char *name, const char *type, uint64_t *bytes)
{
	hexc_file_tensor t;
	void *host = host_numbers(w->file, name, type, &t, w->why);
	void *dev = host ? host_upload(w->gpu, name, host, t.bytes, w->why) : NULL;

	free(host);
	if (bytes)
		*bytes = t.bytes;
	return dev;
}

bool
weights_matrix(Weights *w, const char *name, const char *format, bool widen, Matrix *out)
{
	hexc_file_tensor t;
	float *x = host_numbers(w->file, name, "f32", &t, w->why);

	*out = (Matrix){ .plain = HEXC_WEIGHT_INIT, .numbers = x };
	if (x && t.rank != 2) {
		snprintf(w->why, WHY, "%s is no matrix", name);
		return false;
	}
	if (!x || (format && hexc_weight_quantize(&out->quantized, format, x, t.dim[0], t.dim[1], 0, NULL,
	                                          w->why, WHY)))
		return false;
	if (widen && format && hexc_weight_float(out->quantized, x, NULL, w->why, WHY))
		return false;
	out->plain.n = t.dim[0];
	out->plain.k = t.dim[1];
	out->plain.plane[HEXC_PLANE_CODE] = (hexc_plane){ "f32", t.dim[0], t.dim[1], t.dim[1], x, t.bytes };
	if (widen) {
		hexc_weight_free(out->quantized);
		out->quantized = NULL;
	}
	return true;
}

const hexc_weight *
weights_of(const Matrix *m)
{
	return m->quantized ? m->quantized : &m->plain;
}

void
weights_drop(Matrix *m)
{
	hexc_weight_free(m->quantized);
	free(m->numbers);
}
