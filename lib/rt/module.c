/* module.c - creates and frees modules. */
#include "lib/rt/rt.h"
#include <string.h>

hexc_module *
module_new(void *(*fn)(void *, void *, size_t), void *user)
{
	hexc_module *m = fn(user, NULL, sizeof *m);

	if (!m)
		return NULL;
	memset(m, 0, sizeof *m);
	arena_init(&m->arena, fn, user);
	m->ptx = "";
	return m;
}

void
hexc_module_free(hexc_module *m)
{
	void *(*fn)(void *, void *, size_t);
	void *user;

	if (!m)
		return;
	fn = m->arena.realloc;
	user = m->arena.user;
	arena_free(&m->arena);
	fn(user, m, 0);
}
