/* data.c - generates, loads and compares values, tensors and files of the demo. */
#include "examples/demo/demo.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double
f16_value(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	double a = e ? scalbn(1024 + m, e - 25) : scalbn(m, -24);

	if (e == 31)
		a = m ? NAN : INFINITY;
	return h >> 15 ? -a : a;
}

/* Nearest, ties to even. */
static uint16_t
f16_bits(double x)
{
	uint16_t sign = signbit(x) ? 0x8000 : 0;
	double a = fabs(x);
	int e;

	if (isnan(x))
		return 0x7e00;
	if (a >= 65520)
		return sign | 0x7c00;
	e = a < 0x1p-14 ? -14 : ilogb(a);
	return (uint16_t)(sign | ((e + 14) * 1024 + (int)nearbyint(scalbn(a, 10 - e))));
}

double
to_half(double x)
{
	return f16_value(f16_bits(x));
}

double
half_ulp(double x)
{
	return fmax(fabs(x) * 0x1p-11, 0x1p-25);
}

/* Repeatable, roughly normal. */
static double
noise(uint64_t *seed)
{
	double sum = 0;

	for (int i = 0; i < 4; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*seed >> 40) * 0x1p-24 - 0.5;
	}
	return sum * 1.7;
}

void *
need(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fputs("demo: out of memory\n", stderr);
		exit(4);
	}
	return p;
}

Tensor *
add(Case *c, const char *name, Elt elt, size_t n, bool out)
{
	static const size_t bits[] = { [F16] = 16, [F32] = 32, [U4] = 4 };
	Tensor *t = &c->t[c->nt++];

	t->name = name;
	t->elt = elt;
	t->n = n;
	t->out = out;
	t->v = need(n, sizeof *t->v);
	t->allow = out ? need(n, sizeof *t->allow) : NULL;
	t->bytes = (bits[elt] * n + 7) / 8;
	t->mem = need(t->bytes, 1);
	return t;
}

void
size(Case *c, const char *name, int64_t i)
{
	c->size[c->nsize++] = (Named) { name, i, 0 };
}

void
scalar(Case *c, const char *name, double f)
{
	c->size[c->nsize++] = (Named) { name, 0, f };
}

void
store(Tensor *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->elt == F16) {
			uint16_t h = f16_bits(t->v[i]);
			memcpy(t->mem + 2 * i, &h, 2);
			t->v[i] = f16_value(h);
		} else if (t->elt == F32) {
			float f = (float)t->v[i];
			memcpy(t->mem + 4 * i, &f, 4);
			t->v[i] = f;
		} else {
			t->mem[i / 2] |= (uint8_t)((unsigned)t->v[i] << i % 2 * 4);
		}
	}
}

double
load(const Tensor *t, size_t i)
{
	uint16_t h;
	float f;

	if (t->elt == F32) {
		memcpy(&f, t->mem + 4 * i, 4);
		return f;
	}
	memcpy(&h, t->mem + 2 * i, 2);
	return f16_value(h);
}

void
case_free(Case *c)
{
	for (int i = 0; i < c->nt; i++) {
		free(c->t[i].v);
		free(c->t[i].allow);
		free(c->t[i].mem);
	}
}

void
read_npy(const char *file, Tensor *t)
{
	unsigned char head[10];
	char text[512];
	FILE *f = fopen(file, "rb");
	uint16_t *half = need(t->n, sizeof *half);
	size_t n = 0;

	if (f && fread(head, 1, 10, f) == 10 && !memcmp(head, "\x93NUMPY\x01", 7)) {
		n = head[8] + 256u * head[9];
		n = n < sizeof text && fread(text, 1, n, f) == n ? n : 0;
	}
	text[n] = 0;
	if (!n || !strstr(text, "<f2") || fread(half, 2, t->n, f) != t->n) {
		fprintf(stderr, "demo: %s is not the f16 file it was\n", file);
		exit(1);
	}
	fclose(f);
	for (size_t i = 0; i < t->n; i++)
		t->v[i] = f16_value(half[i]);
	store(t);
	free(half);
}

void
random_fill(Tensor *t, uint64_t seed)
{
	for (size_t i = 0; i < t->n; i++)
		t->v[i] = noise(&seed);
	store(t);
}
