/* models.c - whole models through libllama, on the devices of hexc and on the CPU.
 *
 * models FILE EXACT SETTING...: for each setting computes the logits (or embeddings) of the steps below with
 * FILE on the devices, with FILE on the CPU, and with EXACT on the CPU: the same weights as f32, a cache of
 * f32, no flash attention. A setting is a list such as
 *	layers=2,flash=0,cache=q8_0,unified=1,ubatch=16,shift=0
 * Prints for each step three normalized mean squared errors: between the devices and the CPU, of the devices
 * against EXACT, and of the CPU against EXACT. Fails where the second is beyond 1e-4 and beyond the third,
 * which is the CPU's own. As the roots of errors add, the first is then at most 4e-4 or four times the third.
 * Where the CPU has some of the layers, its error in them is part of the second, and only this is demanded.
 * With GGML_SCHED_DEBUG=2 also fails if devices have all layers and not all of the weights that they read, or
 * if the CPU then does more than look tokens up.
 *
 * models FILE tokens=N: computes a prompt and N tokens on the devices, for GGML_HEXC_STATS=1.
 *
 * models FILE repeat=N: N times loads the model and computes a prompt and a token, and prints by how many
 * pages the process has grown since the second time. */
#include <ggml.h>
#include <ggml-backend.h>
#include <llama.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT = 256, PROMPT = 37, STEPS = 4, OTHER = 5, CUT = 2, KEPT = 4, DROPPED = 8 };
enum { PARTS_MOST = 8, NAMES_MOST = 64 };
#define NMSE_MOST 1e-4

typedef struct {
	int layers; /* of the devices; CPU_ONLY: without devices */
	bool flash, unified, shift;
	enum ggml_type cache;
	int ubatch;
} Setting;

enum { CPU_ONLY = -1, ALL = 99 };

static const Setting usual = {
	.layers = ALL, .flash = true, .shift = true, .cache = GGML_TYPE_F16, .ubatch = 512,
};

typedef struct {
	const char *name;
	size_t begin; /* in results */
} Part;

/* Logits or embeddings of all tokens that one run computed. */
typedef struct {
	float *at;
	size_t n, most;
	Part part[PARTS_MOST];
	int parts;
} Results;

typedef struct {
	struct llama_model *model;
	struct llama_context *context;
	struct llama_batch batch;
	Results *results;
	int next; /* a token that differs from the one before */
} Run;

static bool failed;

/* Names, each once, while devices have layers. */
typedef struct {
	char name[NAMES_MOST][32];
	int n;
} Names;

/* What ggml's scheduler logs of its last graphs. */
static struct {
	bool on, device; /* the part of a graph that is being logged runs on a device */
	Names left;      /* operations of the CPU */
	Names copied;    /* weights that devices read and do not have */
} scheduled;

static void
note(Names *names, const char *name)
{
	for (int i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name))
			return;
	if (names->n < NAMES_MOST)
		strcpy(names->name[names->n++], name);
}

/* A weight of the input layer, which libllama gives to the CPU, may be copied to a device that adds it. */
static bool
is_missing(const char *name)
{
	return strstr(name, ".weight") && strcmp(name, "token_types.weight");
}

/* The log has "## SPLIT #1: HEXC0 # 2 inputs", a piece "[NAME (SIZE)] " for each of these inputs, and lines
 * "node # 3 (OPERATION): NAME (SIZE) [BACKEND] ...". */
static void
note_scheduled(const char *text)
{
	const char *split = strstr(text, "## SPLIT #");
	static const char node[] = "node #%*d ( %31[^)]): %*[^[][ %5[^ ]";
	char name[32], backend[6];

	if (split)
		scheduled.device = strstr(split, ": HEXC");
	else if (sscanf(text, node, name, backend) == 2 && !strcmp(backend, "CPU"))
		note(&scheduled.left, name);
	else if (scheduled.device && sscanf(text, "[%31s", name) == 1 && is_missing(name))
		note(&scheduled.copied, name);
}

