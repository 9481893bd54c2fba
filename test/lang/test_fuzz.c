/* test_fuzz.c - fuzzes the front end: no text may crash it.
 *
 * Valid programs are mutated, from a fixed seed: bytes and tokens are changed, dropped, duplicated, swapped,
 * taken from other programs. Each result must yield errors with source locations or IR that verifies, and the
 * same twice. Environment: FUZZ_ROUNDS mutations (default 6000), FUZZ_SEED. */
#include "test/check.h"
#include "hexc/ir/verify/verify.h"
#include "test/lang/util_lang.h"
#include "test/util_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Corpus {
	const char **text;
	size_t *len;
	int n;
} Corpus;

typedef struct Rng {
	uint64_t s;
} Rng;

static uint32_t
below(Rng *r, uint32_t n)
{
	r->s = r->s * 6364136223846793005u + 1442695040888963407u;
	return n ? (uint32_t)(r->s >> 33) % n : 0;
}

static void
add_dir(Corpus *c, const char *dir)
{
	int n;
	char **list = lang_list(dir, &n);

	c->text = realloc(c->text, sizeof *c->text * (size_t)(c->n + n));
	c->len = realloc(c->len, sizeof *c->len * (size_t)(c->n + n));
	ck_assert(c->text && c->len);
	for (int i = 0; i < n; i++) {
		c->text[c->n] = file_read(list[i], &c->len[c->n]);
		c->n++;
		free(list[i]);
	}
	free(list);
}

static Corpus
load(void)
{
	Corpus c = { NULL, NULL, 0 };

	add_dir(&c, "test/lang/valid");
	add_dir(&c, "examples");
	add_dir(&c, "test/lang/errors");
	return c;
}

static void
unload(Corpus *c)
{
	free(c->text);
	free(c->len);
}

/* ---- mutations --------------------------------------------------------------------------------- */

enum { SIZE_MAX_FUZZ = 20000 };

typedef struct Buf {
	char s[SIZE_MAX_FUZZ + 1];
	size_t n;
} Buf;

static void
splice(Buf *b, size_t at, size_t drop, const char *s, size_t n)
{
	if (at > b->n)
		at = b->n;
	if (drop > b->n - at)
		drop = b->n - at;
	if (b->n - drop + n > SIZE_MAX_FUZZ)
		return;
	memmove(b->s + at + n, b->s + at + drop, b->n - at - drop);
	memmove(b->s + at, s, n); /* s may be the place itself */
	b->n = b->n - drop + n;
}

static bool
word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A token of the text: a word or one other byte. */
static size_t
token_at(const char *s, size_t n, size_t at, size_t *start)
{
	size_t end = at;

	while (at > 0 && word(s[at]) && word(s[at - 1]))
		at--;
	while (end < n && word(s[end]))
		end++;
	*start = at;
	return end > at ? end - at : 1;
}

static void
mutate(const Corpus *c, Rng *r, Buf *b)
{
	static const char *const piece[] = { "0", "1", "-1", "64", "9223372036854775807", "1e308",
		                             "inf", "true",
		                             "i4", "u4", "f16", "bool", "i64", "T", "block.x", "WARPS", ":+",
		                             "..", "(", ")", "[", "]", "{", "}", ":", ",", ";", "=", "+=",
		                             "%=", "<<=", "newaxis", "unroll",
		                             "%", "/", "&&", "<<", "!", "-", "~", "register", "shared", "let",
		                             "var", "if", "else", "for", "pipeline", "grid", "dot", "mean",
		                             "where", "reshape", "iota", "\xff", "\xc3", "/*", "//", "\n" };
	size_t at = below(r, (uint32_t)b->n), start, n, other_at, other_start, other_n;
	int o = (int)below(r, (uint32_t)c->n);
	char byte;

	n = token_at(b->s, b->n, at, &start);
	switch (below(r, 9)) {
	case 0:
		byte = (char)below(r, 256);
		splice(b, at, 1, &byte, 1);
		break;
	case 1: splice(b, at, 1, "", 0); break;
	case 2: splice(b, start, n, "", 0); break;
	case 3: splice(b, start, 0, b->s + start, n); break;
	case 4:
	case 5: {
		const char *p = piece[below(r, COUNT_OF(piece))];
		splice(b, start, below(r, 2) ? n : 0, p, strlen(p));
		break;
	}
	case 6:
	case 7: /* a token of another program, or of this one */
		other_at = below(r, (uint32_t)c->len[o]);
		n = token_at(b->s, b->n, at, &start);
		other_n = token_at(c->text[o], c->len[o], other_at, &other_start);
		splice(b, start, n, c->text[o] + other_start, other_n);
		break;
	default: /* some lines of another program */
		other_at = below(r, (uint32_t)c->len[o]);
		n = below(r, 120);
		if (n > c->len[o] - other_at)
			n = c->len[o] - other_at;
		splice(b, at, below(r, 2) ? n : 0, c->text[o] + other_at, n);
		break;
	}
}

