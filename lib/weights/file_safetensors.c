/* file_safetensors.c - reads the safetensors container: 8 bytes with the length of a header,
 * little-endian; the header, one JSON object from tensor names to {dtype, shape, data_offsets} and
 * "__metadata__" with strings; then the data, which the tensors fill without gaps and overlaps. */
#include "lib/weights/file.h"
#include "lib/base/json.h"
#include <string.h>

/* The reference implementation rejects longer headers. */
#define HEADER_MAX 100000000u
enum { NODES_MAX = 1 << 23 };

const FileType safetensors_types[] = {
	/* name, dtype, -, elements and bytes of the smallest group of full bytes */
#define DTYPE(name, bits, kind, exp, man, round, codes, use, acc, print, alu, mma, cvt, file, gguf, npy) \
	{ file, #name, 0, 8 / GCD8(bits), bits / GCD8(bits) },
#define GCD8(bits) (bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1)
#include "hexc/ir/dtypes.def"
#undef GCD8
	{ "C64", NULL, 0, 1, 8 },
	{ NULL, NULL, 0, 0, 0 },
};

/* Parses an integer from 0 to 2^64 - 1 in digits only, as safetensors' reader does. */
static bool
whole(const Json *j, uint64_t *out)
{
	if (!j || j->kind != JSON_NUMBER || !j->is_u64)
		return false;
	*out = j->u64;
	return true;
}

static bool
read_shape(hexc_file *f, FileTensor *t, const Json *shape)
{
	const Json *d;
	uint64_t x;

	if (!shape || shape->kind != JSON_ARRAY)
		return file_error(f,
		                 "tensor %s has no shape: the header is damaged; write the file again",
		                  t->name);
	for (d = shape->first; d; d = d->next) {
		if (t->rank == HEXC_MAX_RANK)
			return file_error(f, "tensor %s has more than %d dimensions", t->name, HEXC_MAX_RANK);
		if (!whole(d, &x))
			return file_error(
				f,
				"tensor %s: dimension %u is not a non-negative integer; write the file again",
				t->name, t->rank);
		if (x > INT64_MAX)
			return file_error(f, "tensor %s: dimension %u is %llu, which exceeds the address "
			                     "space",
			                  t->name, t->rank, (unsigned long long)x);
		t->dim[t->rank++] = (int64_t)x;
	}
	return true;
}

/* Checks members that must be unique: the reference implementation rejects duplicates. */
static bool
said_once(hexc_file *f, const Json *tensor)
{
	static const char *const words[] = { "dtype", "shape", "data_offsets" };

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		const Json *first = json_member(tensor, words[i]);

		for (const Json *j = first ? first->next : NULL; j; j = j->next)
			if (strcmp(j->key, words[i]) == 0)
				return file_error(f, "tensor %s has two %s: the file is damaged; write it "
						     "again",
				                  tensor->key, words[i]);
	}
	return true;
}

static bool
read_tensor(hexc_file *f, const Json *j)
{
	const Json *type = json_member(j, "dtype");
	const Json *at = json_member(j, "data_offsets");
	FileTensor t = { .name = j->key };
	uint64_t begin, end, need;

	if (!type || type->kind != JSON_STRING)
		return file_error(f,
		                 "tensor %s has no dtype: the header is damaged; write the file again",
		                  t.name);
	if (!said_once(f, j))
		return false;
	t.type = file_quote(f, type->text, strlen(type->text));
	t.known = file_type_named(safetensors_types, type->text, strlen(type->text));
	if (!read_shape(f, &t, json_member(j, "shape")))
		return false;
	if (!at || at->kind != JSON_ARRAY || at->n != 2 || !whole(at->first, &begin) ||
	    !whole(at->first->next, &end))
		return file_error(f, "tensor %s: its data_offsets are not [begin, end], two integers below "
		                     "2^64; write the file again",
		                  t.name);
	if (begin > end)
		return file_error(
			f,
			"tensor %s: its data_offsets are not [begin, end]: %llu is more than %llu; write "
			"the file again",
			t.name, (unsigned long long)begin, (unsigned long long)end);
	t.begin = begin;
	t.bytes = end - begin;
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
read_meta(hexc_file *f, const Json *object)
{
	const Json *j;

	if (object->kind == JSON_NULL) /* safetensors' reader treats it as absent */
		return true;
	if (object->kind != JSON_OBJECT)
		return file_error(f, "__metadata__ is not an object of strings; write the file again");
	for (j = object->first; j; j = j->next) {
		FileMeta m = { j->key, j->text };

		if (j->kind != JSON_STRING)
			return file_error(f, "__metadata__ %s is not a string; write the file again",
			                  file_quote(f, j->key, strlen(j->key)));
		VEC_PUSH(&f->arena, f->meta, f->nmeta, f->meta_cap, m);
	}
	return true;
}

static bool
read_header(hexc_file *f, const Json *root)
{
	const Json *j, *meta = json_member(root, "__metadata__");

	/* It is an object: the container was detected by its {. */
	for (j = root->first; j; j = j->next) {
		bool is_meta = strcmp(j->key, "__metadata__") == 0;

		if (is_meta && j != meta)
			return file_error(f, "the header has two __metadata__: the file is damaged; write it "
			                     "again");
		if (!(is_meta ? read_meta(f, j) : read_tensor(f, j)))
			return false;
	}
	return file_finish(f, true);
}

bool
safetensors_read(hexc_file *f)
{
	uint64_t n = 0, nodes = 0;
	const char *text = (const char *)f->data + 8;
	const Json *root;

	f->kind = "safetensors";
	for (int i = 7; i >= 0; i--)
		n = n << 8 | f->data[i];
	if (n > HEADER_MAX)
		return file_error(
			f,
			"the header claims %llu bytes, more than the %u that safetensors allows: not a "
			"safetensors file, or it is damaged",
			(unsigned long long)n, HEADER_MAX);
	if (n > f->bytes - 8)
		return file_error(
			f,
			"the header claims %llu bytes, but %llu follow: the file is truncated; download or "
			"write it again",
			(unsigned long long)n, (unsigned long long)(f->bytes - 8));
	for (uint64_t i = 0; i < n; i++)
		nodes += text[i] == ',' || text[i] == '[' || text[i] == '{';
	if (nodes > NODES_MAX)
		return file_error(f, "the header has %llu JSON values, more than %d: it is not a header of "
		                     "tensors",
		                  (unsigned long long)nodes, NODES_MAX);
	f->start = 8 + n;
	f->room = f->bytes - f->start;
	root = json_read(&f->arena, text, (size_t)n);
	if (!root)
		return file_error(
			f, "the header is not valid JSON: the file is damaged; download or write it again");
	return read_header(f, root) && file_metadata(f);
}
