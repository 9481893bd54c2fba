/* test_bulk_faults.c - tests faults of bulk and tensor copies: a kernel with one planted fault, which must be
 * reported at its line, and a correct twin, for which nothing may be reported. All texts go through ptxas. */
#include "test/check.h"
#include "test/sim/bulktest.h"

#define K(body) \
	BULK_HEAD(4096) body "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\nret;\n}\n"
#define CT ".mbarrier::complete_tx::bytes "
#define EXPECT(n) "mbarrier.arrive.expect_tx.shared.b64 _, [mb], " #n ";\n"
#define LOAD(dst, src, n) "cp.async.bulk.shared::cta.global" CT "[" dst "], [" src "], " #n ", [mb];"
#define STORE(dst, src, n) "cp.async.bulk.global.shared::cta.bulk_group [" dst "], [" src "], " #n ";"
#define TLOAD(dst) "cp.async.bulk.tensor.2d.shared::cta.global" CT "[" dst "], [%%d3, {0, 8}], [mb];"
#define TSTORE(src) "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%%d3, {0, 0}], [" src "];"
#define COMMIT "cp.async.bulk.commit_group;\n"
#define FENCE "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
/* what follows is for thread 0 */
#define ONE "setp.ne.u32 %%p1, %%r1, 0;\n@%%p1 ret;\n"
#define WAIT BULK_WAIT("0")
/* 1024 bytes of shared memory, written by all threads */
#define FILL BULK_FILL("0", "0", "1024")
#define USE "ld.shared.u32 %%r9, [sm];\nst.global.u32 [%%d1], %%r9;\n"
/* a copy of the parameter's tensor map: in shared memory (sm), by one thread */
#define MAP_TO_SHARED \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm];\nst.shared.v2.u64 [sm], {%%d10, %%d11};\n" \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm+16];\nst.shared.v2.u64 [sm+16], {%%d10, %%d11};\n" \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm+32];\nst.shared.v2.u64 [sm+32], {%%d10, %%d11};\n" \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm+48];\nst.shared.v2.u64 [sm+48], {%%d10, %%d11};\n" \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm+64];\nst.shared.v2.u64 [sm+64], {%%d10, %%d11};\n" \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm+80];\nst.shared.v2.u64 [sm+80], {%%d10, %%d11};\n" \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm+96];\nst.shared.v2.u64 [sm+96], {%%d10, %%d11};\n" \
	"ld.param.v2.u64 {%%d10, %%d11}, [tm+112];\nst.shared.v2.u64 [sm+112], {%%d10, %%d11};\n"
#define MAP_TO_GLOBAL \
	"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned " \
	"[%%d1], [sm], 128;"
#define ACQUIRE "fence.proxy.tensormap::generic.acquire.gpu [%%d1], 128;"
/* one warp: a map in `out` from the one given, changed by `edit` */
#define EDITED(edit, fence) \
	"setp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra A;\n" MAP_TO_SHARED edit "A: bar.warp.sync 0xffffffff;\n" \
	MAP_TO_GLOBAL fence
#define OUT_LOAD "cp.async.bulk.tensor.2d.shared::cta.global" CT "[sm+1024], [%%d1, {0, 8}], [mb];"
#define CLUSTER_INIT BULK_INIT "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
#define CLUSTER_END "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"

typedef struct Case {
	const char *name;
	sim_fault_kind kind;
	const char *bad, *good;         /* the faulty line ends in //here, the earlier in //first */
	unsigned threads, blocks;       /* of one cluster */
	int map;                        /* 0 tiled, 1 no map at all, 2 im2col */
} Case;

