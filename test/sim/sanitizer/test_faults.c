/* test_faults.c - tests every fault class: kernels with one planted fault, which must be reported at its
 * line, thread, block and address, and for each a correct twin, for which nothing may be reported.
 *
 * The kernels are in faults/NAME.ptx; faults/README.md describes their form. test_faults --dump DIR writes
 * all texts as DIR/TARGET-NAME-LINE-{bad,good}.ptx, for ptxas. */
#include <dirent.h>
#include <stdbool.h>
#include "test/sim/simtest.h"
#include "test/check.h"

enum { MAX_FILES = 40, MAX_CASES = 400, BUFFER = 4096 };

typedef struct Mark {           /* what is said of one place; text fields are "" if nothing is */
	unsigned line;
	char thread[12], block[12], times[12], bytes[12], addr[40];
	char says[100]; /* what the message contains */
} Mark;

typedef struct File { char name[60], target[12]; char *text; } File;

typedef struct Case {
	const File *file;
	char title[100];
	int kind;
	unsigned first, last;           /* lines in the file */
	unsigned threads, blocks, cluster, smem, more;
	Mark fault, other;
} Case;

static File files[MAX_FILES];
static Case cases[MAX_CASES];
static int nfiles, ncases;

/* ---- reading ---- */

static void
fail_at(const File *f, unsigned line, const char *what)
{
	fprintf(stderr, "%s:%u: %s\n", f->name, line, what);
	exit(1);
}

static int
kind_of(const char *s, size_t n)
{
	for (int k = 0; k < SIM_NFAULTS; k++) {
		const char *name = sim_fault_name((sim_fault_kind)k);
		if (strlen(name) == n && !memcmp(name, s, n))
			return k;
	}
	return -1;
}

/* key=value, into buf if the key is `key`. */
static bool
value(const char *word, size_t n, const char *key, char *buf, size_t size)
{
	size_t k = strlen(key);

	if (n <= k || memcmp(word, key, k) || word[k] != '=' || n - k > size)
		return false;
	memcpy(buf, word + k + 1, n - k - 1);
	buf[n - k - 1] = 0;
	return true;
}

static bool
number(const char *word, size_t n, const char *key, unsigned *out)
{
	char buf[12];

	if (!value(word, n, key, buf, sizeof buf))
		return false;
	*out = (unsigned)strtoul(buf, NULL, 0);
	return true;
}

static const char *
next_word(const char *p, const char *end, size_t *n)
{
	while (p < end && *p == ' ')
		p++;
	for (*n = 0; p + *n < end && p[*n] != ' '; ++*n)
		;
	return p;
}

/* "//case KIND key=value...: title" */
static void
case_line(const File *f, unsigned line, const char *p, const char *end)
{
	const char *colon = memchr(p, ':', (size_t)(end - p));
	Case *c = &cases[ncases];
	size_t n;

	if (!colon || ncases == MAX_CASES)
		fail_at(f, line, "expected //case KIND key=value...: title");
	p = next_word(p, colon, &n);
	c->file = f;
	c->kind = kind_of(p, n);
	if (c->kind < 0)
		fail_at(f, line, "no such kind of fault");
	c->threads = 32;
	c->blocks = 1;
	c->first = c->last = line;
	for (p = next_word(p + n, colon, &n); n; p = next_word(p + n, colon, &n))
		if (!number(p, n, "threads", &c->threads) && !number(p, n, "blocks", &c->blocks) &&
		    !number(p, n, "cluster", &c->cluster) && !number(p, n, "smem", &c->smem) &&
		    !number(p, n, "more", &c->more))
			fail_at(f, line, "unknown key");
	snprintf(c->title, sizeof c->title, "%.*s", (int)(end - colon - 2), colon + 2);
	ncases++;
}

/* The comment of a line, "" if it has none: marks are in it. */
static const char *
comment(const char *p, const char *end)
{
	for (; p + 1 < end; p++)
		if (p[0] == '/' && p[1] == '/')
			return p + 2;
	return end;
}

static bool
has_word(const char *p, const char *end, const char *word)
{
	size_t n;

	for (p = next_word(p, end, &n); n; p = next_word(p + n, end, &n))
		if (n == strlen(word) && !memcmp(p, word, n))
			return true;
	return false;
}

