/* dtype.c - converts element types to names and elements of host buffers to numbers. */
#include "hexc/ir/dtype_value.h"
#include "lib/rt/rt.h"
#include <string.h>

/* Row d must be DType d: the functions below rely on it. */
static const hexc_dtype dtypes[D_COUNT] = {
#define KIND_flt 'f'
#define KIND_sint 'i'
#define KIND_uint 'u'
#define KIND_pred 'b'
#define NPY_f 'f'
#define NPY_i 'i'
#define NPY_u 'u'
#define NPY_b 'b'
#define DTYPE(name, bits, kind, exp, man, round, codes, use, acc, print, alu, mma, cvt, file, gguf, npy) \
	[D_##name] = { #name, bits, KIND_##kind, NPY_##npy },
#include "hexc/ir/dtypes.def"
};

const hexc_dtype *
hexc_dtype_find(const char *name)
{
	DType d = name ? dtype_find(name, strlen(name)) : D_COUNT;

	return d < D_COUNT ? &dtypes[d] : NULL;
}

const hexc_dtype *
hexc_dtype_at(size_t i)
{
	return i < D_COUNT ? &dtypes[i] : NULL;
}

int64_t
hexc_type_value(const char *name)
{
	const hexc_dtype *t = hexc_dtype_find(name);

	return t ? type_value((DType)(t - dtypes)) : 0;
}

const hexc_dtype *
hexc_value_type(int64_t value)
{
	return hexc_dtype_at(value_type(value));
}

/* Returns D_COUNT if t is not the library's, or buf is NULL. */
static DType
id(const hexc_dtype *t, const void *buf)
{
	return buf && t >= dtypes && t < dtypes + D_COUNT ? (DType)(t - dtypes) : D_COUNT;
}

double
hexc_get(const hexc_dtype *t, const void *buf, uint64_t i)
{
	DType d = id(t, buf);
	Arithmetic host;
	double x;

	if (d == D_COUNT)
		return 0;
	arithmetic_enter(&host);
	x = num_get(d, buf, (int64_t)i);
	arithmetic_leave(&host);
	return x;
}

int64_t
hexc_get_int(const hexc_dtype *t, const void *buf, uint64_t i)
{
	DType d = id(t, buf);
	Arithmetic host;
	int64_t x;

	if (d == D_COUNT)
		return 0;
	arithmetic_enter(&host);
	x = dtype_is_float(d) ? num_from_float(D_i64, num_get(d, buf, (int64_t)i))
	                      : num_get_i(d, buf, (int64_t)i);
	arithmetic_leave(&host);
	return x;
}

void
hexc_put(const hexc_dtype *t, void *buf, uint64_t i, double x)
{
	DType d = id(t, buf);
	Arithmetic host;

	if (d == D_COUNT)
		return;
	arithmetic_enter(&host);
	num_put(d, buf, (int64_t)i, x);
	arithmetic_leave(&host);
}

void
hexc_put_int(const hexc_dtype *t, void *buf, uint64_t i, int64_t x)
{
	DType d = id(t, buf);
	Arithmetic host;

	if (d == D_COUNT)
		return;
	arithmetic_enter(&host);
	if (dtype_is_float(d))
		num_put_f(d, buf, (int64_t)i, num_from_int(d, D_i64, x));
	else
		num_put_i(d, buf, (int64_t)i, x);
	arithmetic_leave(&host);
}