static const Case cases[] = {
	/* sizes and alignment */
	{ "load of 24 bytes", SIM_FAULT_COPY,
	  K(BULK_INIT "@%%p1 bra W;\nmov.u32 %%r9, 24;\n" EXPECT(24)
	    "cp.async.bulk.shared::cta.global" CT "[sm], [%%d2], %%r9, [mb]; //here\nW:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\nmov.u32 %%r9, 32;\n" EXPECT(32)
	    "cp.async.bulk.shared::cta.global" CT "[sm], [%%d2], %%r9, [mb];\nW:\n" WAIT), 64, 1, 0 },
	{ "store of 40 bytes", SIM_FAULT_COPY,
	  K(FILL FENCE ONE "mov.u32 %%r9, 40;\n"
	    "cp.async.bulk.global.shared::cta.bulk_group [%%d1], [sm], %%r9; //here\n" COMMIT),
	  K(FILL FENCE ONE "mov.u32 %%r9, 48;\n"
	    "cp.async.bulk.global.shared::cta.bulk_group [%%d1], [sm], %%r9;\n" COMMIT), 64, 1, 0 },
	{ "prefetch of 8 bytes", SIM_FAULT_COPY,
	  K("mov.u32 %%r9, 8;\ncp.async.bulk.prefetch.L2.global [%%d2], %%r9; //here\n"),
	  K("mov.u32 %%r9, 80;\ncp.async.bulk.prefetch.L2.global [%%d2], %%r9;\n"), 32, 1, 0 },
	{ "load from an odd address", SIM_FAULT_ALIGN,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2+8", 64) " //here\nW:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2+16", 64) "\nW:\n" WAIT), 64, 1, 0 },
	{ "store from an odd shared address", SIM_FAULT_ALIGN,
	  K(FILL FENCE ONE STORE("%%d1", "sm+4", 64) " //here\n" COMMIT),
	  K(FILL FENCE ONE STORE("%%d1", "sm+16", 64) "\n" COMMIT), 64, 1, 0 },
	{ "tensor store from a shared address that is no multiple of 128", SIM_FAULT_ALIGN,
	  K(BULK_FILL("0", "0", "2048") FENCE ONE TSTORE("sm+64") " //here\n" COMMIT),
	  K(BULK_FILL("0", "0", "2048") FENCE ONE TSTORE("sm+128") "\n" COMMIT), 64, 1, 0 },
	/* by all lanes: the same bytes to one place, or others */
	{ "lanes store different bytes to one place", SIM_FAULT_ASYNC_WRITE,
	  K(FILL "mov.u32 %%r9, sm;\nmad.lo.u32 %%r9, %%r1, 16, %%r9;\nbar.sync 0;\n"
	    "st.shared.u32 [%%r9], %%r1;\n" FENCE STORE("%%d1", "%%r9", 64) " //here\n" COMMIT),
	  K(FILL FENCE "mov.u32 %%r9, sm;\n" STORE("%%d1", "%%r9", 64) "\n" COMMIT), 32, 1, 0 },
	{ "lanes store the same bytes from different places, and one other", SIM_FAULT_ASYNC_WRITE,
	  K(FILL "mov.u32 %%r9, sm;\nmad.lo.u32 %%r9, %%r1, 16, %%r9;\nbar.sync 0;\n"
	    "st.shared.u32 [sm+544], 7;\n" FENCE STORE("%%d1", "%%r9", 64) " //here\n" COMMIT),
	  K(FILL FENCE "mov.u32 %%r9, sm;\nmad.lo.u32 %%r9, %%r1, 16, %%r9;\n"
	    STORE("%%d1", "%%r9", 64) "\n" COMMIT), 32, 1, 0 },
	{ "lanes store tiles to one place", SIM_FAULT_ASYNC_WRITE,
	  K(BULK_FILL("0", "0", "4096") "mov.u32 %%r9, sm;\nmad.lo.u32 %%r9, %%r1, 128, %%r9;\n"
	    "bar.sync 0;\nst.shared.u32 [%%r9], %%r1;\n" FENCE
	    "setp.gt.u32 %%p1, %%r1, 3;\n@%%p1 ret;\n" TSTORE("%%r9") " //here\n" COMMIT),
	  K(BULK_FILL("0", "0", "4096") FENCE "mov.u32 %%r9, sm;\nmad.lo.u32 %%r9, %%r1, 128, %%r9;\n"
	    "setp.gt.u32 %%p1, %%r1, 3;\n@%%p1 ret;\n" TSTORE("%%r9") "\n" COMMIT), 32, 1, 0 },
	{ "warps store tiles to one place, one after the other", SIM_FAULT_RACE_GLOBAL,
	  K(BULK_FILL("0", "0", "4096") "mov.u32 %%r9, sm;\nand.b32 %%r8, %%r1, 32;\n"
	    "mad.lo.u32 %%r9, %%r8, 64, %%r9;\nbar.sync 0;\nst.shared.u32 [%%r9], %%r8;\n" FENCE
	    "and.b32 %%r8, %%r1, 31;\nsetp.ne.u32 %%p1, %%r8, 0;\n@%%p1 ret;\n"
	    TSTORE("%%r9") " //here\n" COMMIT "cp.async.bulk.wait_group 0;\n"),
	  K(BULK_FILL("0", "0", "4096") FENCE "mov.u32 %%r9, sm;\nand.b32 %%r8, %%r1, 32;\n"
	    "mad.lo.u32 %%r9, %%r8, 64, %%r9;\n"
	    "and.b32 %%r8, %%r1, 31;\nsetp.ne.u32 %%p1, %%r8, 0;\n@%%p1 ret;\n"
	    TSTORE("%%r9") "\n" COMMIT "cp.async.bulk.wait_group 0;\n"), 64, 1, 0 },
	{ "lanes load different bytes to one place", SIM_FAULT_ASYNC_WRITE,
	  K(BULK_INIT "@!%%p1 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 2048;\nbar.sync 0;\n"
	    "mad.wide.u32 %%d9, %%r1, 16, %%d2;\n" LOAD("sm", "%%d9", 64) " //here\n" WAIT USE),
	  K(BULK_INIT "@!%%p1 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 2048;\nbar.sync 0;\n"
	    LOAD("sm", "%%d2", 64) "\n" WAIT USE), 32, 1, 0 },
	/* bounds */
	{ "load over the end of a buffer", SIM_FAULT_BOUNDS,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2+131040", 64) " //here\nW:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2+131008", 64) "\nW:\n" WAIT), 64, 1, 0 },
	{ "store before a buffer", SIM_FAULT_BOUNDS,
	  K(FILL FENCE ONE STORE("%%d1+-16", "sm", 64) " //here\n" COMMIT),
	  K(FILL FENCE ONE STORE("%%d1+16", "sm", 64) "\n" COMMIT), 64, 1, 0 },
	{ "store from behind the shared memory", SIM_FAULT_BOUNDS,
	  K(FILL FENCE ONE STORE("%%d1", "sm+65536", 64) " //here\n" COMMIT),
	  K(FILL FENCE ONE STORE("%%d1", "sm+256", 64) "\n" COMMIT), 64, 1, 0 },
	{ "a map whose tensor is larger than the buffer", SIM_FAULT_BOUNDS,
	  K(BULK_INIT EDITED("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [sm], 1, 100000;\n",
	                     ACQUIRE "\n")
	    "@%%p1 bra W;\n" EXPECT(1024)
	    "cp.async.bulk.tensor.2d.shared::cta.global" CT "[sm+1024], [%%d1, {0, 5000}], [mb]; //here\nW:\n"
	    WAIT),
	  K(BULK_INIT EDITED("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [sm], 1, 1000;\n",
	                     ACQUIRE "\n")
	    "@%%p1 bra W;\n" EXPECT(1024)
	    "cp.async.bulk.tensor.2d.shared::cta.global" CT "[sm+1024], [%%d1, {0, 5000}], [mb];\nW:\n" WAIT),
	  32, 1, 0 },
	/* data nobody wrote */
	{ "store of uninitialised shared memory", SIM_FAULT_UNINIT_SHARED,
	  K(FILL FENCE ONE STORE("%%d1", "sm+512", 1024) " //here\n" COMMIT),
	  K(FILL FENCE ONE STORE("%%d1", "sm+512", 512) "\n" COMMIT), 64, 1, 0 },
	{ "tensor store of uninitialised shared memory", SIM_FAULT_UNINIT_SHARED,
	  K(FILL FENCE ONE TSTORE("sm+128") " //here\n" COMMIT), K(FILL FENCE ONE TSTORE("sm") "\n" COMMIT),
	  64, 1, 0 },
	{ "load of uninitialised global memory", SIM_FAULT_UNINIT_SHARED,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d1", 64) "\nW:\n" WAIT
	    "ld.shared.u32 %%r9, [sm]; //here\nst.global.u32 [%%d2], %%r9; //first\n"),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2+512", 64) "\nW:\n" WAIT
	    "ld.shared.u32 %%r9, [sm];\nst.global.u32 [%%d2], %%r9;\n"), 64, 1, 0 },
	{ "reduction into uninitialised global memory", SIM_FAULT_UNINIT_GLOBAL,
	  K(FILL FENCE ONE
	    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%%d1], [sm], 64; //here\n"),
	  K(FILL FENCE ONE
	    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%%d2+2048], [sm], 64;\n"),
	  64, 1, 0 },
	/* the destination before its time */
	{ "read before the mbarrier wait", SIM_FAULT_ASYNC_READ,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) " //first\n"
	    "ld.shared.u32 %%r9, [sm]; //here\nW:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\nW:\n" WAIT USE), 64, 1, 0 },
	{ "another warp reads a tensor load that it has not waited for", SIM_FAULT_ASYNC_READ,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(1024) TLOAD("sm") " //first\nW: bar.sync 0;\n"
	    "setp.lt.u32 %%p4, %%r1, 32;\n@%%p4 bra V;\nld.shared.u32 %%r9, [sm]; //here\nV:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(1024) TLOAD("sm") "\nW:\n" WAIT USE), 64, 1, 0 },
	{ "wait for the phase before", SIM_FAULT_ASYNC_READ,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\n" WAIT EXPECT(64)
	    LOAD("sm+64", "%%d2", 64) " //first\nld.shared.u32 %%r8, [sm];\n"
	    "ld.shared.u32 %%r9, [sm+64]; //here\n" BULK_WAIT("1")
	    "W:\n"),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\n" WAIT EXPECT(64)
	    LOAD("sm+64", "%%d2", 64) "\nld.shared.u32 %%r8, [sm];\n" BULK_WAIT("1")
	    "ld.shared.u32 %%r9, [sm+64];\nW:\n"), 64, 1, 0 },
	{ "global memory read before the store's group is waited for", SIM_FAULT_ASYNC_READ,
	  K(FILL FENCE ONE STORE("%%d1", "sm", 64) " //first\n" COMMIT
	    "cp.async.bulk.wait_group.read 0;\nld.global.u32 %%r9, [%%d1]; //here\n"),
	  K(FILL FENCE ONE STORE("%%d1", "sm", 64) "\n" COMMIT
	    "cp.async.bulk.wait_group 0;\nld.global.u32 %%r9, [%%d1];\nst.global.u32 [%%d2], %%r9;\n"),
	  64, 1, 0 },
	{ "exit while a load is under way", SIM_FAULT_CLUSTER,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) " //here\nW:\n"),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\n" WAIT "W:\n"), 64, 1, 0 },
	/* memory of a copy written */
	{ "source overwritten before wait_group.read", SIM_FAULT_ASYNC_WRITE,
	  K(FILL FENCE ONE STORE("%%d1", "sm", 64) " //first\n" COMMIT
	    "st.shared.u32 [sm+4], %%r1; //here\n"),
	  K(FILL FENCE ONE STORE("%%d1", "sm", 64) "\n" COMMIT
	    "cp.async.bulk.wait_group.read 0;\nst.shared.u32 [sm+4], %%r1;\n"), 64, 1, 0 },
	{ "one group too many left unread", SIM_FAULT_ASYNC_WRITE,
	  K(FILL FENCE ONE STORE("%%d1", "sm", 64) "\n" COMMIT STORE("%%d1+64", "sm+64", 64) " //first\n"
	    COMMIT
	    "cp.async.bulk.wait_group.read 1;\nst.shared.u32 [sm], %%r1;\n"
	    "st.shared.u32 [sm+64], %%r1; //here\n"),
	  K(FILL FENCE ONE STORE("%%d1", "sm", 64) "\n" COMMIT STORE("%%d1+64", "sm+64", 64) "\n" COMMIT
	    "cp.async.bulk.wait_group.read 1;\nst.shared.u32 [sm], %%r1;\n"), 64, 1, 0 },
	{ "a tensor store that was not committed", SIM_FAULT_ASYNC_WRITE,
	  K(FILL FENCE ONE TSTORE("sm") " //first\ncp.async.bulk.wait_group.read 0;\n"
	    "st.shared.u32 [sm+4], %%r1; //here\n"),
	  K(FILL FENCE ONE TSTORE("sm") "\n" COMMIT "cp.async.bulk.wait_group.read 0;\n"
	    "st.shared.u32 [sm+4], %%r1;\n"), 64, 1, 0 },
	{ "destination written while a load is under way", SIM_FAULT_ASYNC_WRITE,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) " //first\n"
	    "st.shared.u32 [sm], 5; //here\nW:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\nst.shared.u32 [sm+64], 5;\nW:\n"
	    WAIT),
	  64, 1, 0 },
	{ "two loads under way to one place", SIM_FAULT_ASYNC_WRITE,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(1088) LOAD("sm+128", "%%d2", 64) " //first\n" TLOAD("sm")
	    " //here\nW:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(1088) LOAD("sm+1024", "%%d2", 64) "\n" TLOAD("sm") "\nW:\n"
	    WAIT),
	  64, 1, 0 },
	{ "global source written while a load is under way", SIM_FAULT_ASYNC_WRITE,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) " //first\n"
	    "st.global.u32 [%%d2+4], 5; //here\n"
	    "W:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\n" WAIT
	    "st.global.u32 [%%d2+4], 5;\nW:\n"),
	  64, 1, 0 },
	{ "a stage loaded again while another warp still reads it", SIM_FAULT_RACE_SHARED,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\nW:\n" WAIT
	    "setp.lt.u32 %%p4, %%r1, 32;\n@!%%p4 ld.shared.u32 %%r9, [sm]; //first\n@!%%p4 bra V;\n"
	    "nanosleep.u32 100;\n@%%p1 bra V;\n" EXPECT(64) LOAD("sm", "%%d2+64", 64) " //here\nV:\n"
	    BULK_WAIT("1")),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\nW:\n" WAIT
	    "setp.lt.u32 %%p4, %%r1, 32;\n@!%%p4 ld.shared.u32 %%r9, [sm];\nbar.sync 0;\n"
	    "@%%p1 bra V;\n" EXPECT(64) LOAD("sm", "%%d2+64", 64) "\nV:\n" BULK_WAIT("1")), 64, 1, 0 },
	/* proxies */
	{ "no proxy fence before a store", SIM_FAULT_PROXY,
	  K(BULK_FILL("0", "0", "1024") "bar.sync 0;\n" ONE STORE("%%d1", "sm", 64) " //here\n" COMMIT),
	  K(FILL FENCE ONE STORE("%%d1", "sm", 64) "\n" COMMIT), 64, 1, 0 },
	{ "the proxy fence comes before the write", SIM_FAULT_PROXY,
	  K("fence.proxy.async;\n" FILL "bar.sync 0;\n" ONE TSTORE("sm") " //here\n" COMMIT),
	  K(FILL "fence.proxy.async;\nbar.sync 0;\n" ONE TSTORE("sm") "\n" COMMIT), 64, 1, 0 },
	{ "global memory written, then loaded without a proxy fence", SIM_FAULT_PROXY,
	  K(BULK_INIT "@%%p1 bra W;\nst.global.u32 [%%d2], 7; //first\n" EXPECT(64) LOAD("sm", "%%d2", 64)
	    " //here\nW:\n" WAIT),
	  K(BULK_INIT "@%%p1 bra W;\nst.global.u32 [%%d2], 7;\nfence.proxy.async;\n" EXPECT(64)
	    LOAD("sm", "%%d2", 64) "\nW:\n" WAIT USE), 64, 1, 0 },
	{ "mbarrier not fenced after its init", SIM_FAULT_PROXY,
	  K(ONE "mbarrier.init.shared.b64 [mb], 1;\n" EXPECT(64) LOAD("sm", "%%d2", 64) " //here\n" WAIT),
	  K(ONE "mbarrier.init.shared.b64 [mb], 1;\nfence.proxy.async.shared::cta;\n" EXPECT(64)
	    LOAD("sm", "%%d2", 64) "\n" WAIT USE), 64, 1, 0 },
	{ "map changed and used without the acquire fence", SIM_FAULT_PROXY,
	  K(BULK_INIT EDITED("", " //first\n") "@%%p1 bra W;\n" EXPECT(1024) OUT_LOAD " //here\nW:\n" WAIT),
	  K(BULK_INIT EDITED("", ACQUIRE "\n") "@%%p1 bra W;\n" EXPECT(1024) OUT_LOAD "\nW:\n" WAIT),
	  32, 1, 0 },
	{ "map changed again after the acquire fence", SIM_FAULT_PROXY,
	  K(BULK_INIT EDITED("", ACQUIRE "\n")
	    "@%%p1 bra W;\ntensormap.replace.tile.fill_mode.global.b1024.b32 [%%d1], 1; //first\n"
	    EXPECT(1024)
	    OUT_LOAD " //here\nW:\n" WAIT),
	  K(BULK_INIT EDITED("", "") "@%%p1 bra W;\n"
	    "tensormap.replace.tile.fill_mode.global.b1024.b32 [%%d1], 1;\n"
	    "fence.proxy.tensormap::generic.release.gpu;\n" ACQUIRE "\n" EXPECT(1024) OUT_LOAD "\nW:\n" WAIT),
	  32, 1, 0 },
	/* transactions */
	{ "more bytes expected than come", SIM_FAULT_DEADLOCK,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(128) LOAD("sm", "%%d2", 64) "\nW:\n"
	    "L0: mbarrier.try_wait.parity.shared.b64 %%p2, [mb], 0; //here\n@!%%p2 bra L0;\n"),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(128) LOAD("sm", "%%d2", 128) "\nW:\n" WAIT), 64, 1, 0 },
	{ "fewer bytes expected than come", SIM_FAULT_DEADLOCK,
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(512) TLOAD("sm") "\nW:\n"
	    "L0: mbarrier.try_wait.parity.shared.b64 %%p2, [mb], 0; //here\n@!%%p2 bra L0;\n"),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(1024) TLOAD("sm") "\nW:\n" WAIT), 64, 1, 0 },
	{ "no bytes expected outside of the tensor", SIM_FAULT_DEADLOCK,  /* they count all the same */
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(512)
	    "cp.async.bulk.tensor.2d.shared::cta.global" CT "[sm], [%%d3, {0, -4}], [mb];\nW:\n"
	    "L0: mbarrier.try_wait.parity.shared.b64 %%p2, [mb], 0; //here\n@!%%p2 bra L0;\n"),
	  K(BULK_INIT "@%%p1 bra W;\n" EXPECT(1024)
	    "cp.async.bulk.tensor.2d.shared::cta.global" CT "[sm], [%%d3, {0, -4}], [mb];\nW:\n" WAIT),
	  64, 1, 0 },
	{ "copy signals something that is no mbarrier", SIM_FAULT_MBARRIER,
	  K(ONE LOAD("sm", "%%d2", 64) " //here\n"),
	  K(ONE "mbarrier.init.shared.b64 [mb], 1;\nfence.proxy.async;\n" EXPECT(64) LOAD("sm", "%%d2", 64)
	    "\n" WAIT),
	  64, 1, 0 },
	/* maps */
	{ "no tensor map", SIM_FAULT_TMAP,
	  K(ONE "cp.async.bulk.prefetch.tensor.2d.L2.global [%%d3, {0, 0}]; //here\n"), K("ret;\n"), 32, 1,
	    1 },
	{ "prefetch of no tensor map", SIM_FAULT_TMAP, K(ONE "prefetch.tensormap [%%d3]; //here\n"),
	  K("ret;\n"), 32, 1, 1 },
	{ "map of another rank", SIM_FAULT_TMAP,
	  K(FILL FENCE ONE
	    "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%%d3, {0, 0, 0}], [sm]; //here\n"),
	  K(FILL FENCE ONE "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%%d3, {0, 0}], [sm];\n"),
	  64, 1, 0 },
	{ "tiled copy with an im2col map", SIM_FAULT_TMAP,
	  K(FILL FENCE ONE
	    "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%%d3, {0, 0, 0}], [sm]; //here\n"),
	  K(FILL FENCE ONE
	    "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group "
	    "[%%d3, {0, 0, 0}], [sm];\n"),
	  64, 1, 2 },
	{ "im2col start outside of the pixel box", SIM_FAULT_TMAP,
	  K(FILL FENCE ONE
	    "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group "
	    "[%%d3, {0, 7, 0}], [sm]; //here\n"),
	  K(FILL FENCE ONE
	    "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group "
	    "[%%d3, {0, 6, 0}], [sm];\n"),
	  64, 1, 2 },
	{ "a field with an impossible value", SIM_FAULT_TMAP,
	  K(BULK_INIT EDITED("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [sm], 1, 300;\n", ACQUIRE
	    "\n")
	    "@%%p1 ret;\ncp.async.bulk.prefetch.tensor.2d.L2.global [%%d1, {0, 0}]; //here\n"),
	  K(BULK_INIT EDITED("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [sm], 1, 200;\n", ACQUIRE
	    "\n")
	    "@%%p1 ret;\ncp.async.bulk.prefetch.tensor.2d.L2.global [%%d1, {0, 0}];\n"), 32, 1, 0 },
	{ "map damaged by a store", SIM_FAULT_TMAP,
	  K(BULK_INIT EDITED("st.shared.u32 [sm+40], 77;\n", ACQUIRE "\n")
	    "@%%p1 ret;\ncp.async.bulk.prefetch.tensor.2d.L2.global [%%d1, {0, 0}]; //here\n"),
	  K(BULK_INIT EDITED("", ACQUIRE "\n")
	    "@%%p1 ret;\ncp.async.bulk.prefetch.tensor.2d.L2.global [%%d1, {0, 0}];\n"), 32, 1, 0 },
	{ "map in shared memory", SIM_FAULT_TMAP,
	  K(ONE MAP_TO_SHARED "mov.u64 %%d8, sm;\ncvta.shared.u64 %%d9, %%d8;\n"
	    "prefetch.tensormap [%%d9]; //here\n"),
	  K(ONE MAP_TO_SHARED "prefetch.tensormap [%%d3];\n"), 32, 1, 0 },
	{ "replace where there is no map", SIM_FAULT_TMAP,
	  K(FILL "bar.sync 0;\n" ONE "tensormap.replace.tile.rank.shared::cta.b1024.b32 [sm], 1; //here\n"),
	  K(ONE MAP_TO_SHARED "tensormap.replace.tile.rank.shared::cta.b1024.b32 [sm], 1;\n"), 64, 1, 0 },
	{ "reduction that the element type does not have", SIM_FAULT_TMAP,
	  K(FILL FENCE ONE
	    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.bulk_group "
	    "[%%d3, {0, 0}], [sm]; //here\n"),
	  K(FILL FENCE ONE
	    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%%d3, {0, 0}], [sm];\n"),
	  64, 1, 0 },
	/* clusters */
	{ "multicast to a block that is not there", SIM_FAULT_CLUSTER,
	  K(CLUSTER_INIT "mov.u16 %%h1, 7;\nsetp.ne.u32 %%p4, %%r3, 0;\n@%%p1 bra W;\n@%%p4 bra W;\n"
	    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
	    "[sm], [%%d2], 64, "
	    "[mb], %%h1; //here\nW:\n" CLUSTER_END),
	  K(CLUSTER_INIT "mov.u16 %%h1, 3;\nsetp.ne.u32 %%p4, %%r3, 0;\n@%%p1 bra W;\n" EXPECT(64)
	    "@%%p4 bra W;\n"
	    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
	    "[sm], [%%d2], 64, "
	    "[mb], %%h1;\nW:\n" WAIT CLUSTER_END), 64, 2, 0 },
	{ "multicast data read by the other block before its wait", SIM_FAULT_ASYNC_READ,
	  K(CLUSTER_INIT "mov.u16 %%h1, 3;\nsetp.ne.u32 %%p4, %%r3, 0;\n@%%p1 bra W;\n" EXPECT(64)
	    "@%%p4 bra W;\n"
	    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
	    "[sm], [%%d2], 64, "
	    "[mb], %%h1; //first\nW:\n" CLUSTER_END "@!%%p4 bra V;\nld.shared.u32 %%r9, [sm]; //here\nV:\n"
	    WAIT
	    CLUSTER_END),
	  K(CLUSTER_INIT "mov.u16 %%h1, 3;\nsetp.ne.u32 %%p4, %%r3, 0;\n@%%p1 bra W;\n" EXPECT(64)
	    "@%%p4 bra W;\n"
	    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
	    "[sm], [%%d2], 64, "
	    "[mb], %%h1;\nW:\n" WAIT "ld.shared.u32 %%r9, [sm];\n" CLUSTER_END), 64, 2, 0 },
	{ "destination and mbarrier in different blocks", SIM_FAULT_CLUSTER,
	  K(CLUSTER_INIT "@%%p1 bra W;\nmov.u32 %%r8, sm;\nxor.b32 %%r9, %%r3, 1;\n"
	    "mapa.shared::cluster.u32 %%r8, %%r8, %%r9;\n"
	    "cp.async.bulk.shared::cluster.global" CT "[%%r8], [%%d2], 64, [mb]; //here\nW:\n" CLUSTER_END),
	  K(CLUSTER_INIT "@%%p1 bra W;\n" EXPECT(64) "mov.u32 %%r8, sm;\nmov.u32 %%r7, mb;\n"
	    "xor.b32 %%r9, %%r3, 1;\n"
	    "mapa.shared::cluster.u32 %%r8, %%r8, %%r9;\nmapa.shared::cluster.u32 %%r7, %%r7, %%r9;\n"
	    "cp.async.bulk.shared::cluster.global" CT "[%%r8], [%%d2], 64, [%%r7];\nW:\n" WAIT CLUSTER_END),
	  64, 2, 0 },
	{ "shared::cta destination in another block", SIM_FAULT_CLUSTER,
	  K(CLUSTER_INIT "@%%p1 bra W;\nmov.u32 %%r8, sm;\nmov.u32 %%r7, mb;\nxor.b32 %%r9, %%r3, 1;\n"
	    "mapa.shared::cluster.u32 %%r8, %%r8, %%r9;\nmapa.shared::cluster.u32 %%r7, %%r7, %%r9;\n"
	    "cp.async.bulk.shared::cta.global" CT "[%%r8], [%%d2], 64, [%%r7]; //here\nW:\n" CLUSTER_END),
	  K(CLUSTER_INIT "@%%p1 bra W;\n" EXPECT(64) LOAD("sm", "%%d2", 64) "\nW:\n" WAIT CLUSTER_END), 64,
	    2, 0 },
	{ "copy between blocks that stays in its block", SIM_FAULT_CLUSTER,
	  K(FILL FENCE CLUSTER_INIT "@%%p1 bra W;\n"
	    "cp.async.bulk.shared::cluster.shared::cta" CT "[sm+2048], [sm], 64, [mb]; //here\nW:\n"
	    CLUSTER_END),
	  K(FILL FENCE CLUSTER_INIT "@%%p1 bra W;\n" EXPECT(64)
	    "mov.u32 %%r8, sm;\nadd.u32 %%r8, %%r8, 2048;\nmov.u32 %%r7, mb;\nxor.b32 %%r9, %%r3, 1;\n"
	    "mapa.shared::cluster.u32 %%r8, %%r8, %%r9;\nmapa.shared::cluster.u32 %%r7, %%r7, %%r9;\n"
	    "cp.async.bulk.shared::cluster.shared::cta" CT "[%%r8], [sm], 64, [%%r7];\nW:\n" WAIT
	    "ld.shared.u32 %%r9, [sm+2048];\n" CLUSTER_END), 64, 2, 0 },
};
enum { NCASES = sizeof cases / sizeof *cases };

