/* fuzz.c - fuzzes the simulator for run-fuzz.sh, built with sanitizers: mutated PTX is rejected with a line
 * number, or it runs and ends.
 *
 *	fuzz SEED COUNT FILE...     COUNT mutations of the texts and of kernels made from isa.txt
 *	fuzz SEED -INDEX FILE...    print mutation INDEX, for inspection
 *
 * A mutation depends only on the seed, its index and the files. */
#include <signal.h>
#include <stdint.h>
#include <unistd.h>
#include "test/sim/decode/isatable.h"
#include "test/sim/random.h"
#include "lib/sim/sim.h"

enum { ROOM = 1 << 15, LARGEST = 24000, PATIENCE = 20 };
void __sanitizer_set_death_callback(void (*)(void));

static List corpus, words;
static size_t nfile;            /* texts from files, the first of the corpus */
static unsigned seed;
static long at;
static char text[ROOM];

/* ---- random numbers ---- */
static uint64_t state;
static uint32_t
rnd(void)
{
	return (uint32_t)(xorshift(&state) >> 16);
}

static size_t
below(size_t n)
{
	return n ? rnd() % n : 0;
}

/* ---- the corpus ---- */

static char *
read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *s = calloc(1, 1 << 21);
	size_t n = f && s ? fread(s, 1, (1 << 21) - 1, f) : 0;

	if (f)
		fclose(f);
	s[n] = 0;
	return s;
}

/* Whole if it is small; else one text for each entry, with all that comes before the first. */
static void
add_text(const char *s)
{
	const char *mark = ".visible .entry", *first = strstr(s, mark), *next;
	char *part;

	if (strlen(s) < LARGEST || !first) {
		if (strlen(s) < LARGEST)
			push(&corpus, s);
		return;
	}
	for (const char *e = first; e; e = next) {
		size_t n;
		next = strstr(e + 1, mark);
		n = next ? (size_t)(next - e) : strlen(e);
		if ((size_t)(first - s) + n >= LARGEST)
			continue;
		part = calloc(1, (size_t)(first - s) + n + 1);
		memcpy(part, s, (size_t)(first - s));
		memcpy(part + (first - s), e, n);
		push(&corpus, part);
		free(part);
	}
}

static bool
loads(const char *s)
{
	sim *dev = sim_open();
	sim_module *m;
	bool ok = sim_load(dev, s, strlen(s), &m) == SIM_OK;

	sim_close(dev);
	return ok;
}

/* Kernels of two dozen instructions from everywhere in the table that load alone. */
static void
add_table(void)
{
	static const char prologue[] = "mov.u64 %d1, G;\nmov.u64 %d2, 3;\nmov.b64 %d3, %d1;\n"
	                               "mov.b32 %r1, %tid.x;\n"
		"mov.b32 %r2, 64;\nmov.b32 %r3, 0;\nmov.b32 %r4, -1;\nmov.b16 %h1, 5;\nmov.b16 %h2, 0x3c00;\n"
		"mov.b128 %q1, {%d1, %d2};\nsetp.eq.u32 %p1, %r1, 3;\nsetp.ne.u32 %p2, %r1, 3;\n"
		"mov.pred %p3, %p1;\n"
		"st.shared.v4.u32 [S], {%r1, %r2, %r3, %r4};\n";
	List ins = { 0 }, good = { 0 };
	char buf[ROOM];
	size_t head = (size_t)sprintf(buf, ".version 8.8\n.target sm_90a\n%s", isa_head), n;

	read_table(&ins);
	state = 12345;
	for (size_t i = 0; i < ins.n; i += 1 + below(25)) {
		sprintf(buf + head, "%s;\nret;\n}\n", ins.v[i]);
		if (loads(buf))
			push(&good, ins.v[i]);
		else if (i % 16 == 0)
			push(&words, ins.v[i]);
	}
	for (int k = 0; k < 200 && good.n; k++) {
		n = head + (size_t)sprintf(buf + head, "%s", prologue);
		for (int i = 0; i < 24; i++)
			n += (size_t)sprintf(buf + n, "%s;\n", good.v[below(good.n)]);
		strcpy(buf + n, "ret;\n}\n");
		push(&corpus, buf);
	}
	for (size_t i = 0; i < good.n; i++)
		push(&words, good.v[i]);
	drop(&good);
	drop(&ins);
	drop(&names);
	drop(&values);
}