static void
on_log(enum ggml_log_level level, const char *text, void *user)
{
	(void)user;
	if (scheduled.on)
		note_scheduled(text);
	if (level == GGML_LOG_LEVEL_ERROR || !strncmp(text, "HEXC", 4))
		fputs(text, stderr);
}

static void
die(const char *what)
{
	fprintf(stderr, "%s fails\n", what);
	exit(1);
}

static struct llama_model *
load(const char *file, int layers)
{
	struct llama_model_params p = llama_model_default_params();
	ggml_backend_dev_t none = NULL;
	struct llama_model *model;

	p.n_gpu_layers = layers == CPU_ONLY ? 0 : layers;
	if (layers == CPU_ONLY)
		p.devices = &none;
	model = llama_model_load_from_file(file, p);
	if (!model)
		die(file);
	return model;
}

static bool
is_encoder(const struct llama_model *model)
{
	char arch[16] = "";

	llama_model_meta_val_str(model, "general.architecture", arch, sizeof arch);
	return !strcmp(arch, "bert");
}

static int
vocabulary_of(const struct llama_model *model)
{
	return llama_vocab_n_tokens(llama_model_get_vocab(model));
}

static struct llama_context *
open_context(struct llama_model *model, const Setting *s)
{
	struct llama_context_params p = llama_context_default_params();
	struct llama_context *context;

	p.n_ctx = CONTEXT * (s->unified ? 1 : 2);
	p.n_batch = CONTEXT;
	p.n_ubatch = (uint32_t)s->ubatch;
	p.n_seq_max = 2;
	p.n_threads = p.n_threads_batch = 2;
	p.flash_attn_type = s->flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
	p.type_k = s->cache;
	p.type_v = s->flash ? s->cache : s->cache == GGML_TYPE_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
	p.embeddings = is_encoder(model);
	p.swa_full = false;
	p.kv_unified = s->unified;
	context = llama_init_from_model(model, p);
	if (!context)
		die("a context");
	return context;
}

static void
add(Run *r, int position, int sequence)
{
	struct llama_batch *b = &r->batch;
	int i = b->n_tokens++;

	b->token[i] = r->next++ * 7919 % vocabulary_of(r->model);
	b->pos[i] = position;
	b->n_seq_id[i] = 1;
	b->seq_id[i][0] = sequence;
	b->logits[i] = true;
}

static void
begin(Run *r, const char *name)
{
	Results *s = r->results;

	s->part[s->parts++] = (Part){ name, s->n };
}

/* Computes the tokens of the batch, and adds what they result in. */
static void
compute(Run *r)
{
	bool encodes = is_encoder(r->model);
	int numbers = encodes ? llama_model_n_embd(r->model) : vocabulary_of(r->model);
	size_t width = (size_t)numbers;
	Results *s = r->results;
	int tokens = r->batch.n_tokens;

	if (encodes ? llama_encode(r->context, r->batch) : llama_decode(r->context, r->batch))
		die("llama_decode");
	r->batch.n_tokens = 0;
	if (s->n + (size_t)tokens * width > s->most) {
		s->most = 2 * s->most + (size_t)tokens * width;
		s->at = realloc(s->at, s->most * sizeof *s->at);
		if (!s->at)
			die("realloc");
	}
	for (int i = 0; i < tokens; i++) {
		float *row = (encodes ? llama_get_embeddings_ith : llama_get_logits_ith)(r->context, i);

		if (!row)
			die("a result");
		memcpy(s->at + s->n, row, width * sizeof *row);
		s->n += width;
	}
}

static void
compute_one(Run *r, int position)
{
	add(r, position, 0);
	compute(r);
}

/* A second sequence begins while the first continues; then each has one more token at a time. Returns the
 * next position of the first. */
static int
compute_two(Run *r, int position)
{
	begin(r, "two sequences");
	for (int i = 0; i < OTHER; i++)
		add(r, i, 1);
	add(r, position++, 0);
	compute(r);
	for (int i = OTHER; i < OTHER + 2; i++) {
		add(r, position++, 0);
		add(r, i, 1);
		compute(r);
	}
	return position;
}