/* 64 rows of 64 f16 in `in`, box 64 x 8; or 8 pixels a row, 64 channels, for im2col. */
static void
set_map(Dev *v, int kind)
{
	sim_tmap_desc d = SIM_TMAP_INIT;
	char why[200] = "";

	if (kind == 1)
		return;
	d.type = SIM_TMAP_F16;
	d.rank = kind ? 3 : 2;
	d.address = v->in;
	d.dim[0] = d.dim[1] = 64;
	d.stride[0] = 128;
	d.box[0] = 64;
	d.box[1] = 8;
	if (kind == 2) {
		d.im2col = 1;
		d.dim[1] = d.dim[2] = 8;
		d.stride[1] = 1024;
		d.lower[0] = -1;
		d.upper[0] = -1;
		d.channels = 64;
		d.pixels = 8;
	}
	ck_assert_msg(sim_tmap_encode(&v->map, &d, why, sizeof why) == SIM_OK, "%s", why);
}

static sim_result *
run_case(const char *text, const Case *c, unsigned threads, int want)
{
	Dev v = dev_open();
	char *plain = strdup(text);
	sim_result *r;

	unescape(plain);
	sim_fill(v.s, v.in, 1, BUFFER);
	set_map(&v, c->map);
	v.l.block[0] = c->threads;
	v.l.grid[0] = c->blocks;
	v.l.cluster[0] = c->blocks;
	v.l.threads = threads;
	r = dev_result(&v, plain, want);
	dev_close(&v);
	free(plain);
	return r;
}

