/* number_store.c - elements in host memory, in the device's storage format. */
#include "hexc/number.h"
#include <string.h>

size_t
num_bytes(DType d, int64_t count)
{
	return count <= 0 ? 0 : ((size_t)count * dtype_info[d].bits + 7) / 8;
}

double
num_get_f(DType d, const void *buf, int64_t i)
{
	const unsigned char *p = (const unsigned char *)buf + i * (dtype_info[d].bits / 8);
	uint16_t h;
	float f;
	double x;

	switch (d) {
	case D_e4m3:
	case D_e5m2: return num_of_code(d, *p);
	case D_f16:
	case D_bf16:
		memcpy(&h, p, sizeof h);
		return num_of_code(d, h);
	case D_tf32:
	case D_f32:
		memcpy(&f, p, sizeof f);
		return (double)f;
	default:
		memcpy(&x, p, sizeof x);
		return x;
	}
}

int64_t
num_get_i(DType d, const void *buf, int64_t i)
{
	const unsigned char *p = buf;
	int bits = dtype_info[d].bits;
	uint64_t u = 0;

	if (bits < 8) {
		u = (uint64_t)(p[i * bits / 8] >> (i * bits % 8));
	} else {
		p += i * (bits / 8);
		for (int k = 0; k < bits / 8; k++)
			u |= (uint64_t)p[k] << (8 * k);
	}
	return num_wrap(d, (int64_t)u);
}

void
num_put_f(DType d, void *buf, int64_t i, double x)
{
	unsigned char *p = (unsigned char *)buf + i * (dtype_info[d].bits / 8);
	uint16_t h;
	float f;

	switch (d) {
	case D_e4m3:
	case D_e5m2: *p = (unsigned char)num_code(d, x); return;
	case D_f16:
	case D_bf16:
		h = (uint16_t)num_code(d, x);
		memcpy(p, &h, sizeof h);
		return;
	case D_tf32:
	case D_f32:
		f = (float)num_round(d, x);
		memcpy(p, &f, sizeof f);
		return;
	default:
		memcpy(p, &x, sizeof x);
	}
}

void
num_put_i(DType d, void *buf, int64_t i, int64_t x)
{
	unsigned char *p = buf;
	int bits = dtype_info[d].bits;
	uint64_t u = (uint64_t)num_wrap(d, x);

	if (bits < 8) {
		int at = (int)(i * bits % 8);
		unsigned mask = ((1u << bits) - 1) << at;

		p += i * bits / 8;
		*p = (unsigned char)((*p & ~mask) | ((unsigned)(u << at) & mask));
		return;
	}
	p += i * (bits / 8);
	for (int k = 0; k < bits / 8; k++)
		p[k] = (unsigned char)(u >> (8 * k));
}

double
num_get(DType d, const void *buf, int64_t i)
{
	int64_t x;

	if (num_is_float(d))
		return num_get_f(d, buf, i);
	x = num_get_i(d, buf, i);
	return d == D_u64 ? (double)(uint64_t)x : (double)x;
}

void
num_put(DType d, void *buf, int64_t i, double x)
{
	if (num_is_float(d))
		num_put_f(d, buf, i, x);
	else
		num_put_i(d, buf, i, num_from_float(d, x));
}

void
num_get_fn(DType d, const void *buf, int64_t at, int64_t stride, size_t n, double *out)
{
	if (d == D_f32 && stride == 1) { /* worth its own loop: no call per element */
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