/* ---- what must hold ------------------------------------------------------------------------------ */

/* Bytes of the program to show. */
static int
shown(const Buf *b)
{
	return b->n < 4000 ? (int)b->n : 4000;
}

static void
compile(const Buf *b, Lang *l)
{
	char *exact = malloc(b->n ? b->n : 1); /* reads past the end are seen by the sanitizer */

	ck_assert_ptr_nonnull(exact);
	memcpy(exact, b->s, b->n);
	lang_compile(l, exact, b->n, NULL, 0, NULL);
	ck_assert_msg(l->code == 0, "left with code %d: %s\n%.*s", l->code,
	              l->arena.why ? l->arena.why : "", shown(b), b->s);
	ck_assert_msg(l->ok == (l->diag.nerror == 0), "result and errors disagree\n%.*s",
	              shown(b), b->s);
	for (int i = 0; i < l->diag.n; i++)
		ck_assert_msg(l->diag.msg[i].severity != DIAG_ERROR || l->diag.msg[i].src.line > 0,
		              "no place: %s\n%.*s", l->diag.msg[i].text, shown(b), b->s);
	for (int i = 0; l->ok && i < l->unit.nkernel; i++)
		ck_assert_msg(kernel_verify(l->unit.kernel[i], "lower"), "%s\n%.*s", lang_messages(l),
		              shown(b), b->s);
	l->unit.text = NULL;
	free(exact);
}

static void
check_twice(const Buf *b, const Lang *first)
{
	Lang l;

	compile(b, &l);
	ck_assert_int_eq(l.diag.n, first->diag.n);
	for (int i = 0; i < l.diag.n; i++)
		ck_assert_str_eq(l.diag.msg[i].text, first->diag.msg[i].text);
	lang_free(&l);
}

static long
env(const char *name, long other)
{
	const char *s = getenv(name);

	return s ? atol(s) : other;
}

TEST(mutations)
{
	Corpus c = load();
	Rng r = { (uint64_t)env("FUZZ_SEED", 1) };
	long rounds = env("FUZZ_ROUNDS", 6000), good = 0;
	Buf *b = malloc(sizeof *b);

	ck_assert_ptr_nonnull(b);
	for (long i = 0; i < rounds; i++) {
		int o = (int)below(&r, (uint32_t)c.n), times = 1 + (int)below(&r, 4);
		Lang l;

		b->n = 0;
		splice(b, 0, 0, c.text[o], c.len[o]);
		for (int k = 0; k < times; k++)
			mutate(&c, &r, b);
		compile(b, &l);
		good += l.ok;
		if (i % 16 == 0)
			check_twice(b, &l);
		lang_free(&l);
	}
	printf("%ld mutated programs, %ld still valid\n", rounds, good);
	free(b);
	unload(&c);
}

/* Every prefix of a program, and every program with one byte missing. */
TEST(prefixes)
{
	static const char *const file[] = { "examples/gemm_w4a16.hexc", "test/lang/valid/tensors.hexc",
		                            "test/lang/valid/explicit_async.hexc" };
	Buf *b = malloc(sizeof *b);

	ck_assert_ptr_nonnull(b);
	for (size_t f = 0; f < COUNT_OF(file); f++) {
		size_t len;
		const char *s = file_read(file[f], &len);

		for (size_t i = 0; i < 2 * len; i++) {
			Lang l;

			b->n = 0;
			splice(b, 0, 0, s, i < len ? i : len);
			if (i >= len)
				splice(b, i - len, 1, "", 0);
			compile(b, &l);
			lang_free(&l);
		}
	}
	free(b);
}

/* Text that grows a structure without end. */
TEST(repetition)
{
	static const char *const unit[] = { "(", "-", "[", "{", "a+", "if true{", "a[", "f16(", "else if x {",
		                            "var a = 1;", "let a: shared = a;", ";", "kernel k(", "\"", "0",
		                            "a.T.T", ",", "for i in 0..1 {", "x % " };
	static const char head[] = "kernel k(A: out f32[N]) { grid(1); let v = ";
	char *s = malloc(400000);

	ck_assert_ptr_nonnull(s);
	for (size_t u = 0; u < 2 * COUNT_OF(unit); u++) {
		const char *p = unit[u / 2];
		size_t n = strlen(head), step = strlen(p);
		Lang l;

		memcpy(s, head, n);
		if (u % 2) {
			memcpy(s + n, "1;", 2);
			n += 2;
		}
		for (; n + step < 200000; n += step)
			memcpy(s + n, p, step);
		lang_compile(&l, s, n, NULL, 0, NULL);
		ck_assert_msg(l.code == 0 && !l.ok && l.diag.nerror > 0, "%s", p);
		lang_free(&l);
	}
	free(s);
}

TEST_PROGRAM(.timeout = 600);
