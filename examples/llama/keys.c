/* keys.c - rejects a model whose file has keys that may change its results and that this program does not
 * read. */
#include "examples/llama/llama.h"
#include <stdlib.h>
#include <string.h>

typedef struct Key {
	const char *name;
	const char *values; /* "a|b"; NULL: any */
} Key;

static const Key keys[] = {
#define READ(name) { name, NULL },
#define ANY(name) { name, NULL },
#define ONLY(name, values) { name, values },
#include "examples/llama/keys.def"
};

/* Is the value this one?  0 is written in many ways. */
static bool
same(const char *value, const char *one, size_t n)
{
	char *end, *one_end;
	double x = strtod(value, &end), y = strtod(one, &one_end);

	if (end != value && !*end && one_end == one + n)
		return x >= y && x <= y;
	return strlen(value) == n && strncmp(value, one, n) == 0;
}

static bool
admitted(const Key *k, const char *value)
{
	if (!k->values)
		return true;
	for (const char *one = k->values; *one; one += strcspn(one, "|"), one += *one == '|')
		if (same(value, one, strcspn(one, "|")))
			return true;
	return false;
}

static bool
check(char *why, const char *key, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		return admitted(&keys[i], value) ||
		       host_fail(why, key, "the layers here do not compute what %.60s asks for: take a model "
		                           "without it", value);
	}
	return host_fail(why, key, "this key is not known here, and may change what the model computes "
	                 "(%.60s): take a model without it", value);
}

bool
keys_known(const hexc_file *f, char *why)
{
	const char *key, *value;

	for (size_t i = 0; hexc_file_meta(f, i, &key, &value); i++) {
		/* a part of another model, or a function of Llama's layers that has no key below llama. */
		if (strncmp(key, "adapter.", 8) == 0 || strncmp(key, "xielu.", 6) == 0 ||
		    (strcmp(key, "general.type") == 0 && strcmp(value, "model") != 0))
			return host_fail(why, key, "%.60s: that is no model by itself: take one", value);
		if (strncmp(key, "llama.", 6) == 0 && !check(why, key, key + 6, value))
			return false;
	}
	return true;
}
