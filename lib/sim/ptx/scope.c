/* scope.c - names and what they stand for, in nested scopes. */
#include <string.h>
#include "lib/sim/ptx/parse.h"

static u32
hash(const char *s, size_t n)
{
	u32 h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (u8)s[i]) * 16777619u;
	return h;
}

Bucket *
scope_find(Scope *s, const char *name, size_t n)
{
	u32 h = hash(name, n) % 64;

	for (; s; s = s->up)
		for (Bucket *b = s->tab[h]; b; b = b->next)
			if (!strncmp(b->name, name, n) && !b->name[n])
				return b;
	return NULL;
}

Scope *
p_scope(Parser *p, Scope *up)
{
	Scope *s = NEW(&p->m->arena, Scope);

	s->up = up;
	return s;
}

bool
p_define(Parser *p, const char *name, int what, void *thing)
{
	u32 h = hash(name, strlen(name)) % 64;
	Bucket *b;

	for (b = p->sc->tab[h]; b; b = b->next)
		if (!strcmp(b->name, name) && (b->what == SYM_RANGE) == (what == SYM_RANGE))
			return p_fail(p, "%.80s is declared twice", name);
	b = NEW(&p->m->arena, Bucket);
	b->name = name;
	b->what = what;
	b->p = thing;
	b->next = p->sc->tab[h];
	p->sc->tab[h] = b;
	return true;
}
