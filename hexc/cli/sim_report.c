/* sim_report.c - prints the simulator's results: faults for users, counters for programs. */
#include "hexc/cli/run.h"
#include <inttypes.h>
#include <string.h>

int
sim_status(int code, const char *text)
{
	const char *say = text && text[0] ? text : sim_strerror(code);

	switch (code) {
	case SIM_OK: return 0;
	case SIM_E_FAULT: return EXIT_WRONG;
	case SIM_E_SOURCE: return cli_error(EXIT_INPUT, "%s", say);
	case SIM_E_INVALID: return cli_error(EXIT_INPUT, "the launch: %s", say);
	default: return cli_error(EXIT_TROUBLE, "%s", say);
	}
}

/* Prints the program's line, if the PTX has it. */
static void
show_source(const sim_place *p)
{
	if (p->source)
		fprintf(stderr, " [%s:%u]", p->source, p->source_line);
}

void
sim_show_faults(const char *ptx_name, const sim_result *r)
{
	sim_fault f;

	for (size_t i = 0; sim_fault_at(r, i, &f); i++) {
		fprintf(stderr, "%s:%u:1: %s: %s: %s", ptx_name, f.at.line,
		        cli_severity(f.warning ? CLI_WARNING : CLI_FAULT),
		        sim_fault_name(f.kind), f.text);
		if (f.times > 1)
			fprintf(stderr, " (%" PRIu64 " times)", f.times);
		show_source(&f.at);
		fputc('\n', stderr);
		if (!f.other.line)
			continue;
		fprintf(stderr, "%s:%u:1: note: other access: block (%u,%u,%u), thread (%u,%u,%u)",
		        ptx_name, f.other.line, f.other.block[0], f.other.block[1],
		        f.other.block[2], f.other.thread[0], f.other.thread[1], f.other.thread[2]);
		show_source(&f.other);
		fputc('\n', stderr);
	}
	if (*sim_result_hang(r))
		fprintf(stderr, "state of the waiting warps:\n%s", sim_result_hang(r));
}

/* ---- roofline --------------------------------------------------------------------------------- */

/* Does the name of a GPU start with this and a dash? A10 is not a prefix of A100-80GB. */
static bool
begins(const char *gpu, const char *name)
{
	size_t n = strlen(name);

	return n && strncmp(gpu, name, n) == 0 && gpu[n] == '-';
}

int
sim_check_roofline(const Cli *c)
{
	const char *name = cli_get(c, CLI_roofline);
	size_t begin = 0;
	sim_gpu g;

	if (!name || sim_gpu_find(name, &g))
		return 0;
	for (size_t i = 0; sim_gpu_at(i, &g); i++)
		begin += begins(g.name, name);
	cli_begin_error(begin ? "--roofline: ambiguous GPU '%s'" : "--roofline: unknown GPU '%s'; known:",
	                name);
	fputc('\n', stderr);
	for (size_t i = 0; sim_gpu_at(i, &g); i++)
		if (!begin || begins(g.name, name))
			fprintf(stderr, "  %-16s%s\n", g.name, g.source);
	return EXIT_USAGE;
}

static void
show_roofline(const Cli *c, const SimReport *p)
{
	const char *name = cli_get(c, CLI_roofline);
	sim_roof r;
	sim_gpu g;

	if (!name || !p->result || !sim_gpu_find(name, &g))
		return;
	if (sim_roofline(p->result, name, &r) != SIM_OK) {
		fprintf(stderr, "hexc: %s: %s has no tensor cores for this kernel's types\n",
		        cli_severity(CLI_WARNING), g.name);
		return;
	}
	printf("%s on %s: at least %.3f us, limited by %s\n", p->entry, g.name, 1e6 * r.bound,
	       sim_limit_name(r.limiter));
	for (int i = 0; i < SIM_NLIMITS; i++)
		if (r.seconds[i] > 0)
			printf("  %-7s %10.3f us %4.0f %%  %s\n", sim_limit_name((sim_limit)i),
			       1e6 * r.seconds[i], 100 * r.seconds[i] / r.bound,
			       sim_limit_text((sim_limit)i));
}

/* ---- L2 --------------------------------------------------------------------------------------- */

enum { L2_BLOCKS = 108 }; /* an A100 with one block per SM */

int
sim_read_l2(Cli *c, sim_launch *l)
{
	const char *s = cli_get(c, CLI_l2), *comma = s ? strchr(s, ',') : NULL;
	int64_t bytes = 0, blocks = L2_BLOCKS;

	if (!s)
		return 0;
	if (!cli_int(comma ? cli_strndup(c, s, (size_t)(comma - s)) : s, &bytes) || bytes < 32 ||
	    (comma && (!cli_int(comma + 1, &blocks) || blocks < 1 || blocks > UINT32_MAX)))
		return cli_error(EXIT_USAGE,
		                 "--l2: expected BYTES[,BLOCKS], at least a sector of 32 bytes, got '%s'", s);
	l->l2_bytes = (uint64_t)bytes;
	l->l2_blocks = (uint32_t)blocks;
	return 0;
}

static void
show_l2(const SimReport *p)
{
	const sim_l2 *n = p->result ? sim_l2_of(p->result) : NULL;
	uint64_t read = n ? n->read_hits + n->read_misses : 0;

	if (!n)
		return;
	printf("%s through L2: %" PRIu64 " sectors read, %" PRIu64 " of them from memory (%.1f %%), %" PRIu64
	       " written back\n",
	       p->entry, read, n->read_misses, read ? 100.0 * (double)n->read_misses / (double)read : 0,
	       n->written_back);
}

