/* test_mma_accept.c - tests that the simulator accepts the matrix instructions that ptxas accepts: the cross
 * product of all shapes, types and modifiers, for every target. Skipped without ptxas. */
#include <stdarg.h>
#include <unistd.h>
#include "test/sim/ptxas.h"
#include "test/sim/simtest.h"
#include "test/check.h"

static const char *const targets[] = { "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a" };
enum { NTARGET = sizeof targets / sizeof *targets, HEAD_LINES = 7, MAXS = 40000 };

static const char head[] = ".version 9.0\n.target %s\n.address_size 64\n.entry k()\n{\n"
	".reg .b32 %%r<200>; .reg .f32 %%f<130>; .reg .b64 %%q<8>; .reg .f64 %%d<64>; .reg .pred %%p<4>; "
	".reg .b16 %%h<8>;\n.shared .align 128 .b8 sm[1024];\n";

typedef struct List { char **s; int n; } List;

static void
add(List *l, const char *fmt, ...)
{
	char buf[4000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	ck_assert_int_lt(l->n, MAXS);
	l->s[l->n] = malloc(strlen(buf) + 1);
	strcpy(l->s[l->n++], buf);
}

static char *
regs(char *out, char p, int base, int n)
{
	char *s = out;

	s += sprintf(s, "{");
	for (int i = 0; i < n; i++)
		s += sprintf(s, "%s%%%c%d", i ? "," : "", p, base + i);
	strcpy(s, "}");
	return out;
}

/* ---- mma ---- */

typedef struct Ty { const char *name; int bits; char group; } Ty;
static const Ty mul[] = { { "f16", 16, 'h' }, { "bf16", 16, 'b' }, { "tf32", 32, 't' }, { "f64", 64, 'd' },
	{ "s8", 8, 'i' }, { "u8", 8, 'i' }, { "s4", 4, 'n' }, { "u4", 4, 'n' }, { "b1", 1, '1' },
	{ "e4m3", 8, 'f' }, { "e5m2", 8, 'f' } };
static const Ty acc[] = { { "f16", 16, 'h' }, { "f32", 32, 's' }, { "s32", 32, 'i' }, { "f64", 64, 'd' } };
static const int shape[][3] = { { 8, 8, 4 }, { 8, 8, 8 }, { 8, 8, 16 }, { 8, 8, 32 }, { 8, 8, 128 },
	{ 16, 8, 4 }, { 16, 8, 8 }, { 16, 8, 16 }, { 16, 8, 32 }, { 16, 8, 64 }, { 16, 8, 128 },
	{ 16, 8, 256 } };
#define COUNT(v) ((int)(sizeof (v) / sizeof *(v)))

static int
words(int elements, const Ty *t)
{
	int n = elements * t->bits / (t->bits == 64 ? 2048 : 1024);

	return n ? n : 1;
}

static void
mma(List *l, const char *sp, const int *s, const Ty *a, const Ty *b, const Ty *c, const Ty *d, int lay,
    const char *sat, const char *op, int sel)
{
	static const char *const layout[] = { "row.col", "row.row", "col.col", "col.row" };
	int volta = s[2] == 4 && s[0] == 8 && a->group == 'h';
	int na = volta ? 2 : words(s[0] * s[2] / (*sp ? 2 : 1), a), nb = volta ? 2 : words(s[1] * s[2], b);
	int nc = words(s[0] * s[1] * (volta ? 4 : 1), c), nd = words(s[0] * s[1] * (volta ? 4 : 1), d);
	char ra[200], rb[200], rc[200], rd[200], meta[20] = "";

	if (na > 16 || nb > 16)
		return;
	if (*sp)
		sprintf(meta, ", %%r199, %d", sel);
	add(l, "mma%s.sync.aligned.m%dn%dk%d.%s%s.%s.%s.%s.%s%s %s, %s, %s, %s%s;", sp, s[0], s[1], s[2],
	    layout[lay], sat, d->name, a->name, b->name, c->name, op,
	    regs(rd, d->bits == 64 ? 'd' : 'r', 0, nd), regs(ra, a->bits == 64 ? 'd' : 'r', 20, na),
	    regs(rb, b->bits == 64 ? 'd' : 'r', 40, nb), regs(rc, c->bits == 64 ? 'd' : 'r', 10, nc), meta);
}

static void
all_mma(List *l)
{
	static const char *const sp[] = { "", ".sp", ".sp::ordered_metadata" };
	static const char *const ops[] = { "", ".xor.popc", ".and.popc" };

	for (int i = 0; i < COUNT(shape) * COUNT(mul) * COUNT(mul); i++) {
		const int *s = shape[i / COUNT(mul) / COUNT(mul)];
		const Ty *a = &mul[i / COUNT(mul) % COUNT(mul)], *b = &mul[i % COUNT(mul)];
		if (a->group != b->group && i % 7)      /* of what cannot be mixed a sample will do */
			continue;
		for (int j = 0; j < COUNT(acc) * COUNT(acc); j++) {
			const Ty *c = &acc[j / COUNT(acc)], *d = &acc[j % COUNT(acc)];
			for (int k = 0; k < 3; k++) {
				mma(l, sp[k], s, a, b, c, d, 0, "", "", 0);
				if (c == d)
					mma(l, sp[k], s, a, b, c, d, 0, ".satfinite", "", 0);
			}
			for (int k = 1; k < 4; k++)
				if (a == b)
					mma(l, "", s, a, b, c, d, k, "", "", 0);
			for (int k = 1; k < 3; k++)
				if ((a->bits == 1 || a->bits == 8) && c == d)
					mma(l, "", s, a, b, c, d, 0, "", ops[k], 0);
			/* selectors that the ISA has, and one that no shape has: ptxas takes some others */
			for (int k = 1; k < 5; k++)
				if (a == b && c == d &&
				    (k == 4 || s[2] * a->bits == 256 || (k == 1 && s[2] * a->bits == 512)))
					mma(l, sp[1 + k % 2], s, a, b, c, d, 0, "", "", k);
		}
	}
}

/* ---- mma with scales ---- */

/* Kinds, vectors, types; and of the ids of their bytes and threads those around what there is. */
static void
all_scaled(List *l)
{
	static const char *const kinds[] = { "mxf8f6f4", "mxf4", "mxf4nvf4", "f8f6f4" };
	static const char *const sizes[] = { "", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X" };
	static const char *const types[] = { "e4m3.e4m3", "e4m3.e5m2", "e5m2.e4m3", "e5m2.e5m2", "e2m1.e2m1",
		"f16.f16" };
	static const char *const scales[] = { "ue8m0", "ue4m3", "e4m3" }, *const sums[] = { "f32", "f16" };
	static const char fmt[] = "mma.sync.aligned.m16n8k%d.row.col.kind::%s.block_scale%s.%s.%s.%s.%s "
		"%s, {%%r4,%%r5,%%r6,%%r7}, {%%r8,%%r9}, %s, %%r20, {%d, %d}, %%r21, {%d, %d};";

	for (int i = 0; i < 4 * 4 * 6 * 3 * 2 * 2; i++) {
		const char *sum = sums[i / 288 % 2];
		int k = 32 << i / 576, half = *(sum + 1) == '1';
		const char *c = half ? "{%r10,%r11}" : "{%r10,%r11,%r12,%r13}";

		if (i % 4 == 0 && i / 16 % 6 == 4) /* 4 bits in places of 8: not supported */
			continue;
		add(l, fmt, k, kinds[i % 4], sizes[i / 4 % 4], sum, types[i / 16 % 6], sum,
		    scales[i / 96 % 3], half ? "{%r0,%r1}" : "{%r0,%r1,%r2,%r3}", c, 0, 0, 0, 0);
	}
	for (int i = 0; i < 3 * 5 * 5 * 2; i++) {
		static const char *const way[][5] = {
			{ "32", "mxf8f6f4", ".scale_vec::1X", "e4m3.e4m3", "ue8m0" },
			{ "64", "mxf4", ".scale_vec::2X", "e2m1.e2m1", "ue8m0" },
			{ "64", "mxf4nvf4", ".scale_vec::4X", "e2m1.e2m1", "ue4m3" } };
		const char *const *x = way[i % 3];
		int byte = i / 3 % 5, thread = i / 15 % 5, b = i / 75;

		add(l, fmt, atoi(x[0]), x[1], x[2], "f32", x[3], "f32", x[4], "{%r0,%r1,%r2,%r3}",
		    "{%r10,%r11,%r12,%r13}", b ? 0 : byte, b ? 0 : thread, b ? byte : 0, b ? thread : 0);
	}
}

/* ---- wgmma ---- */

static void
wgmma(List *l, int n, int k, const Ty *d, const Ty *a, const Ty *b, const char *sat, const char *op,
      int areg, const char *meta, const char *tail)
{
	char rd[1500], ra[100];

	add(l, "wgmma.mma_async%s.sync.aligned.m64n%dk%d%s.%s.%s.%s%s %s, %s, %%q1%s, %s;",
	    *meta ? ".sp" : "", n, k,
	    sat, d->name, a->name, b->name, op, regs(rd, 'r', 0, n * d->bits / 64),
	    areg ? regs(ra, 'r', 150, 4) : "%q0", meta, tail);
}

static void
all_wgmma(List *l)
{
	static const char *const tails[] = { "%p1", "%p1, 1, 1", "%p1, -1, 1, 0", "%p1, 1, -1, 0, 1",
	        "%p1, 1" };
	static const char *const odd[] = { "%p1, 2, 1, 0, 0", "%p1, 1, 0, 0, 0", "%p1, 1, 1, 2, 0",
	        "!%p1, 1, 1, 0, 0",
		"1, 1, 1, 0, 0", "0, 1, 1, 0, 0", "%r5, 1, 1, 0, 0", "%p1, 1, 1, 0, 0, 0" };
	static const char *const meta[] = { "", ", %r199, 0", ", %r199, 1", ", %r199, 4" };
	static const int ks[] = { 8, 16, 32, 64, 256 };

	for (int i = 0; i < COUNT(mul) * COUNT(mul); i++)
		for (int j = 0; j < 3 * COUNT(ks); j++)
			for (int t = 0; t < COUNT(tails); t++) {
				const Ty *a = &mul[i / COUNT(mul)], *b = &mul[i % COUNT(mul)],
				        *d = &acc[j / COUNT(ks)];
				int k = ks[j % COUNT(ks)];
				const char *op = a->bits == 1 ? ".and.popc" : "";
				if (a->group != b->group && i % 7)
					continue;
				for (int areg = 0; areg < 2; areg++)
					for (int m = 0; m < COUNT(meta); m++)
						wgmma(l, 16, k, d, a, b, "", op, areg, meta[m], tails[t]);
				wgmma(l, 16, k, d, a, b, ".satfinite", op, 0, "", tails[t]);
				if (a->bits == 1)
					wgmma(l, 16, k, d, a, b, "", ".xor.popc", 0, "", tails[t]);
			}
	for (int n = 4; n <= 264; n += 4)
		for (int i = 0; i < COUNT(mul); i++)
			for (int j = 0; j < 3; j++)
				for (int k = 0; k < COUNT(ks); k++) {
					const Ty *e = &mul[i];
					int tail = e->bits == 16 ? 3 : e->group == 't' || e->group == 'f';

					if (e->bits * ks[k] == 256 && n * acc[j].bits / 64 <= 128)
						wgmma(l, n, ks[k], &acc[j], e, e, "",
						      e->bits == 1 ? ".and.popc" : "", 0, "", tails[tail]);
				}
	for (int t = 0; t < COUNT(odd); t++)
		wgmma(l, 64, 16, &acc[1], &mul[0], &mul[0], "", "", 0, "", odd[t]);
	add(l, "wgmma.fence.sync.aligned;");
	add(l, "wgmma.commit_group.sync.aligned;");
	add(l, "wgmma.wait_group.sync.aligned 0;");
	add(l, "wgmma.wait_group.sync.aligned 7;");
	add(l, "wgmma.wait_group.sync.aligned %%r1;");
	for (int n = 16; n < 272; n += 4) {
		add(l, "setmaxnreg.inc.sync.aligned.u32 %d;", n);
		add(l, "setmaxnreg.dec.sync.aligned.u32 %d;", n);
	}
	add(l, "setmaxnreg.dec.sync.aligned.u32 %%r1;");
}

/* ---- wmma, ldmatrix and its kin ---- */

static void
all_wmma(List *l)
{
	static const int sh[][3] = { { 16, 16, 16 }, { 8, 32, 16 }, { 32, 8, 16 }, { 16, 16, 8 }, { 8, 8, 4 },
	        { 8, 8, 32 },
		{ 8, 8, 128 } };
	static const char *const lay[] = { "row", "col" }, *const tails[] = { "", ".satfinite", ".rn" };
	static const char *const ops[] = { "", ".xor.popc", ".and.popc" };
	char ra[200], rb[200], rc[200], rd[200];

	for (int i = 0; i < COUNT(sh); i++)
		for (int j = 0; j < COUNT(mul); j++) {
			const Ty *t = &mul[j];
			int m = sh[i][0], n = sh[i][1], k = sh[i][2];
			int na = t->group == 'h' ? 8 : words(m * k, t),
			    nb = t->group == 'h' ? 8 : words(k * n, t);
			char p = t->bits == 64 ? 'd' : 'r';
			if (t->bits == 64 && k > 4)     /* ptxas takes some that the ISA does not have */
				continue;
			for (int y = 0; y < 2; y++) {
				add(l, "wmma.load.a.sync.aligned.%s.m%dn%dk%d.%s %s, [%%q1], 16;", lay[y], m,
				    n, k, t->name,
				    regs(ra, p, 0, na));
				add(l, "wmma.load.b.sync.aligned.%s.m%dn%dk%d.shared.%s %s, [%%q1];", lay[y],
				    m, n, k, t->name,
				    regs(ra, p, 0, nb));
			}
			/* ptxas takes wmma.mma of shapes that nothing can be loaded for */
			if (t->bits != 16 &&
			    t->bits != 8 ? k * t->bits != (t->bits == 1 ? 128 : t->bits == 4 ? 128 : 256) ||
			                      i < 3
			            : i > 2 || t->group == 'f')
				continue;
			for (int x = 0; x < COUNT(acc) * COUNT(acc) * 4 * 9; x++) {
				const Ty *c = &acc[x % 4], *d = &acc[x / 4 % 4];
				char q = c->bits == 64 ? 'd' : 'r';
				if ((c->bits == 64) != (d->bits == 64))
					continue;
				regs(rd, q, 0, words(m * n, d));
				regs(ra, p, 20, na);
				regs(rb, p, 30, nb);
				regs(rc, q, 10, words(m * n, c));
				if (t->group == 'h')
					add(l, "wmma.mma.sync.aligned.%s.%s.m%dn%dk%d.%s.%s %s, %s, %s, %s;",
					    lay[x / 16 % 2],
					    lay[x / 32 % 2], m, n, k, d->name, c->name, rd, ra, rb, rc);
				else if (t->bits > 1 || x / 64 % 3 == 0)
					add(l, "wmma.mma%s.sync.aligned.%s.%s.m%dn%dk%d.%s.%s.%s.%s%s %s, "
					       "%s, %s, %s;",
					    t->bits == 1 ? ops[x / 192] : "", lay[x / 16 % 2],
					    lay[x / 32 % 2], m, n, k, d->name, t->name,
					    t->name, c->name, t->bits > 1 ? tails[x / 64 % 3] : "", rd, ra,
					    rb, rc);
			}
		}
}

static void
all_ldmatrix(List *l)
{
	static const char *const shp[] = { "m8n8", "m16n16", "m8n16", "m16n8" };
	static const char *const num[] = { "x1", "x2", "x4" }, *const tr[] = { "", ".trans" };
	static const char *const sp[] = { ".shared", ".shared::cta" };
	static const char *const ty[] = { "b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64", "b32" };
	char r[100];

	for (int i = 0; i < 4 * 3 * 2 * 2 * 5; i++) {
		const char *s = shp[i % 4], *n = num[i / 4 % 3], *t = tr[i / 12 % 2], *p = sp[i / 24 % 2],
		        *y = ty[i / 48];
		int nr = atoi(n + 1) * (i % 4 == 1 ? 2 : 1);
		add(l, "ldmatrix.sync.aligned.%s.%s%s%s.%s %s, [%%r100];", s, n, t, p, y,
		    regs(r, 'r', 0, nr));
		if (!strchr(y, 'x'))
			add(l, "stmatrix.sync.aligned.%s.%s%s%s.%s [%%r100], %s;", s, n, t, p, y,
			    regs(r, 'r', 0, atoi(n + 1)));
	}
	add(l, "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%%r0,%%r1,%%r2}, [%%r100];");
	add(l, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r0,%%r1,%%r2}, [%%r100];");
	add(l, "ldmatrix.sync.aligned.m8n8.x4.global.b16 {%%r0,%%r1,%%r2,%%r3}, [%%q1];");
	add(l, "ldmatrix.sync.aligned.m8n8.x1.b16 {%%r0}, [%%q1];");
	add(l, "movmatrix.sync.aligned.m8n8.trans.b16 %%r0, %%r1;");
	add(l, "movmatrix.sync.aligned.m8n8.b16 %%r0, %%r1;");
	add(l, "movmatrix.sync.aligned.m8n8.trans.b32 %%r0, %%r1;");
}

/* ---- the comparison ---- */

static void
ptxas(const char *target, const List *l, unsigned char *bad)
{
	char dir[] = "/tmp/simacceptXXXXXX", file[100], cmd[400], line[5000];
	FILE *f;
	int at, any = 0;

	ck_assert(mkdtemp(dir) != NULL);
	sprintf(file, "%s/t.ptx", dir);
	f = fopen(file, "w");
	ck_assert(f != NULL);
	fprintf(f, head, target);
	for (int i = 0; i < l->n; i++)
		fprintf(f, "%s\n", l->s[i]);
	fprintf(f, "ret;\n}\n");
	fclose(f);
	sprintf(cmd, PTXAS " -arch=%s %s -o /dev/null 2>&1", target, file);
	f = popen(cmd, "r");
	ck_assert(f != NULL);
	memset(bad, 0, (size_t)l->n);
	while (fgets(line, sizeof line, f)) {
		char *p = strstr(line, ", line ");
		if (!p || !strstr(line, "error"))
			continue;
		at = atoi(p + 7) - HEAD_LINES - 1;
		ck_assert_msg(at >= 0 && at < l->n, "%s", line);
		ck_assert_msg(!strstr(line, "syntax error") && !strstr(line, "Parsing"), "%s%s", line,
		              l->s[at]);
		bad[at] = 1;
		any = 1;
	}
	pclose(f);
	ck_assert_msg(any, "ptxas found nothing wrong at all");
	unlink(file);
	rmdir(dir);
}

static int
loads(const char *target, const char *stmt, char *why)
{
	char text[5000];
	sim *s = sim_open();
	sim_module *m = NULL;
	sim_message msg;
	int rc, n = snprintf(text, sizeof text, head, target);

	n += snprintf(text + n, sizeof text - (size_t)n, "%s\nret;\n}\n", stmt);
	rc = sim_load(s, text, (size_t)n, &m);
	*why = 0;
	if (rc != SIM_OK && sim_message_at(s, 0, &msg)) {
		snprintf(why, 300, "%s", msg.text);
		ck_assert_msg(msg.line == HEAD_LINES + 1, "%s in line %u", msg.text, msg.line);
	}
	sim_close(s);
	return rc == SIM_OK;
}

static void (*const families[])(List *) = { all_mma, all_wgmma, all_wmma, all_ldmatrix };

static void
compare(const char *target, void (*family)(List *))
{
	List l = { malloc(MAXS * sizeof(char *)), 0 };
	unsigned char *bad = malloc(MAXS);
	int wrong = 0, taken = 0;
	char why[300];

	family(&l);
	ptxas(target, &l, bad);
	for (int i = 0; i < l.n; i++) {
		int ok = loads(target, l.s[i], why);
		taken += ok;
		if (ok != !bad[i] && wrong++ < 5)
			fprintf(stderr, "%s: %s: ptxas %s it, the simulator: %s\n", target, l.s[i],
			        bad[i] ? "refuses" : "takes", ok ? "takes it" : why);
		free(l.s[i]);
	}
	fprintf(stderr, "%s: %d of %d taken, %d differ\n", target, taken, l.n, wrong);
	ck_assert_int_eq(wrong, 0);
	free(l.s);
	free(bad);
}

TEST_SAMPLED(accept, NTARGET * COUNT(families), 2)
{
	compare(targets[_i % NTARGET], families[_i / NTARGET]);
}

TEST_EACH(scales, 3)
{
	static const char *const some[] = { "sm_90a", "sm_100a", "sm_120a" };

	compare(some[_i], all_scaled);
}

TEST_PROGRAM(.start = need_ptxas, .timeout = 300);
