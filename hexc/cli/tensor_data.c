/* tensor_data.c - fills tensors from files and generators, and writes them to files.
 *
 * random(SEED) is uniform in [-1, 1) for floats, rounded to the type; for integers every bit pattern is
 * equally likely.
 * randint(SEED,LO,HI) is uniform in LO <= x < HI (LO if both are equal). Element i (row-major) depends on
 * SEED and i only: splitmix64's output function on SEED and i, so it is the same on every machine.
 * positions(SEED) is for the second operand of `sparse`: each pair of adjacent u2 elements is two
 * different positions of four, ascending, all six equally likely; u1 are bits.
 * arange is 0, 1, 2, ... in row-major order; integers wrap. */
#include "hexc/cli/kernel_args.h"
#include <math.h>
#include <string.h>

/* ---- elements in row-major order -------------------------------------------------------------- */

void
each_start(Each *w, const Tensor *t)
{
	memset(w, 0, sizeof *w);
	w->t = t;
	for (uint32_t d = 0; d < t->info.rank; d++)
		w->done = w->done || t->dim[d] == 0;
}

void
each_next(Each *w)
{
	for (int d = (int)w->t->info.rank - 1; d >= 0; d--) {
		w->at += (uint64_t)w->t->stride[d];
		if (++w->index[d] < w->t->dim[d])
			return;
		w->at -= (uint64_t)w->index[d] * (uint64_t)w->t->stride[d];
		w->index[d] = 0;
	}
	w->done = true;
}

/* Are the elements contiguous, of full bytes each? */
static bool
is_dense(const Tensor *t)
{
	int64_t n = 1;

	for (int d = (int)t->info.rank - 1; d >= 0; d--) {
		if (t->dim[d] != 1 && t->stride[d] != n)
			return false;
		n *= t->dim[d];
	}
	return t->type->bits >= 8;
}

/* ---- files ------------------------------------------------------------------------------------ */

static const char *
kind_name(char kind)
{
	switch (kind) {
	case 'f': return "float";
	case 'u': return "uint";
	case 'i': return "int";
	default: return "bool";
	}
}

int
tensor_check_type(const Tensor *t, const char *what)
{
	char want = (char)t->type->npy, kind = t->npy.kind;
	int size = t->type->bits < 8 ? 1 : (int)t->type->bits / 8;
	bool codes = t->type->kind == 'i' && t->type->bits < 8 && kind == 'i'; /* signed codes as numbers */

	if (t->npy.size == size && (kind == want || (want == 'b' && kind == 'u') || codes))
		return 0;
	if (what)
		return cli_error(EXIT_INPUT, "%s is %s, but %s has %s; declare %s accordingly, or use "
		                             "another tensor",
		                 t->info.name, t->type->name, t->value.text, what, t->info.name);
	return cli_error(EXIT_INPUT, "%s (%s) is %s, which is stored as %s%d in .npy; the file has %s%d",
	                 t->info.name, t->value.text, t->type->name, kind_name(want), size * 8,
	                 kind_name(kind), t->npy.size * 8);
}

/* Returns the code of element `i` of row `row` of a packed file. */
static int64_t
packed_code(const Tensor *t, int64_t row, int64_t row_bytes, int64_t i)
{
	uint64_t bit = (uint64_t)i * t->type->bits;
	const unsigned char *b = t->npy.data + row * row_bytes + bit / 8;
	unsigned x = b[0];

	if (bit % 8 + t->type->bits > 8)
		x |= (unsigned)b[1] << 8;
	return (int64_t)(x >> bit % 8 & ((1u << t->type->bits) - 1));
}

/* Returns the integer type of codes of less than 8 bits; other types are unchanged. */
static const hexc_dtype *
code_type(const hexc_dtype *t)
{
	const char name[] = { 'u', (char)('0' + t->bits), 0 };

	return t->bits < 8 ? hexc_dtype_find(name) : t;
}

