/* scope.c - resolves names to their declarations in nested scopes. */
#include <string.h>
#include "lib/sim/ptx/parse.h"

u32
text_hash(const char *s, size_t n)
{
	u32 h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (u8)s[i]) * 16777619u;
	return h;
}

static Bucket *
find(const Scope *s, const char *name, size_t n, u32 h)
{
	Bucket *b = s->tab[h % COUNT_OF(s->tab)];

	while (b && (b->hash != h || strncmp(b->name, name, n) || b->name[n]))
		b = b->next;
	return b;
}

Bucket *
scope_find_here(const Scope *s, const char *name, size_t n)
{
	return find(s, name, n, text_hash(name, n));
}

Bucket *
scope_find(Scope *s, const char *name, size_t n)
{
	u32 h = text_hash(name, n);
	Bucket *b = NULL;

	for (; s && !b; s = s->up)
		b = find(s, name, n, h);
	return b;
}

Scope *
p_scope(PtxParser *p, Scope *up)
{
	Scope *s = NEW(&p->m->arena, Scope);

	s->up = up;
	return s;
}

bool
p_define(PtxParser *p, const char *name, int what, void *thing)
{
	u32 h = text_hash(name, strlen(name));
	Bucket **head = &p->sc->tab[h % COUNT_OF(p->sc->tab)], *b;

	for (b = *head; b; b = b->next)
		if (b->hash == h && !strcmp(b->name, name) && (b->what == SYM_RANGE) == (what == SYM_RANGE))
			return p_fail(p, "redeclaration of %.80s", name);
	b = NEW(&p->m->arena, Bucket);
	b->name = name;
	b->hash = h;
	b->what = what;
	b->p = thing;
	b->next = *head;
	*head = b;
	return true;
}
