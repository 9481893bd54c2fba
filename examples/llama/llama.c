/* llama.c - generates the continuation of text or token prompts with a Llama model.
 *
 *	llama MODEL.gguf OPTION..
 *
 *	--tokens 1,2,3  a prompt, as token numbers; the line of the output has those that follow
 *	--text TEXT     a prompt, for the file's own vocabulary; the output is text
 *	                Up to 16 prompts run concurrently, in pages of one cache; a line for each.
 *	--generate N    tokens after each prompt, up to the token that ends a text (16)
 *	--temperature T divisor of the logits; 0: always the most likely token (0)
 *	--top-k K       sample from the K most likely, up to 64; 0: from all (40)
 *	--top-p P       and of those, from the fewest that have P of their weight (0.95)
 *	--seed S        of the draws (1)
 *	--act T         f16 or bf16: activations and cache (f16)
 *	--kv T          i8 or e4m3: the cache, with a scale for each head of a token
 *	--graphs 1      capture steps, and launch them as CUDA graphs (0)
 *	--chunk N       tokens of a prompt per step (512)
 *	--page N        tokens per page of the cache, a power of two (16)
 *	--logits FILE   all of them, f32: of each token of each prompt, then of each step
 *	--device N      the GPU, from 0
 *	--simulator SM  the simulator as a GPU of this compute capability, 80
 *	--cache DIR     folder of compiled operators
 *
 * Prints tokens/second, bytes read per token, and graphs to standard error at the end. */
#include "examples/llama/llama.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Prompt {
	const char *given;
	bool is_text;
	int32_t *token; /* those that are generated stand behind it */
	int64_t n, made;
	bool ended;
} Prompt;

typedef struct Run {
	const char *path, *logits_path;
	DecoderOpts o;
	int64_t generate, seed, graphs;
	Prompt prompt[SEQUENCES];
	int prompts;
	Vocab *vocab;
	Decoder *d;
	FILE *logits;
	float *row; /* logits of a run */
	float *u;
	int32_t *chosen;
	double prompt_seconds, step_seconds;
	int64_t prompt_tokens, step_tokens, steps;
	char why[WHY];
} Run;

static bool
fail(Run *r, const char *what, const char *why)
{
	return host_fail(r->why, what, "%s", why);
}

/* ---- options ---------------------------------------------------------------------------------------- */

static const char usage[] =
	"usage: llama MODEL.gguf (--tokens 1,2,3 | --text TEXT).. [--generate N] [--temperature T]\n"
	"             [--top-k K] [--top-p P] [--seed S] [--act f16|bf16] [--kv i8|e4m3] [--graphs 0|1]\n"
	"             [--chunk N] [--page N]\n"
	"             [--logits FILE] [--device N | --simulator SM] [--cache DIR]\n";

static bool
take_prompt(Run *r, const char *value, bool is_text)
{
	if (r->prompts == SEQUENCES)
		return fail(r, value, "there are more than 16 prompts: run the rest by themselves");
	r->prompt[r->prompts].given = value;
	r->prompt[r->prompts++].is_text = is_text;
	return true;
}

static bool
take_real(Run *r, const char *name, const char *value, double most, double *out)
{
	char *end;

	*out = strtod(value, &end);
	if (end != value && !*end && *out >= 0 && *out <= most)
		return true;
	return host_fail(r->why, name, "%.60s is no number of 0 to %g", value, most);
}

static bool
take_type(Run *r, const char *name, const char *value, const char *a, const char *b, const char **out)
{
	*out = value;
	return strcmp(value, a) == 0 || strcmp(value, b) == 0 ||
	       host_fail(r->why, name, "%.60s is not %s or %s", value, a, b);
}

