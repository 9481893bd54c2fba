/* words.c - converts texts with the vocabulary of a GGUF file: a line of the input is a text in hexadecimal;
 * a line of the output its tokens, and, in hexadecimal, the bytes that they represent; for a line #N those of
 * token N; for =N followed by a text, N copies of the text, as the number of its tokens and the work of
 * joining it. */
#include "examples/llama/join.h"
#include "examples/llama/llama.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 20 };

static long work;

/* The linker has calls of join_best come here (--wrap). */
bool __real_join_best(Join *j);
bool __wrap_join_best(Join *j);
bool
__wrap_join_best(Join *j)
{
	bool ok;

	j->work = 0;
	ok = __real_join_best(j);
	work += j->work;
	return ok;
}

static void
put_bytes(const Vocab *v, int32_t token)
{
	static char out[ROOM];
	int n = vocab_bytes(v, token, out, ROOM);

	for (int b = 0; b < n; b++)
		printf("%02x", (unsigned)(unsigned char)out[b]);
}

static void
answer(const Vocab *v, const char *text)
{
	static int32_t token[ROOM];
	char why[WHY];
	int n = vocab_tokens(v, text, token, ROOM, why);

	if (n < 0)
		printf("%s", why);
	for (int i = 0; i < n; i++)
		printf(i ? ",%d" : "%d", (int)token[i]);
	putchar(' ');
	for (int i = 0; i < n; i++)
		put_bytes(v, token[i]);
	putchar('\n');
}

int
main(int argc, char **argv)
{
	static char line[ROOM], text[ROOM], long_text[ROOM];
	char why[WHY] = "";
	Vocab *v = argc == 2 ? vocab_open(argv[1], why) : NULL;

	if (!v) {
		fprintf(stderr, "words: %s\n", why);
		return 1;
	}
	while (fgets(line, sizeof line, stdin)) {
		size_t n = strcspn(line, "\n") / 2;

		if (*line == '#') {
			put_bytes(v, (int32_t)strtol(line + 1, NULL, 10));
			putchar('\n');
			continue;
		}
		if (*line == '=') { /* the text before it */
			static int32_t token[ROOM];
			long times = strtol(line + 1, NULL, 10);

			*long_text = 0;
			for (size_t at = 0; times--; at += strlen(text))
				strcpy(long_text + at, text);
			work = 0;
			printf("%d ", vocab_tokens(v, long_text, token, ROOM, why));
			printf("%ld\n", work);
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			unsigned byte = 0;

			sscanf(line + 2 * i, "%2x", &byte);
			text[i] = (char)byte;
		}
		text[n] = 0;
		answer(v, text);
	}
	vocab_close(v);
	return 0;
}
