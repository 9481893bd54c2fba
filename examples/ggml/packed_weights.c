/* packed_weights.c - the packed weights of a buffer. Weights are packed when all of their bytes have been
 * written, in any number of parts; a part of a packed one is read, and written again, by way of ggml's
 * layout. GGML_HEXC_PACK=0 packs none, GGML_HEXC_PACK=2 also tensors in buffers that ggml does not mark as
 * weights. */
#include "examples/ggml/ggml_hexc.h"
#include "examples/ggml/packed.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of blocks that are packed before they are written, about. */
enum { GROUP_BYTES = 16 << 20 };

/* Host memory for the planes of matrices, one after another as in the weight. */
typedef struct Planes {
	char *memory;
	void *plane[HEXC_NPLANE];
} Planes;

/* The bytes of a plane of n matrices. */
static size_t
plane_bytes(const PackedForm *f, int plane, int64_t n)
{
	return (size_t)(f->each[plane] * (plane == HEXC_PLANE_TABLE ? 1 : n));
}

static bool
planes_new(Planes *m, const PackedForm *f, int64_t matrices)
{
	size_t at[HEXC_NPLANE + 1] = { 0 };

	for (int i = 0; i < HEXC_NPLANE; i++)
		at[i + 1] = at[i] + (plane_bytes(f, i, matrices) + 63) / 64 * 64;
	m->memory = malloc(at[HEXC_NPLANE]);
	for (int i = 0; m->memory && i < HEXC_NPLANE; i++)
		m->plane[i] = m->memory + at[i];
	return m->memory;
}

/* Where a plane of a matrix is, from the weight's start. */
static int64_t
plane_at(const PackedForm *f, int plane, int64_t matrix)
{
	return f->start[plane] + (plane == HEXC_PLANE_TABLE ? 0 : matrix * f->each[plane]);
}

/* ---- one weight ---------------------------------------------------------------------------------------- */

/* Packs matrices [i, i + n) and writes them. */
static bool
write_matrices(Buffer *b, const Packed *p, Planes *m, const char *blocks, int64_t i, int64_t n)
{
	const PackedForm *f = &p->form;
	bool ok = pack_matrices(f, p->shift, blocks + i * f->block_bytes, n, m->plane);

	for (int plane = 0; ok && plane < HEXC_NPLANE; plane++)
		ok = !f->each[plane] || buffer_write(b, p->data + plane_at(f, plane, i), m->plane[plane],
		                                     plane_bytes(f, plane, n));
	return ok;
}

/* Writes all of the weight from its blocks, packed if that is possible. */
static bool
write_weight(Buffer *b, Packed *p, const char *blocks)
{
	const PackedForm *f = &p->form;
	int64_t group = 1 + GROUP_BYTES / f->block_bytes;
	Planes m;
	bool ok;

	group = group < f->matrices ? group : f->matrices;
	ok = !p->never && packed_shift(f, blocks, &p->shift) && planes_new(&m, f, group);
	__atomic_add_fetch(&b->d->repacked, 1, __ATOMIC_RELAXED);
	if (!ok) {
		p->never = true;
		p->done = false;
		return buffer_write(b, p->data, blocks, (size_t)(f->block_bytes * f->matrices));
	}
	for (int64_t i = 0; ok && i < f->matrices; i += group)
		ok = write_matrices(b, p, &m, blocks, i, f->matrices - i < group ? f->matrices - i : group);
	free(m.memory);
	p->done = ok;
	return ok;
}

/* Reads the planes of matrix i, and unpacks them. */
static bool
read_matrix(Buffer *b, const Packed *p, const Planes *m, int64_t i, char *blocks)
{
	const PackedForm *f = &p->form;
	bool ok = true;

	for (int plane = 0; ok && plane < HEXC_NPLANE; plane++)
		ok = !f->each[plane] || buffer_read(b, m->plane[plane], p->data + plane_at(f, plane, i),
		                                    (size_t)f->each[plane]);
	return ok && unpack_matrices(f, p->shift, m->plane, 1, blocks);
}

/* Reads bytes [from, to) of its blocks. */
static bool
read_weight(Buffer *b, const Packed *p, char *out, size_t from, size_t to)
{
	size_t each = (size_t)p->form.block_bytes;
	char *blocks = malloc(each);
	Planes m = { .memory = NULL };
	bool ok = blocks && planes_new(&m, &p->form, 1);

	for (size_t i = from / each; ok && i * each < to; i++) {
		size_t start = i * each < from ? from : i * each;
		size_t end = (i + 1) * each < to ? (i + 1) * each : to;

		ok = read_matrix(b, p, &m, (int64_t)i, blocks);
		if (ok)
			memcpy(out + (start - from), blocks + (start - i * each), end - start);
	}
	free(m.memory);
	free(blocks);
	return ok;
}

/* ---- the weights of a buffer ------------------------------------------------------------------------- */

static int
packing(void)
{
	const char *wanted = getenv("GGML_HEXC_PACK");

	return wanted && (!strcmp(wanted, "0") || !strcmp(wanted, "2")) ? *wanted - '0' : 1;
}

static Packed *
find_weight(const Buffer *b, const void *data)
{
	Packed *p = b->weight[weight_bucket(data)];

	while (p && p->data != data)
		p = p->next;
	return p;
}

static Packed *
new_weight(Buffer *b, const struct ggml_tensor *t)
{
	Packed *p = calloc(1, sizeof *p);

	if (!p || !packed_form(&p->form, t)) {
		free(p);
		return NULL;
	}
	p->data = t->data;
	p->next = b->weight[weight_bucket(t->data)];
	b->weight[weight_bucket(t->data)] = p;
	return p;
}