static bool
take_option(Run *r, const char *name, const char *value)
{
	const struct {
		const char *name;
		int64_t least, most, *out;
	} whole[] = {
		{ "--generate", 0, 1 << 20, &r->generate }, { "--top-k", 0, 64, &r->o.top_k },
		{ "--seed", 0, INT64_MAX, &r->seed },       { "--chunk", 1, 1 << 14, &r->o.chunk },
		{ "--page", 16, 256, &r->o.page },         { "--graphs", 0, 1, &r->graphs },
	};

	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (strcmp(name, whole[i].name) == 0) {
			if (host_int(value, whole[i].least, whole[i].most, whole[i].out))
				return true;
			return host_fail(r->why, name, "%.60s is no whole number of %lld to %lld", value,
			                 (long long)whole[i].least, (long long)whole[i].most);
		}
	if (strcmp(name, "--tokens") == 0 || strcmp(name, "--text") == 0)
		return take_prompt(r, value, name[3] == 'e');
	if (strcmp(name, "--temperature") == 0)
		return take_real(r, name, value, 1e6, &r->o.temperature);
	if (strcmp(name, "--top-p") == 0)
		return take_real(r, name, value, 1, &r->o.top_p);
	if (strcmp(name, "--logits") == 0) {
		r->logits_path = value;
		return true;
	}
	if (strcmp(name, "--act") == 0)
		return take_type(r, name, value, "f16", "bf16", &r->o.act);
	if (strcmp(name, "--kv") == 0)
		return take_type(r, name, value, "i8", "e4m3", &r->o.kv);
	return fail(r, name, "there is no such option: see llama without any");
}

static bool
take_options(Run *r, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		int taken = host_option(&r->o.host, argv[i], value, r->why);

		if (taken < 0)
			return false;
		if (strncmp(argv[i], "--", 2) != 0) {
			if (r->path)
				return fail(r, argv[i], "there is a model already: give one file");
			r->path = argv[i];
			continue;
		}
		if (!value)
			return fail(r, argv[i], "its value is missing");
		if (!taken && !take_option(r, argv[i], value))
			return false;
		i++;
	}
	if (!r->path || !r->prompts)
		return fail(r, "llama", "a model and a prompt are wanted: give FILE.gguf and --tokens");
	if (r->o.page & (r->o.page - 1))
		return fail(r, "--page", "it is no power of two: give 16, 32, 64, 128 or 256");
	if (r->o.temperature == 0)
		r->o.top_k = 1;
	return true;
}

/* ---- prompts ---------------------------------------------------------------------------------------- */

static bool
read_numbers(Run *r, Prompt *p)
{
	const char *s = p->given;

	for (;;) {
		char *end;
		long long x;

		errno = 0;
		x = strtoll(s, &end, 10);
		if (end == s || errno || x < 0 || x > INT32_MAX || (*end && *end != ','))
			return fail(r, p->given, "that are no tokens: give numbers with commas, 1,2,3");
		p->token[p->n++] = (int32_t)x;
		if (!*end)
			return true;
		s = end + 1;
	}
}

static bool
read_prompt(Run *r, Prompt *p)
{
	size_t room = strlen(p->given) + 8 + (size_t)r->generate;

	p->token = calloc(room * (p->is_text ? 4 : 1), sizeof *p->token);
	if (!p->token)
		return fail(r, "prompt", "out of memory");
	if (!p->is_text)
		return read_numbers(r, p);
	if (!r->vocab && !(r->vocab = vocab_open(r->path, r->why)))
		return false;
	p->n = vocab_tokens(r->vocab, p->given, p->token, (int)room * 4 - (int)r->generate, r->why);
	if (p->n == 0)
		return fail(r, "--text", "it is empty, and the file has no first token: give some text");
	return p->n > 0;
}

static bool
read_prompts(Run *r)
{
	for (int i = 0; i < r->prompts; i++) {
		if (!read_prompt(r, &r->prompt[i]))
			return false;
		if (r->prompt[i].n + r->generate > r->o.room)
			r->o.room = r->prompt[i].n + r->generate;
	}
	r->o.sequences = r->prompts;
	return true;
}

