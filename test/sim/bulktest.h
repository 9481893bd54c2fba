/* bulktest.h - for tests of bulk copies: a device with three buffers and a tensor map, and fragments of
 * kernel text. Fragments are printf formats: % is written twice. */
#ifndef BULKTEST_H
#define BULKTEST_H
#include "test/sim/ptxas.h"
#include "test/sim/simtest.h"

enum { BUFFER = 1 << 17 };

#define BULK_TARGET ".version 8.8\n.target sm_90a\n.address_size 64\n"
/* %d1 out, %d2 in, %d3 the map's generic address, %r1 thread, %r2 threads, %r3 block */
#define BULK_HEAD(smem) BULK_TARGET \
	".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n, " \
	".param .align 64 .b8 tm[128])\n{\n.reg .pred %%p<8>;\n.reg .b16 %%h<8>;\n" \
	".reg .b32 %%r<32>;\n.reg .b64 %%d<32>;\n.reg .f32 %%f<32>;\n" \
	".shared .align 1024 .b8 sm[" #smem "];\n.shared .align 8 .b64 mb;\n.shared .align 8 .b64 mb2;\n" \
	"ld.param.u64 %%d1, [out];\ncvta.to.global.u64 %%d1, %%d1;\nld.param.u64 %%d2, [in];\n" \
	"cvta.to.global.u64 %%d2, %%d2;\nmov.b64 %%d3, tm;\ncvta.param.u64 %%d3, %%d3;\n" \
	"ld.param.u32 %%r31, [n];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%ntid.x;\n" \
	"mov.u32 %%r3, %%ctaid.x;\n"
/* An mbarrier of one arrival; %p1: all but thread 0 */
#define BULK_INIT \
	"setp.ne.u32 %%p1, %%r1, 0;\n@!%%p1 mbarrier.init.shared.b64 [mb], 1;\n" \
	"@!%%p1 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
#define BULK_WAIT(parity) \
	"L" parity ": mbarrier.try_wait.parity.shared.b64 %%p2, [mb], " parity ";\n@!%%p2 bra L" parity ";\n"
/* sm[base, base + bytes) to out, and in[from...] to it; words of 4 bytes */
#define BULK_DUMP(base, bytes) \
	"mov.u32 %%r23, sm;\nadd.u32 %%r23, %%r23, " base ";\nmov.u32 %%r20, %%r1;\n" \
	"D: shl.b32 %%r21, %%r20, 2;\nsetp.ge.u32 %%p3, %%r21, " bytes ";\n@%%p3 bra E;\n" \
	"add.u32 %%r22, %%r21, %%r23;\nld.shared.u32 %%r22, [%%r22];\ncvt.u64.u32 %%d20, %%r21;\n" \
	"add.u64 %%d20, %%d20, %%d1;\nst.global.u32 [%%d20], %%r22;\nadd.u32 %%r20, %%r20, %%r2;\n" \
	"bra D;\nE:\n"
#define BULK_FILL(from, base, bytes) \
	"mov.u32 %%r23, sm;\nadd.u32 %%r23, %%r23, " base ";\nmov.u32 %%r20, %%r1;\n" \
	"F: shl.b32 %%r21, %%r20, 2;\nsetp.ge.u32 %%p3, %%r21, " bytes ";\n@%%p3 bra G;\n" \
	"cvt.u64.u32 %%d20, %%r21;\nadd.u64 %%d20, %%d20, %%d2;\nld.global.u32 %%r22, [%%d20+" from "];\n" \
	"add.u32 %%r21, %%r21, %%r23;\nst.shared.u32 [%%r21], %%r22;\nadd.u32 %%r20, %%r20, %%r2;\n" \
	"bra F;\nG:\n"

/* %% to %, in place */
static inline void
unescape(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (s[0] != '%' || s[1] != '%')
			*to++ = *s;
	*to = 0;
}

/* Does ptxas take the text? */
static inline bool
ptxas(const char *text)
{
	return ptxas_takes("sm_90a", text, false);
}

typedef struct Dev {
	sim *s;
	uint64_t out, in;
	uint32_t n;
	sim_tmap map;
	sim_launch l;
	sim_stats st;
} Dev;

static inline Dev
dev_open(void)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	Dev v;

	memset(&v, 0, sizeof v);
	v.s = sim_open();
	v.out = sim_alloc(v.s, BUFFER, "out");
	v.in = sim_alloc(v.s, BUFFER, "in");
	v.l = none;
	v.l.block[0] = 64;
	v.l.threads = 1;
	return v;
}

/* Run entry k of the text; prints the faults if the result is another one. */
static inline sim_result *
dev_result(Dev *v, const char *text, int want)
{
	const void *args[] = { &v->out, &v->in, &v->n, &v->map };
	sim_module *m = must_load(v->s, text);
	sim_result *r;
	int rc;

	v->l.args = args;
	rc = sim_run(v->s, m, "k", &v->l, &r);
	if (rc != want) {
		fprintf(stderr, "%s\n%s\n", text, sim_result_text(r));
		print_faults(r);
	}
	ck_assert_int_eq(rc, want);
	v->st = *sim_stats_of(r);
	return r;
}

static inline void
dev_run(Dev *v, const char *text, int want)
{
	sim_result_free(dev_result(v, text, want));
}

static inline void
dev_close(Dev *v)
{
	sim_close(v->s);
}
#endif