static cJSON *
l2_json(const sim_l2 *n)
{
	cJSON *o = cJSON_CreateObject();

#define X(name, text) json_uint(o, #name, n->name);
	SIM_L2_COUNTS(X)
#undef X
	return o;
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static cJSON *
place_json(const sim_place *p)
{
	cJSON *o = cJSON_CreateObject();

	json_uint(o, "line", p->line);
	if (p->source) {
		cJSON_AddStringToObject(o, "source", p->source);
		json_uint(o, "source_line", p->source_line);
	}
	cJSON_AddItemToObject(o, "block", json_dims(p->block));
	cJSON_AddItemToObject(o, "thread", json_dims(p->thread));
	return o;
}

static cJSON *
faults(const sim_result *r)
{
	static const char *const space[] = { "none", "global", "shared", "local",
		                             "param", "const", "register", "shared" };
	cJSON *list = cJSON_CreateArray();
	sim_fault f;

	for (size_t i = 0; r && sim_fault_at(r, i, &f); i++) {
		cJSON *o = place_json(&f.at);
		cJSON_AddStringToObject(o, "kind", sim_fault_name(f.kind));
		cJSON_AddStringToObject(o, "text", f.text);
		cJSON_AddStringToObject(o, "space", f.space < CLI_COUNT(space) ? space[f.space] : "?");
		json_uint(o, "address", f.addr);
		json_uint(o, "bytes", f.bytes);
		json_uint(o, "times", f.times);
		if (f.warning)
			cJSON_AddTrueToObject(o, "warning");
		if (f.other.line)
			cJSON_AddItemToObject(o, "other", place_json(&f.other));
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static cJSON *
lines(const sim_result *r)
{
	cJSON *list = cJSON_CreateArray();
	sim_line l;

	for (size_t i = 0; r && sim_line_at(r, i, &l); i++) {
		cJSON *o;
		if (!l.n.warps)
			continue;
		o = cJSON_CreateObject();
		json_uint(o, "line", l.line);
		cJSON_AddStringToObject(o, "opcode", l.opcode);
		cJSON_AddStringToObject(o, "class", sim_class_name(l.cls));
		json_uint(o, "warps", l.n.warps);
		json_uint(o, "threads", l.n.threads);
#define X(name, text) if (l.n.name) json_uint(o, #name, l.n.name);
		SIM_MEM_COUNTS(X)
#undef X
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static cJSON *
roofline(const Cli *c, const sim_result *result)
{
	const char *name = cli_get(c, CLI_roofline);
	cJSON *o = cJSON_CreateObject(), *by = cJSON_CreateObject();
	sim_roof r;
	sim_gpu g;

	if (name && result && sim_roofline(result, name, &r) == SIM_OK) {
		sim_gpu_find(name, &g);
		cJSON_AddStringToObject(o, "gpu", g.name);
		json_uint(o, "sms", g.sms);
		json_uint(o, "mhz", g.mhz);
		cJSON_AddNumberToObject(o, "seconds", r.bound);
		cJSON_AddStringToObject(o, "limiter", sim_limit_name(r.limiter));
		for (int i = 0; i < SIM_NLIMITS; i++)
			cJSON_AddNumberToObject(by, sim_limit_name((sim_limit)i), r.seconds[i]);
	}
	cJSON_AddItemToObject(o, "limits", by);
	return o;
}

/* Builds --stats. The minimum of sectors is per block: a block must read at least the distinct sectors
 * that it accesses. */
static cJSON *
stats(const Cli *c, const SimReport *p)
{
	static const sim_stats nothing;
	const sim_stats *s = p->result ? sim_stats_of(p->result) : &nothing;
	cJSON *o = cJSON_CreateObject(), *by = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "entry", p->entry);
	cJSON_AddStringToObject(o, "arch", p->arch);
	cJSON_AddItemToObject(o, "grid", json_dims(p->grid));
	cJSON_AddItemToObject(o, "block", json_dims(p->block));
	json_uint(o, "smem", p->smem);
	for (int i = 0; i < SIM_NCLASSES; i++)
		json_uint(by, sim_class_name((sim_class)i), s->by_class[i].warps);
	cJSON_AddItemToObject(o, "instructions", by);
	json_uint(o, "warp_instructions", s->all.warps);
	json_uint(o, "thread_instructions", s->all.threads);
	json_uint(o, "mma", s->mma);
	json_uint(o, "mma_macs", s->mma_macs);
#define X(name, text) json_uint(o, #name, s->all.name);
	SIM_MEM_COUNTS(X)
#undef X
	json_uint(o, "global_sectors_read_min", s->block_sectors_read);
	json_uint(o, "global_sectors_written_min", s->block_sectors_written);
	json_uint(o, "grid_sectors_read", s->grid_sectors_read);
	json_uint(o, "grid_sectors_written", s->grid_sectors_written);
	json_uint(o, "bank_conflicts", s->all.shared_wavefronts - s->all.shared_min);
	json_uint(o, "barriers", s->barriers);
	json_uint(o, "blocks", s->blocks);
	cJSON_AddNumberToObject(o, "seconds", s->seconds);
	if (p->result && sim_l2_of(p->result))
		cJSON_AddItemToObject(o, "l2", l2_json(sim_l2_of(p->result)));
	if (cli_get(c, CLI_roofline))
		cJSON_AddItemToObject(o, "roofline", roofline(c, p->result));
	cJSON_AddItemToObject(o, "faults", faults(p->result));
	cJSON_AddItemToObject(o, "lines", lines(p->result));
	return o;
}

int
sim_write_stats(Cli *c, const SimReport *p)
{
	const char *path = cli_get(c, CLI_stats);

	show_roofline(c, p);
	show_l2(p);
	return path ? json_write(c, path, stats(c, p)) : 0;
}
