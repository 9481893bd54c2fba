/* util_op.c - runs operators on the simulator. */
#include "test/ops/util_op.h"
#include "test/check.h"
#include "lib/sim/sim.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS = 16, PLANS = 120, OPS = 32, SHAPES = 400, LINES = 16 };

int
op_start(int argc, char **argv)
{
	const char *b = getenv("B");
	char path[500];

	(void)argc;
	(void)argv;
	snprintf(path, sizeof path, "%s/libhexc_sim.so.%d", b ? b : "build", HEXC_VERSION_MAJOR);
	if (dlopen(path, RTLD_NOW | RTLD_GLOBAL))
		return RUN_TESTS;
	printf("%s\n", dlerror());
	return 1;
}

static const Buf *
find(const Case *c, const char *name)
{
	for (int i = 0; i < c->nbuf; i++)
		if (strcmp(c->buf[i].name, name) == 0)
			return &c->buf[i];
	return NULL;
}

/* A size by its name, or from the shape of a tensor that has it as a dim. */
static int64_t
size_of(const Case *c, const hexc_family *f, const char *name)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;

	for (int i = 0; i < c->nnum; i++)
		if (strcmp(c->num[i].name, name) == 0)
			return (int64_t)c->num[i].f;
	for (size_t i = 0; hexc_family_param(f, i, &p); i++) {
		const Buf *b = p.kind == HEXC_POINTER ? find(c, p.name) : NULL;

		for (uint32_t d = 0; b && d < p.rank; d++)
			if (strcmp(p.dim[d], name) == 0)
				return b->dim[d];
		p.size = sizeof p;
	}
	ck_abort_msg("no value for %s", name);
	return 0;
}

/* What the pack of the family's first kernel makes of it; NULL: it is taken as it is. */
static void *
pack_of(const hexc_family *f, const Buf *b, uint64_t *bytes)
{
	const hexc_module *m;
	const char *pack;
	char why[300] = "";
	size_t k;
	void *to;
	int at;

	ck_assert_int_eq(hexc_family_stage(f, 0, 0, NULL, &m, &k), HEXC_OK);
	at = hexc_param_find(m, k, b->name);
	pack = at < 0 ? NULL : hexc_module_pack(m, k, (size_t)at);
	if (!pack)
		return NULL;
	ck_assert_msg(hexc_pack_bytes(pack, (uint32_t)b->rank, b->dim, bytes, why, sizeof why) == HEXC_OK,
	              "%s: %s", b->name, why);
	to = calloc(1, *bytes + 1);
	ck_assert_ptr_nonnull(to);
	ck_assert_msg(hexc_pack(pack, (uint32_t)b->rank, b->dim, b->mem, to, NULL, why, sizeof why) ==
	                      HEXC_OK,
	              "%s: %s", b->name, why);
	return to;
}

/* With `odd` one element behind where memory begins, as a slice of a tensor is; of tensors that are packed,
 * or whose elements share bytes, there is none. */
static void
give_tensor(hexc_gpu *g, hexc_family_call *call, const hexc_family *f, int i, const Buf *b, bool odd,
            void **dev)
{
	uint64_t bytes = b->bytes, off = 0;
	void *as = pack_of(f, b, &bytes);

	if (odd && !as && b->type->bits % 8 == 0)
		off = b->type->bits / 8;
	ck_assert_int_eq(hexc_gpu_alloc(g, bytes + off, dev), HEXC_OK);
	*dev = (unsigned char *)*dev + off;
	if (as || !b->out || b->before)
		ck_assert_int_eq(hexc_gpu_write(g, *dev, as ? as : b->before ? b->before : b->mem, bytes),
		                 HEXC_OK);
	free(as);
	ck_assert_msg(hexc_family_call_ptr(call, i, *dev, bytes) == HEXC_OK, "%s",
	              hexc_family_call_why(call));
}

static void
compare(hexc_gpu *g, const char *what, const Buf *b, const void *dev)
{
	ck_assert_int_eq(hexc_gpu_read(g, b->mem, dev, b->bytes), HEXC_OK);
	for (int64_t i = 0; i < b->n; i++) {
		double is = hexc_get(b->type, b->mem, (uint64_t)i);

		if (b->allow[i] < 0 || fabs(is - b->v[i]) <= b->allow[i] ||
		    (isinf(is) && isinf(b->v[i]) && signbit(is) == signbit(b->v[i])))
			continue;
		ck_abort_msg("%s: %s[%lld] is %.9g, not %.9g within %.3g", what, b->name, (long long)i, is,
		             b->v[i], b->allow[i]);
	}
}