/* ---- the run ---------------------------------------------------------------------------------------- */

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The draw of step `step` of a sequence: SplitMix64, of which each has numbers of its own. */
static float
draw(int64_t seed, int64_t step, int sequence)
{
	uint64_t x = (uint64_t)seed + 0x9E3779B97F4A7C15u * (uint64_t)(step * SEQUENCES + sequence + 1);

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
	x = (x ^ x >> 27) * 0x94D049BB133111EBu;
	x ^= x >> 31;
	return (float)(x >> 40) / 16777216.0f;
}

static bool
write_logits(Run *r, int64_t rows)
{
	size_t n = (size_t)(rows * decoder_shape(r->d).vocab);

	if (!r->logits)
		return true;
	if (!decoder_logits(r->d, r->row))
		return fail(r, r->path, decoder_why(r->d));
	return fwrite(r->row, sizeof *r->row, n, r->logits) == n || fail(r, r->logits_path, strerror(errno));
}

/* A token for each of the last n rows, those of n sequences, of a run that had `want` of logits. */
static bool
choose(Run *r, const int *sequence, int n, int64_t want)
{
	for (int64_t i = 0; i < want; i++) {
		int64_t at = i - (want - n);

		r->u[i] = at < 0 ? 0 : draw(r->seed, r->prompt[sequence[at]].made, sequence[at]);
	}
	if (!decoder_choose(r->d, r->u, r->chosen))
		return fail(r, r->path, decoder_why(r->d));
	for (int i = 0; i < n; i++) {
		Prompt *p = &r->prompt[sequence[i]];
		int32_t token = r->chosen[want - n + i];

		if (token < 0)
			return fail(r, r->path, "its logits are no numbers: try --act bf16, which is wider");
		p->token[p->n + p->made++] = token;
		p->ended = token == decoder_shape(r->d).eos || p->made == r->generate;
	}
	return true;
}

/* A prompt, in chunks; the first token behind it. */
static bool
run_prompt(Run *r, int number)
{
	Prompt *p = &r->prompt[number];

	for (int64_t at = 0; at < p->n; at += r->o.chunk) {
		int64_t each = p->n - at < r->o.chunk ? p->n - at : r->o.chunk;
		bool last = at + each == p->n;
		int64_t want = r->o.all ? each : last;

		if (!decoder_run(r->d, &number, 1, p->token + at, each, want))
			return fail(r, r->path, decoder_why(r->d));
		if ((want && !write_logits(r, want)) || (last && r->generate && !choose(r, &number, 1, want)))
			return false;
	}
	p->ended = p->ended || !r->generate;
	r->prompt_tokens += p->n;
	return true;
}

/* A token more of all sequences that have not ended.  *n: how many there were. */
static bool
run_step(Run *r, int *n)
{
	int sequence[SEQUENCES];
	int32_t token[SEQUENCES];

	*n = 0;
	for (int i = 0; i < r->prompts; i++)
		if (!r->prompt[i].ended) {
			token[*n] = r->prompt[i].token[r->prompt[i].n + r->prompt[i].made - 1];
			sequence[(*n)++] = i;
		}
	if (!*n)
		return true;
	if (!decoder_run(r->d, sequence, *n, token, 1, *n))
		return fail(r, r->path, decoder_why(r->d));
	return write_logits(r, *n) && choose(r, sequence, *n, *n);
}

static bool
generate(Run *r)
{
	size_t rows = (size_t)(r->o.chunk > r->prompts ? r->o.chunk : r->prompts);
	double t = now();
	int n = 1;

	r->u = calloc(rows, sizeof *r->u);
	r->chosen = calloc(rows, sizeof *r->chosen);
	r->row = r->logits ? calloc(rows * (size_t)decoder_shape(r->d).vocab, sizeof *r->row) : NULL;
	if (!r->u || !r->chosen || (r->logits && !r->row))
		return fail(r, r->path, "out of memory");
	for (int i = 0; i < r->prompts; i++)
		if (!run_prompt(r, i))
			return false;
	r->prompt_seconds = now() - t;
	for (t = now(); n > 0; r->step_tokens += n, r->steps += n > 0)
		if (!run_step(r, &n))
			return false;
	r->step_seconds = now() - t;
	return true;
}

