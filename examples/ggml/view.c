/* view.c - tensors of ggml as hexc's operators take them: four dims with strides in elements. */
#include "examples/ggml/work.h"

const char *
type_name(enum ggml_type type)
{
	switch ((int)type) {
	case GGML_TYPE_F32: return "f32";
	case GGML_TYPE_F16: return "f16";
	case GGML_TYPE_BF16: return "bf16";
	case GGML_TYPE_F64: return "f64";
	case GGML_TYPE_I8: return "i8";
	case GGML_TYPE_I16: return "i16";
	case GGML_TYPE_I32: return "i32";
	case GGML_TYPE_I64: return "i64";
	default: return NULL;
	}
}

bool
view_of(View *v, const struct ggml_tensor *t)
{
	int64_t size = (int64_t)ggml_type_size(t->type);

	if (ggml_blck_size(t->type) != 1)
		return false;
	*v = (View){ .type = t->type, .data = t->data };
	for (int i = 0; i < RANK; i++) {
		v->size[i] = t->ne[RANK - 1 - i];
		v->stride[i] = (int64_t)t->nb[RANK - 1 - i] / size;
		if ((int64_t)t->nb[RANK - 1 - i] % size)
			return false;
	}
	return true;
}

void
view_pack(View *v)
{
	int64_t stride = 1;

	for (int i = RANK - 1; i >= 0; i--) {
		v->stride[i] = stride;
		stride *= v->size[i];
	}
}

int64_t
view_count(const View *v)
{
	return v->size[0] * v->size[1] * v->size[2] * v->size[3];
}

bool
view_flatten(View *v, const struct ggml_tensor *t)
{
	if (!ggml_is_contiguous(t))
		return false;
	*v = (View){
		.type = v->type,
		.data = v->data,
		.size = { 1, 1, 1, view_count(v) }, .stride = { 0, 0, 0, 1 },
	};
	return true;
}

View
view_part(View v, int dim, int64_t part, int64_t parts)
{
	v.size[dim] /= parts;
	v.data = (char *)v.data + part * v.size[dim] * v.stride[dim] * (int64_t)ggml_type_size(v.type);
	return v;
}

bool
view_repeat(View *v, const int64_t size[RANK])
{
	for (int i = 0; i < RANK; i++) {
		if (v->size[i] == size[i])
			continue;
		if (v->size[i] != 1)
			return false;
		v->size[i] = size[i];
		v->stride[i] = 0;
	}
	return true;
}

bool
view_wraps(const View *v, const View *y)
{
	View copy = *v;

	return !view_repeat(&copy, y->size);
}

bool
view_divides(const View *v, const View *y)
{
	for (int i = 0; i < RANK; i++)
		if (v->size[i] <= 0 || y->size[i] % v->size[i])
			return false;
	return true;
}

bool
is_float(const View *v)
{
	return v->type == GGML_TYPE_F32 || v->type == GGML_TYPE_F16 || v->type == GGML_TYPE_BF16;
}

bool
is_row(const View *v)
{
	return v->stride[3] == 1 || v->size[3] == 1;
}

bool
view_same_size(const View *a, const View *b)
{
	for (int i = 0; i < RANK; i++)
		if (a->size[i] != b->size[i])
			return false;
	return true;
}

/* Can dim i be merged into dim i + 1 of v? */
static bool
adjacent(const View *v, int i)
{
	return v->size[i] == 1 || v->stride[i] == v->stride[i + 1] * v->size[i + 1];
}

/* Merges dim i of v into dim i + 1; the dims before it move inward, and dim 0 becomes 1. */
static void
merge(View *v, int i)
{
	if (v->size[i + 1] == 1 && v->size[i] > 1)
		v->stride[i + 1] = v->stride[i];
	v->size[i + 1] *= v->size[i];
	for (; i > 0; i--) {
		v->size[i] = v->size[i - 1];
		v->stride[i] = v->stride[i - 1];
	}
	v->size[0] = 1;
	v->stride[0] = 0;
}

static bool
all_adjacent(View *const *v, int n, int i)
{
	bool all = true;

	for (int j = 0; j < n; j++)
		all = all && (adjacent(v[j], i) || v[j]->size[i + 1] == 1);
	return all;
}

void
views_merge(View *const *v, int n, int dims)
{
	for (int i = dims - 2; i >= 0; i--)
		for (int left = i; left >= 0 && all_adjacent(v, n, i); left--)
			for (int j = 0; j < n; j++)
				merge(v[j], i);
}
