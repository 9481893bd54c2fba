/* prelude.c - finds the functions of prelude.def and their texts. */
#include "hexc/prelude/prelude.h"
#include <string.h>

static const Prelude prelude[] = {
#define FN(name, args, kind, usage, ...) { #name, args, PRELUDE_##kind, usage, #__VA_ARGS__ },
#include "hexc/prelude/prelude.def"
};

static const PreludeKnown known[] = {
#define KNOWN(name, form, error) { #name, form, error },
#include "hexc/prelude/prelude.def"
};

const PreludeKnown *
prelude_known(const char *name)
{
	for (int i = 0; i < (int)COUNT_OF(known); i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

const Prelude *
prelude_at(int i)
{
	return i < (int)COUNT_OF(prelude) ? &prelude[i] : NULL;
}

const Prelude *
prelude_find(const char *name)
{
	for (int i = 0; i < (int)COUNT_OF(prelude); i++)
		if (strcmp(prelude[i].name, name) == 0)
			return &prelude[i];
	return NULL;
}
