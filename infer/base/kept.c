/* kept.c - layouts that values and operands were given: each once, however many plans come to it. */
#include "infer/base/state.h"

enum { BUCKETS = 256 };

typedef struct KeptLayout {
	struct KeptLayout *next;
	uint64_t hash;
	Layout l;
} KeptLayout;

static uint64_t
mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t
mix_iters(uint64_t h, const Iter *it, int n)
{
	for (int i = 0; i < n; i++)
		h = mix(mix(h, (uint64_t)it[i].extent), (uint64_t)it[i].stride * 8 + it[i].axis);
	return h;
}

static uint64_t
hash(const Layout *l)
{
	uint64_t h = mix((uint64_t)l->n, (uint64_t)l->nrep);

	for (int d = 0; d < l->ndim; d++)
		h = mix(h, l->first[d + 1]);
	return mix_iters(mix_iters(h, l->it, l->n), l->rep, l->nrep);
}

static bool
same_iter(const Iter *a, const Iter *b)
{
	return a->extent == b->extent && a->stride == b->stride && a->axis == b->axis && a->open == b->open &&
	       a->close == b->close;
}

/* To the last field. */
static bool
identical(const Layout *a, const Layout *b)
{
	if (a->n != b->n || a->ndim != b->ndim || a->nrep != b->nrep || a->tuple != b->tuple ||
	    a->swizzle.bits != b->swizzle.bits || a->swizzle.base != b->swizzle.base ||
	    a->swizzle.shift != b->swizzle.shift)
		return false;
	for (int d = 0; d <= a->ndim; d++)
		if (a->first[d] != b->first[d])
			return false;
	for (int i = 0; i < a->n; i++)
		if (!same_iter(&a->it[i], &b->it[i]))
			return false;
	for (int i = 0; i < a->nrep; i++)
		if (!same_iter(&a->rep[i], &b->rep[i]))
			return false;
	for (int x = 0; x < AX_COUNT; x++)
		if (a->offset[x] != b->offset[x])
			return false;
	return true;
}

const Layout *
kept_layout(Solve *s, const Layout *l)
{
	uint64_t h = hash(l);
	KeptLayout **at, *k;

	if (!s->kept)
		s->kept = NEWN(s->arena, KeptLayout *, BUCKETS);
	at = &s->kept[h % BUCKETS];
	for (k = *at; k; k = k->next)
		if (k->hash == h && identical(&k->l, l))
			return &k->l;
	k = NEW(s->arena, KeptLayout);
	*k = (KeptLayout){ *at, h, *l };
	*at = k;
	return &k->l;
}
