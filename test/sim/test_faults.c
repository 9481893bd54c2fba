/* test_faults.c - every fault class: a kernel with one planted fault, which must be found at its
 * line, and a clean twin, of which nothing may be said. */
#include "simtest.h"

#define K(body) HEADER \
	".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n" \
	"\t.reg .pred %p<8>;\n\t.reg .b16 %h<8>;\n\t.reg .b32 %r<32>;\n\t.reg .b64 %d<32>;\n" \
	"\t.reg .f32 %f<32>;\n\t.shared .align 16 .b8 sm[4096];\n" \
	"\tld.param.u64 %d1, [out];\n\tcvta.to.global.u64 %d1, %d1;\n" \
	"\tld.param.u64 %d2, [in];\n\tcvta.to.global.u64 %d2, %d2;\n" \
	"\tld.param.u32 %r31, [n];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r30, %ctaid.x;\n" \
	"\tmul.wide.u32 %d3, %r1, 4;\n\tadd.s64 %d4, %d1, %d3;\n\tadd.s64 %d5, %d2, %d3;\n" \
	"\tshl.b32 %r2, %r1, 2;\n\tmov.u32 %r3, sm;\n\tadd.s32 %r4, %r3, %r2;\n" \
	body "\tret;\n}\n"

typedef struct Case {
	const char *name;
	sim_fault_kind kind;
	const char *bad, *good;         /* the faulty line ends in //here, the earlier in //first */
	unsigned threads, blocks;
} Case;