static void
marks(const File *f, Case *c, unsigned line, const char *p, const char *end)
{
	Mark *m = NULL;
	size_t n;

	for (p = next_word(p, end, &n); n; p = next_word(p + n, end, &n)) {
		if ((n == 5 && !memcmp(p, "fault", 5)) || (n == 5 && !memcmp(p, "other", 5))) {
			m = *p == 'f' ? &c->fault : &c->other;
			if (m->line)
				fail_at(f, line, "a second mark of this kind");
			m->line = line;
		} else if (m && n == 4 && !memcmp(p, "says", 4)) {
			snprintf(m->says, sizeof m->says, "%.*s", (int)(end - p - 5), p + 5);
			return;
		} else if (m && !value(p, n, "thread", m->thread, sizeof m->thread) &&
		           !value(p, n, "block", m->block, sizeof m->block) &&
		           !value(p, n, "times", m->times, sizeof m->times) &&
		           !value(p, n, "bytes", m->bytes, sizeof m->bytes) &&
		           !value(p, n, "addr", m->addr, sizeof m->addr)) {
			fail_at(f, line, "unknown word in a mark");
		}
	}
}

static void
read_file(const char *dir, const char *name)
{
	File *f = &files[nfiles++];
	char path[400];
	unsigned line = 1;

	snprintf(path, sizeof path, "%.300s/%.59s", dir, name);
	snprintf(f->name, sizeof f->name, "%.59s", name);
	f->text = read_text(path);
	if (!f->text || sscanf(f->text, "//target %11s", f->target) != 1)
		fail_at(f, 1, "expected //target sm_XX");
	for (const char *p = f->text, *end; *p; p = end + 1, line++) {
		end = strchr(p, '\n');
		if (!end)
			fail_at(f, line, "the last line has no end");
		if (!strncmp(p, "//case ", 7)) {
			case_line(f, line, p + 7, end);
		} else if (ncases && cases[ncases - 1].file == f) {
			if (!strncmp(p, "//module ", 9))
				p += 9;
			cases[ncases - 1].last = line;
			marks(f, &cases[ncases - 1], line, comment(p, end), end);
		}
	}
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
read_all(void)
{
	static char name[MAX_FILES][60];
	char dir[500];
	char *slash;
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(dir, sizeof dir, "%.400s", __FILE__);
	slash = strrchr(dir, '/');
	snprintf(slash ? slash + 1 : dir, 20, "faults");
	d = opendir(dir);
	while (d && (e = readdir(d)) != NULL && n < MAX_FILES) {
		size_t len = strlen(e->d_name);
		if (len > 4 && len < 60 && !strcmp(e->d_name + len - 4, ".ptx"))
			memcpy(name[n++], e->d_name, len + 1);
	}
	if (!n) {
		fprintf(stderr, "no kernels in %s\n", dir);
		exit(1);
	}
	closedir(d);
	qsort(name, (size_t)n, sizeof *name, by_name);
	for (int i = 0; i < n; i++)
		read_file(dir, name[i]);
}

/* ---- texts: line N of the text is line N of the file ---- */

static void
put(char **at, const char *s, size_t n)
{
	memcpy(*at, s, n);
	*at += n;
	**at = 0;
}

/* The entry and what all kernels have in front, on one line. */
static void
prelude(char **at, const Case *c)
{
	static const char regs[] =
		".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .f32 %f<130>; "
		".reg .b32 %n, %t, %b, %s, %sa, %m; .reg .b64 %out, %in, %oa, %ia, %tm, %t4; "
		".shared .align 1024 .b8 sm[4096]; "
		"ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; "
		"ld.param.u64 %in, [in]; cvta.to.global.u64 %in, %in; ld.param.u32 %n, [n]; "
		"mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, sm; mul.wide.u32 %t4, %t, 4; "
		"add.s64 %oa, %out, %t4; add.s64 %ia, %in, %t4; mad.lo.u32 %sa, %t, 4, %s; ";
	static const char more[] =
		"mov.b64 %tm, tm; cvta.param.u64 %tm, %tm; .shared .align 8 .b64 mb[4]; mov.u32 %m, mb; ";
	static const char entry[] = ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n";
	static const char map[] = ", .param .align 64 .b8 tm[128]";
	bool hopper = !strncmp(c->file->target, "sm_9", 4);

	put(at, entry, sizeof entry - 1);
	if (hopper)
		put(at, map, sizeof map - 1);
	put(at, ") { ", 4);
	put(at, regs, sizeof regs - 1);
	if (hopper)
		put(at, more, sizeof more - 1);
}

/* The PTX of a case without the lines of `drop` ("bad" or "good").  Its directives are in the line of
 * "//case"; lines "//module TEXT" after it are outside of the entry, which starts in the next. */
static char *
text_of(const Case *c, const char *drop)
{
	char *text = calloc(1, strlen(c->file->text) + 4000), *at = text;
	const char *p = c->file->text, *end;
	bool open = false;
	unsigned line = 1;

	for (; *p && line <= c->last; p = end + 1, line++) {
		bool module = !strncmp(p, "//module ", 9);
		end = strchr(p, '\n');
		if (line == c->first)
			at += sprintf(at, ".version 8.6 .target %s .address_size 64 ", c->file->target);
		if (line > c->first && !module && !open) {
			prelude(&at, c);
			open = true;
		}
		if (module)
			p += 9;
		if (line > c->first && !has_word(comment(p, end), end, drop))
			put(&at, p, (size_t)(end - p));
		put(&at, "\n", 1);
	}
	put(&at, "ret; }\n", 7);
	return text;
}

/* ---- running ---- */

typedef struct Ran { int rc; sim_result *r; uint64_t out, in, c; } Ran;

/* The tensor map of sm_90: 32 x 32 u32 over the whole of `in`, boxes of 8 x 8. */
static void
tensor_map(sim_tmap *map, uint64_t in)
{
	sim_tmap_desc d = SIM_TMAP_INIT;

	d.type = SIM_TMAP_U32;
	d.rank = 2;
	d.address = in;
	d.dim[0] = d.dim[1] = 32;
	d.stride[0] = 128;
	d.box[0] = d.box[1] = 8;
	ck_assert_int_eq(sim_tmap_encode(map, &d, NULL, 0), SIM_OK);
}

static Ran
run(const Case *c, const char *drop, unsigned threads, int checks)
{
	sim *s = sim_open();
	char *text = text_of(c, drop);
	sim_module *m = must_load(s, text);
	Ran ran = { 0, NULL, sim_alloc(s, BUFFER, "out"), sim_alloc(s, BUFFER, "in"), 0 };
	size_t bytes;
	sim_tmap map;
	unsigned n = 99;
	const void *args[] = { &ran.out, &ran.in, &n, &map };
	sim_launch l = SIM_LAUNCH_INIT;

	sim_symbol(m, "c", &ran.c, &bytes);
	sim_fill(s, ran.in, 0, BUFFER);
	tensor_map(&map, ran.in);
	l.args = args;
	l.block[0] = c->threads;
	l.grid[0] = c->blocks;
	l.dependent = c->kind == SIM_FAULT_DEPENDENT;
	l.cluster[0] = c->cluster;
	l.smem = c->smem;
	l.threads = threads;
	l.checks = checks;
	ran.rc = sim_run(s, m, "k", &l, &ran.r);
	sim_close(s);
	free(text);
	return ran;
}

/* "out+12" and so on: where it is.  sm is at the start of shared memory. */
static uint64_t
address(const Ran *r, const char *s, sim_space *space)
{
	size_t n = strcspn(s, "+-");
	uint64_t base = 0;

	*space = SIM_SPACE_GLOBAL;
	if (n == 3 && !memcmp(s, "out", 3))
		base = r->out;
	else if (n == 2 && !memcmp(s, "in", 2))
		base = r->in;
	else if (n == 1 && *s == 'c')
		base = r->c;
	else if (n == 2 && !memcmp(s, "sm", 2))
		*space = SIM_SPACE_SHARED;
	else if (n == 5 && !memcmp(s, "local", 5))
		*space = SIM_SPACE_LOCAL;
	else if (n == 5 && !memcmp(s, "param", 5))
		*space = SIM_SPACE_PARAM;
	else if (strcmp(s, "0"))
		return ~0ull;           /* a place that has a name only */
	else
		n = 0;
	return base + (uint64_t)strtoll(s + n, NULL, 0);
}

static bool
same_place(const Mark *m, const sim_place *p)
{
	return p->line == m->line && (!m->thread[0] || strtoul(m->thread, NULL, 0) == p->thread[0]) &&
	       (!m->block[0] || strtoul(m->block, NULL, 0) == p->block[0]);
}

static bool
as_marked(const Case *c, const Ran *r, const sim_fault *f)
{
	const Mark *m = &c->fault;
	sim_space space;
	uint64_t at;

	if ((int)f->kind != c->kind || !same_place(m, &f->at))
		return false;
	if (c->other.line && !same_place(&c->other, &f->other))
		return false;
	if (m->says[0] && !strstr(f->text, m->says))
		return false;
	if (m->times[0] && f->times != strtoull(m->times, NULL, 0))
		return false;
	if (m->bytes[0] && f->bytes != strtoul(m->bytes, NULL, 0))
		return false;
	at = m->addr[0] ? address(r, m->addr, &space) : ~0ull;
	return at == ~0ull || (f->addr == at && f->space == space);
}

static void
show(const Case *c, const Ran *r)
{
	sim_fault f;

	fprintf(stderr, "%s:%u: %s: %s\n", c->file->name, c->first, c->title, sim_result_text(r->r));
	for (size_t i = 0; sim_fault_at(r->r, i, &f); i++)
		fprintf(stderr,
		        "  line %u thread %u block %u: %s, space %d addr out%+lld in%+lld or %lld, %u bytes, "
		        "%llu times, other line %u thread %u block %u\n    %s\n", f.at.line, f.at.thread[0],
		        f.at.block[0], sim_fault_name(f.kind), (int)f.space, (long long)(f.addr - r->out),
		        (long long)(f.addr - r->in), (long long)f.addr, f.bytes, (unsigned long long)f.times,
		        f.other.line, f.other.thread[0], f.other.block[0], f.text);
}

/* One fault, where it is marked; with more=1 others may follow from it. */
TEST_EACH(planted, ncases)
{
	const Case *c = &cases[_i];
	Ran r = run(c, "good", 1, 1);
	bool good = false;
	sim_fault f;
	int n = 0;

	for (size_t i = 0; sim_fault_at(r.r, i, &f); i++) {
		good |= as_marked(c, &r, &f);
		n += !f.warning;
	}
	good &= r.rc == SIM_E_FAULT && (n == 1 || c->more);
	if (!good)
		show(c, &r);
	ck_assert_msg(good, "%s:%u: %s: not what is marked", c->file->name, c->first, c->title);
	sim_result_free(r.r);
}

TEST_EACH(clean, ncases)
{
	const Case *c = &cases[_i];
	Ran r = run(c, "bad", 2, 1);

	if (r.rc != SIM_OK)
		show(c, &r);
	ck_assert_msg(r.rc == SIM_OK, "%s:%u: %s: the clean twin is not", c->file->name, c->first, c->title);
	sim_result_free(r.r);
}

/* ---- faults do not depend on how the launch was run ---- */

static bool
equal_place(const sim_place *a, const sim_place *b)
{
	return !memcmp(a, b, sizeof *a);
}

static bool
equal(const sim_fault *a, const sim_fault *b)
{
	return a->kind == b->kind && equal_place(&a->at, &b->at) && equal_place(&a->other, &b->other) &&
	       a->space == b->space &&
	       a->addr == b->addr && a->bytes == b->bytes && a->times == b->times &&
	       !strcmp(a->text, b->text);
}

static void
compare(const Case *c, const Ran *a, const Ran *b)
{
	sim_fault x, y;
	size_t i;
	bool same = a->rc == b->rc;

	for (i = 0; same && sim_fault_at(a->r, i, &x); i++)
		same = sim_fault_at(b->r, i, &y) && equal(&x, &y);
	same = same && !sim_fault_at(b->r, i, &y);
	if (!same) {
		show(c, a);
		show(c, b);
	}
	ck_assert_msg(same, "%s:%u: %s: another run says something else", c->file->name, c->first, c->title);
	sim_result_free(b->r);
}

/* Blocks that race with each other and run on several host threads: either may come second, and order
 * between blocks is by launch time, so what is seen depends on who was when. */
TEST_EACH(repeatable, ncases)
{
	const Case *c = &cases[_i];
	Ran a = run(c, "good", 1, 1), b = run(c, "good", 1, 1);
	bool cross = c->kind == SIM_FAULT_RACE_GLOBAL && c->blocks > 1;

	compare(c, &a, &b);
	for (unsigned threads = 2; threads < 4 && !cross; threads++) {
		b = run(c, "good", threads, 1);
		compare(c, &a, &b);
	}
	sim_result_free(a.r);
	a = run(c, "good", 1, 0);       /* without checks: it ends in some way */
	sim_result_free(a.r);
}

/* ---- what there has to be ---- */

/* Kinds whose place is a whole instruction and no address. */
static bool
has_address(int kind)
{
	switch (kind) {
	case SIM_FAULT_UNINIT_REG: case SIM_FAULT_UNINIT_GLOBAL: case SIM_FAULT_UNINIT_SHARED:
	case SIM_FAULT_UNINIT_LOCAL: case SIM_FAULT_DIVERGENT_BARRIER: case SIM_FAULT_ALIGNED:
	case SIM_FAULT_DEADLOCK: case SIM_FAULT_BARRIER: case SIM_FAULT_TRAP: case SIM_FAULT_CALL:
	case SIM_FAULT_WGMMA: case SIM_FAULT_SETMAXNREG: case SIM_FAULT_CLUSTER: case SIM_FAULT_COPY:
	case SIM_FAULT_METADATA: case SIM_FAULT_ASSERT:
		return false;
	default:
		return true;
	}
}

TEST(enough)
{
	int n[SIM_NFAULTS] = { 0 }, bad = 0;

	for (int i = 0; i < ncases; i++) {
		const Case *c = &cases[i];
		char *x = text_of(c, "good"), *y = text_of(c, "bad");
		n[c->kind]++;
		ck_assert_msg(c->fault.line && c->fault.thread[0], "%s:%u: no //fault thread=", c->file->name,
		              c->first);
		ck_assert_msg(c->fault.addr[0] || !has_address(c->kind), "%s:%u: no addr=", c->file->name,
		              c->first);
		ck_assert_msg(strcmp(x, y) != 0, "%s:%u: the twins are the same", c->file->name, c->first);
		free(x);
		free(y);
	}
	for (int k = 0; k < SIM_NFAULTS; k++)
		if (n[k] < 3) {
			fprintf(stderr, "%d kernels for %s\n", n[k], sim_fault_name((sim_fault_kind)k));
			bad = 1;
		}
	for (int i = 0; i < nfiles; i++) {
		int in_file = 0;
		for (int k = 0; k < ncases; k++)
			in_file += cases[k].file == &files[i];
		ck_assert_msg(in_file >= 3, "%s has less than 3 kernels", files[i].name);
	}
	ck_assert_msg(!bad, "every kind needs three");
}

static int
dump(const char *dir)
{
	for (int i = 0; i < 2 * ncases; i++) {
		const Case *c = &cases[i / 2];
		char *text = text_of(c, i % 2 ? "bad" : "good"), path[600];
		FILE *f;
		snprintf(path, sizeof path, "%.300s/%s-%.*s-%u-%s.ptx", dir, c->file->target,
		         (int)strlen(c->file->name) - 4, c->file->name, c->first, i % 2 ? "good" : "bad");
		f = fopen(path, "w");
		if (!f)
			return 1;
		fputs(text, f);
		fclose(f);
		free(text);
	}
	return 0;
}

static int
start(int argc, char **argv)
{
	read_all();
	return argc == 3 && !strcmp(argv[1], "--dump") ? dump(argv[2]) : RUN_TESTS;
}

TEST_PROGRAM(.start = start);
