/* opcode_syntax.c - checks that an opcode exists by matching its parts against the rows of
 * opcode_syntax.def. */
#include <string.h>
#include "lib/sim/ptx/ptx.h"

static const struct Form { u8 sm; const char *name, *parts; } forms[] = {
#define L(sm, name, parts) { sm, name, parts },
#include "lib/sim/ptx/opcode_syntax.def"
};

enum { MAX_PARTS = 16 };
typedef struct OpcodeSyntax {
	const char *part[MAX_PARTS];
	u8 len[MAX_PARTS];
	u32 alike[MAX_PARTS];   /* the parts of the same kind, for kinds whose order is significant */
	u32 n, all;
} OpcodeSyntax;

/* Returns the kind of a part whose order is significant: 1 a type, 2 the eviction priority of a cache policy,
 * else 0. */
static int
kind(const char *part, size_t len)
{
	PtxType t;

	return type_find(part, len, &t) ? 1 : !strncmp(part, "L2::evict", 9) ? 2 : 0;
}

static bool
split(const char *op, OpcodeSyntax *o)
{
	u32 of[3] = { 0 };

	for (op += strcspn(op, "."); *op; op += o->len[o->n++]) {
		size_t len = strcspn(++op, ".");
		if (o->n == MAX_PARTS || len > 40)
			return false;
		o->part[o->n] = op;
		o->len[o->n] = (u8)len;
		of[kind(op, len)] |= 1u << o->n;
	}
	for (u32 i = 0; i < o->n; i++)
		o->alike[i] = (of[1] >> i & 1) * of[1] | (of[2] >> i & 1) * of[2];
	o->all = (1u << o->n) - 1;
	return true;
}

/* Is the part one of the choices `a|b|c` that end at `end`? */
static bool
chosen(const char *word, const char *end, const char *part, size_t len)
{
	while (word < end) {
		size_t n = 0;
		while (word + n < end && word[n] != '|')
			n++;
		if (n == len && !memcmp(word, part, n))
			return true;
		word += n + 1;
	}
	return false;
}

/* Matches the words of `parts` against the parts not yet used. */
static bool
matches(const char *parts, const OpcodeSyntax *o, u32 used)
{
	const char *end;
	u32 first = 0, n = o->n;
	bool optional;

	while (*parts == ' ')
		parts++;
	if (!*parts)
		return used == o->all;
	end = parts + strcspn(parts, " ");
	optional = end[-1] == '?';
	if (*parts == '.') {            /* of the name: after the parts used so far */
		parts++;
		first = (u32)__builtin_popcount(used);
		n = first < n ? first + 1 : n;
	}
	for (u32 i = first; i < n; i++)
		if (!(used >> i & 1) && !((used & o->alike[i]) >> i) &&
		    chosen(parts, end - optional, o->part[i], o->len[i]) && matches(end, o, used | 1u << i))
			return true;
	return optional && matches(end, o, used);
}

u32
legal_opcode(const char *op, u32 sm)
{
	size_t len = strcspn(op, ".");
	u32 least = 0;
	bool known = false;
	OpcodeSyntax o = { 0 };

	if (!split(op, &o))
		return LEGAL_NEVER;
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		const struct Form *f = &forms[i];
		if (f->name[0] != op[0] || strncmp(f->name, op, len) || f->name[len])
			continue;
		known = true;
		if (!matches(f->parts, &o, 0))
			continue;
		if (f->sm <= sm)
			return LEGAL;
		least = !least || f->sm < least ? f->sm : least;
	}
	return !known ? LEGAL : least ? least : LEGAL_NEVER;
}
