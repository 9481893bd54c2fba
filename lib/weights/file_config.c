/* file_config.c - reads properties of quantized weights that the tensors do not state: from metadata, the
 * model's configuration and the file name. */
#include "lib/weights/format.h"
#include "lib/base/json.h"
#include <stdio.h>
#include <string.h>

enum { CONFIG_MAX = 1 << 26 };

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* ---- checkpoint_format ------------------------------------------------------------------------------- */

/* Returns a copy in lower case: writers differ ("GEMM"). */
static const char *
lower(hexc_file *f, const char *s)
{
	size_t n = strlen(s);
	char *p = arena_strndup(&f->arena, file_quote(f, s, n), n > 60 ? 60 : n);

	for (size_t i = 0; p[i]; i++)
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] = (char)(p[i] + 'a' - 'A');
	return p;
}

/* Lists "gptq, gptq_v2, .."; returns whether `value` is among them. */
static bool
known_checkpoint(const char *value, char *all, size_t n)
{
	bool known = false;

	all[0] = 0;
	for (size_t i = 0; i < nformats; i++) {
		const char *s = formats[i].stated;
		bool seen = !s;

		for (size_t j = 0; j < i && !seen; j++)
			seen = formats[j].stated && strcmp(formats[j].stated, s) == 0;
		if (seen)
			continue;
		known |= strcmp(s, value) == 0;
		snprintf(all + strlen(all), n - strlen(all), "%s%s", all[0] ? ", " : "", s);
	}
	return known;
}

/* Records that `by` states the checkpoint_format. Returns false, with a sentence, if it contradicts an
 * earlier statement. */
static bool
state(hexc_file *f, const char *value, const char *by)
{
	value = lower(f, value);
	if (f->checkpoint && strcmp(f->checkpoint, value) != 0)
		return file_error(f, "%s states checkpoint_format %s, but %s states %s", f->stated_by,
		                  f->checkpoint, by, value);
	f->checkpoint = value;
	f->stated_by = by;
	return true;
}

static bool
is_text(const Json *j)
{
	return j && j->kind == JSON_STRING;
}

/* Reads the object of a quantize_config.json, or of a config.json, which has it as a member. */
static bool
state_config(hexc_file *f, const Json *root, const char *by)
{
	const Json *q = json_member(root, "quantization_config"), *format, *method, *marlin, *version;

	q = q ? q : json_member(root, "compression_config"); /* of compressed-tensors until 0.5 */
	q = q && q->kind == JSON_OBJECT ? q : root;
	format = json_member(q, "checkpoint_format");
	method = json_member(q, "quant_method");
	marlin = json_member(q, "is_marlin_format"); /* of AutoGPTQ before checkpoint_format */
	version = json_member(q, "version");         /* of AutoAWQ, determines the order of codes */
	if (format && format->kind != JSON_STRING && format->kind != JSON_NULL)
		return file_error(f, "%s: checkpoint_format is not a string", by);
	if (is_text(format))
		return state(f, format->text, by);
	if ((marlin && marlin->kind == JSON_TRUE) || (is_text(method) && strcmp(method->text, "marlin") == 0))
		return state(f, "marlin", by);
	if (is_text(method) && strcmp(method->text, "awq") == 0 && is_text(version))
		return state(f, version->text, by);
	if (is_text(method) && strcmp(method->text, "compressed-tensors") == 0)
		return file_compressed(f, q, by);
	return true;
}

static const Json *
read_json(hexc_file *f, const char *text, size_t n)
{
	return n <= CONFIG_MAX ? json_read(&f->arena, text, n) : NULL;
}

/* Reads entries that checkpoint writers use: checkpoint_format with or without a prefix
 * (gptq_checkpoint_format), AutoGPTQ's gptq_is_marlin_format, or an entire configuration as JSON. */
bool
file_metadata(hexc_file *f)
{
	for (size_t i = 0; i < f->nmeta; i++) {
		const FileMeta *m = &f->meta[i];
		const char *by = arena_printf(&f->arena, "the file's metadata %s",
		                              file_quote(f, m->key, strlen(m->key)));
		bool config = ends_with(m->key, "quantization_config") || ends_with(m->key,
										    "quantize_config");
		const Json *root = config ? read_json(f, m->value, strlen(m->value)) : NULL;

		if (ends_with(m->key, "checkpoint_format") && !state(f, m->value, by))
			return false;
		if (ends_with(m->key, "is_marlin_format") && strcmp(lower(f, m->value), "true") == 0 &&
		    !state(f, "marlin", by))
			return false;
		if (root && !state_config(f, root, by))
			return false;
	}
	return true;
}

typedef struct Configuring {
	hexc_file *f;
	const char *text;
	size_t n;
	int code;
} Configuring;

