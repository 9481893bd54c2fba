/* json.c - writes the manifest and other properties of a module as JSON. */
#include "hexc/cli/base/json.h"
#include "lib/sim/sim.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void
json_int(cJSON *object, const char *name, int64_t x)
{
	char s[32];

	snprintf(s, sizeof s, "%" PRId64, x);
	cJSON_AddRawToObject(object, name, s);
}

void
json_uint(cJSON *object, const char *name, uint64_t x)
{
	char s[32];

	snprintf(s, sizeof s, "%" PRIu64, x);
	cJSON_AddRawToObject(object, name, s);
}

cJSON *
json_dims(const uint32_t dims[3])
{
	cJSON *a = cJSON_CreateArray();

	for (int i = 0; i < 3; i++)
		cJSON_AddItemToArray(a, cJSON_CreateNumber(dims[i]));
	return a;
}

static cJSON *
texts(const char *const *s, uint32_t n)
{
	cJSON *a = cJSON_CreateArray();

	for (uint32_t i = 0; i < n; i++)
		cJSON_AddItemToArray(a, cJSON_CreateString(s[i]));
	return a;
}

static cJSON *
param(const hexc_param_info *p, const char *pack)
{
	static const char *const kind[HEXC_NKINDS] = {
#define X(id, name, text) [HEXC_##id] = #name,
		HEXC_KINDS(X)
#undef X
	};
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", p->name);
	cJSON_AddStringToObject(o, "kind", kind[p->kind]);
	cJSON_AddStringToObject(o, "dtype", p->dtype);
	json_uint(o, "bytes", p->bytes);
	if (p->kind != HEXC_POINTER)
		return o;
	json_uint(o, "bits", p->bits);
	json_uint(o, "align", p->align);
	cJSON_AddBoolToObject(o, "read", p->read != 0);
	cJSON_AddBoolToObject(o, "written", p->written != 0);
	cJSON_AddItemToObject(o, "shape", texts(p->dim, p->rank));
	cJSON_AddItemToObject(o, "strides", texts(p->stride, p->rank));
	if (pack)
		cJSON_AddStringToObject(o, "pack", pack);
	return o;
}

static cJSON *
numbers(const uint32_t *x, uint32_t n)
{
	cJSON *a = cJSON_CreateArray();

	for (uint32_t i = 0; i < n; i++)
		cJSON_AddItemToArray(a, cJSON_CreateNumber(x[i]));
	return a;
}

/* Describes the arguments of cuTensorMapEncodeTiled: the constant ones in the words of `hexc sim`, shape
 * and strides like a tensor's. */
static cJSON *
tensor_map(const hexc_module *m, size_t k, size_t i)
{
#define X(id, name, bytes) #name,
	static const char *const type[] = { SIM_TMAP_TYPES(X) };
#undef X
	static const char *const swizzle[] = { "NONE", "32B", "64B", "128B" };
	static const char *const l2[] = { "NONE", "L2_64B", "L2_128B", "L2_256B" };
	hexc_tensor_map_info t = HEXC_TENSOR_MAP_INFO_INIT;
	hexc_param_info of = HEXC_PARAM_INFO_INIT;
	const char *dim[5], *stride[5];
	cJSON *o = cJSON_CreateObject();
	char name[200];

	hexc_tensor_map_form(m, k, i, &t, dim, stride);
	hexc_param(m, k, t.param, &of);
	snprintf(name, sizeof name, "%s.map", of.name);
	cJSON_AddStringToObject(o, "name", name);
	cJSON_AddStringToObject(o, "kind", "tensor_map");
	cJSON_AddStringToObject(o, "of", of.name);
	json_uint(o, "bytes", sizeof(sim_tmap));
	cJSON_AddStringToObject(o, "tensorDataType", type[t.type]);
	cJSON_AddItemToObject(o, "shape", texts(dim, t.rank));
	cJSON_AddItemToObject(o, "strides", texts(stride, t.rank));
	if (t.optional)
		cJSON_AddTrueToObject(o, "optional");
	cJSON_AddItemToObject(o, "boxDim", numbers(t.box, t.rank));
	cJSON_AddItemToObject(o, "elementStrides", numbers(t.step, t.rank));
	cJSON_AddStringToObject(o, "interleave", "NONE");
	cJSON_AddStringToObject(o, "swizzle", swizzle[t.swizzle]);
	cJSON_AddStringToObject(o, "l2Promotion", l2[t.l2]);
	cJSON_AddStringToObject(o, "oobFill", "NONE");
	return o;
}