static const Case cases[] = {
	{ "global load past the end", SIM_FAULT_BOUNDS,
	  K("ld.global.u32 %r5, [%d5+4096]; //here\nst.global.u32 [%d4], %r5;\n"),
	  K("ld.global.u32 %r5, [%d5+3840];\nst.global.u32 [%d4], %r5;\n"), 64, 1 },
	{ "global store before the start", SIM_FAULT_BOUNDS,
	  K("st.global.u32 [%d4+-4], %r1; //here\n"), K("st.global.u32 [%d4], %r1;\n"), 32, 1 },
	{ "shared store past the end", SIM_FAULT_BOUNDS,
	  K("st.shared.u32 [%r4+4092], %r1; //here\n"), K("st.shared.u32 [%r4], %r1;\n"), 32, 1 },
	{ "vector load past the end", SIM_FAULT_BOUNDS,
	  K("ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%d2+4096]; //here\nst.global.u32 [%d4], %r5;\n"),
	  K("ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%d2+4080];\nst.global.u32 [%d4], %r5;\n"), 32, 1 },
	{ "parameter past the end", SIM_FAULT_BOUNDS,
	  K("ld.param.u32 %r5, [n+16]; //here\n"), K("ld.param.u32 %r5, [n];\n"), 32, 1 },
	{ "null pointer", SIM_FAULT_BOUNDS,
	  K("mov.u64 %d9, 0;\nld.u32 %r5, [%d9]; //here\n"), K("ld.u32 %r5, [%d5];\n"), 1, 1 },
	{ "misaligned global load", SIM_FAULT_ALIGN,
	  K("ld.global.u32 %r5, [%d5+2]; //here\n"), K("ld.global.u16 %r5, [%d5+2];\n"), 32, 1 },
	{ "misaligned shared vector", SIM_FAULT_ALIGN,
	  K("st.shared.v2.u32 [%r4], {%r1,%r1}; //here\n"),
	  K("shl.b32 %r9, %r1, 3;\nadd.s32 %r9, %r3, %r9;\nst.shared.v2.u32 [%r9], {%r1,%r1};\n"), 32, 1 },
	{ "store to constant memory", SIM_FAULT_READONLY,
	  HEADER ".const .u32 c = 5;\n.entry k(.param .u64 out, .param .u64 in, .param .u32 n) {\n"
	  ".reg .b64 %d<4>; .reg .b32 %r<4>;\nmov.u64 %d1, c;\nmov.u32 %r1, 3;\n"
	  "st.u32 [%d1], %r1; //here\nret; }\n",
	  HEADER ".global .u32 c = 5;\n.entry k(.param .u64 out, .param .u64 in, .param .u32 n) {\n"
	  ".reg .b64 %d<4>; .reg .b32 %r<4>;\nmov.u64 %d1, c;\nmov.u32 %r1, 3;\n"
	  "st.u32 [%d1], %r1;\nret; }\n", 1, 1 },
	{ "uninitialised register stored", SIM_FAULT_UNINIT_REG,
	  K("add.s32 %r6, %r5, 1; //here\nst.global.u32 [%d4], %r6; //first\n"),
	  K("mov.u32 %r5, 0;\nadd.s32 %r6, %r5, 1;\nst.global.u32 [%d4], %r6;\n"), 32, 1 },
	{ "uninitialised register as predicate", SIM_FAULT_UNINIT_REG,
	  K("setp.eq.u32 %p1, %r5, 1; //here\n@%p1 st.global.u32 [%d4], %r1; //first\n"),
	  K("setp.eq.u32 %p1, %r5, 1;\nselp.b32 %r6, %r5, %r1, %p1;\n"), 32, 1 },
	{ "defined in one arm only", SIM_FAULT_UNINIT_REG,
	  K("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nmov.u32 %r5, 1;\nA:\n"
	    "st.global.u32 [%d4], %r5; //here\n"),
	  K("setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r5, 2;\n@%p1 bra A;\nmov.u32 %r5, 1;\nA:\n"
	    "st.global.u32 [%d4], %r5;\n"), 32, 1 },
	{ "half of a packed register", SIM_FAULT_UNINIT_REG,
	  K("mov.u16 %h1, 7;\nmov.b32 %r5, {%h1, %h2}; //here\nst.global.u32 [%d4], %r5; //first\n"),
	  K("mov.u16 %h1, 7;\nmov.b32 %r5, {%h1, %h2};\nmov.b32 {%h3, %h4}, %r5;\n"
	    "st.global.u16 [%d4], %h3;\n"), 32, 1 },
	{ "uninitialised shared memory", SIM_FAULT_UNINIT_SHARED,
	  K("ld.shared.u32 %r5, [%r4]; //here\nst.global.u32 [%d4], %r5; //first\n"),
	  K("st.shared.u32 [%r4], %r1;\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%d4], %r5;\n"), 32, 1 },
	{ "uninitialised global memory", SIM_FAULT_UNINIT_GLOBAL,
	  K("ld.global.u32 %r5, [%d4]; //here\nadd.s32 %r5, %r5, 1;\nst.global.u32 [%d4], %r5; //first\n"),
	  K("ld.global.u32 %r5, [%d5];\nadd.s32 %r5, %r5, 1;\nst.global.u32 [%d4], %r5;\n"), 32, 1 },
	{ "uninitialised local memory", SIM_FAULT_UNINIT_LOCAL,
	  K(".local .align 8 .b8 loc[16];\nmov.u64 %d9, loc;\nld.local.u32 %r5, [%d9]; //here\n"
	    "st.global.u32 [%d4], %r5; //first\n"),
	  K(".local .align 8 .b8 loc[16];\nmov.u64 %d9, loc;\nst.local.u32 [%d9], %r1;\n"
	    "ld.local.u32 %r5, [%d9];\nst.global.u32 [%d4], %r5;\n"), 32, 1 },
	{ "bit fields of a word",
	  SIM_FAULT_UNINIT_LOCAL,
	  K(".local .align 8 .b8 loc[16];\nld.local.u32 %r5, [loc];\nand.b32 %r5, %r5, -65536;\n"
	    "st.local.u32 [loc], %r5;\nld.local.u32 %r6, [loc]; //here\nst.global.u32 [%d4], %r6; //first\n"),
	  K(".local .align 8 .b8 loc[16];\nld.local.u32 %r5, [loc];\nand.b32 %r5, %r5, -65536;\n"
	    "or.b32 %r5, %r5, %r1;\nst.local.u32 [loc], %r5;\nld.local.u32 %r6, [loc];\n"
	    "bfi.b32 %r6, %r1, %r6, 16, 16;\nst.global.u32 [%d4], %r6;\n"), 32, 1 },
	{ "half of a copied word", SIM_FAULT_UNINIT_LOCAL,
	  K(".local .align 8 .b8 loc[16];\nst.local.u32 [loc+4], %r1;\nld.local.u64 %d9, [loc];\n"
	    "st.local.u64 [loc+8], %d9;\nld.local.u32 %r5, [loc+8]; //here\nst.global.u32 [%d4], %r5; //first\n"),
	  K(".local .align 8 .b8 loc[16];\nst.local.u32 [loc+4], %r1;\nld.local.u64 %d9, [loc];\n"
	    "st.local.u64 [loc+8], %d9;\nld.local.u32 %r5, [loc+12];\nst.global.u32 [%d4], %r5;\n"), 32, 1 },
	{ "shared memory of the system", SIM_FAULT_BOUNDS,
	  K("mov.u32 %r5, %reserved_smem_offset_end;\nld.shared.u32 %r6, [%r5]; //here\n"),
	  K("mov.u32 %r5, %reserved_smem_offset_begin;\nmov.u32 %r6, %reserved_smem_offset_end;\n"
	    "add.s32 %r6, %r6, -4;\nld.shared.u32 %r7, [%r5];\nld.shared.u32 %r8, [%r6];\n"
	    "add.s32 %r7, %r7, %r8;\nst.global.u32 [%d4], %r7;\n") "\t.section\t.debug_loc\n\t{\n.b64 1\n.b8 2,3\n\t}\n",
	  32, 1 },
	{ "read of a shared word another warp wrote", SIM_FAULT_RACE_SHARED,
	  K("st.shared.u32 [%r4], %r1; //first\nxor.b32 %r5, %r1, 32;\nshl.b32 %r5, %r5, 2;\n"
	    "add.s32 %r5, %r3, %r5;\nld.shared.u32 %r6, [%r5]; //here\n"),
	  K("st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r1, 32;\nshl.b32 %r5, %r5, 2;\n"
	    "add.s32 %r5, %r3, %r5;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\nst.global.u32 [%d4], %r6;\n"),
	  64, 1 },
	{ "write after read", SIM_FAULT_RACE_SHARED,
	  K("st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r1, 32;\nshl.b32 %r5, %r5, 2;\n"
	    "add.s32 %r5, %r3, %r5;\nbar.sync 0;\nld.shared.u32 %r6, [%r5]; //first\n"
	    "add.s32 %r6, %r6, 1;\nst.shared.u32 [%r4], %r6; //here\n"),
	  K("st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r1, 32;\nshl.b32 %r5, %r5, 2;\n"
	    "add.s32 %r5, %r3, %r5;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\n"
	    "add.s32 %r6, %r6, 1;\nbar.sync 0;\nst.shared.u32 [%r4], %r6;\n"), 64, 1 },
	{ "exchange inside a warp", SIM_FAULT_RACE_SHARED,
	  K("st.shared.u32 [%r4], %r1; //first\nxor.b32 %r5, %r2, 4;\nadd.s32 %r5, %r3, %r5;\n"
	    "ld.shared.u32 %r6, [%r5]; //here\nst.global.u32 [%d4], %r6;\n"),
	  K("st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r2, 4;\nadd.s32 %r5, %r3, %r5;\n"
	    "bar.warp.sync 0xffffffff;\nld.shared.u32 %r6, [%r5];\nst.global.u32 [%d4], %r6;\n"),
	  32, 1 },
	{ "different values to one word", SIM_FAULT_RACE_SHARED,
	  K("st.shared.u32 [%r3], %r1; //here\n"), K("st.shared.u32 [%r3], 7;\n"), 32, 1 },
	{ "named barrier between other warps", SIM_FAULT_RACE_SHARED,
	  /* warp 0 writes, warp 1 reads; warps 0 and 2 meet, or 0 and 1 */
	  K("setp.lt.u32 %p1, %r1, 32;\nsetp.ge.u32 %p2, %r1, 64;\nand.b32 %r5, %r2, 127;\n"
	    "add.s32 %r5, %r5, %r3;\n@%p1 st.shared.u32 [%r5], %r1; //first\n"
	    "@%p1 bra M;\n@%p2 bra M;\nbra N;\nM: bar.sync 1, 64;\nN:\n@%p1 bra E;\n@%p2 bra E;\n"
	    "ld.shared.u32 %r6, [%r5]; //here\nst.global.u32 [%d4], %r6;\nE:\n"),
	  K("setp.lt.u32 %p1, %r1, 32;\nsetp.ge.u32 %p2, %r1, 64;\nand.b32 %r5, %r2, 127;\n"
	    "add.s32 %r5, %r5, %r3;\n@%p1 st.shared.u32 [%r5], %r1;\n"
	    "@%p1 bar.arrive 1, 64;\n@%p1 bra E;\n@%p2 bra E;\nbar.sync 1, 64;\n"
	    "ld.shared.u32 %r6, [%r5];\nst.global.u32 [%d4], %r6;\nE:\n"), 96, 1 },
	{ "global word of another thread", SIM_FAULT_RACE_GLOBAL,
	  K("st.global.u32 [%d4], %r1; //first\nxor.b32 %r5, %r1, 32;\nmul.wide.u32 %d6, %r5, 4;\n"
	    "add.s64 %d6, %d1, %d6;\nld.global.u32 %r6, [%d6]; //here\n"),
	  K("st.global.u32 [%d4], %r1;\nxor.b32 %r5, %r1, 32;\nmul.wide.u32 %d6, %r5, 4;\n"
	    "add.s64 %d6, %d1, %d6;\nbar.sync 0;\nld.global.u32 %r6, [%d6];\n"), 64, 1 },
	{ "two blocks write one word", SIM_FAULT_RACE_GLOBAL,
	  K("st.global.u32 [%d4], %r30; //here\n"),
	  K("red.global.add.u32 [%d5], %r30;\n"), 32, 2 },
	{ "another block's data without a fence", SIM_FAULT_RACE_GLOBAL,
	  /* block 0 writes and counts; block 1 reads if it counts second */
	  K("setp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\nst.global.u32 [%d1+256], 7; \n"
	    "@%p1 ret;\natom.global.add.u32 %r5, [%d2], 1;\nst.global.u32 [%d1+260], %r30; //here\n"),
	  K("setp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\nsetp.ne.u32 %p2, %r30, 0;\n"
	    "@!%p2 st.global.u32 [%d1+260], %r30;\nmembar.gl;\natom.global.add.u32 %r5, [%d2], 1;\n"
	    "membar.gl;\n@%p2 ld.global.u32 %r6, [%d1+260];\n"), 32, 2 },
	{ "cp.async read before its wait", SIM_FAULT_ASYNC_READ,
	  K("cp.async.ca.shared.global [%r4], [%d5], 4; //first\ncp.async.commit_group;\n"
	    "ld.shared.u32 %r5, [%r4]; //here\ncp.async.wait_group 0;\n"),
	  K("cp.async.ca.shared.global [%r4], [%d5], 4;\ncp.async.commit_group;\n"
	    "cp.async.wait_group 0;\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%d4], %r5;\n"), 32, 1 },
	{ "wait leaves one group too many", SIM_FAULT_ASYNC_READ,
	  K("cp.async.ca.shared.global [%r4], [%d5], 4;\ncp.async.commit_group;\n"
	    "cp.async.ca.shared.global [%r4+1024], [%d5], 4; //first\ncp.async.commit_group;\n"
	    "cp.async.wait_group 1;\nld.shared.u32 %r5, [%r4];\nld.shared.u32 %r5, [%r4+1024]; //here\n"),
	  K("cp.async.ca.shared.global [%r4], [%d5], 4;\ncp.async.commit_group;\n"
	    "cp.async.ca.shared.global [%r4+1024], [%d5], 4;\ncp.async.commit_group;\n"
	    "cp.async.wait_group 1;\nld.shared.u32 %r5, [%r4];\ncp.async.wait_all;\n"
	    "ld.shared.u32 %r5, [%r4+1024];\n"), 32, 1 },
	{ "cp.async of another thread, waited but no barrier", SIM_FAULT_RACE_SHARED,
	  K("cp.async.ca.shared.global [%r4], [%d5], 4; //first\ncp.async.commit_group;\n"
	    "cp.async.wait_group 0;\nxor.b32 %r5, %r2, 128;\nadd.s32 %r5, %r5, %r3;\n"
	    "ld.shared.u32 %r6, [%r5]; //here\n"),
	  K("cp.async.ca.shared.global [%r4], [%d5], 4;\ncp.async.commit_group;\n"
	    "cp.async.wait_group 0;\nxor.b32 %r5, %r2, 128;\nadd.s32 %r5, %r5, %r3;\nbar.sync 0;\n"
	    "ld.shared.u32 %r6, [%r5];\n"), 64, 1 },
	{ "write into a copy under way", SIM_FAULT_ASYNC_WRITE,
	  K("cp.async.ca.shared.global [%r4], [%d5], 4; //first\nst.shared.u32 [%r4], %r1; //here\n"
	    "cp.async.wait_all;\n"),
	  K("cp.async.ca.shared.global [%r4], [%d5], 4;\ncp.async.wait_all;\n"
	    "st.shared.u32 [%r4], %r1;\n"), 32, 1 },
	{ "barrier in one arm", SIM_FAULT_DIVERGENT_BARRIER,
	  K("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nbar.sync 0; //here\nA:\nst.global.u32 [%d4], %r1;\n"),
	  K("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nA: bar.sync 0;\nst.global.u32 [%d4], %r1;\n"),
	  64, 1 },
	{ "barrier under a guard", SIM_FAULT_DIVERGENT_BARRIER,
	  K("setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.sync 0; //here\n"),
	  K("setp.lt.u32 %p1, %r1, 64;\n@%p1 bar.sync 0;\n"), 64, 1 },
	{ "barrier after some lanes left", SIM_FAULT_DEADLOCK,
	  /* exited threads count as arrived; a count that needs them does not come true */
	  K("setp.lt.u32 %p1, %r1, 32;\n@%p1 ret;\nbar.sync 0, 64; //here\n"),
	  K("setp.lt.u32 %p1, %r1, 32;\n@%p1 ret;\nbar.sync 0;\n"), 64, 1 },
	{ "one warp waits at another barrier", SIM_FAULT_DEADLOCK,
	  K("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 1;\nbra B;\nA: bar.sync 0; //here\nB:\n"),
	  K("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 0;\nbra B;\nA: bar.sync 0;\nB:\n"), 64, 1 },
	{ "wrong barrier number", SIM_FAULT_BARRIER,
	  K("bar.sync %r31; //here\n"), K("bar.sync 15;\n"), 32, 1 },
	{ "shfl without the lanes it names", SIM_FAULT_ALIGNED,
	  K("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nshfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff; //here\n"
	    "A:\nst.global.u32 [%d4], %r1;\n"),
	  K("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nshfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffff0000;\nA:\n"
	    "st.global.u32 [%d4], %r1;\n"),
	  32, 1 },
	{ "lane outside its mask", SIM_FAULT_ALIGNED,
	  K("vote.sync.ballot.b32 %r5, 1, 0x0000ffff; //here\n"),
	  K("setp.ge.u32 %p1, %r1, 16;\n@%p1 ret;\nvote.sync.ballot.b32 %r5, 1, 0x0000ffff;\n"), 32, 1 },
	{ "mma by half a warp", SIM_FAULT_ALIGNED,
	  K("mov.u32 %r5, 0;\nmov.b32 %f1, 0f00000000;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\n"
	    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r5,%r5}, {%r5}, "
	    "{%f1,%f1,%f1,%f1}; //here\nA:\n"),
	  K("mov.u32 %r5, 0;\nmov.b32 %f1, 0f00000000;\nsetp.lt.u32 %p1, %r1, 32;\n@!%p1 bra A;\n"
	    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r5,%r5}, {%r5}, "
	    "{%f1,%f1,%f1,%f1};\nA:\nst.global.f32 [%d4], %f4;\n"), 32, 1 },
	{ "ldmatrix by a short warp", SIM_FAULT_ALIGNED,
	  K("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r3]; //here\n"),
	  K("ld.shared.u32 %r5, [%r3];\n"), 16, 1 },
	{ "trap", SIM_FAULT_TRAP, K("setp.eq.u32 %p1, %r1, 3;\n@%p1 trap; //here\n"),
	  K("setp.eq.u32 %p1, %r1, 300;\n@%p1 trap;\n"), 32, 1 },
};

