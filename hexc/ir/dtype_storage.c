/* dtype_storage.c - reads and writes elements in host memory, in the device's storage format. */
#include "hexc/ir/dtype_value.h"
#include <string.h>

size_t
num_bytes(DType d, int64_t count)
{
	return count <= 0 ? 0 : ((size_t)count * dtype_info[d].bits + 7) / 8;
}

/* Reads the `bits` bits of element i, which may straddle two bytes if fewer than 8. */
static uint64_t
load_bits(const void *buf, int64_t i, int bits)
{
	const unsigned char *p = (const unsigned char *)buf + i * bits / 8;
	int at = (int)(i * bits % 8);
	uint64_t u = 0;

	for (int k = 0; k * 8 < at + bits; k++)
		u |= (uint64_t)p[k] << (8 * k);
	return bits < 8 ? u >> at & ((1u << bits) - 1) : u;
}

static void
store_bits(void *buf, int64_t i, int bits, uint64_t u)
{
	unsigned char *p = (unsigned char *)buf + i * bits / 8;
	int at = (int)(i * bits % 8);
	unsigned mask = bits < 8 ? ((1u << bits) - 1) << at : 0;

	if (bits < 8) {
		u = u << at & mask;
		p[0] = (unsigned char)((p[0] & ~mask) | u);
		if (mask >> 8)
			p[1] = (unsigned char)((p[1] & ~(mask >> 8)) | u >> 8);
		return;
	}
	for (int k = 0; k < bits / 8; k++)
		p[k] = (unsigned char)(u >> (8 * k));
}

double
num_get_f(DType d, const void *buf, int64_t i)
{
	uint64_t u = load_bits(buf, i, dtype_info[d].bits);
	uint32_t w = (uint32_t)u;
	double x;
	float f;

	switch (dtype_reg(d)) {
	case REG_f32:
		memcpy(&f, &w, sizeof f);
		return (double)f;
	case REG_f64:
		memcpy(&x, &u, sizeof x);
		return x;
	default:
		return num_of_code(d, w);
	}
}

int64_t
num_get_i(DType d, const void *buf, int64_t i)
{
	return num_wrap(d, (int64_t)load_bits(buf, i, dtype_info[d].bits));
}

void
num_put_f(DType d, void *buf, int64_t i, double x)
{
	uint64_t u;
	uint32_t w;
	float f;

	switch (dtype_reg(d)) {
	case REG_f32:
		f = (float)num_round(d, x);
		memcpy(&w, &f, sizeof w);
		u = w;
		break;
	case REG_f64: memcpy(&u, &x, sizeof u); break;
	default: u = num_code(d, x); break;
	}
	store_bits(buf, i, dtype_info[d].bits, u);
}

void
num_put_i(DType d, void *buf, int64_t i, int64_t x)
{
	store_bits(buf, i, dtype_info[d].bits, (uint64_t)num_wrap(d, x));
}

double
num_get(DType d, const void *buf, int64_t i)
{
	int64_t x;

	if (dtype_is_float(d))
		return num_get_f(d, buf, i);
	x = num_get_i(d, buf, i);
	return dtype_past_i64(d) ? (double)(uint64_t)x : (double)x;
}

void
num_put(DType d, void *buf, int64_t i, double x)
{
	if (dtype_is_float(d))
		num_put_f(d, buf, i, x);
	else
		num_put_i(d, buf, i, num_from_float(d, x));
}

void
num_get_fn(DType d, const void *buf, int64_t at, int64_t stride, size_t n, double *out)
{
	if (d == D_f32 && stride == 1) { /* own loop for speed: no call per element */
		const char *p = (const char *)buf + at * 4;

		for (size_t i = 0; i < n; i++) {
			float f;

			memcpy(&f, p + i * 4, sizeof f);
			out[i] = (double)f;
		}
		return;
	}
	for (size_t i = 0; i < n; i++, at += stride)
		out[i] = num_get_f(d, buf, at);
}

void
num_get_in(DType d, const void *buf, int64_t at, int64_t stride, size_t n, int64_t *out)
{
	for (size_t i = 0; i < n; i++, at += stride)
		out[i] = num_get_i(d, buf, at);
}
