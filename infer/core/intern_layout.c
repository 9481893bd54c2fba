/* intern_layout.c - interns the layouts of values and operands: equal layouts are stored once for all
 * plans of a search. */
#include "infer/core/search_state.h"

enum { BUCKETS = 256 };

typedef struct InternedLayout {
	struct InternedLayout *next;
	uint64_t hash;
	Layout l;
} InternedLayout;

const Layout *
layout_intern(Solve *s, const Layout *l)
{
	uint64_t h = layout_hash(l);
	InternedLayout **at, *k;

	if (!s->interned)
		s->interned = NEWN(s->arena, InternedLayout *, BUCKETS);
	at = &s->interned[h % BUCKETS];
	for (k = *at; k; k = k->next)
		if (k->hash == h && layout_identical(&k->l, l))
			return &k->l;
	k = NEW(s->arena, InternedLayout);
	*k = (InternedLayout){ *at, h, *l };
	*at = k;
	return &k->l;
}