static int
fill_codes(Tensor *t)
{
	const hexc_dtype *code = code_type(t->type);
	int64_t last = t->info.rank ? t->dim[t->info.rank - 1] : 1;
	int64_t row_bytes = (int64_t)(((uint64_t)last * t->type->bits + 7) / 8), n = 0;
	int64_t most = t->type->kind == 'b' ? 1 : ((int64_t)1 << t->type->bits) - 1;
	Each w;

	for (each_start(&w, t); !w.done; each_next(&w), n++) {
		int64_t x = t->packed ? packed_code(t, n / last, row_bytes, n % last) : t->npy.data[n];
		if (t->npy.kind == 'i') {
			int64_t half = (most + 1) / 2;
			x = x > 127 ? x - 256 : x;
			if (x < -half || x >= half)
				return cli_error(EXIT_INPUT, "%s (%s): element %lld is %lld, which is out "
				                             "of range for %s",
				                 t->info.name, t->value.text, (long long)n, (long long)x,
				                 t->type->name);
		} else if (x > most) {
			return cli_error(EXIT_INPUT,
			                "%s (%s): element %lld is %lld, which is not a code of %s",
			                 t->info.name, t->value.text, (long long)n, (long long)x,
			                 t->type->name);
		}
		hexc_put_int(code, t->start, w.at, x);
	}
	return 0;
}

/* Fills from contiguous elements of the type itself. */
static void
fill_natural(Tensor *t)
{
	const hexc_dtype *code = code_type(t->type);
	uint64_t n = 0;
	Each w;

	for (each_start(&w, t); !w.done; each_next(&w), n++)
		hexc_put_int(code, t->start, w.at, hexc_get_int(code, t->npy.data, n));
}

static int
fill_file(Tensor *t)
{
	size_t size = (size_t)t->npy.size;
	const unsigned char *from = t->npy.data;
	Each w;

	if (t->natural && t->type->bits < 8) {
		fill_natural(t);
		return 0;
	}
	if (t->type->bits < 8 || t->type->kind == 'b')
		return fill_codes(t);
	if (is_dense(t)) {
		memcpy(t->start, from, (size_t)t->npy.count * size);
		return 0;
	}
	for (each_start(&w, t); !w.done; each_next(&w), from += size)
		memcpy(t->start + w.at * size, from, size);
	return 0;
}

int
tensor_save(Cli *c, const Tensor *t, const unsigned char *data, const char *path)
{
	size_t size = t->type->bits < 8 ? 1 : t->type->bits / 8, head, n = 0;
	const hexc_dtype *code = code_type(t->type);
	uint64_t count = 1;
	char *out;
	Each w;

	for (uint32_t d = 0; d < t->info.rank; d++)
		count *= (uint64_t)t->dim[d];
	out = cli_try_alloc(c, NPY_HEADER_MAX + count * size);
	if (!out)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", path);
	head = npy_header(out, (char)t->type->npy, (int)size, (int)t->info.rank, t->dim);
	for (each_start(&w, t); !w.done; each_next(&w), n++) {
		if (code->bits < 8)
			out[head + n] = (char)hexc_get_int(code, data, w.at);
		else
			memcpy(out + head + n * size, data + w.at * size, size);
	}
	return cli_write(c, path, out, head + count * size);
}

/* ---- generators ------------------------------------------------------------------------------- */

