/* schemes.c - an engine without a compiler, in the common subset of C99, C11 and C++17, built from installed
 * files only. It reads weights from GGUF and safetensors files, packs them, finds the kernel of each weight's
 * scale scheme in a bundle (examples/gemm_schemes.hexc) and multiplies, on a GPU or on the simulator.
 *
 *	schemes want FILE..    a line for each weight: its kernel, and its compile-time constants
 *	schemes CAPABILITY BUNDLE FILE..
 *	                       CAPABILITY of the simulator; 0: the driver's first GPU.  Prints each kernel's
 *	                       name if its result is correct; status 1, with the reason, if one is not */
#include <hexc_bundle.h>
#include <hexc_gpu.h>
#include <hexc_weights.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 19, DEFINES = 8, BUFFERS = 8, MOST_K = 256 };

static char why[600];

static int
failed(const char *what, const char *reason)
{
	printf("%s: %s\n", what, reason);
	return 1;
}

/* ---- the kernel of a weight ---------------------------------------------------------------------------- */

typedef struct Scheme {
	const char *kernel, *act;
	hexc_define define[DEFINES];
	char said[DEFINES][40]; /* "NAME=VALUE" */
	size_t n;
} Scheme;

static void
constant(Scheme *s, const char *name, const char *type, int64_t x)
{
	s->define[s->n].name = name;
	s->define[s->n].value = type ? hexc_type_value(type) : x;
	if (type)
		snprintf(s->said[s->n], sizeof s->said[0], "%s=%s", name, type);
	else
		snprintf(s->said[s->n], sizeof s->said[0], "%s=%d", name, (int)x);
	s->n++;
}

static int
is_coarse(const hexc_weight *w)
{
	return w->plane[HEXC_PLANE_SCALE2].dtype && w->plane[HEXC_PLANE_SCALE2].cols > 1;
}

static const char *
kernel_of(const hexc_weight *w, int64_t group)
{
	const hexc_plane *p = w->plane;

	if (p[HEXC_PLANE_ZERO].dtype)
		return p[HEXC_PLANE_INDEX].dtype ? "gemm_ordered" : "gemm_zero";
	if (p[HEXC_PLANE_OFFSET].dtype)
		return p[HEXC_PLANE_OFFSET2].dtype ? "gemm_two_level_offset" : "gemm_offset";
	if (p[HEXC_PLANE_TABLE].dtype)
		return is_coarse(w) ? "gemm_table_two_level" : "gemm_table";
	if (is_coarse(w))
		return "gemm_two_level";
	return 64 % group && group % 64 ? "gemm_any_group" : "gemm_scale";
}

static void
scheme_of(Scheme *s, const hexc_weight *w)
{
	const hexc_plane *p = w->plane;
	const char *scale = p[HEXC_PLANE_SCALE].dtype;
	int64_t group = p[HEXC_PLANE_SCALE].group;

	memset(s, 0, sizeof *s);
	s->kernel = kernel_of(w, group);
	s->act = strcmp(scale, "e8m0") == 0 ? "bf16" : "f16"; /* which has its range */
	constant(s, "WEIGHT", p[HEXC_PLANE_CODE].dtype, 0);
	constant(s, "ACT", s->act, 0);
	if (!p[HEXC_PLANE_INDEX].dtype)
		constant(s, "G", NULL, group);
	if (!p[HEXC_PLANE_OFFSET2].dtype && !(is_coarse(w) && p[HEXC_PLANE_TABLE].dtype))
		constant(s, "SCALE", scale, 0);
	if (p[HEXC_PLANE_ZERO].dtype)
		constant(s, "ZEROS", p[HEXC_PLANE_ZERO].dtype, 0);
	else if (p[HEXC_PLANE_TABLE].dtype)
		constant(s, "TABLE", NULL, p[HEXC_PLANE_TABLE].cols);
	else if (!p[HEXC_PLANE_OFFSET].dtype)
		constant(s, "ZERO", NULL, w->bias);
}

static int
tell(const hexc_weight *w)
{
	Scheme s;

	scheme_of(&s, w);
	printf("--kernel %s", s.kernel);
	for (size_t i = 0; i < s.n; i++)
		printf(" -D %s", s.said[i]);
	return puts("") < 0;
}

/* ---- a product ----------------------------------------------------------------------------------------- */

typedef struct Engine {
	hexc_bundle *bundle;
	hexc_gpu *gpu;
	hexc_call *call;
	void *buffer[BUFFERS];
	int n;
} Engine;

/* `bytes` of data as the tensor of this name; NULL: there is nothing in it yet. */
static int
give(Engine *e, const char *name, const void *data, uint64_t bytes)
{
	void **to = &e->buffer[e->n++];

	if (hexc_gpu_alloc(e->gpu, bytes, to) || (data && hexc_gpu_write(e->gpu, *to, data, bytes)))
		return failed(name, hexc_gpu_why(e->gpu));
	if (hexc_call_ptr(e->call, hexc_call_find(e->call, name), *to, bytes))
		return failed(name, hexc_call_why(e->call));
	return 0;
}