/* The last tokens are dropped and others computed instead; then tokens near the begin are dropped, and those
 * that follow move. Memories that cannot do it (recurrent ones) say so. Returns the next position. */
static int
compute_edited(Run *r, int position, bool shift)
{
	llama_memory_t memory = llama_get_memory(r->context);

	if (!llama_memory_seq_rm(memory, 0, position - CUT, -1))
		return position;
	begin(r, "after removal");
	for (int i = position - CUT; i < position; i++)
		compute_one(r, i);
	if (!shift || !llama_memory_can_shift(memory) ||
	    !llama_memory_seq_rm(memory, 0, KEPT, KEPT + DROPPED))
		return position;
	begin(r, "after a shift");
	llama_memory_seq_add(memory, 0, KEPT + DROPPED, -1, -DROPPED);
	position -= DROPPED;
	compute_one(r, position++);
	return position;
}

/* A second context continues from the state of the first. */
static void
compute_restored(Run *r, int position, const Setting *s)
{
	size_t size = llama_state_get_size(r->context);
	uint8_t *state = malloc(size);

	begin(r, "restored");
	if (!state || llama_state_get_data(r->context, state, size) != size)
		die("llama_state_get_data");
	llama_free(r->context);
	r->context = open_context(r->model, s);
	if (llama_state_set_data(r->context, state, size) != size)
		die("llama_state_set_data");
	free(state);
	compute_one(r, position);
}

static void
compute_all(Run *r, const Setting *s)
{
	int position = PROMPT;

	begin(r, "prompt");
	for (int i = 0; i < PROMPT; i++)
		add(r, i, 0);
	compute(r);
	if (is_encoder(r->model)) {
		compute_two(r, 0);
		return;
	}
	begin(r, "decoded");
	for (int i = 0; i < STEPS; i++)
		compute_one(r, position++);
	position = compute_two(r, position);
	position = compute_edited(r, position, s->shift);
	compute_restored(r, position, s);
}

static Run
begin_run(const char *file, const Setting *s, Results *results)
{
	Run r = { .model = load(file, s->layers), .results = results };

	r.batch = llama_batch_init(CONTEXT, 0, 1);
	r.context = open_context(r.model, s);
	return r;
}

static void
end_run(Run *r)
{
	llama_batch_free(r->batch);
	llama_free(r->context);
	llama_model_free(r->model);
}

static Results
run(const char *file, const Setting *s)
{
	Results out = { 0 };
	Run r = begin_run(file, s, &out);

	compute_all(&r, s);
	end_run(&r);
	return out;
}

static double
nmse(const Results *a, const Results *b, size_t begin, size_t end)
{
	double error = 0, size = 0;

	for (size_t i = begin; i < end; i++) {
		double d = (double)a->at[i] - (double)b->at[i];

		error += d * d;
		size += (double)b->at[i] * (double)b->at[i];
	}
	return error / size;
}

/* NaN is no match. */
static void
compare(const char *title, bool whole, const Results *device, const Results *cpu, const Results *exact)
{
	if (device->n != cpu->n || device->parts != cpu->parts || device->n != exact->n) {
		printf("%s: %zu results, the CPU has %zu\n", title, device->n, cpu->n);
		failed = true;
		return;
	}
	for (int i = 0; i < device->parts; i++) {
		size_t from = device->part[i].begin;
		size_t to = i + 1 < device->parts ? device->part[i + 1].begin : device->n;
		double d = nmse(device, cpu, from, to);
		double e = nmse(device, exact, from, to), c = nmse(cpu, exact, from, to);
		bool right = e <= fmax(c, NMSE_MOST) || (!whole && d <= 4 * fmax(c, NMSE_MOST));

		printf("%s\t%s\t%.2g\t%.2g\t%.2g%s\n", title, device->part[i].name, d, e, c,
		       right ? "" : "\tWRONG");
		failed = failed || !right;
	}
}

