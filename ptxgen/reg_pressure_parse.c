/* reg_pressure_parse.c - parses the statements of a PTX entry: the registers that each reads and writes. */
#include "ptxgen/reg_pressure.h"
#include "ptxgen/base/ptx_entry.h"
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 32, MOST_REGISTERS = 100000000, FILE_REGISTERS = 65536, GRAIN = 8 };

/* A register declaration: .reg .b32 %r<100>; different sizes have different names. */
typedef struct RegisterClass {
	const char *name;
	size_t len;
	int base, n, halves;
} RegisterClass;

typedef struct PtxReader {
	Body *b;
	RegisterClass class[CLASSES];
	int nclass;
	const char **label; /* start of each name */
	int caplabel;
	int *slot, nslot; /* hash table of labels by name, from 1; a power of 2 */
	const char *end;
} PtxReader;

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool
is_name(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
begins(const char *s, const char *word)
{
	while (*word && *s == *word) {
		s++;
		word++;
	}
	return !*word;
}

/* Parses the text after ".reg": a class with a count in <>; other declarations are local to a few
 * instructions. */
static void
declare(PtxReader *r, const char *s, const char *end)
{
	const char *name = s, *angle;
	RegisterClass *c = &r->class[r->nclass];
	int bits;

	while (name < end && *name != '.')
		name++;
	bits = begins(name, ".pred") ? 0 : name + 2 < end ? atoi(name + 2) : 32;
	while (name < end && !is_space(*name))
		name++;
	while (name < end && is_space(*name))
		name++;
	angle = memchr(name, '<', (size_t)(end - name));
	if (!angle || r->nclass == CLASSES)
		return;
	*c = (RegisterClass){ name, (size_t)(angle - name), r->b->nreg, atoi(angle + 1), (bits + 15) / 16 };
	r->b->nreg += c->n;
	r->nclass++;
}

/* Returns the register whose name starts at s; -1 if it is not counted. Advances *s past it. */
static int
register_at(const PtxReader *r, const char **s)
{
	const char *name = *s;
	size_t len = 0; /* of the name without its number */
	int number = -1;

	*s += **s == '%';
	for (; is_name(**s); ++*s) {
		bool digit = **s >= '0' && **s <= '9';

		if (digit && number < 0)
			len = (size_t)(*s - name);
		number = !digit ? -1 : number < 0 ? **s - '0' : number * 10 + **s - '0';
		if (number > MOST_REGISTERS)
			return -1;
	}
	for (int i = 0; i < r->nclass && number >= 0; i++)
		if (r->class[i].len == len && memcmp(r->class[i].name, name, len) == 0)
			return number < r->class[i].n ? r->class[i].base + number : -1;
	return -1;
}

static uint32_t
name_digest(const char *s)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; is_name(*s); s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

static bool
same_name(const char *a, const char *b)
{
	while (is_name(*a) && *a == *b) {
		a++;
		b++;
	}
	return !is_name(*a) && !is_name(*b);
}

/* Returns the slot of a name: that of its label, or an empty one. */
static int *
slot_of(const PtxReader *r, const char *s)
{
	uint32_t most = (uint32_t)r->nslot - 1, at = name_digest(s) & most;

	while (r->slot[at] && !same_name(r->label[r->slot[at] - 1], s))
		at = (at + 1) & most;
	return &r->slot[at];
}

static void
more_slots(PtxReader *r)
{
	r->nslot = r->nslot ? 4 * r->nslot : 64;
	r->slot = NEWN(r->b->a, int, r->nslot);
	for (int i = 0; i < r->b->nlabel; i++)
		*slot_of(r, r->label[i]) = i + 1;
}

static int
label_at(PtxReader *r, const char *s)
{
	int *slot;

	if (2 * r->b->nlabel >= r->nslot)
		more_slots(r);
	slot = slot_of(r, s);
	if (!*slot) {
		VEC_PUSH(r->b->a, r->label, r->b->nlabel, r->caplabel, s);
		*slot = r->b->nlabel;
	}
	return *slot - 1;
}

/* Does the instruction write its first operand? */
static bool
writes(const char *op)
{
	static const char *const none[] = { "st.", "red.", "bar.", "cp.", "mbarrier.", "wgmma.", "fence.",
		                            "griddep", "membar", "setmaxnreg", "prefetch", "stmatrix",
		                            "barrier.", "trap", "nanosleep", "discard", "exit", NULL };

	if (begins(op, "wgmma.mma_async") || begins(op, "mbarrier.try_wait") ||
	    begins(op, "mbarrier.test_wait"))
		return true;
	for (int i = 0; none[i]; i++)
		if (begins(op, none[i]))
			return false;
	return true;
}

/* Is it integer or predicate arithmetic? ptxas has uniform registers for values that all lanes of a warp
 * share. */
static bool
may_be_uniform(const char *op, const char *end)
{
	static const char *const some[] = { "mov", "add", "sub", "mul", "mad", "shl", "shr", "and", "or",
		                            "xor", "not", "setp", "selp", "min", "max", "cvt", "ld.param",
		                            "neg", "abs", "div", "rem", "prmt", "shf", "bfe", "lop3", NULL };
	size_t n = (size_t)(end - op);
	int i = 0;

	while (some[i] && !begins(op, some[i]))
		i++;
	for (const char *s = op; some[i] && s < end && !is_space(*s); s++)
		if (begins(s, ".f16") || begins(s, ".f32") || begins(s, ".f64") || begins(s, ".bf16"))
			return false;
	for (const char *s = op; some[i] && (s = memchr(s, '%', n - (size_t)(s - op))); s++)
		if (begins(s, "%tid") || begins(s, "%laneid") || begins(s, "%warpid"))
			return false;
	return some[i] != NULL;
}

/* May it be reordered with memory accesses or warp-collective instructions? */
static InsOrder
order_of(const char *op)
{
	static const char *const fixed[] = { "atom", "ld.volatile", "mbarrier", "vote", "activemask", "elect",
		                             "call", NULL };

	if (!writes(op) || begins(op, "wgmma"))
		return ORDER_FIXED;
	for (int i = 0; fixed[i]; i++)
		if (begins(op, fixed[i]))
			return ORDER_FIXED;
	return begins(op, "ld") && !begins(op, "ld.param") ? ORDER_READS : ORDER_FREE;
}

static void
add_register(PtxReader *r, int reg)
{
	Body *b = r->b;

	if (reg >= 0)
		VEC_PUSH(b->a, b->reg, b->nregs, b->capregs, reg);
}

/* Adds the registers of the operands in [s, end). */
static void
add_registers(PtxReader *r, const char *s, const char *end)
{
	while (s < end)
		if (*s == '%' || is_letter(*s))
			add_register(r, register_at(r, &s));
		else if ((*s >= '0' && *s <= '9')) /* 0f3F800000 */
			while (s < end && is_name(*s))
				s++;
		else
			s++;
}

/* Returns the end of the first operand. */
static const char *
first_operand(const char *s, const char *end)
{
	int depth = 0;

	for (; s < end; s++) {
		depth += (*s == '{') - (*s == '}');
		if (*s == ',' && !depth)
			return s;
	}
	return end;
}

static void
read_instruction(PtxReader *r, const char *op, const char *end, int guard)
{
	Body *b = r->b;
	PressureIns x = { .kind = INS_OTHER, .guarded = guard >= 0, .first = b->nregs };
	const char *s = op, *cut;

	while (s < end && !is_space(*s))
		s++;
	if (begins(op, "bra")) {
		while (s < end && is_space(*s))
			s++;
		x.kind = INS_BRA;
		x.label = label_at(r, s);
		s = end;
	} else if (begins(op, "ret")) {
		x.kind = INS_RET;
	} else if (begins(op, "trap")) {
		x.kind = INS_TRAP;
	} else if (begins(op, "setmaxnreg")) {
		x.kind = INS_LIMIT;
		x.label = atoi(s);
	}
	cut = first_operand(s, end);
	add_registers(r, s, cut);
	if (writes(op))
		x.nout = b->nregs - x.first;
	if (begins(op, "wgmma.mma_async")) /* it accumulates */
		add_registers(r, s, cut);
	add_registers(r, cut, end);
	x.nin = b->nregs - x.first - x.nout;
	if (begins(op, "mov") && x.nout == 1 && x.nin == 1 && !x.guarded &&
	    !memchr(s, '{', (size_t)(end - s)))
		x.kind = INS_COPY;
	x.uniform = may_be_uniform(op, end);
	x.order = x.kind == INS_OTHER || x.kind == INS_COPY ? order_of(op) : ORDER_FIXED;
	if (guard >= 0) {
		add_register(r, guard);
		x.nin++;
	}
	VEC_PUSH(b->a, b->ins, b->n, b->cap, x);
}

/* Parses one statement, without its semicolon. */
static void
read_statement(PtxReader *r, const char *s, const char *end)
{
	int guard = -1;

	while (s < end && (is_space(*s) || *s == '{' || *s == '}'))
		s++;
	if (s < end && *s == '@') {
		s += s[1] == '!' ? 2 : 1;
		guard = register_at(r, &s);
		while (s < end && is_space(*s))
			s++;
	}
	if (s == end)
		return;
	if (begins(s, ".reg"))
		declare(r, s + strlen(".reg"), end);
	else if (*s != '.')
		read_instruction(r, s, end, guard);
}

/* Returns the end of a label, "name:", that starts at s; NULL if there is none. */
static const char *
label_end(const char *s)
{
	const char *e = s;

	while (is_name(*e))
		e++;
	return e > s && e[0] == ':' && e[1] != ':' ? e + 1 : NULL;
}

static void
read_body(PtxReader *r, const char *s)
{
	Body *b = r->b;

	while (s < r->end) {
		const char *e;

		if (is_space(*s) || *s == '{' || *s == '}') {
			s++;
		} else if (s[0] == '/' && s[1] == '/') {
			s += strcspn(s, "\n");
		} else if ((e = label_end(s))) {
			PressureIns x = { .kind = INS_LABEL, .first = b->nregs, .label = label_at(r, s) };

			VEC_PUSH(b->a, b->ins, b->n, b->cap, x);
			s = e;
		} else {
			for (e = s; e < r->end && *e != ';'; e++)
				;
			read_statement(r, s, e);
			s = e + 1;
		}
	}
}

bool
pressure_read(Body *b, const char *ptx, const char *name)
{
	PtxReader r = { .b = b };
	PtxEntry e;
	uint8_t *halves;
	int threads, most;

	if (!ptx_entry_find(b->a, ptx, name, &e))
		return false;
	r.end = e.end;
	threads = ptx_directive(&e, ".reqntid");
	most = threads ? FILE_REGISTERS / threads / GRAIN * GRAIN : LANE_REGISTERS;
	b->warps = (int)ceil_div(threads ? threads : 1, WARP_SIZE);
	b->limit = ptx_directive(&e, ".maxnreg");
	if (!b->limit)
		b->limit = most < LANE_REGISTERS ? most : LANE_REGISTERS;
	read_body(&r, e.body);
	b->halves = halves = NEWN(b->a, uint8_t, b->nreg + 1);
	for (int i = 0; i < r.nclass; i++)
		memset(halves + r.class[i].base, r.class[i].halves, (size_t)r.class[i].n);
	return true;
}