static uint64_t
random_bits(int64_t seed, uint64_t i)
{
	uint64_t z = (uint64_t)seed * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Reinterprets the 64 bits. */
static int64_t
signed_of(uint64_t x)
{
	return x <= INT64_MAX ? (int64_t)x : -(int64_t)~x - 1;
}

/* Returns the high 64 bits of x * n: uniform in 0..n-1 up to 2^-64 * n. */
static uint64_t
scale(uint64_t x, uint64_t n)
{
	uint64_t lo = (x & 0xffffffffu) * (n & 0xffffffffu), a = (x >> 32) * (n & 0xffffffffu);
	uint64_t b = (x & 0xffffffffu) * (n >> 32), mid = (lo >> 32) + (a & 0xffffffffu) + (b & 0xffffffffu);

	return (x >> 32) * (n >> 32) + (a >> 32) + (b >> 32) + (mid >> 32);
}

/* Is the integer x a value of the type? Floats round. */
static bool
is_value(const hexc_dtype *t, int64_t x)
{
	uint64_t one = 1;

	switch (t->kind) {
	case 'f': return true;
	case 'b': return x == 0 || x == 1;
	case 'i':
		return t->bits == 64 || (x >= -(int64_t)(one << (t->bits - 1)) &&
		                         x < (int64_t)(one << (t->bits - 1)));
	default: return x >= 0 && (t->bits == 64 || (uint64_t)x < one << t->bits);
	}
}

static void
put_value(Tensor *t, uint64_t at, uint64_t n)
{
	const ArgValue *v = &t->value;
	uint64_t r = random_bits(v->seed, n);

	switch (v->kind) {
	case V_RANDOM:
		if (t->type->kind == 'f')
			hexc_put(t->type, t->start, at, (double)(r >> 11) * 0x1p-52 - 1);
		else
			hexc_put_int(t->type, t->start, at,
			             t->type->kind == 'b' ? (int64_t)(r >> 63) : signed_of(r));
		break;
	case V_RANDINT: {
		uint64_t x = (uint64_t)v->lo + scale(r, (uint64_t)v->hi - (uint64_t)v->lo);
		hexc_put_int(t->type, t->start, at, signed_of(x));
		break;
	}
	case V_POSITIONS: {
		static const unsigned char pair[6] = { 0x4, 0x8, 0x9, 0xc, 0xd, 0xe };
		uint64_t x = t->type->bits == 1 ? r >> 63 : pair[scale(random_bits(v->seed, n / 2), 6)];
		hexc_put_int(t->type, t->start, at, signed_of(t->type->bits == 2 && n % 2 ? x >> 2 : x & 3));
		break;
	}
	case V_ARANGE: hexc_put_int(t->type, t->start, at, (int64_t)n); break;
	case V_NUMBER:
		if (v->is_int)
			hexc_put_int(t->type, t->start, at, v->i);
		else
			hexc_put(t->type, t->start, at, v->f);
		break;
	case V_NONE:
	case V_FILE:
	case V_ZEROS: break;
	}
}

/* Is the value representable in the tensor's type? */
static int
check_range(const Tensor *t)
{
	const ArgValue *v = &t->value;
	bool ok = true;

	if (v->kind == V_RANDINT)
		ok = is_value(t->type, v->lo) && is_value(t->type, v->hi > v->lo ? v->hi - 1 : v->hi);
	if (v->kind == V_NUMBER && t->type->kind != 'f')
		ok = v->is_int && is_value(t->type, v->i);
	if (v->kind == V_POSITIONS &&
	    (t->type->kind != 'u' || t->type->bits > 2 || t->info.rank == 0 ||
	     (t->type->bits == 2 && t->dim[t->info.rank - 1] % 2)))
		return cli_error(EXIT_INPUT, "%s: positions must be u2 in rows of even length, or u1",
		                 t->info.name);
	return ok ? 0
	          : cli_error(EXIT_INPUT, "%s is %s; %s is out of range", t->info.name, t->type->name,
	                      v->text);
}

int
tensor_fill(Tensor *t)
{
	uint64_t n = 0;
	int status = check_range(t);
	Each w;

	if (status || t->value.kind == V_ZEROS)
		return status;
	if (t->value.kind == V_FILE)
		return fill_file(t);
	if (t->value.kind == V_NONE) { /* an output: a recognizable pattern for reads before writes */
		memset(t->start, 0xa5, t->bytes);
		return 0;
	}
	for (each_start(&w, t); !w.done; each_next(&w), n++)
		put_value(t, w.at, n);
	return 0;
}

unsigned char *
tensor_copy(Cli *c, const Tensor *t)
{
	unsigned char *p = cli_try_alloc(c, t->bytes);

	if (p)
		memcpy(p, t->start, t->bytes);
	return p;
}