static Setting
parse(char *text)
{
	Setting s = usual;

	for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
		char *value = strchr(part, '=');

		if (!value)
			die(part);
		*value++ = 0;
		if (!strcmp(part, "layers"))
			s.layers = atoi(value);
		else if (!strcmp(part, "flash"))
			s.flash = atoi(value);
		else if (!strcmp(part, "unified"))
			s.unified = atoi(value);
		else if (!strcmp(part, "shift"))
			s.shift = atoi(value);
		else if (!strcmp(part, "ubatch"))
			s.ubatch = atoi(value);
		else if (!strcmp(part, "cache"))
			s.cache = !strcmp(value, "q8_0") ? GGML_TYPE_Q8_0 : GGML_TYPE_F16;
		else
			die(part);
	}
	return s;
}

static void
print_names(const char *title, const char *what, const Names *names)
{
	if (!names->n)
		return;
	printf("%s\t%s", title, what);
	for (int i = 0; i < names->n; i++)
		printf(" %s", names->name[i]);
	printf("\n");
}

/* If devices have all layers, the CPU only looks tokens up, and no weight is copied. */
static void
report_scheduled(const char *title, bool whole)
{
	const Names *left = &scheduled.left, *copied = &scheduled.copied;

	if (whole && (left->n > 1 || (left->n == 1 && strcmp(left->name[0], "GET_ROWS")) || copied->n)) {
		print_names(title, "WRONG: left to the CPU:", left);
		print_names(title, "WRONG: weights that the device does not have:", copied);
		failed = true;
	} else if (!whole) {
		print_names(title, "left to the CPU:", left);
	}
	scheduled.left.n = scheduled.copied.n = 0;
}

static void
compare_setting(const char *file, const char *exact_file, char *text)
{
	const char *slash = strrchr(file, '/');
	char title[256];
	Setting device, cpu, exact = { .layers = CPU_ONLY, .cache = GGML_TYPE_F32 };
	Results on_device, on_cpu, exactly;

	snprintf(title, sizeof title, "%s\t%s", slash ? slash + 1 : file, text);
	device = cpu = parse(text);
	cpu.layers = CPU_ONLY;
	exact.unified = device.unified;
	exact.ubatch = device.ubatch;
	exact.shift = device.shift;
	scheduled.on = true;
	on_device = run(file, &device);
	scheduled.on = false;
	on_cpu = run(file, &cpu);
	exactly = run(exact_file, &exact);
	compare(title, device.layers == ALL, &on_device, &on_cpu, &exactly);
	report_scheduled(title, device.layers == ALL);
	free(on_device.at);
	free(on_cpu.at);
	free(exactly.at);
}

/* A prompt and n tokens. */
static void
generate(const char *file, int n)
{
	Results out = { 0 };
	Run r = begin_run(file, &usual, &out);

	for (int i = 0; i < PROMPT; i++)
		add(&r, i, 0);
	compute(&r);
	for (int i = 0; i < n; i++)
		compute_one(&r, PROMPT + i);
	end_run(&r);
	free(out.at);
}

static long
resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size = 0, out = 0;

	if (!f || fscanf(f, "%ld %ld", &size, &out) != 2)
		die("/proc/self/statm");
	fclose(f);
	return out;
}

static void
repeat(const char *file, int n)
{
	long begin = 0;

	for (int i = 0; i < n; i++) {
		generate(file, 1);
		if (i == 1)
			begin = resident();
	}
	printf("%ld more pages\n", resident() - begin);
}

int
main(int n, char **argument)
{
	if (n < 3)
		die("usage: models FILE EXACT SETTING.. | models FILE tokens=N | models FILE repeat=N");
	llama_log_set(on_log, NULL);
	ggml_backend_load_all();
	llama_backend_init();
	if (!strncmp(argument[2], "tokens=", 7))
		generate(argument[1], atoi(argument[2] + 7));
	else if (!strncmp(argument[2], "repeat=", 7))
		repeat(argument[1], atoi(argument[2] + 7));
	else
		for (int i = 3; i < n; i++)
			compare_setting(argument[1], argument[2], argument[i]);
	llama_backend_free();
	return failed;
}