/* ---- what comes out --------------------------------------------------------------------------------- */

static void
print_prompt(const Run *r, const Prompt *p)
{
	for (int64_t i = p->n; i < p->n + p->made; i++) {
		char text[TEXT];

		if (p->is_text)
			fwrite(text, 1, (size_t)vocab_bytes(r->vocab, p->token[i], text, TEXT), stdout);
		else
			printf(i > p->n ? ",%d" : "%d", (int)p->token[i]);
	}
	putchar('\n');
}

static void
tell(const Run *r)
{
	const char *whose = r->o.host.device < 0 ? " (the simulator's time, no GPU's)" : "";
	uint64_t weights, cache = 0, one;
	int64_t captured, launched;
	double sequences = r->steps ? (double)r->step_tokens / (double)r->steps : 1;

	for (int i = 0; i < r->prompts; i++) {
		decoder_bytes(r->d, i, &weights, &one);
		cache += one;
	}
	fprintf(stderr, "prompts: %lld tokens, %.4g a second%s\n", (long long)r->prompt_tokens,
	        (double)r->prompt_tokens / r->prompt_seconds, whose);
	if (r->step_tokens)
		fprintf(stderr, "steps: %lld tokens, %.4g a second%s\n", (long long)r->step_tokens,
		        (double)r->step_tokens / r->step_seconds, whose);
	fprintf(stderr, "bytes a token: %.0f, of weights %llu shared by %.3g sequences",
	        (double)weights / sequences + (double)cache / r->prompts, (unsigned long long)weights,
	        sequences);
	fprintf(stderr, ", of keys and values %llu\n", (unsigned long long)cache / (unsigned)r->prompts);
	decoder_graphs(r->d, &captured, &launched);
	if (r->graphs)
		fprintf(stderr, "graphs: %lld captured, launched %lld times\n", (long long)captured,
		        (long long)launched);
}

static bool
run(Run *r)
{
	hexc_cache_opts c = HEXC_CACHE_OPTS_INIT;

	c.path = r->o.host.cache;
	if (c.path && hexc_cache_open(&r->o.cache, &c, r->why, WHY))
		return false;
	if (r->logits_path && !(r->logits = fopen(r->logits_path, "wb")))
		return fail(r, r->logits_path, strerror(errno));
	r->o.all = r->logits != NULL;
	r->o.graphs = r->graphs != 0;
	if (!read_prompts(r) || !(r->d = decoder_open(r->path, &r->o, r->why)) || !generate(r))
		return false;
	for (int i = 0; i < r->prompts; i++)
		print_prompt(r, &r->prompt[i]);
	tell(r);
	if (r->logits && fclose(r->logits)) {
		r->logits = NULL;
		return fail(r, r->logits_path, strerror(errno));
	}
	r->logits = NULL;
	return true;
}

int
main(int argc, char **argv)
{
	Run r = { .generate = 16, .seed = 1,
		  .o = { .act = "f16", .chunk = 512, .page = 16, .top_p = 0.95, .top_k = 40 } };
	bool asked = take_options(&r, argc, argv), ok = asked && run(&r);

	if (!ok)
		fprintf(stderr, "llama: %s\n%s", r.why, argc < 2 ? usage : "");
	if (r.logits)
		fclose(r.logits);
	decoder_close(r.d);
	vocab_close(r.vocab);
	hexc_cache_close(r.o.cache);
	for (int i = 0; i < r.prompts; i++)
		free(r.prompt[i].token);
	free(r.row);
	free(r.u);
	free(r.chosen);
	return ok ? 0 : asked ? 1 : 2;
}