/* The codes in the kernel's order. */
static int
give_packed(Engine *e, const hexc_module *m, size_t k, const hexc_weight *w)
{
	int at = hexc_call_find(e->call, "W"), bad;
	const char *pack = at < 0 ? NULL : hexc_module_pack(m, k, (size_t)at);
	int64_t dim[2];
	uint64_t bytes;
	void *to;

	dim[0] = w->n;
	dim[1] = w->k;
	if (!pack || hexc_pack_bytes(pack, 2, dim, &bytes, why, sizeof why))
		return failed("pack", pack ? why : "W has none");
	to = malloc((size_t)bytes);
	if (!to || hexc_pack(pack, 2, dim, w->plane[HEXC_PLANE_CODE].data, to, NULL, why, sizeof why)) {
		free(to);
		return failed("pack", why);
	}
	bad = give(e, "W", to, bytes);
	free(to);
	return bad;
}

static int
give_planes(Engine *e, const hexc_weight *w)
{
	static const struct {
		hexc_plane_id id;
		const char *name;
	} tensor[] = { { HEXC_PLANE_SCALE, "S" },   { HEXC_PLANE_SCALE2, "S2" },  { HEXC_PLANE_ZERO, "Z" },
		       { HEXC_PLANE_OFFSET, "O" },  { HEXC_PLANE_OFFSET2, "O2" }, { HEXC_PLANE_INDEX, "I" },
		       { HEXC_PLANE_TABLE, "T" } };
	static const char *const size[] = { "M", "N", "K", "GROUPS" };
	const hexc_plane *p = w->plane;
	float factor = 1;
	int64_t of[4];

	for (size_t i = 0; i < sizeof tensor / sizeof tensor[0]; i++) {
		const hexc_plane *plane = &p[tensor[i].id];

		if (plane->dtype && hexc_call_find(e->call, tensor[i].name) >= 0 &&
		    give(e, tensor[i].name, plane->data, plane->bytes))
			return 1;
	}
	of[0] = M;
	of[1] = w->n;
	of[2] = w->k;
	of[3] = p[HEXC_PLANE_SCALE].rows;
	for (int i = 0; i < 4; i++)
		if (hexc_call_find(e->call, size[i]) >= 0 &&
		    hexc_call_int(e->call, hexc_call_find(e->call, size[i]), of[i]))
			return failed(size[i], hexc_call_why(e->call));
	if (p[HEXC_PLANE_SCALE2].dtype && !is_coarse(w))
		memcpy(&factor, p[HEXC_PLANE_SCALE2].data, sizeof factor);
	if (hexc_call_find(e->call, "factor") >= 0 &&
	    hexc_call_float(e->call, hexc_call_find(e->call, "factor"), (double)factor))
		return failed("factor", hexc_call_why(e->call));
	return 0;
}

/* W as f32, and its offsets alone: the numbers with scales of zero (e8m0 has no zero, and no offsets
 * either). */
static int
numbers(const hexc_weight *w, float *x, float *off)
{
	hexc_weight zero = *w;
	hexc_plane *p = &zero.plane[HEXC_PLANE_SCALE];
	int bad = hexc_weight_float(w, x, NULL, why, sizeof why);

	memset(off, 0, (size_t)(w->n * w->k) * sizeof *off);
	if (strcmp(p->dtype, "e8m0") == 0)
		return bad;
	p->data = calloc(1, (size_t)p->bytes);
	bad |= !p->data || hexc_weight_float(&zero, off, NULL, why, sizeof why);
	free(p->data);
	return bad;
}

/* In the type of the activations, unit roundoff u, the scale (where it is a product), its product with the
 * code and the sum with the offset are rounded once each; sums are of f32, results are rounded again. */
static int
right(const hexc_weight *w, const float *x, const float *off, const hexc_dtype *t, const void *a,
      const void *c)
{
	double u = strcmp(t->name, "bf16") == 0 ? 0x1p-8 : 0x1p-11;

	for (int64_t i = 0; i < M * w->n; i++) {
		const float *v = x + i % w->n * w->k, *o = off + i % w->n * w->k;
		double sum = 0, mag = 0, err = 0, is = hexc_get(t, c, (uint64_t)i);

		for (int64_t k = 0; k < w->k; k++) {
			double y = hexc_get(t, a, (uint64_t)(i / w->n * w->k + k));
			double all = fabs((double)o[k]) + fabs((double)v[k]);

			sum += y * (double)v[k];
			mag += fabs(y * (double)v[k]);
			all += 2 * fabs((double)v[k] - (double)o[k]);
			err += fabs(y) * (u * all * (1 + 4 * u) + 3 * 0x1p-25);
		}
		err += (mag + err) * (double)(w->k + 4) * 0x1p-24;
		err += (fabs(sum) + err) * u + 0x1p-25;
		if (!(fabs(is - sum) <= err)) {
			snprintf(why, sizeof why, "C[%d] is %.9g, not %.9g within %.3g", (int)i, is,
			         sum, err);
			return 0;
		}
	}
	return 1;
}

