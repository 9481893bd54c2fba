/* arg_value.c - parses the value of --arg NAME=VALUE. */
#include "hexc/cli/kernel_args.h"
#include <string.h>

static int
value_error(const char *name, const char *text)
{
	return cli_error(
		EXIT_USAGE,
		"--arg %s: invalid value '%s'; expected @FILE.npy, @FILE:TENSOR, a number, random(SEED), "
		"randint(SEED,LO,HI), positions(SEED), zeros or arange, optionally followed by [shape]",
		name, text);
}

/* Parses [128,256] at s, to the end of the text. */
static int
shape(const char *name, const char *s, ArgValue *v)
{
	const char *whole = s;

	v->shaped = true;
	do {
		size_t n = strcspn(++s, ",]");
		char word[24];
		if (v->rank == HEXC_MAX_RANK)
			return cli_error(EXIT_USAGE, "--arg %s: a shape can have at most %d dimensions",
			                 name, HEXC_MAX_RANK);
		if (!s[n] || n >= sizeof word)
			return cli_error(EXIT_USAGE, "--arg %s: '%s' is not a shape such as [128,256]",
			                 name, whole);
		memcpy(word, s, n);
		word[n] = 0;
		if (!cli_int(word, &v->shape[v->rank]) || v->shape[v->rank] < 0)
			return cli_error(EXIT_USAGE, "--arg %s: '%s' is not a shape such as [128,256]",
			                 name, whole);
		v->rank++;
		s += n;
	} while (*s == ',');
	return s[1] ? cli_error(EXIT_USAGE, "--arg %s: unexpected '%s' after the shape", name, s + 1) : 0;
}

/* Parses the n numbers in parentheses of a call like randint(1,0,16); returns false if it is none. */
static bool
call(const char *s, const char *fn, int n, int64_t *const *out)
{
	size_t len = strlen(fn);

	if (strncmp(s, fn, len) != 0 || s[len] != '(')
		return false;
	s += len;
	for (int i = 0; i < n; i++) {
		size_t w = strcspn(++s, ",)");
		char word[24];
		if (w >= sizeof word || s[w] != (i == n - 1 ? ')' : ','))
			return false;
		memcpy(word, s, w);
		word[w] = 0;
		if (!cli_int(word, out[i]))
			return false;
		s += w;
	}
	return s[1] == 0;
}

int
value_parse(Cli *c, const char *name, const char *text, ArgValue *v)
{
	const char *open = text[0] == '@' ? NULL : strchr(text, '[');
	char *word = cli_strndup(c, text, open ? (size_t)(open - text) : strlen(text));
	int64_t *const random[1] = { &v->seed }, *const randint[3] = { &v->seed, &v->lo, &v->hi };

	memset(v, 0, sizeof *v);
	v->text = text;
	if (word[0] == '@') {
		v->kind = V_FILE;
		if (!held_split(c, word + 1, &v->path, &v->held))
			v->path = word + 1;
		if (!v->path[0])
			return value_error(name, text);
	} else if (strcmp(word, "zeros") == 0) {
		v->kind = V_ZEROS;
	} else if (strcmp(word, "arange") == 0) {
		v->kind = V_ARANGE;
	} else if (call(word, "random", 1, random)) {
		v->kind = V_RANDOM;
	} else if (call(word, "positions", 1, random)) {
		v->kind = V_POSITIONS;
	} else if (call(word, "randint", 3, randint)) {
		v->kind = V_RANDINT;
		if (v->lo > v->hi)
			return cli_error(
				EXIT_USAGE,
				"--arg %s: randint(SEED,LO,HI) requires LO < HI, but %lld > %lld",
				name, (long long)v->lo, (long long)v->hi);
	} else if (cli_float(word, &v->f) || cli_u64(word, &v->i)) {
		v->kind = V_NUMBER;
		v->is_int = cli_int(word, &v->i);
		if (v->is_int)
			v->f = (double)v->i;
	} else {
		return value_error(name, text);
	}
	return open ? shape(name, open, v) : 0;
}