static int
run_case(const char *text, const Case *c, unsigned threads, sim_result **r)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	uint64_t out = sim_alloc(s, 4096, "out"), in = sim_alloc(s, 4096, "in");
	unsigned n = 99;
	const void *args[] = { &out, &in, &n };
	sim_launch l = SIM_LAUNCH_INIT;
	int rc;

	sim_fill(s, in, 0, 4096);
	l.args = args;
	l.block[0] = c->threads;
	l.grid[0] = c->blocks;
	l.threads = threads;
	rc = sim_run(s, m, "k", &l, r);
	sim_close(s);
	return rc;
}

START_TEST(planted)
{
	const Case *c = &cases[_i];
	sim_result *r;
	sim_fault f;
	unsigned line = line_of(c->bad, "//here");
	int rc = run_case(c->bad, c, 1, &r), found = 0;

	ck_assert_msg(rc == SIM_E_FAULT, "%s: not found (%d)", c->name, rc);
	for (size_t i = 0; sim_fault_at(r, i, &f); i++) {
		if (f.kind != c->kind || f.at.line != line)
			continue;
		found = 1;
		if (strstr(c->bad, "//first"))
			ck_assert_uint_eq(f.other.line, line_of(c->bad, "//first"));
	}
	if (!found)
		print_faults(r);
	ck_assert_msg(found, "%s: no %s in line %u", c->name, sim_fault_name(c->kind), line);
	ck_assert_msg(!sim_fault_at(r, 1, &f), "%s: more than one fault", c->name);
	sim_result_free(r);
}
END_TEST