static int
multiply(Engine *e, const hexc_weight *w, const char *act)
{
	static uint16_t a[M * MOST_K], c[M * MOST_K];
	const hexc_dtype *t = hexc_dtype_find(act);
	uint64_t seed = 1, out = (uint64_t)(M * w->n) * 2;
	float *x = (float *)malloc((size_t)(w->n * w->k) * 2 * sizeof *x);
	int bad = 1;

	for (int64_t i = 0; i < M * w->k; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		hexc_put(t, a, (uint64_t)i, ((double)(seed >> 33) * 0x1p-30 - 1) * 0.0625);
	}
	if (give(e, "A", a, (uint64_t)(M * w->k) * 2) || give(e, "C", NULL, out)) {
	} else if (hexc_call_launch(e->call, NULL)) {
		failed("launch", hexc_call_why(e->call));
	} else if (hexc_gpu_wait(e->gpu) || hexc_gpu_read(e->gpu, c, e->buffer[e->n - 1], out)) {
		failed("product", hexc_gpu_why(e->gpu));
	} else if (!x || numbers(w, x, x + w->n * w->k) || !right(w, x, x + w->n * w->k, t, a, c)) {
		failed(w->format, why);
	} else {
		bad = 0;
	}
	free(x);
	return bad;
}

static int
product(Engine *e, const hexc_weight *w)
{
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	hexc_want want = HEXC_WANT_INIT;
	hexc_gpu_module *loaded = NULL;
	const hexc_module *m;
	Scheme s;
	size_t i, k;
	int bad;

	if (w->n > MOST_K || w->k > MOST_K)
		return failed(w->format, "too large for this engine");
	if (w->plane[HEXC_PLANE_INDEX].dtype && !w->plane[HEXC_PLANE_ZERO].dtype)
		return failed(w->format, "an order of inputs without zeros has no kernel in gemm_schemes");
	scheme_of(&s, w);
	hexc_gpu_describe(e->gpu, &info);
	want.kernel = s.kernel;
	want.arch = info.arch;
	want.define = s.define;
	want.ndefine = s.n;
	if (hexc_bundle_find(e->bundle, &want, &i, why, sizeof why) ||
	    hexc_bundle_module(e->bundle, i, &m, &k, why, sizeof why))
		return failed(w->format, why);
	e->n = 0;
	if (hexc_gpu_load(e->gpu, m, &loaded) || hexc_call_new(&e->call, loaded, k))
		return failed(w->format, hexc_gpu_why(e->gpu));
	bad = give_packed(e, m, k, w) || give_planes(e, w) || multiply(e, w, s.act);
	hexc_call_free(e->call);
	hexc_gpu_unload(loaded);
	for (int n = 0; n < e->n; n++)
		hexc_gpu_free(e->gpu, e->buffer[n]);
	if (!bad)
		printf("%s %s\n", s.kernel, w->format);
	return bad;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* All weights of a file: what is compiled for them, or without an engine their products. */
static int
each(Engine *e, const char *path)
{
	hexc_weight w = HEXC_WEIGHT_INIT;
	hexc_weight *loaded;
	hexc_file *f;
	int bad = 0;

	if (hexc_file_open(&f, path, why, sizeof why))
		return failed(path, why);
	for (size_t i = 0; !bad && hexc_file_weight(f, i, &w); i++) {
		if (hexc_weight_load(&loaded, f, w.name, NULL, why, sizeof why)) {
			bad = failed(path, why);
			break;
		}
		bad = e ? product(e, loaded) : tell(loaded);
		hexc_weight_free(loaded);
	}
	hexc_file_close(f);
	return bad;
}

/* Groups of 48, which no file here has. */
static int
made(Engine *e)
{
	static float x[48 * 144];
	hexc_weight *w;
	int bad;

	for (int i = 0; i < 48 * 144; i++)
		x[i] = (float)(i * 37 % 101 - 50) / (float)(1 << (i / 48 % 4 + 6));
	if (hexc_weight_quantize(&w, "INT8", x, 48, 144, 48, NULL, why, sizeof why))
		return failed("INT8", why);
	bad = e ? product(e, w) : tell(w);
	hexc_weight_free(w);
	return bad;
}

int
main(int argc, char **argv)
{
	int telling = argc > 2 && strcmp(argv[1], "want") == 0, device = argc > 1 ? -atoi(argv[1]) : 0, bad;
	Engine e;

	if (argc < 3)
		return 2;
	memset(&e, 0, sizeof e);
	if (!telling && (hexc_bundle_open(&e.bundle, argv[2], why, sizeof why) ||
	                 hexc_gpu_open(&e.gpu, device, why, sizeof why)))
		return failed("open", why);
	bad = made(telling ? NULL : &e);
	for (int i = telling ? 2 : 3; !bad && i < argc; i++)
		bad = each(telling ? NULL : &e, argv[i]);
	hexc_gpu_close(e.gpu);
	hexc_bundle_close(e.bundle);
	return bad;
}