static cJSON *
kernel(const hexc_module *m, size_t k, const hexc_kernel_info *info)
{
	cJSON *o = cJSON_CreateObject(), *list;
	hexc_candidate_info c = HEXC_CANDIDATE_INFO_INIT;
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_define d;

	cJSON_AddStringToObject(o, "entry", info->name);
	cJSON_AddItemToObject(o, "grid", texts(info->grid, 3));
	cJSON_AddItemToObject(o, "block", json_dims(info->block));
	cJSON_AddItemToObject(o, "cluster", json_dims(info->cluster));
	json_uint(o, "smem", info->smem);
	if (info->persistent)
		cJSON_AddTrueToObject(o, "persistent");
	if (info->pdl)
		cJSON_AddTrueToObject(o, "pdl");
	if (info->cooperative)
		cJSON_AddTrueToObject(o, "cooperative");
	if (info->group) {
		cJSON *order = cJSON_AddObjectToObject(o, "order");

		json_uint(order, "group", info->group);
		list = cJSON_AddArrayToObject(order, "dims");
		for (int i = 0; i < 2; i++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber(info->group_dim[i]));
	}
	list = cJSON_AddArrayToObject(o, "params");
	for (size_t i = 0; hexc_param(m, k, i, &p); i++, p.size = sizeof p)
		cJSON_AddItemToArray(list, param(&p, hexc_module_pack(m, k, i)));
	for (size_t i = 0; i < info->nmap; i++)
		cJSON_AddItemToArray(list, tensor_map(m, k, i));
	list = cJSON_AddArrayToObject(o, "assume");
	for (size_t i = 0; hexc_assume(m, k, i); i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(hexc_assume(m, k, i)));
	list = cJSON_AddObjectToObject(o, "constants");
	for (size_t i = 0; hexc_const(m, k, i, &d); i++)
		if (hexc_value_type(d.value))
			cJSON_AddStringToObject(list, d.name, hexc_value_type(d.value)->name);
		else
			json_int(list, d.name, d.value);
	json_uint(o, "candidate", info->candidate);
	json_uint(o, "candidates", info->ncandidate);
	if (hexc_candidate(m, k, info->candidate, &c))
		json_uint(o, "registers", c.registers);
	return o;
}

cJSON *
json_manifest(const hexc_module *m, const char *arch, const char *compiler)
{
	cJSON *root = cJSON_CreateObject(), *list;
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	cJSON_AddStringToObject(root, "compiler", compiler);
	cJSON_AddStringToObject(root, "arch", arch);
	list = cJSON_AddArrayToObject(root, "kernels");
	for (size_t k = 0; hexc_kernel(m, k, &info); k++, info.size = sizeof info)
		cJSON_AddItemToArray(list, kernel(m, k, &info));
	return root;
}

/* Adds the assembler's results. */
static void
add_assembled(cJSON *o, const hexc_candidate_info *c)
{
	cJSON *used = cJSON_AddObjectToObject(o, "assembled");

	json_uint(used, "registers", c->used);
	json_uint(used, "spilled_bytes", c->spilled);
	json_uint(used, "blocks_together", c->used_together);
	cJSON_AddNumberToObject(used, "cycles", c->used_cycles);
}

cJSON *
json_candidates(const hexc_module *m, size_t k, const size_t *order)
{
	cJSON *list = cJSON_CreateArray();
	hexc_candidate_info c = HEXC_CANDIDATE_INFO_INIT;

	for (size_t i = 0; hexc_candidate(m, k, order ? order[i] : i, &c); i++, c.size = sizeof c) {
		cJSON *o = cJSON_CreateObject();
		json_uint(o, "index", order ? order[i] : i);
		cJSON_AddNumberToObject(o, "cycles", c.cycles);
		cJSON_AddNumberToObject(o, "alone", c.alone);
		json_uint(o, "blocks_together", c.together);
		json_uint(o, "registers", c.registers);
		cJSON_AddStringToObject(o, "text", c.text);
		if (c.assembled)
			add_assembled(o, &c);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

/* Replaces each byte that is not UTF-8 by U+FFFD: file names, their contents and programs may have some,
 * and cJSON writes them unchanged. Returns NULL, with s freed, if memory is short. */
static char *
as_utf8(char *s)
{
	size_t bad = 0, n;
	char *out, *to;

	for (const char *p = s; s && *p; p += n ? n : 1) {
		n = hexc_utf8(p);
		bad += !n;
	}
	if (!bad)
		return s;
	out = to = malloc(strlen(s) + 5 * bad + 1);
	for (const char *p = s; out && *p; p += n ? n : 1) {
		n = hexc_utf8(p);
		memcpy(to, n ? p : "\\ufffd", n ? n : 6);
		to += n ? n : 6;
	}
	if (out)
		*to = 0;
	free(s);
	return out;
}

char *
json_line(Cli *c, cJSON *root)
{
	char *s = root ? as_utf8(cJSON_PrintUnformatted(root)) : NULL;
	char *line = s ? cli_strndup(c, s, strlen(s)) : NULL;

	cJSON_Delete(root);
	free(s);
	return line;
}

int
json_write(Cli *c, const char *path, cJSON *root)
{
	char *s = root ? as_utf8(cJSON_Print(root)) : NULL;
	size_t n = s ? strlen(s) : 0;
	int status;

	cJSON_Delete(root);
	if (!s)
		return cli_error(EXIT_TROUBLE, "out of memory");
	s[n] = '\n'; /* replaces the NUL: the length is known */
	status = cli_write(c, path, s, n + 1);
	free(s);
	return status;
}
