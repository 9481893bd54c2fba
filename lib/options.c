/* options.c - checks and copies hexc_opts, and lists the available passes, schedules and warnings. */
#include "lib/lib.h"
#include "taskmap/support/json_writer.h"
#include <string.h>

enum { ALL_FLAGS = HEXC_PROVE | HEXC_PARANOID | HEXC_NO_EMIT | HEXC_EXPLAIN | HEXC_DRAW | HEXC_WERROR |
	HEXC_LINEINFO | HEXC_REMARKS | HEXC_NO_PDL | HEXC_ASSEMBLE_ALL };

static const struct {
	const char *name, *former, *help;
} passes[] = {
#define PASS(name, former, when, help) { #name, #former, help },
#include "hexc/pass/passes.def"
};

const char *
hexc_pass(size_t i)
{
	return i < COUNT_OF(passes) ? passes[i].name : NULL;
}

const char *
hexc_pass_help(size_t i)
{
	return i < COUNT_OF(passes) ? passes[i].help : NULL;
}

const char *
hexc_schedule(size_t i)
{
	return i < SCHEDULES ? schedule_name[i] : NULL;
}

const char *
hexc_warning(size_t i)
{
	return i < DW_COUNT - 1 ? warning_name[i + 1] : NULL;
}

const char *
hexc_warning_help(size_t i)
{
	return i < DW_COUNT - 1 ? warning_help[i + 1] : NULL;
}

size_t
hexc_utf8(const char *s)
{
	return s ? utf8_bytes(s) : 0;
}

/* Computes the bits of Diag.wanted and, if `remarks`, of Diag.remarked; returns false if a name is
 * unknown. */
static bool
warning_bits(Options *o, const char *s, bool remarks)
{
	o->warnings = o->remarks = 0;
	for (int w = DW_none + 1; w < DW_COUNT; w++)
		*(warning_on[w] ? &o->warnings : &o->remarks) |= 1u << w;
	if (!remarks)
		o->remarks = 0;
	while (s && *s) {
		size_t n = strcspn(s, ","), no = strncmp(s, "no-", 3) == 0 ? 3 : 0;
		DiagWarning w = warning_find(s + no, n - no);

		if (w == DW_none)
			return false;
		o->warnings = no ? o->warnings & ~(1u << w) : o->warnings | 1u << w;
		if (no)
			o->remarks &= ~(1u << w);
		s += n + (s[n] == ',');
	}
	return true;
}

static bool
is_word(const char *word, const char *s, size_t n)
{
	return strlen(word) == n && memcmp(word, s, n) == 0;
}

int
pass_index(const char *name, size_t n)
{
	for (size_t i = 0; i < COUNT_OF(passes); i++)
		if (is_word(passes[i].name, name, n) || is_word(passes[i].former, name, n))
			return (int)i;
	return -1;
}

const char *
hexc_pass_named(const char *name)
{
	int i = name ? pass_index(name, strlen(name)) : -1;

	return i < 0 ? NULL : passes[i].name;
}

/* Returns the current name of a pass, or other stop point, by its current or former name. */
static const char *
point_named(const char *s)
{
	const char *pass = hexc_pass_named(s);

	return pass ? pass : s;
}

static bool
opts_read(hexc_opts *o, const hexc_opts *in)
{
	static const hexc_opts none = HEXC_OPTS_INIT;

	*o = none;
	return !in || (in->size >= offsetof(hexc_opts, define) && take_in(o, sizeof *o, in));
}

static bool
pass_name_ok(const char *s)
{
	return !s || strcmp(s, "parse") == 0 || strcmp(s, "bounded") == 0 ||
	       pass_index(s, strlen(s)) >= 0;
}

/* Returns false if there is no schedule of that name. */
static bool
schedule_find(const char *name, Schedule *out)
{
	int s = 0;

	while (s < SCHEDULES && strcmp(schedule_name[s], name) != 0)
		s++;
	*out = (Schedule)s;
	return s < SCHEDULES;
}

/* Every device with clusters supports up to 8 blocks. */
static bool
cluster_ok(const uint32_t n[3])
{
	enum { MOST = 8 };
	bool none = !n[0] && !n[1] && !n[2];

	for (int d = 0; d < 3; d++)
		if (n[d] > MOST || (n[d] == 0 && !none) || (n[d] > 1 && n[(d + 1) % 3] > 1))
			return false;
	return true;
}

static bool
defines_ok(const hexc_opts *o)
{
	if (o->ndefine > 4096 || (o->ndefine && !o->define))
		return false;
	for (size_t i = 0; i < o->ndefine; i++) {
		if (!o->define[i].name || !o->define[i].name[0])
			return false;
		for (size_t j = 0; j < i; j++)
			if (strcmp(o->define[i].name, o->define[j].name) == 0)
				return false;
	}
	return true;
}

static size_t
text_bytes(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

/* Copies the string to the block; NULL stays NULL. */
static const char *
text_take(char **at, const char *s)
{
	char *to = *at;

	if (!s)
		return NULL;
	memcpy(to, s, strlen(s) + 1);
	*at += strlen(s) + 1;
	return to;
}

int
options_copy(Options *out, const hexc_opts *in, void *(*fn)(void *, void *, size_t), void *user)
{
	hexc_opts o;
	size_t bytes;
	hexc_define *def;
	char *at;

	memset(out, 0, sizeof *out);
	if (!opts_read(&o, in) || !defines_ok(&o))
		return HEXC_E_INVALID;
	if ((o.flags & ~(uint32_t)ALL_FLAGS) || o.candidate > INT32_MAX)
		return HEXC_E_INVALID;
	if (!warning_bits(out, o.warnings, o.flags & HEXC_REMARKS))
		return HEXC_E_INVALID;
	if (!pass_name_ok(o.stop) || (!pass_name_ok(o.dump) && strcmp(o.dump, "all") != 0))
		return HEXC_E_INVALID;
	o.stop = point_named(o.stop);
	o.dump = point_named(o.dump);
	if (o.schedule && !schedule_find(o.schedule, &out->schedule))
		return HEXC_E_INVALID;
	if (!cluster_ok(o.cluster))
		return HEXC_E_INVALID;
	out->target = target_find(o.arch ? o.arch : "sm_80");
	if (!out->target)
		return HEXC_E_ARCH;
	bytes = o.ndefine * sizeof *def + text_bytes(o.kernel) + text_bytes(o.dump) + text_bytes(o.stop) +
	        text_bytes(o.assembler);
	for (size_t i = 0; i < o.ndefine; i++)
		bytes += text_bytes(o.define[i].name);
	out->block = fn(user, NULL, bytes + 1);
	if (!out->block)
		return HEXC_E_NOMEM;
	def = out->block;
	at = (char *)out->block + o.ndefine * sizeof *def;
	for (size_t i = 0; i < o.ndefine; i++) {
		def[i].value = o.define[i].value;
		def[i].name = text_take(&at, o.define[i].name);
	}
	o.define = def;
	o.arch = out->target->name;
	o.kernel = text_take(&at, o.kernel);
	o.dump = text_take(&at, o.dump);
	o.stop = text_take(&at, o.stop);
	o.assembler = text_take(&at, o.assembler);
	o.warnings = NULL; /* stored as bits */
	o.schedule = o.schedule ? schedule_name[out->schedule] : NULL;
	out->o = o;
	return HEXC_OK;
}

void
options_free(Options *o, void *(*fn)(void *, void *, size_t), void *user)
{
	if (o->block)
		fn(user, o->block, 0);
	o->block = NULL;
}
