/* file_gguf.c - reads the GGUF container, versions 2 and 3, little-endian: "GGUF", version, number of
 * tensors and of metadata entries; the entries (key, type, value); for each tensor its name, dims (the
 * contiguous one first), type and offset; then, aligned to general.alignment bytes (32 if not given), the
 * data. */
#include "lib/weights/file.h"
#include <stdlib.h>
#include <string.h>

const FileType gguf_types[] = {
	/* name, dtype, type number, elements and bytes per block */
#define DTYPE(name, bits, kind, exp, man, round, codes, use, acc, print, alu, mma, cvt, file, gguf, npy) \
	{ gguf < 0 ? NULL : file, #name, gguf, 1, bits / 8 },
#include "hexc/ir/dtypes.def"
	{ "Q4_0", NULL, 2, 32, 18 },
	{ "Q4_1", NULL, 3, 32, 20 },
	{ "Q5_0", NULL, 6, 32, 22 },
	{ "Q5_1", NULL, 7, 32, 24 },
	{ "Q8_0", NULL, 8, 32, 34 },
	{ "Q8_1", NULL, 9, 32, 36 },
	{ "Q2_K", NULL, 10, 256, 84 },
	{ "Q3_K", NULL, 11, 256, 110 },
	{ "Q4_K", NULL, 12, 256, 144 },
	{ "Q5_K", NULL, 13, 256, 176 },
	{ "Q6_K", NULL, 14, 256, 210 },
	{ "Q8_K", NULL, 15, 256, 292 },
	{ "IQ2_XXS", NULL, 16, 256, 66 },
	{ "IQ2_XS", NULL, 17, 256, 74 },
	{ "IQ3_XXS", NULL, 18, 256, 98 },
	{ "IQ1_S", NULL, 19, 256, 50 },
	{ "IQ4_NL", NULL, 20, 32, 18 },
	{ "IQ3_S", NULL, 21, 256, 110 },
	{ "IQ2_S", NULL, 22, 256, 82 },
	{ "IQ4_XS", NULL, 23, 256, 136 },
	{ "IQ1_M", NULL, 29, 256, 56 },
	{ "TQ1_0", NULL, 34, 256, 54 },
	{ "TQ2_0", NULL, 35, 256, 66 },
	{ "MXFP4", NULL, 39, 32, 17 },
	{ "NVFP4", NULL, 40, 64, 36 },
	{ "Q1_0", NULL, 41, 128, 18 },
	{ "Q2_0", NULL, 42, 64, 18 },
	{ NULL, NULL, 0, 0, 0 },
};

/* Types of metadata values, with their bytes; 0: a string or a list. */
enum { V_STRING = 8, V_ARRAY = 9, V_COUNT = 13 };
static const struct {
	const char *name;
	int bytes;
} values[V_COUNT] = {
	{ "u8", 1 },
	{ "i8", 1 },
	{ "u16", 2 },
	{ "i16", 2 },
	{ "u32", 4 },
	{ "i32", 4 },
	{ "f32", 4 },
	{ "bool", 1 },
	{ "string", 0 },
	{ "list", 0 },
	{ "u64", 8 },
	{ "i64", 8 },
	{ "f64", 8 },
};

typedef struct Cursor {
	hexc_file *f;
	uint64_t at;
	bool short_of; /* a read went past the end */
} Cursor;

static uint64_t
left(const Cursor *c)
{
	return c->f->bytes - c->at;
}

/* Reads the next `n` bytes as a number; 0 past the end. */
static uint64_t
take(Cursor *c, int n)
{
	uint64_t x = 0;

	if (left(c) < (uint64_t)n) {
		c->short_of = true;
		return 0;
	}
	for (int i = n - 1; i >= 0; i--)
		x = x << 8 | c->f->data[c->at + (uint64_t)i];
	c->at += (uint64_t)n;
	return x;
}

/* Reads a string: its length, then its bytes. Returns NULL past the end. */
static const char *
take_string(Cursor *c, uint64_t *n)
{
	const char *s;

	*n = take(c, 8);
	if (c->short_of || *n > left(c)) {
		c->short_of = true;
		return NULL;
	}
	s = (const char *)c->f->data + c->at;
	c->at += *n;
	return s;
}

static bool
truncated(hexc_file *f, const char *in)
{
	return file_error(
		f, "the file ends inside %s, at byte %llu: it is truncated; download or write it again", in,
		(unsigned long long)f->bytes);
}

/* Copies a name and appends a NUL; rejects NULs and control characters. */
static const char *
name_of(hexc_file *f, const char *s, uint64_t n, const char *what)
{
	for (uint64_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ') {
			file_error(
				f,
				"the name of %s, %s, has a control character: the file is damaged; write it "
				"again",
				what, file_quote(f, s, (size_t)n));
			return NULL;
		}
	return arena_strndup(&f->arena, s, (size_t)n);
}

/* ---- metadata ------------------------------------------------------------------------------------ */

static const char *
scalar_text(hexc_file *f, int type, uint64_t x)
{
	float f32;
	double f64;

	switch (type) {
	case 1: return arena_printf(&f->arena, "%d", (int)(int8_t)x);
	case 3: return arena_printf(&f->arena, "%d", (int)(int16_t)x);
	case 5: return arena_printf(&f->arena, "%d", (int)(int32_t)x);
	case 6:
		memcpy(&f32, &(uint32_t){ (uint32_t)x }, sizeof f32);
		return arena_printf(&f->arena, "%.9g", (double)f32);
	case 7: return x ? "true" : "false";
	case 11: return arena_printf(&f->arena, "%lld", (long long)x);
	case 12:
		memcpy(&f64, &x, sizeof f64);
		return arena_printf(&f->arena, "%.17g", f64);
	default: return arena_printf(&f->arena, "%llu", (unsigned long long)x);
	}
}

/* Skips a list, including nested lists. */
static const char *
list_text(Cursor *c, int depth)
{
	uint64_t type = take(c, 4), n = take(c, 8), bytes;

	if (c->short_of || type >= V_COUNT)
		return NULL;
	if (depth > 4) /* unused by writers; bounds the recursion */
		return NULL;
	if (values[type].bytes) {
		bytes = (uint64_t)values[type].bytes;
		if (n > left(c) / bytes) {
			c->short_of = true;
			return NULL;
		}
		c->at += n * bytes;
	} else {
		for (uint64_t i = 0, len; i < n; i++)
			if (type == V_STRING ? !take_string(c, &len) : !list_text(c, depth + 1))
				return NULL;
	}
	return arena_printf(&c->f->arena, "%s[%llu]", values[type].name, (unsigned long long)n);
}

/* Applies metadata that determine how tensors are read. `type`: of the value; `x`: a scalar. */
static bool
use_meta(hexc_file *f, const FileMeta *m, uint64_t type, uint64_t x, uint64_t *alignment)
{
	bool counts = type < V_STRING || type > V_ARRAY;

	if (strcmp(m->key, "general.alignment") == 0) {
		/* ggml's reader and the package gguf require both */
		if (type != 4 || x == 0 || (x & (x - 1)))
			return file_error(f, "general.alignment is %s %s; must be a u32 power of two",
			                  values[type].name, file_quote(f, m->value, strlen(m->value)));
		*alignment = x;
	} else if (strcmp(m->key, "general.quantization_version") == 0) {
		f->blocks = file_quote(f, m->value, strlen(m->value));
	} else if (strcmp(m->key, "split.no") == 0 && counts && x < UINT32_MAX) {
		f->shard = (uint32_t)x + 1;
	} else if (strcmp(m->key, "split.count") == 0 && counts && x <= UINT32_MAX) {
		f->shards = (uint32_t)x;
	}
	return true;
}

static bool
read_meta(Cursor *c, uint64_t *alignment)
{
	hexc_file *f = c->f;
	uint64_t n, type, x = 0;
	const char *s = take_string(c, &n);
	FileMeta m = { NULL, NULL };

	if (!s)
		return truncated(f, "the metadata");
	if (!(m.key = name_of(f, s, n, "a metadata entry")))
		return false;
	type = take(c, 4);
	if (c->short_of)
		return truncated(f, "the metadata");
	if (type >= V_COUNT)
		return file_error(
			f, "metadata %s has type %llu, which GGUF does not define: the file is damaged",
			file_quote(f, m.key, strlen(m.key)), (unsigned long long)type);
	if (type == V_STRING) {
		s = take_string(c, &n);
		m.value = s ? arena_strndup(&f->arena, s, (size_t)n) : NULL;
	} else if (type == V_ARRAY) {
		m.value = list_text(c, 0);
	} else {
		x = take(c, values[type].bytes);
		m.value = scalar_text(f, (int)type, x);
	}
	if (c->short_of)
		return truncated(f, "the metadata");
	if (!m.value)
		return file_error(f, "metadata %s is not a list that GGUF defines: the file is damaged",
		                  file_quote(f, m.key, strlen(m.key)));
	VEC_PUSH(&f->arena, f->meta, f->nmeta, f->meta_cap, m);
	return use_meta(f, &m, type, x, alignment);
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const FileMeta *)a)->key, ((const FileMeta *)b)->key);
}