/* The weight that t is, which is entered if it is new. */
static Packed *
weight_of_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor *t)
{
	Buffer *b = buffer->context;
	Packed *p = find_weight(b, t->data);
	bool weights = buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS || packing() == 2;

	return p || !weights || !packing() ? p : new_weight(b, t);
}

/* Writes a part of a packed weight. */
static bool
change_weight(Buffer *b, Packed *p, const void *data, size_t offset, size_t size)
{
	size_t all = (size_t)(p->form.block_bytes * p->form.matrices);
	char *blocks = malloc(all);
	bool ok = blocks && read_weight(b, p, blocks, 0, all);

	if (ok) {
		memcpy(blocks + offset, data, size);
		ok = write_weight(b, p, blocks);
	}
	free(blocks);
	return ok;
}

/* Writes a part of a weight that is not packed yet, and packs it if this was the last. */
static bool
write_part(Buffer *b, Packed *p, const void *data, size_t offset, size_t size)
{
	size_t all = (size_t)(p->form.block_bytes * p->form.matrices);
	char *blocks;
	bool ok = buffer_write(b, p->data + offset, data, size) &&
	          (p->never || ranges_add(&p->written, offset, offset + size));

	if (!ok || p->never || p->written.range[0].from || p->written.range[0].to < all)
		return ok;
	blocks = malloc(all);
	ok = blocks && buffer_read(b, blocks, p->data, all) && write_weight(b, p, blocks);
	free(blocks);
	return ok;
}

/* The weight that t is or is a view of. *offset grows by t's start in it. */
static Packed *
weight_around(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, size_t *offset)
{
	const struct ggml_tensor *root = t->view_src ? t->view_src : t;

	*offset += (size_t)((const char *)t->data - (const char *)root->data);
	return weight_of_tensor(buffer, root);
}

bool
weights_write(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, const void *data, size_t offset,
              size_t size, bool *ok)
{
	Buffer *b = buffer->context;
	Packed *p;

	pthread_mutex_lock(&b->lock);
	p = size ? weight_around(buffer, t, &offset) : NULL;
	if (p && p->done)
		*ok = change_weight(b, p, data, offset, size);
	else if (p && size == (size_t)(p->form.block_bytes * p->form.matrices))
		*ok = write_weight(b, p, data);
	else if (p)
		*ok = write_part(b, p, data, offset, size);
	pthread_mutex_unlock(&b->lock);
	return p;
}

bool
weights_read(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, void *data, size_t offset,
             size_t size, bool *ok)
{
	Buffer *b = buffer->context;
	bool packed;
	Packed *p;

	pthread_mutex_lock(&b->lock);
	p = weight_around(buffer, t, &offset);
	packed = p && p->done;
	if (packed)
		*ok = read_weight(b, p, data, offset, offset + size);
	pthread_mutex_unlock(&b->lock);
	return packed;
}

bool
is_weight(const struct ggml_tensor *t)
{
	const struct ggml_tensor *root = t->view_src ? t->view_src : t;
	ggml_backend_buffer_t buffer = buffer_of(root);
	Buffer *b = buffer ? buffer->context : NULL;
	bool found = false;

	if (b) {
		pthread_mutex_lock(&b->lock);
		found = weight_of_tensor(buffer, root);
		pthread_mutex_unlock(&b->lock);
	}
	return found;
}

void
weights_forget(Buffer *b)
{
	for (int i = 0; i < WEIGHT_BUCKETS; i++) {
		for (Packed *p = b->weight[i], *next; p; p = next) {
			next = p->next;
			free(p->written.range);
			free(p);
		}
		b->weight[i] = NULL;
	}
}

/* ---- weights of operations ----------------------------------------------------------------------------- */

const Packed *
packed_of(const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = buffer_of(t);
	Buffer *b = buffer ? buffer->context : NULL;
	const Packed *p = NULL;

	if (b && !t->view_src) {
		pthread_mutex_lock(&b->lock);
		p = find_weight(b, t->data);
		p = p && p->done ? p : NULL;
		pthread_mutex_unlock(&b->lock);
	}
	return p;
}

/* Brings a weight back to ggml's layout, where it stays. */
static bool
unpack_weight(Buffer *b, Packed *p)
{
	size_t all = (size_t)(p->form.block_bytes * p->form.matrices);
	char *blocks = malloc(all);
	bool ok = blocks && read_weight(b, p, blocks, 0, all);

	p->never = true;
	ok = ok && buffer_wait(b) && write_weight(b, p, blocks);
	free(blocks);
	return ok;
}

static bool
unpack_locked(Buffer *b, const Packed *p)
{
	bool ok = true;

	pthread_mutex_lock(&b->lock);
	if (p->done)
		ok = unpack_weight(b, find_weight(b, p->data));
	pthread_mutex_unlock(&b->lock);
	return ok;
}

/* Does the operation read its source i as packed? */
static bool
reads_packed(const struct ggml_tensor *op, int i)
{
	return i == 0 && !op->src[0]->view_src && (op->op == GGML_OP_MUL_MAT || op->op == GGML_OP_MUL_MAT_ID);
}

/* Brings what t is a part of back to ggml's layout. */
static bool
unpack_tensor(const struct ggml_tensor *t)
{
	const struct ggml_tensor *root = t->view_src ? t->view_src : t;
	const Packed *p = packed_of(root);

	return !p || unpack_locked(buffer_of(root)->context, p);
}

bool
weights_unpack_for(const struct ggml_tensor *op)
{
	bool ok = unpack_tensor(op); /* it may be stored there */

	for (int i = 0; ok && i < GGML_MAX_SRC; i++)
		ok = !op->src[i] || reads_packed(op, i) || unpack_tensor(op->src[i]);
	return ok;
}
