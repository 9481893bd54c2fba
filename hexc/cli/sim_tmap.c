/* sim_tmap.c - reads tensor maps of `hexc sim`: a JSON file with the fields of the driver's encode call. */
#include "hexc/cli/sim.h"
#include "hexc/cli/base/json.h"
#include <string.h>

/* State of reading a file. */
typedef struct TmapReader {
	SimJob *j;
	SimArg *a;
	const char *path;
	cJSON *root;
	sim_tmap_desc d;
	int seen; /* fields found */
} TmapReader;

static int
tmap_error(const TmapReader *m, const char *field, const char *what)
{
	return cli_error(EXIT_INPUT, "%s: \"%s\" %s", m->path, field, what);
}

static const cJSON *
get(TmapReader *m, const char *field)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(m->root, field);

	m->seen += v != NULL;
	return v;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static bool
whole(const cJSON *v, int64_t low, int64_t high, int64_t *out)
{
	double x = cJSON_IsNumber(v) ? v->valuedouble : 0.5;

	if (!(x >= (double)low && x <= (double)high) || x != (double)(int64_t)x)
		return false;
	*out = (int64_t)x;
	return true;
}

/* Reads an array of `n` numbers, at most `most`. */
static int
numbers(TmapReader *m, const char *field, uint32_t n, int64_t low, int64_t high, int64_t *out)
{
	const cJSON *v = get(m, field), *e;
	uint32_t i = 0;

	if (!v)
		return tmap_error(m, field, "is missing");
	if (!cJSON_IsArray(v) || (uint32_t)cJSON_GetArraySize(v) != n)
		return cli_error(EXIT_INPUT, "%s: \"%s\" must be an array of %u number%s", m->path, field, n,
		                 n == 1 ? "" : "s");
	for (e = v->child; e; e = e->next)
		if (!whole(e, low, high, &out[i++]))
			return tmap_error(m, field, "has an element that is not such a number");
	return 0;
}

static int
sizes64(TmapReader *m, const char *field, uint32_t n, uint64_t *to)
{
	int64_t v[5];
	int status = numbers(m, field, n, 0, (int64_t)1 << 52, v);

	for (uint32_t i = 0; i < n && !status; i++)
		to[i] = (uint64_t)v[i];
	return status;
}

static int
sizes32(TmapReader *m, const char *field, uint32_t n, uint32_t *to)
{
	int64_t v[5];
	int status = numbers(m, field, n, 0, UINT32_MAX, v);

	for (uint32_t i = 0; i < n && !status; i++)
		to[i] = (uint32_t)v[i];
	return status;
}

static int
corner(TmapReader *m, const char *field, int32_t *to)
{
	int64_t v[5];
	int status = numbers(m, field, m->d.rank - 2, INT32_MIN, INT32_MAX, v);

	for (uint32_t i = 0; i + 2 < m->d.rank && !status; i++)
		to[i] = (int32_t)v[i];
	return status;
}

static int
number(TmapReader *m, const char *field, uint32_t *to)
{
	int64_t v;

	if (!whole(get(m, field), 0, UINT32_MAX, &v))
		return tmap_error(m, field, "must be a number from 0");
	*to = (uint32_t)v;
	return 0;
}

/* ---- enumerations ----------------------------------------------------------------------------- */

/* A name of the driver's enumeration (also without its prefix), a short name, or the number. */
typedef struct Enum { const char *field, *prefix; const char *const *name; int n; } Enum;

// clang-format off
static const char *const type_names[] = {
	"UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT32", "FLOAT64", "BFLOAT16",
	"FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ"
};
static const char *const short_types[] = {
#define X(id, name, bytes) #name,
	SIM_TMAP_TYPES(X)
#undef X
};
static const char *const interleaves[] = { "NONE", "16B", "32B" };
static const char *const swizzles[] = { "NONE", "32B", "64B", "128B" };
static const char *const promotions[] = { "NONE", "L2_64B", "L2_128B", "L2_256B" };
static const char *const fills[] = { "NONE", "NAN_REQUEST_ZERO_FMA" };