void
op_every_size(hexc_family_call *call)
{
	static const char *const name[] = { "M", "T", "B" }; /* rows, tokens, pictures */
	size_t line;
	int at = -1;

	for (size_t i = 0; i < sizeof name / sizeof name[0] && at < 0; i++)
		at = hexc_family_call_find(call, name[i]);
	for (int64_t m = 1; at >= 0 && m <= 300; m++) {
		ck_assert_int_eq(hexc_family_call_int(call, at, m), HEXC_OK);
		ck_assert_msg(hexc_family_call_line(call, &line, NULL) == HEXC_OK, "%d: %s", (int)m,
		              hexc_family_call_why(call));
	}
}

/* The line that was taken. */
static size_t
launch(Case *c, hexc_gpu *g, const hexc_family *f, const char *what, bool odd)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	void *dev[HEXC_MAX_PARAMS] = { NULL }, *space = NULL;
	hexc_family_call *call;
	uint64_t bytes;
	size_t line;

	ck_assert_msg(hexc_family_call_new(&call, g, f) == HEXC_OK, "%s: %s", what, hexc_gpu_why(g));
	for (int i = 0; hexc_family_param(f, (size_t)i, &p); i++, p.size = sizeof p) {
		if (p.kind == HEXC_POINTER) {
			const Buf *b = find(c, p.name);

			ck_assert_msg(b && strcmp(b->type->name, p.dtype) == 0 && (uint32_t)b->rank == p.rank,
			              "%s: %s is %s of rank %u", what, p.name, p.dtype, p.rank);
			give_tensor(g, call, f, i, b, odd, &dev[i]);
		} else if (p.kind == HEXC_SIZE) {
			ck_assert_int_eq(hexc_family_call_int(call, i, size_of(c, f, p.name)), HEXC_OK);
		} else {
			int n = 0;

			while (n < c->nnum && strcmp(c->num[n].name, p.name) != 0)
				n++;
			ck_assert_msg(n < c->nnum, "%s: no value for %s", what, p.name);
			ck_assert_int_eq(hexc_family_call_int(call, i, (int64_t)c->num[n].f) &&
			                         hexc_family_call_float(call, i, c->num[n].f),
			                 0); /* one of them takes its type */
		}
	}
	ck_assert_msg(hexc_family_call_line(call, &line, &bytes) == HEXC_OK, "%s: %s", what,
	              hexc_family_call_why(call));
	if (bytes) {
		ck_assert_int_eq(hexc_gpu_alloc(g, bytes, &space), HEXC_OK);
		ck_assert_int_eq(hexc_family_call_workspace(call, space, bytes), HEXC_OK);
	}
	ck_assert_msg(hexc_family_call_launch(call, NULL) == HEXC_OK && hexc_gpu_wait(g) == HEXC_OK,
	              "%s: %s %s", what, hexc_family_call_why(call), hexc_gpu_why(g));
	p.size = sizeof p;
	for (int i = 0; hexc_family_param(f, (size_t)i, &p); i++, p.size = sizeof p)
		if (p.kind == HEXC_POINTER && find(c, p.name)->out)
			compare(g, what, find(c, p.name), dev[i]);
	if (!odd && !strstr(what, " BM=")) /* else lines are left out */
		op_every_size(call);
	hexc_family_call_free(call);
	return line;
}

/* ---- plans, kept as long as the test runs ---------------------------------------------------------- */

static struct {
	char key[600];
	hexc_op *op;
	hexc_gpu *gpu;
} kept[PLANS];

static int
plan(const char *arch, const char *name, const char *const *set)
{
	hexc_op_set s[SETTINGS];
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	char key[600], why[600];
	size_t n = 0;
	int at = 0;
	char *copy;

	snprintf(key, sizeof key, "%s %s", arch, name);
	for (; set[n]; n++)
		snprintf(key + strlen(key), sizeof key - strlen(key), " %s", set[n]);
	for (; at < PLANS && kept[at].op; at++)
		if (strcmp(kept[at].key, key) == 0)
			return at;
	ck_assert_int_lt(at, PLANS);
	ck_assert_uint_le(n, SETTINGS);
	for (size_t i = 0; i < n; i++) {
		copy = strdup(set[i]);
		s[i] = (hexc_op_set){ copy, strchr(copy, '=') + 1 };
		*strchr(copy, '=') = 0;
	}
	o.arch = arch;
	o.flags = HEXC_PROVE;
	ck_assert_msg(hexc_op_plan(&kept[at].op, name, s, n, &o, why, sizeof why) == HEXC_OK, "%s: %s", key,
	              why);
	for (size_t i = 0; i < n; i++)
		free((char *)(uintptr_t)s[i].name);
	ck_assert_msg(hexc_gpu_open(&kept[at].gpu, HEXC_SIMULATOR(atoi(arch + 3)), why, sizeof why) ==
	                      HEXC_OK,
	              "%s", why);
	strcpy(kept[at].key, key);
	return at;
}