static void
configure(void *user)
{
	Configuring *c = user;
	hexc_file *f = c->f;
	const Json *root = read_json(f, c->text, c->n);
	char all[200];

	c->code = HEXC_E_FILE;
	if (!root || root->kind != JSON_OBJECT) {
		c->code = HEXC_E_INVALID;
		file_error(f, "the configuration is not a JSON object");
	} else if (!state_config(f, root, "the configuration")) {
		;
	} else if (f->checkpoint && !known_checkpoint(f->checkpoint, all, sizeof all)) {
		file_error(f, "unknown checkpoint_format %s; known: %s", f->checkpoint, all);
	} else {
		f->weight = NULL;
		f->nweight = f->weight_cap = 0;
		file_weights(f);
		c->code = HEXC_OK;
	}
}

int
hexc_file_config(hexc_file *f, const char *json, size_t bytes, char *why, size_t n)
{
	Configuring c = { f, json, bytes, HEXC_OK };
	Arena *arena = f ? &f->arena : NULL;
	hexc_file before;
	int code;

	if (!f || !json || (!why && n))
		return HEXC_E_INVALID;
	if (n)
		why[0] = 0;
	before = *f;
	f->why = why;
	f->nwhy = n;
	code = arena_protect(&arena, 1, configure, &c);
	if (code != HEXC_OK)
		file_error(f, "%s", hexc_strerror(code));
	else
		code = c.code;
	if (code != HEXC_OK) { /* restores the state, except memory */
		f->checkpoint = before.checkpoint;
		f->stated_by = before.stated_by;
		f->compressed = before.compressed;
		f->weight = before.weight;
		f->nweight = before.nweight;
		f->weight_cap = before.weight_cap;
	}
	f->why = NULL;
	f->nwhy = 0;
	return code;
}

bool
file_stated_known(const hexc_file *f, char *why, size_t n)
{
	char all[200];

	if (!f->checkpoint || known_checkpoint(f->checkpoint, all, sizeof all))
		return true;
	why_error(0, why, n, "%s states the unknown checkpoint_format %s; known: %s", f->stated_by,
	          f->checkpoint, all);
	return false;
}

/* ---- models of several files ------------------------------------------------------------------------- */

/* A JSON file starts with a {, after optional blanks. */
bool
file_index(hexc_file *f)
{
	const Json *root, *map, *first;
	uint64_t at = 0;

	while (at < f->bytes && at < 64 && strchr(" \t\r\n", f->data[at]) && f->data[at])
		at++;
	if (at == f->bytes || f->data[at] != '{')
		return false;
	root = read_json(f, (const char *)f->data, (size_t)f->bytes);
	map = json_member(root, "weight_map");
	first = map ? map->first : NULL;
	if (first && first->kind == JSON_STRING)
		file_error(f,
		           "this is the index of a model of several files with %llu tensors: %s is in %s; "
		           "open those files",
		           (unsigned long long)map->n, file_quote(f, first->key, strlen(first->key)),
		           file_quote(f, first->text, strlen(first->text)));
	else if (root)
		file_error(f, "this is JSON without tensors; open the weights file next to it");
	return root != NULL;
}

/* Parses "-00001-of-00002" before the last dot. */
void
file_shard_of_name(hexc_file *f, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *of, *s;
	unsigned long x = 0, y = 0;

	for (of = NULL; (s = strstr(of ? of + 1 : name, "-of-")) != NULL; of = s)
		;
	for (s = of; s && s > name && s[-1] >= '0' && s[-1] <= '9' && of - s < 9; s--)
		;
	if (!of || s == of || s == name || s[-1] != '-')
		return;
	for (; s < of; s++)
		x = 10 * x + (unsigned long)(*s - '0');
	for (s = of + 4; *s >= '0' && *s <= '9' && s - of < 13; s++)
		y = 10 * y + (unsigned long)(*s - '0');
	if (s == of + 4 || *s != '.' || x < 1 || x > y)
		return;
	f->shard = (uint32_t)x;
	f->shards = (uint32_t)y;
}

int
hexc_file_shard(const hexc_file *f, uint32_t *number, uint32_t *count)
{
	bool one = !f || f->shards < 2 || f->shard < 1 || f->shard > f->shards;

	if (number)
		*number = one ? 1 : f->shard;
	if (count)
		*count = one ? 1 : f->shards;
	return one ? 0 : 1;
}

void
file_tell_shard(const hexc_file *f, char *out, size_t n)
{
	uint32_t number, count;

	out[0] = 0;
	if (hexc_file_shard(f, &number, &count))
		snprintf(out, n, "; this is file %u of %u of a model, the other files have the rest",
		         number, count);
}