TEST_EACH(planted, NCASES)
{
	const Case *c = &cases[_i];
	sim_result *r = run_case(c->bad, c, 1, SIM_E_FAULT);
	unsigned line = line_of(c->bad, "//here");
	bool found = false;
	sim_fault f;
	int n = 0;

	for (size_t i = 0; sim_fault_at(r, i, &f); i++) {
		n += !f.warning;
		found |= f.kind == c->kind && f.at.line == line;
		if (f.kind == c->kind && f.at.line == line && strstr(c->bad, "//first") && f.other.line)
			ck_assert_uint_eq(f.other.line, line_of(c->bad, "//first"));
	}
	if (!found || n > 1)
		print_faults(r);
	ck_assert_msg(found, "%s: no %s in line %u", c->name, sim_fault_name(c->kind), line);
	ck_assert_msg(n == 1, "%s: more than one fault", c->name);
	sim_result_free(r);
}

TEST_EACH(clean, NCASES)
{
	sim_result_free(run_case(cases[_i].good, &cases[_i], 2, SIM_OK));
}

TEST_EACH(accepted_by_ptxas, NCASES)
{
	char *plain;

	if (!have_ptxas())
		return;
	for (int i = 0; i < 2; i++) {
		plain = strdup(i ? cases[_i].good : cases[_i].bad);
		unescape(plain);
		ck_assert_msg(ptxas(plain), "%s: ptxas refuses\n%s", cases[_i].name, plain);
		free(plain);
	}
}

TEST_PROGRAM(.timeout = 60);