/* Readers differ in which of two entries with one key they use. */
static bool
keys_differ(hexc_file *f)
{
	FileMeta *m = NEWN(&f->arena, FileMeta, f->nmeta + 1);

	for (size_t i = 0; i < f->nmeta; i++)
		m[i] = f->meta[i];
	qsort(m, f->nmeta, sizeof *m, by_key);
	for (size_t i = 1; i < f->nmeta; i++)
		if (strcmp(m[i - 1].key, m[i].key) == 0)
			return file_error(
				f,
				"two metadata entries are named %s: the file is damaged; write it again",
				file_quote(f, m[i].key, strlen(m[i].key)));
	return true;
}

/* ---- tensors --------------------------------------------------------------------------------------- */

const char *
gguf_other(const char *type)
{
	static const struct {
		const char *begins, *text;
	} other[] = {
		{ "IQ", "uses a codebook format, which is not supported" },
		{ "TQ1_0", "packs five base-3 codes into a byte" },
		{ "Q8_1", "is a format for activations, not weights" },
		{ "Q8_K", "is a format for activations, not weights" },
	};

	for (size_t i = 0; i < COUNT_OF(other); i++)
		if (strncmp(type, other[i].begins, strlen(other[i].begins)) == 0)
			return other[i].text;
	return NULL;
}

