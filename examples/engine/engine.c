/* engine.c - computes sentence embeddings with a BERT encoder.
 *
 *	engine MODEL [OPTION].. < sentences
 *
 * MODEL is a folder with vocab.txt, config.json and model.safetensors of a BERT encoder. A line of the input
 * is a sentence; a line of the output is its vector, of length 1.
 *
 *	--format F      of the matrices, as hexc_format_at lists them, "Q8_0", "GPTQ-4"; default f16
 *	--widen         round the matrices to the format, but multiply them as f16
 *	--device N      the GPU, from 0
 *	--simulator SM  the simulator as a GPU of this compute capability, 80
 *	--streams N     number of streams that work is distributed over
 *	--cache DIR     folder of compiled operators
 *	--plan          report the plan
 */
#include "examples/engine/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 1000, LINE = 10000 };

typedef struct Lines {
	char *text[SENTENCES];
	int n;
} Lines;

static int
usage(void)
{
	fputs("usage: engine MODEL [--format F [--widen]] [--device N | --simulator SM] [--streams N]\n"
	      "              [--cache DIR] [--plan] < sentences\n",
	      stderr);
	return 2;
}

static void
read_lines(Lines *l)
{
	static char line[LINE];

	while (l->n < SENTENCES && fgets(line, sizeof line, stdin)) {
		size_t n = strcspn(line, "\n");
		char *text = calloc(n + 1, 1);

		if (!text)
			break;
		memcpy(text, line, n);
		l->text[l->n++] = text;
	}
}

static int
run(Encoder *e, Lines *l, bool plan)
{
	int width = encoder_width(e);
	size_t n = (size_t)l->n * (size_t)width;
	float *out = calloc(n + 1, sizeof *out);
	hexc_plan_info p;
	bool ok = out && (l->n == 0 || encoder_run(e, (const char *const *)l->text, l->n, out));

	if (!ok)
		fprintf(stderr, "engine: %s\n", out ? encoder_why(e) : "out of memory");
	for (size_t i = 0; i < n && ok; i++)
		printf("%.9g%c", (double)out[i], (i + 1) % (size_t)width ? ' ' : '\n');
	p = encoder_plan(e);
	if (ok && plan)
		fprintf(stderr, "%u launches, %u streams, %llu bytes of buffers in %llu\n", p.nodes,
		        p.streams, (unsigned long long)p.total, (unsigned long long)p.bytes);
	free(out);
	return !ok;
}

int
main(int argc, char **argv)
{
	EncoderOpts o = { .streams = 1 };
	Lines lines = { .n = 0 };
	hexc_cache_opts c = HEXC_CACHE_OPTS_INIT;
	char why[WHY];
	Encoder *e;
	bool plan = false;
	int status, taken;

	if (argc < 2)
		return usage();
	for (int i = 2; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--plan") == 0) {
			plan = true;
			continue;
		}
		if (strcmp(argv[i], "--widen") == 0) {
			o.widen = true;
			continue;
		}
		taken = host_option(&o.host, argv[i], value, why);
		if (taken < 0) {
			fprintf(stderr, "engine: %s\n", why);
			return 2;
		}
		if (!value)
			return usage();
		if (strcmp(argv[i], "--format") == 0)
			o.format = value;
		else if (strcmp(argv[i], "--streams") == 0)
			o.streams = (uint32_t)atoi(value);
		else if (!taken)
			return usage();
		i++;
	}
	if (o.streams < 1 || o.streams > 16)
		return usage();
	c.path = o.host.cache;
	if (c.path && hexc_cache_open(&o.cache, &c, why, sizeof why)) {
		fprintf(stderr, "engine: %s\n", why);
		return 1;
	}
	e = encoder_open(argv[1], &o, why);
	if (!e) {
		fprintf(stderr, "engine: %s\n", why);
		hexc_cache_close(o.cache);
		return 1;
	}
	read_lines(&lines);
	status = run(e, &lines, plan);
	encoder_close(e);
	hexc_cache_close(o.cache);
	while (lines.n--)
		free(lines.text[lines.n]);
	return status;
}
