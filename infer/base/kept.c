/* kept.c - layouts that values and operands were given: each once, however many plans come to it. */
#include "infer/base/state.h"

enum { BUCKETS = 256 };

typedef struct KeptLayout {
	struct KeptLayout *next;
	uint64_t hash;
	Layout l;
} KeptLayout;

const Layout *
kept_layout(Solve *s, const Layout *l)
{
	uint64_t h = layout_hash(l);
	KeptLayout **at, *k;

	if (!s->kept)
		s->kept = NEWN(s->arena, KeptLayout *, BUCKETS);
	at = &s->kept[h % BUCKETS];
	for (k = *at; k; k = k->next)
		if (k->hash == h && layout_identical(&k->l, l))
			return &k->l;
	k = NEW(s->arena, KeptLayout);
	*k = (KeptLayout){ *at, h, *l };
	*at = k;
	return &k->l;
}
