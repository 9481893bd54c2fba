/* file_safetensors.c - the safetensors container: 8 bytes with the length of a header, little-endian;
 * the header, one JSON object from tensor names to {dtype, shape, data_offsets} and "__metadata__" with
 * strings; then the data, which the tensors fill without gaps and overlaps. */
#include "lib/weights/file.h"
#include <cjson/cJSON.h>
#include <string.h>

/* The reference implementation refuses longer headers. */
#define HEADER_MAX 100000000u
enum { NODES_MAX = 1 << 23 };

const FileType safetensors_types[] = {
	/* name, dtype, -, elements and bytes of the fewest that are whole bytes */
#define DTYPE(name, bits, kind, exp, man, round, codes, use, acc, print, alu, mma, cvt, file, gguf, npy) \
	{ file, #name, 0, 8 / GCD8(bits), bits / GCD8(bits) },
#define GCD8(bits) (bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1)
#include "hexc/ir/dtypes.def"
#undef GCD8
	{ "C64", NULL, 0, 1, 8 },
	{ NULL, NULL, 0, 0, 0 },
};

/* A whole number from 0 to 2^53: what a JSON reader keeps exactly. */
static bool
whole(const cJSON *j, int64_t *out)
{
	if (!cJSON_IsNumber(j) || !(j->valuedouble >= 0 && j->valuedouble <= 0x1p53))
		return false;
	*out = (int64_t)j->valuedouble;
	return (double)*out == j->valuedouble;
}

static bool
read_shape(hexc_file *f, FileTensor *t, const cJSON *shape)
{
	const cJSON *d;

	if (!cJSON_IsArray(shape))
		return file_error(f,
		                 "tensor %s has no shape: the header is damaged; write the file again",
		                  t->name);
	cJSON_ArrayForEach(d, shape)
	{
		if (t->rank == HEXC_MAX_RANK)
			return file_error(f, "tensor %s has more than %d dims", t->name, HEXC_MAX_RANK);
		if (!whole(d, &t->dim[t->rank++]))
			return file_error(
				f,
				"tensor %s: dim %u is no whole number from 0 on; write the file again",
				t->name, t->rank - 1);
	}
	return true;
}

static bool
read_tensor(hexc_file *f, const cJSON *j)
{
	const cJSON *type = cJSON_GetObjectItemCaseSensitive(j, "dtype");
	const cJSON *at = cJSON_GetObjectItemCaseSensitive(j, "data_offsets");
	FileTensor t = { .name = arena_strndup(&f->arena, j->string, strlen(j->string)) };
	int64_t begin, end;
	uint64_t need;

	if (!cJSON_IsObject(j) || !cJSON_IsString(type))
		return file_error(f,
		                 "tensor %s has no dtype: the header is damaged; write the file again",
		                  t.name);
	t.type = file_quote(f, type->valuestring, strlen(type->valuestring));
	t.known = file_type_named(safetensors_types, type->valuestring, strlen(type->valuestring));
	if (!read_shape(f, &t, cJSON_GetObjectItemCaseSensitive(j, "shape")))
		return false;
	if (!cJSON_IsArray(at) || cJSON_GetArraySize(at) != 2 || !whole(cJSON_GetArrayItem(at, 0), &begin) ||
	    !whole(cJSON_GetArrayItem(at, 1), &end) || begin > end)
		return file_error(
			f, "tensor %s: its data_offsets are not [begin, end]; write the file again",
			t.name);
	t.begin = (uint64_t)begin;
	t.bytes = (uint64_t)(end - begin);
	if (t.known) {
		if (!file_tensor_bytes(f, &t, &need))
			return false;
		if (need != t.bytes)
			return file_error(f, "tensor %s: %llu bytes of data, but its shape of %s needs %llu; "
			                    "write the file again",
			                  t.name, (unsigned long long)t.bytes, t.type,
			                  (unsigned long long)need);
	}
	VEC_PUSH(&f->arena, f->tensor, f->ntensor, f->tensor_cap, t);
	return true;
}

static bool
read_meta(hexc_file *f, const cJSON *object)
{
	const cJSON *j;

	if (!cJSON_IsObject(object))
		return file_error(f, "__metadata__ is no object of strings; write the file again");
	cJSON_ArrayForEach(j, object)
	{
		FileMeta m = { arena_strndup(&f->arena, j->string, strlen(j->string)), NULL };

		if (!cJSON_IsString(j))
			return file_error(f, "__metadata__ %s is no string; write the file again",
			                  file_quote(f, j->string, strlen(j->string)));
		m.value = arena_strndup(&f->arena, j->valuestring, strlen(j->valuestring));
		VEC_PUSH(&f->arena, f->meta, f->nmeta, f->meta_cap, m);
	}
	return true;
}

static bool
read_header(hexc_file *f, const cJSON *root)
{
	const cJSON *j;

	if (!cJSON_IsObject(root))
		return file_error(f, "the header is no JSON object; write the file again");
	cJSON_ArrayForEach(j, root)
	{
		if (!(strcmp(j->string, "__metadata__") == 0 ? read_meta(f, j) : read_tensor(f, j)))
			return false;
	}
	return file_finish(f, true);
}

bool
safetensors_read(hexc_file *f)
{
	uint64_t n = 0, nodes = 0;
	const char *text = (const char *)f->data + 8, *end = NULL;
	cJSON *root;
	jmp_buf *outer = f->arena.fail, here;
	int left;
	volatile bool ok = false;

	f->kind = "safetensors";
	for (int i = 7; i >= 0; i--)
		n = n << 8 | f->data[i];
	if (n > HEADER_MAX)
		return file_error(
			f,
			"the header claims %llu bytes, more than the %u that safetensors allows: this is no "
			"safetensors file, or it is damaged",
			(unsigned long long)n, HEADER_MAX);
	if (n > f->bytes - 8)
		return file_error(
			f,
			"the header claims %llu bytes and the file has %llu behind it: the file is "
			"truncated; fetch or write it again",
			(unsigned long long)n, (unsigned long long)(f->bytes - 8));
	for (uint64_t i = 0; i < n; i++)
		nodes += text[i] == ',' || text[i] == '[' || text[i] == '{';
	if (nodes > NODES_MAX)
		return file_error(f, "the header has %llu parts, more than %d: it is no header of tensors",
		                  (unsigned long long)nodes, NODES_MAX);
	f->start = 8 + n;
	f->room = f->bytes - f->start;
	root = cJSON_ParseWithLengthOpts(text, (size_t)n, &end, false);
	if (!root)
		return file_error(
			f, "the header is no valid JSON: the file is damaged; fetch or write it again");
	/* the tree is not the arena's: on the way out it goes first */
	f->arena.fail = &here;
	left = setjmp(here);
	if (left == 0)
		ok = read_header(f, root);
	f->arena.fail = outer;
	cJSON_Delete(root);
	if (left)
		arena_fail(&f->arena, (ArenaFail)left, f->arena.why);
	return ok;
}