static const FileType *
find_type(uint64_t id)
{
	for (const FileType *t = gguf_types; t->elements; t++)
		if (t->name && (uint64_t)t->id == id)
			return t;
	return NULL;
}

static bool
read_tensor(Cursor *c, uint64_t alignment)
{
	hexc_file *f = c->f;
	uint64_t n, rank, id;
	const char *s = take_string(c, &n);
	FileTensor t = { 0 };

	if (!s)
		return truncated(f, "the list of tensors");
	if (!(t.name = name_of(f, s, n, "a tensor")))
		return false;
	rank = take(c, 4);
	if (!c->short_of && rank > HEXC_MAX_RANK)
		return file_error(f, "tensor %s has %llu dimensions; 0 (one element) to %d are allowed",
		                  t.name,
		                  (unsigned long long)rank, HEXC_MAX_RANK);
	t.rank = (uint32_t)rank;
	for (uint32_t i = 0; i < t.rank; i++) {
		uint64_t d = take(c, 8);

		if (d > INT64_MAX)
			return file_error(f, "tensor %s: dimension %u is %llu, which exceeds the address "
			                     "space",
			                  t.name, i, (unsigned long long)d);
		t.dim[t.rank - 1 - i] = (int64_t)d;
	}
	id = take(c, 4);
	t.begin = take(c, 8);
	if (c->short_of)
		return truncated(f, "the list of tensors");
	t.known = find_type(id);
	t.type = t.known ? t.known->name : arena_printf(&f->arena, "type %llu", (unsigned long long)id);
	if (t.begin % alignment)
		return file_error(
			f,
			"tensor %s starts at byte %llu of the data, which is not a multiple of the "
			"alignment %llu; write the file again",
			t.name, (unsigned long long)t.begin, (unsigned long long)alignment);
	if (t.known && !file_tensor_bytes(f, &t, &t.bytes))
		return false;
	VEC_PUSH(&f->arena, f->tensor, f->ntensor, f->tensor_cap, t);
	return true;
}

bool
gguf_read(hexc_file *f)
{
	Cursor c = { f, 4, false };
	uint64_t version = take(&c, 4), ntensor, nmeta, alignment = 32;

	f->kind = "gguf";
	if (!c.short_of && version != 2 && version != 3)
		return file_error(f,
		                  version == 1
		                          ? "GGUF version 1 is not supported; convert the file to version 3"
		                  : (version & 0xffff) == 0
		                          ? "the file is a big-endian GGUF; convert it to little-endian"
		                          : "unknown GGUF version %llu; supported: 2 and 3",
		                  (unsigned long long)version);
	ntensor = take(&c, 8);
	nmeta = take(&c, 8);
	if (c.short_of)
		return truncated(f, "its header");
	/* an entry takes at least 13 bytes, a tensor 24, so the loops are bounded */
	if (nmeta > left(&c) / 13 || ntensor > left(&c) / 24)
		return file_error(
			f,
			"the file claims %llu metadata entries and %llu tensors, more than its %llu bytes "
			"can hold: it is truncated or damaged",
			(unsigned long long)nmeta, (unsigned long long)ntensor,
			(unsigned long long)f->bytes);
	for (uint64_t i = 0; i < nmeta; i++)
		if (!read_meta(&c, &alignment))
			return false;
	if (!keys_differ(f))
		return false;
	for (uint64_t i = 0; i < ntensor; i++)
		if (!read_tensor(&c, alignment))
			return false;
	f->start = (c.at + alignment - 1) / alignment * alignment;
	f->start = f->start > f->bytes ? f->bytes : f->start; /* no data, no padding */
	f->room = f->bytes - f->start;
	return file_finish(f, false);
}
