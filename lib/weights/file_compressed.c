/* file_compressed.c - reads what the quantization_config of compressed-tensors states about weights, and
 * rejects values that change weights and that hexc does not read. The tensors determine the rest
 * (format_file.c).
 *
 *	{"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0":
 *	 {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "symmetric": false,
 *	  "strategy": "group", "group_size": 128, "actorder": null}}}}
 *
 * Keys and values: QuantizationConfig, QuantizationScheme and QuantizationArgs of compressed-tensors, 0.9 to
 * 0.20. Those of activations, caches and calibration do not change weights. */
#include "lib/weights/format.h"
#include "lib/base/json.h"
#include <string.h>

/* Formats of which hexc reads the tensors: dense ones have no quantized weights. */
static const char formats_read[] = "pack-quantized|int-quantized|float-quantized|naive-quantized|"
				   "nvfp4-pack-quantized|mxfp4-pack-quantized|mxfp8-quantized|"
				   "mixed-precision|dense";
static const char strategies_read[] = "channel|group|tensor_group";
static const char keys_read[] = "num_bits|type|symmetric|group_size|strategy|block_structure|dynamic|"
				"actorder|scale_dtype|zp_dtype|observer|observer_kwargs";

typedef struct Reading {
	hexc_file *f;
	const char *by;
	const char *where; /* "config_groups.group_0.weights." */
} Reading;

static bool
in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, "|"), p += *p == '|')
		if (strcspn(p, "|") == n && strncmp(p, word, n) == 0)
			return true;
	return false;
}

/* Returns "a, b, c" for "a|b|c". */
static const char *
spelled(hexc_file *f, const char *list)
{
	const char *s = arena_printf(&f->arena, "%.*s", (int)strcspn(list, "|"), list);

	while (list[strcspn(list, "|")]) {
		list += strcspn(list, "|") + 1;
		s = arena_printf(&f->arena, "%s, %.*s", s, (int)strcspn(list, "|"), list);
	}
	return s;
}

/* Returns a value as a message quotes it. */
static const char *
quoted(hexc_file *f, const Json *j)
{
	switch (j->kind) {
	case JSON_NULL: return "null";
	case JSON_FALSE: return "false";
	case JSON_TRUE: return "true";
	case JSON_NUMBER: return arena_printf(&f->arena, "%g", j->number);
	case JSON_STRING: return file_quote(f, j->text, strlen(j->text));
	case JSON_ARRAY: return "a list";
	case JSON_OBJECT: break;
	}
	return "an object";
}

/* Writes that hexc does not read the value; `read`: what it reads instead. */
static bool
not_read(const Reading *r, const Json *j, const char *read)
{
	return file_error(r->f, "%s: %s%s is %s, and hexc reads only %s; quantize the model "
	                        "so", r->by, r->where,
	                  file_quote(r->f, j->key, strlen(j->key)), quoted(r->f, j), read);
}

static bool
is_null(const Json *j)
{
	return !j || j->kind == JSON_NULL;
}

/* Is a member absent, null or one of the texts of the list? */
static bool
take_text(const Reading *r, const Json *object, const char *key, const char *list)
{
	const Json *j = json_member(object, key);

	return is_null(j) || (j->kind == JSON_STRING && in_list(list, j->text)) ||
	       not_read(r, j, spelled(r->f, list));
}

/* Records x, or that the groups differ. */
static void
agree(int *all, bool first, int x)
{
	*all = first || *all == x ? x : -1;
}

static bool
take_order(const Reading *r, const Json *weights, int *ordered)
{
	const Json *j = json_member(weights, "actorder");
	const char *text = j && j->kind == JSON_STRING ? j->text : NULL;

	*ordered = (j && j->kind == JSON_TRUE) || (text && in_list("group|dynamic", text));
	return is_null(j) || *ordered || j->kind == JSON_FALSE || (text && in_list("weight|static", text)) ||
	       not_read(r, j, "null, weight, static, group, dynamic");
}