START_TEST(clean)
{
	const Case *c = &cases[_i];
	sim_result *r;
	int rc = run_case(c->good, c, 2, &r);

	if (rc != SIM_OK) {
		fprintf(stderr, "%s: %s\n", c->name, sim_result_text(r));
		print_faults(r);
	}
	ck_assert_int_eq(rc, SIM_OK);
	sim_result_free(r);
}
END_TEST

/* The report says who: block, thread, address and buffer. */
START_TEST(report)
{
	const Case *c = &cases[0];
	sim_result *r;
	sim_fault f;

	run_case(c->bad, c, 1, &r);
	ck_assert(sim_fault_at(r, 0, &f));
	ck_assert_uint_eq(f.at.thread[0], 0);
	ck_assert_uint_eq(f.times, 64);
	ck_assert_int_eq(f.space, SIM_SPACE_GLOBAL);
	ck_assert_uint_eq(f.bytes, 4);
	ck_assert(strstr(f.text, "buffer in") != NULL);
	sim_result_free(r);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sim faults");
	TCase *t = tcase_create("faults");
	int n = (int)(sizeof cases / sizeof *cases);

	tcase_add_loop_test(t, planted, 0, n);
	tcase_add_loop_test(t, clean, 0, n);
	tcase_add_test(t, report);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