/* ---- mutations ---- */

static void
splice(size_t from, size_t cut, const char *with, size_t n)
{
	size_t len = strlen(text);

	if (from > len)
		from = len;
	if (cut > len - from)
		cut = len - from;
	if (len - cut + n >= ROOM)
		return;
	memmove(text + from + n, text + from + cut, len - from - cut + 1);
	memcpy(text + from, with, n);
}

static void
bytes(void)
{
	char c[4];
	size_t n = 1 + below(3), where = below(strlen(text));

	for (size_t i = 0; i < n; i++)
		c[i] = (char)(rnd() % 4 ? 32 + rnd() % 95 : 1 + rnd() % 255);
	splice(where, rnd() % 3 ? n : below(20), c, rnd() % 4 ? n : 0);
}

static bool
word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '%' ||
	       c == '$';
}

/* The word that starts at or after `from`. */
static size_t
find_word(const char *s, size_t from, size_t *n)
{
	while (s[from] && !word_char(s[from]))
		from++;
	for (*n = 0; word_char(s[from + *n]); ++*n)
		;
	return from;
}

static void
token(void)
{
	size_t n, m, a = find_word(text, below(strlen(text)), &n), b;
	const char *from = rnd() % 3 ? text : corpus.v[below(corpus.n)];
	char w[200];

	b = find_word(from, below(strlen(from)), &m);
	m = m < sizeof w ? m : sizeof w - 1;
	memcpy(w, from + b, m);
	splice(a, rnd() % 5 ? n : 0, w, m);
}

static size_t
line_start(const char *s, size_t from)
{
	while (from && s[from - 1] != '\n')
		from--;
	return from;
}

static size_t
line_length(const char *s, size_t from)
{
	return strcspn(s + from, "\n") + (s[from + strcspn(s + from, "\n")] == '\n');
}

/* A line goes, comes twice, moves, or comes from another text. */
static void
line(void)
{
	const char *other = rnd() % 2 ? text : corpus.v[below(corpus.n)];
	size_t a = line_start(text, below(strlen(text))), b = line_start(other, below(strlen(other)));
	size_t n = line_length(other, b);
	char w[2000];

	n = n < sizeof w ? n : sizeof w - 1;
	memcpy(w, other + b, n);
	if (words.n && rnd() % 4 == 0)
		n = (size_t)snprintf(w, sizeof w, "%s;\n", words.v[below(words.n)]);
	splice(a, rnd() % 3 == 0 ? line_length(text, a) : 0, w, rnd() % 4 ? n : 0);
}

/* Several lines of another text in the place of several of this. */
static void
join(void)
{
	const char *other = corpus.v[below(corpus.n)];
	size_t a = line_start(text, below(strlen(text))), b = line_start(other, below(strlen(other))), n = 0,
	       cut = 0;
	size_t k = 1 + below(12), j = below(12);

	while (k-- && other[b + n])
		n += line_length(other, b + n);
	while (j-- && text[a + cut])
		cut += line_length(text, a + cut);
	splice(a, cut, other + b, n);
}

static void
number(void)
{
	static const char *const odd[] = { "0", "1", "-1", "2", "3", "31", "32", "33", "63", "64", "127",
	        "128", "255",
		"256", "4096", "65535", "65536", "2147483647", "2147483648", "-2147483648", "4294967295",
		        "4294967296",
		"9223372036854775807", "18446744073709551615", "0x7fffffffffffffff", "1000000", "0f7fc00000",
		"0d7ff8000000000000", "1e400", "268435456", "1048576" };
	size_t len = strlen(text), from = below(len), n = 0;

	while (from < len && !(text[from] >= '0' && text[from] <= '9'))
		from++;
	while (text[from + n] >= '0' && text[from + n] <= '9')
		n++;
	if (n) {
		const char *w = odd[below(sizeof odd / sizeof *odd)];
		splice(from, n, w, strlen(w));
	}
}

static void
mutate(long index)
{
	static void (*const how[])(void) = { bytes, token, token, line, line, join, number, number };
	size_t n;

	state = 88172645463325252ull ^ (uint64_t)seed * 0x9e3779b97f4a7c15ull ^
	        (uint64_t)index * 0xd1342543de82ef95ull;
	for (int i = 0; i < 4; i++)
		rnd();
	strcpy(text, corpus.v[rnd() % 3 ? below(corpus.n) : below(nfile)]);
	for (n = rnd() % 3 ? 1 : 1 + below(3); n; n--)
		how[below(sizeof how / sizeof *how)]();
}