/* ---- what has run ---------------------------------------------------------------------------------- */

static struct {
	char name[40];
	uint64_t shape[SHAPES]; /* of its tensors and the sizes that none of them has, each once: digests */
	int nshape;
	uint32_t taken[LINES + 1]; /* bit l: line l of its tables of so many lines */
	uint32_t odd; /* bit n: that of n lines ran with tensors one element behind where memory begins */
} ran[OPS];

/* FNV-1a over the eight bytes of n. */
static uint64_t
digest(uint64_t h, int64_t n)
{
	for (int i = 0; i < 8; i++)
		h = (h ^ ((uint64_t)n >> 8 * i & 0xff)) * 0x100000001b3;
	return h;
}

void
op_ran(const hexc_family *f, size_t line, const int64_t *size, size_t nsize)
{
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;
	uint64_t h = 0xcbf29ce484222325;
	int at = 0, i = 0;

	ck_assert(hexc_family_describe(f, &info) && info.nline <= LINES && line < info.nline);
	while (ran[at].name[0] && strcmp(ran[at].name, info.name) != 0)
		ck_assert_int_lt(++at, OPS);
	snprintf(ran[at].name, sizeof ran[at].name, "%s", info.name);
	for (size_t d = 0; d < nsize; d++)
		h = digest(h, size[d]);
	while (i < ran[at].nshape && ran[at].shape[i] != h)
		i++;
	ck_assert_int_lt(i, SHAPES);
	ran[at].shape[i] = h;
	ran[at].nshape += i == ran[at].nshape;
	ran[at].taken[info.nline] |= UINT32_C(1) << line;
}

static void
case_ran(const Case *c, const hexc_family *f, size_t line)
{
	int64_t size[BUF_MAX * 6 + NUM_MAX];
	size_t n = 0;

	for (int i = 0; i < c->nbuf; i++)
		for (int d = 0; d < c->buf[i].rank; d++)
			size[n++] = c->buf[i].dim[d];
	for (int i = 0; i < c->nnum; i++)
		size[n++] = (int64_t)c->num[i].f;
	op_ran(f, line, size, n);
}

int
op_passed(void)
{
	int code = EXIT_SUCCESS;

	for (int at = 0; at < OPS && ran[at].name[0]; at++) {
		printf("%s: %d shapes\n", ran[at].name, ran[at].nshape);
		if (ran[at].nshape < 20)
			code = EXIT_FAILURE, printf("%s: 20 are wanted\n", ran[at].name);
		for (int lines = 1; lines <= LINES; lines++)
			for (int l = 0; ran[at].taken[lines] && l < lines; l++)
				if (!(ran[at].taken[lines] >> l & 1))
					code = EXIT_FAILURE,
					printf("%s: line %d of %d never ran\n", ran[at].name, l, lines);
	}
	return code;
}

/* Has this table of the operator been run at odd addresses?  From now on it has. */
static bool
was_odd(const hexc_family *f)
{
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;
	bool was;
	int at = 0;

	ck_assert(hexc_family_describe(f, &info) && info.nline <= LINES);
	while (strcmp(ran[at].name, info.name) != 0)
		at++;
	was = ran[at].odd >> info.nline & 1;
	ran[at].odd |= UINT32_C(1) << info.nline;
	return was;
}

/* Does the table end with a line for any address, or did the host's settings leave it out? */
static bool
takes_odd(const hexc_family *f)
{
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;
	hexc_define d;
	const hexc_module *m;
	size_t k;

	hexc_family_describe(f, &info);
	ck_assert_int_eq(hexc_family_stage(f, info.nline - 1, 0, NULL, &m, &k), HEXC_OK);
	for (size_t i = 0; hexc_const(m, k, i, &d); i++)
		if (strcmp(d.name, "ALIGN") == 0)
			return d.value == 1;
	return false;
}

size_t
op_run(Case *c, const char *arch, const char *name, const char *const *set)
{
	int at = plan(arch, name, set);
	const hexc_family *f = hexc_op_family(kept[at].op);
	size_t line = launch(c, kept[at].gpu, f, kept[at].key, false);

	case_ran(c, f, line);
	if (takes_odd(f) && !was_odd(f))
		case_ran(c, f, launch(c, kept[at].gpu, f, kept[at].key, true));
	return line;
}