static const Enum types = { "tensorDataType", "CU_TENSOR_MAP_DATA_TYPE_", type_names,
	CLI_COUNT(type_names) };
static const Enum interleave = { "interleave", "CU_TENSOR_MAP_INTERLEAVE_", interleaves,
	CLI_COUNT(interleaves) };
static const Enum swizzle = { "swizzle", "CU_TENSOR_MAP_SWIZZLE_", swizzles, CLI_COUNT(swizzles) };
static const Enum promotion = { "l2Promotion", "CU_TENSOR_MAP_L2_PROMOTION_", promotions,
	CLI_COUNT(promotions) };
static const Enum fill = { "oobFill", "CU_TENSOR_MAP_FLOAT_OOB_FILL_", fills, CLI_COUNT(fills) };
// clang-format on

static int
unknown_name(const TmapReader *m, const Enum *e, const char *name)
{
	cli_begin_error("%s: \"%s\" is '%s'; expected", m->path, e->field, name);
	for (int i = 0; i < e->n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", e->name[i]);
	fputc('\n', stderr);
	return EXIT_INPUT;
}

static int
choice(TmapReader *m, const Enum *e, bool needed, uint32_t *to)
{
	const cJSON *v = get(m, e->field);
	size_t skip = strlen(e->prefix);
	const char *s;
	int64_t i;

	if (!v)
		return needed ? tmap_error(m, e->field, "is missing") : 0;
	if (whole(v, 0, 255, &i)) {
		*to = (uint32_t)i;
		return 0;
	}
	if (!cJSON_IsString(v))
		return tmap_error(m, e->field, "must be a name or a number of the CUDA driver API");
	s = strncmp(v->valuestring, e->prefix, skip) ? v->valuestring : v->valuestring + skip;
	for (int k = 0; k < e->n; k++)
		if (!strcmp(s, e->name[k]) || (e == &types && !strcmp(s, short_types[k]))) {
			*to = (uint32_t)k;
			return 0;
		}
	return unknown_name(m, e, v->valuestring);
}

/* ---- the buffer ------------------------------------------------------------------------------- */

/* A number is the index of the argument whose buffer it uses. A string is a separate buffer, as in --arg. */
static int
own_buffer(TmapReader *m, const char *spec)
{
	SimArg own = { 0 };
	int status;

	own.text = cli_strndup(m->j->c, spec, strlen(spec));
	status = sim_read_buffer(m->j, &own, (int)(m->a - m->j->arg));
	if (status)
		return status;
	if (!own.buffer)
		return tmap_error(m, "globalAddress",
		             "must be @FILE.npy, zeros:TYPE:COUNT or the index of an argument");
	m->a->npy = own.npy;
	m->a->bytes = own.bytes;
	m->a->ptr = own.ptr;
	m->a->buffer = true;
	return 0;
}

static int
address(TmapReader *m)
{
	const cJSON *v = get(m, "globalAddress"), *off = get(m, "globalOffset");
	int64_t i, byte = 0;

	if (!v)
		return tmap_error(m, "globalAddress",
		             "is missing; set the index of the buffer argument that it maps");
	if (off && !whole(off, 0, (int64_t)1 << 52, &byte))
		return tmap_error(m, "globalOffset", "must be a number of bytes from 0");
	if (cJSON_IsString(v)) {
		int status = own_buffer(m, v->valuestring);
		m->d.address = m->a->ptr + (uint64_t)byte;
		return status;
	}
	if (!whole(v, 0, m->j->narg - 1, &i))
		return cli_error(EXIT_INPUT,
		                "%s: \"globalAddress\" must be the index of a buffer argument, 0 to %d",
		                 m->path, m->j->narg - 1);
	if (!m->j->arg[i].buffer || m->j->arg[i].tmap)
		return cli_error(EXIT_INPUT,
		                "%s: \"globalAddress\" is %lld, but argument %lld (%s) is not a buffer",
		                 m->path, (long long)i, (long long)i, m->j->arg[i].text);
	m->d.address = m->j->arg[i].ptr + (uint64_t)byte;
	return 0;
}

/* ---- the file --------------------------------------------------------------------------------- */

static int
box(TmapReader *m)
{
	sim_tmap_desc *d = &m->d;
	int status;

	d->im2col = cJSON_GetObjectItemCaseSensitive(m->root, "pixelsPerColumn") != NULL;
	if (!d->im2col)
		return sizes32(m, "boxDim", d->rank, d->box);
	if (d->rank < 3)
		return tmap_error(m, "tensorRank", "must be 3, 4 or 5 for an im2col map");
	if ((status = corner(m, "pixelBoxLowerCorner", d->lower)) ||
	    (status = corner(m, "pixelBoxUpperCorner", d->upper)) ||
	    (status = number(m, "channelsPerPixel", &d->channels)))
		return status;
	return number(m, "pixelsPerColumn", &d->pixels);
}

static int
fields(TmapReader *m)
{
	sim_tmap_desc *d = &m->d;
	int status;

	if ((status = number(m, "tensorRank", &d->rank)))
		return status;
	if (d->rank < 1 || d->rank > 5)
		return tmap_error(m, "tensorRank", "is not in 1..5");
	if ((status = choice(m, &types, true, &d->type)) || (status = address(m)) ||
	    (status = sizes64(m, "globalDim", d->rank, d->dim)) || (status = box(m)))
		return status;
	if ((d->rank > 1 || cJSON_HasObjectItem(m->root, "globalStrides")) &&
	    (status = sizes64(m, "globalStrides", d->rank - 1, d->stride)))
		return status;
	if (cJSON_HasObjectItem(m->root, "elementStrides") &&
	    (status = sizes32(m, "elementStrides", d->rank, d->element_stride)))
		return status;
	if ((status = choice(m, &interleave, false, &d->interleave)) ||
	    (status = choice(m, &swizzle, false, &d->swizzle)) ||
	    (status = choice(m, &promotion, false, &d->l2_promotion)))
		return status;
	return choice(m, &fill, false, &d->oob_fill);
}

/* Unknown fields are errors. */
static int
no_others(const TmapReader *m)
{
	// clang-format off
	static const char *const known[] = {
		"tensorDataType", "tensorRank", "globalAddress", "globalOffset", "globalDim", "globalStrides",
		"boxDim", "elementStrides", "interleave", "swizzle", "l2Promotion", "oobFill",
		"pixelBoxLowerCorner", "pixelBoxUpperCorner", "channelsPerPixel", "pixelsPerColumn"
	};
	// clang-format on
	const cJSON *e;

	cJSON_ArrayForEach(e, m->root)
	{
		size_t i = 0;
		while (i < CLI_COUNT(known) && strcmp(known[i], e->string))
			i++;
		if (i == CLI_COUNT(known))
			return tmap_error(m, e->string, "is not a field of a tensor map");
	}
	if (m->seen != cJSON_GetArraySize(m->root))
		return cli_error(EXIT_INPUT,
		                "%s: a field is set twice, or both boxDim and pixelsPerColumn are set",
		                 m->path);
	return 0;
}

int
sim_read_tmap(SimJob *j, SimArg *a)
{
	static const sim_tmap_desc none = SIM_TMAP_INIT;
	TmapReader m = { .j = j, .a = a, .path = a->text + strlen("tmap:"), .d = none };
	char why[200];
	size_t n;
	int status;
	char *s = cli_read(j->c, m.path, 1 << 20, &n, &status);

	if (!s)
		return status;
	m.root = cJSON_ParseWithLength(s, n);
	if (cJSON_IsObject(m.root)) {
		status = fields(&m);
		if (!status)
			status = no_others(&m);
	} else {
		status = cli_error(EXIT_INPUT, "%s: not a JSON object", m.path);
	}
	cJSON_Delete(m.root);
	if (!status && sim_tmap_encode(&a->map, &m.d, why, sizeof why) != SIM_OK)
		status = cli_error(EXIT_INPUT, "%s: %s", m.path, why);
	return status;
}