/* ---- judging ---- */

static void
dying(void)
{
	fprintf(stderr, "fuzz: seed %u, mutation %ld; to see it: fuzz %u -%ld FILES\n", seed, at, seed, at);
}

static void
hanging(int sig)
{
	(void)sig;
	fputs("fuzz: no end in sight\n", stderr);
	dying();
	abort();
}

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	dying();
	exit(1);
}

typedef struct Tally { long refused, ok, fault, limit, invalid; } Tally;

static void
launch(sim *s, sim_module *m, const sim_entry_info *e, Tally *t)
{
	static uint64_t slots[4096];
	uint64_t buf = sim_alloc(s, 4096, "buffer");
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r = NULL;
	sim_fault f;
	int code;

	for (size_t i = 0; i < 4096; i++)
		slots[i] = i % 3 == 2 ? 16 : buf;
	sim_fill(s, buf, 1, 2048);
	l.params = slots;
	l.param_bytes = e->param_bytes;
	l.grid[0] = 1 + rnd() % 2;
	l.block[0] = rnd() % 3 ? 32 : 1 + rnd() % 70;
	for (int i = 0; i < 3; i++) {
		if (e->reqntid[0])
			l.block[i] = e->reqntid[i];
		if (e->cluster[0]) {
			l.cluster[i] = e->cluster[i];
			l.grid[i] = e->cluster[i] ? e->cluster[i] : 1;
		}
	}
	if ((uint64_t)l.grid[0] * l.grid[1] * l.grid[2] > 64)
		return;
	l.threads = 1;
	l.smem = rnd() % 2 ? 1024 : 0;
	l.max_steps = 3000;
	l.max_faults = 4;
	l.checks = rnd() % 4 != 0;
	l.counts = rnd() % 4 == 0;
	code = sim_run(s, m, e->name, &l, &r);
	t->ok += code == SIM_OK;
	t->fault += code == SIM_E_FAULT;
	t->limit += code == SIM_E_LIMIT;
	t->invalid += code == SIM_E_INVALID;
	must(code <= 0 && code >= SIM_E_NOMEM, "a result that the header does not have");
	must(code != SIM_E_FAULT || sim_fault_at(r, 0, &f) || *sim_result_text(r), "a fault without a text");
	must(code != SIM_E_INVALID || *sim_result_text(r), "a refusal without a text");
	sim_result_free(r);
}

static void
try(Tally *t)
{
	sim *s = sim_open();
	sim_module *m = NULL;
	sim_message msg;
	sim_entry_info e;
	int code = sim_load(s, text, strlen(text), &m);

	if (code != SIM_OK) {
		t->refused++;
		must(code == SIM_E_SOURCE || code == SIM_E_NOMEM, "a code that sim_load does not have");
		must(code == SIM_E_NOMEM || sim_message_at(s, 0, &msg), "refused without a message");
		for (size_t i = 0; sim_message_at(s, i, &msg); i++)
			must(msg.line > 0 && *msg.text, "a message without a line");
	} else {
		for (size_t i = 0; i < 3 && sim_entry_at(m, i, &e); i++)
			launch(s, m, &e, t);
	}
	sim_close(s);
}

int
main(int argc, char **argv)
{
	Tally t = { 0 };
	long count;

	if (argc < 3)
		return 2;
	seed = (unsigned)atoi(argv[1]);
	count = atol(argv[2]);
	__sanitizer_set_death_callback(dying);
	signal(SIGALRM, hanging);
	for (int i = 3; i < argc; i++) {
		char *s = read_file(argv[i]);
		add_text(s);
		free(s);
	}
	nfile = corpus.n;
	add_table();
	if (count <= 0) {
		mutate(-count);
		fputs(text, stdout);
		return 0;
	}
	for (at = 0; at < count; at++) {
		mutate(at);
		alarm(PATIENCE);
		try(&t);
		alarm(0);
	}
	printf("%ld mutations of %zu texts: %ld refused, %ld ran well, %ld with faults, %ld to their limit, "
	       "%ld not "
	       "launched\n", count, corpus.n, t.refused, t.ok, t.fault, t.limit, t.invalid);
	drop(&corpus);
	drop(&words);
	return 0;
}