/* Reads the `weights` of a group. */
static bool
take_weights(const Reading *r, const Json *weights, bool first)
{
	const Json *bits = json_member(weights, "num_bits"), *symmetric = json_member(weights, "symmetric");
	const Json *type = json_member(weights, "type");
	bool is_float = type && type->kind == JSON_STRING && strcmp(type->text, "float") == 0;
	Compressed *c = &r->f->compressed;
	int ordered = 0;

	if (weights->kind != JSON_OBJECT)
		return not_read(r, weights, "an object");
	for (const Json *j = weights->first; j; j = j->next)
		if (!in_list(keys_read, j->key))
			return file_error(r->f,
			                  "%s: %s%s is not known here, and may change what codes "
			                  "mean; take a "
			                  "model without it",
			                  r->by, r->where, file_quote(r->f, j->key, strlen(j->key)));
	if (!take_text(r, weights, "type", "int|float") ||
	    !take_text(r, weights, "strategy", strategies_read) ||
	    !take_order(r, weights, &ordered))
		return false;
	if (bits && (!bits->is_u64 || (is_float ? bits->u64 != 4 && bits->u64 != 8
	                                        : bits->u64 < 2 || bits->u64 > 8)))
		return not_read(r, bits, is_float ? "4 and 8 of type float" : "2 to 8 of type int");
	if (symmetric && symmetric->kind != JSON_TRUE && symmetric->kind != JSON_FALSE)
		return not_read(r, symmetric, "true and false");
	if (is_float && symmetric && symmetric->kind == JSON_FALSE)
		return not_read(r, symmetric, "true of type float");
	agree(&c->bits, first, bits ? (int)bits->u64 : 8);
	agree(&c->symmetric, first, !symmetric || symmetric->kind == JSON_TRUE);
	agree(&c->ordered, first, ordered);
	return true;
}

/* Reads a group; *read counts those with weights. A list names targets of a scheme with a known name. */
static bool
take_group(Reading *r, const Json *group, int *read)
{
	const Json *weights = json_member(group, "weights");
	const char *name = file_quote(r->f, group->key, strlen(group->key));

	if (group->kind == JSON_ARRAY) {
		r->f->compressed = (Compressed){ r->by, -1, -1, -1 };
		*read += 1;
		return true;
	}
	r->where = "config_groups.";
	if (group->kind != JSON_OBJECT)
		return not_read(r, group, "an object or a list");
	r->where = arena_printf(&r->f->arena, "config_groups.%s.", name);
	if (!take_text(r, group, "format", formats_read))
		return false;
	if (is_null(weights))
		return true;
	r->where = arena_printf(&r->f->arena, "config_groups.%s.%s", name,
	                        weights->kind == JSON_OBJECT ? "weights." : "");
	return take_weights(r, weights, !(*read)++);
}

/* Rejects functions beside quantization that change what weights are multiplied with, or how they are
 * stored. */
static bool
take_others(const Reading *r, const Json *q)
{
	const Json *sparse = json_member(q, "sparsity_config"), *turned = json_member(q, "transform_config");
	const Json *groups = json_member(turned, "config_groups");
	Reading in = { r->f, r->by, "sparsity_config." };

	if (!is_null(turned) && (turned->kind != JSON_OBJECT || (groups ? groups->n : turned->n)))
		return file_error(r->f,
		                  "%s: transform_config rotates what is multiplied, and hexc reads weights "
		                  "without a rotation; take a model without it",
		                  r->by);
	return is_null(sparse) || take_text(&in, sparse, "format", "dense");
}

bool
file_compressed(hexc_file *f, const Json *q, const char *by)
{
	const Json *groups = json_member(q, "config_groups");
	Reading r = { f, by, "" };
	int read = 0;

	if (!take_text(&r, q, "format", formats_read) || !take_others(&r, q))
		return false;
	f->compressed = (Compressed){ by, -1, -1, -1 };
	if (is_null(groups))
		return true;
	if (groups->kind != JSON_OBJECT)
		return not_read(&r, groups, "an object");
	for (const Json *j = groups->first; j; j = j->next)
		if (!take_group(&r, j, &read))
			return false;
	return true;
}
