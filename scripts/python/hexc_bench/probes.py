"""PTX of microbenchmarks that keep one unit busy and read the SM's clock around the loop.

Each has the parameters out, turns, data, count, 64 bits each: out[2 * block] receives the cycles and out[2 *
block + 1] the nanoseconds of a block's loop.
"""

from __future__ import annotations

from dataclasses import dataclass

CHAINS, REPEATS = 8, 8  # independent results of a thread; how often an iteration computes each


@dataclass(frozen=True)
class Probe:
    """A kernel: its text, threads, bytes of shared memory, and the work of one iteration of one block."""

    ptx: str
    block: int
    work: float
    shared: int = 0


def _kernel(target: str, declare: str, before: str, body: str, after: str, shared: int = 0) -> str:
    memory = ".extern .shared .align 1024 .b8 pool[];\n" if shared else ""
    return f""".version {'8.7' if int(''.join(c for c in target if c.isdigit())) >= 100 else '8.4'}
.target {target}
.address_size 64
{memory}.visible .entry probe(.param .u64 p_out, .param .u64 p_turns, .param .u64 p_data, .param .u64 p_count)
{{
	.reg .pred %p, %one;
	.reg .b32 %tid, %cta, %ntid, %ncta;
	.reg .b64 %out, %turns, %data, %count, %c0, %c1, %t0, %t1, %at, %i;
	{declare}
	ld.param.u64 %out, [p_out];
	ld.param.u64 %turns, [p_turns];
	ld.param.u64 %data, [p_data];
	ld.param.u64 %count, [p_count];
	cvta.to.global.u64 %out, %out;
	cvta.to.global.u64 %data, %data;
	mov.u32 %tid, %tid.x;
	mov.u32 %cta, %ctaid.x;
	mov.u32 %ntid, %ntid.x;
	mov.u32 %ncta, %nctaid.x;
	setp.ne.u64 %one, %turns, 0;
	{before}
	bar.sync 0;
	mov.u64 %t0, %globaltimer;
	mov.u64 %c0, %clock64;
LOOP:
	{body}
	sub.u64 %turns, %turns, 1;
	setp.ne.u64 %p, %turns, 0;
	@%p bra LOOP;
	{after}
	bar.sync 0;
	mov.u64 %c1, %clock64;
	mov.u64 %t1, %globaltimer;
	setp.ne.u32 %p, %tid, 0;
	@%p bra END;
	sub.u64 %c1, %c1, %c0;
	sub.u64 %t1, %t1, %t0;
	mul.wide.u32 %at, %cta, 16;
	add.u64 %at, %out, %at;
	st.global.v2.u64 [%at], {{%c1, %t1}};
END:
	ret;
}}
"""


def _text(target: str, declare: str, before: str, body: str, after: str, shared: int = 0) -> str:
    text = _kernel(target, declare, before, body, after, shared)
    # our registers must not have the names of special registers
    for name in ("tid", "ntid"):
        text = text.replace(f"%{name}.x", f"@{name}").replace(f"%{name}", f"%my_{name}").replace(f"@{name}", f"%{name}.x")
    return text


# name -> (type, instruction of one link of a chain, number of the unit's operations)
LANES = {
    "f32": ("f32", "fma.rn.f32 {x}, {x}, {a}, {b};", 1),
    "i32": ("b32", "xor.b32 {x}, {x}, {a};\n\tadd.s32 {x}, {x}, {b};", 2),
    "f16": ("b32", "fma.rn.f16x2 {x}, {x}, {a}, {b};", 1),
    "f64": ("f64", "fma.rn.f64 {x}, {x}, {a}, {b};", 1),
    "mufu": ("f32", "ex2.approx.ftz.f32 {x}, {x};", 1),
    "cvt": ("f32", "{{ .reg .b32 %half;\n\tcvt.rn.f16x2.f32 %half, {x}, {a};\n\tmov.b32 {x}, %half; }}", 1),
}


def lanes(target: str, name: str) -> Probe:
    """Ordinary arithmetic: 1024 threads with chains of one instruction; the unit of work is lanes."""
    kind, link, each = LANES[name]
    xs = [f"%x{i}" for i in range(CHAINS)]
    wide = kind.endswith("64")
    bits = "b64" if wide else "b32"
    declare = f".reg .{kind} %a, %b, {', '.join(xs)};\n\t.reg .{bits} %w, %v;"
    before = ("cvt.u64.u32 %w, %tid;" if wide else "mov.b32 %w, %tid;") + f"\n\tmov.{bits} %a, %w;\n\tmov.{bits} %b, %w;"
    before += "".join(f"\n\tadd.{'u64' if wide else 'u32'} %w, %w, {i};\n\tmov.{bits} {x}, %w;" for i, x in enumerate(xs))
    body = "\n\t".join(link.format(x=x, a="%a", b="%b") for _ in range(REPEATS) for x in xs)
    keep = f"mov.{bits} %v, 0;" + "".join(f"\n\tmov.{bits} %w, {x};\n\txor.{bits} %v, %v, %w;" for x in xs)
    return Probe(_text(target, declare, before, body, _unless(keep, f"%v, {0x7fffffff}", wide)), 1024,
                 1024 * CHAINS * REPEATS * each)


def _unless(keep: str, test: str, wide: bool = False) -> str:
    """A store that never executes, so that no result is eliminated as unused."""
    bits = "b64" if wide else "b32"
    return f"{keep}\n\tsetp.eq.{bits} %p, {test};\n\t@%p st.global.{bits} [%out], %v;"


# mma.sync: shape, types of D A B C, registers of A B C, multiply-accumulates, the first capability
MMA = {
    "f16": ("m16n8k16", "f32.f16.f16.f32", 4, 2, 4, 2048, 80),
    "tf32": ("m16n8k8", "f32.tf32.tf32.f32", 4, 2, 4, 1024, 80),
    "i8": ("m16n8k32", "s32.s8.s8.s32", 4, 2, 4, 4096, 80),
    "i4": ("m16n8k64", "s32.s4.s4.s32", 4, 2, 4, 8192, 80),
    "f8": ("m16n8k32", "f32.e4m3.e4m3.f32", 4, 2, 4, 4096, 89),
    "f64": ("m8n8k4", "f64.f64.f64.f64", 1, 1, 2, 256, 80),
}
# wgmma of 64 x 256: k, types of D A B, what follows the predicate
WGMMA = {
    "f16": (16, "f32.f16.f16", ", 1, 1, 0, 0"),
    "tf32": (8, "f32.tf32.tf32", ", 1, 1"),
    "i8": (32, "s32.s8.s8", ""),
    "f8": (32, "f32.e4m3.e4m3", ", 1, 1"),
}


# bits that keep a word finite and small for any element type: halves and floats below 2, fp8 below 2
FINITE = 0xBBBBBBBB


def _random(x: str, i: int, wide: bool = False) -> str:
    """Sets a register to a value derived from the thread and i: zero operands would not heat the chip."""
    if wide:
        return f"""
	cvt.u64.u32 %w, %tid;
	mad.lo.u64 %w, %w, {0x9E3779B97F4A7C15}, {(i + 1) * 0x632BE59BD9B4E019 % (1 << 64)};
	and.b64 %w, %w, {0xBBBFFFFFFFFFFFFF};
	mov.b64 {x}, %w;"""
    return f"""
	mad.lo.u32 {x}, %tid, {0x9E3779B1}, {(i + 1) * 0x85EBCA6B % (1 << 32)};
	mul.lo.u32 {x}, {x}, {0xC2B2AE35};
	and.b32 {x}, {x}, {FINITE};"""


def mma(target: str, name: str) -> Probe:
    """mma.sync by 8 warps with 4 chains each, of random values; the unit of work is multiply-accumulates."""
    shape, types, na, nb, nc, macs, _ = MMA[name]
    chains, repeats, warps, double = 4, 8, 8, name == "f64"
    acc_kind = "f64" if double else "b32" if types.startswith("s32") else "f32"
    kind, bits = ("f64", "b64") if double else ("b32", "b32")
    a, b = [f"%a{i}" for i in range(na)], [f"%b{i}" for i in range(nb)]
    c = [[f"%c{k}_{i}" for i in range(nc)] for k in range(chains)]
    accs = [x for chain in c for x in chain]
    declare = f".reg .{kind} {', '.join(a + b)};\n\t.reg .{acc_kind} {', '.join(accs)};\n\t.reg .{bits} %w, %v;"
    before = f"mov.{bits} %w, 0;" + "".join(f"\n\tmov.{bits} {x}, %w;" for x in accs)
    before += "".join(_random(x, i, double) for i, x in enumerate(a + b))
    one = ["mma.sync.aligned.{}.row.col.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};".format(
        shape, types, ", ".join(x), ", ".join(a), ", ".join(b), ", ".join(x)) for x in c]
    keep = f"mov.{bits} %v, 0;" + "".join(f"\n\tmov.{bits} %w, {x};\n\txor.{bits} %v, %v, %w;" for x in accs)
    return Probe(_text(target, declare, before, "\n\t".join(one * repeats), _unless(keep, "%v, 77", double)), 32 * warps,
                 macs * chains * repeats * warps)


def wgmma(target: str, name: str) -> Probe:
    """Two warpgroups, 64 x 256 each, both operands in shared memory, of random values."""
    k, types, tail = WGMMA[name]
    repeats, kind = 8, "b32" if types.startswith("s32") else "f32"
    acc = [f"%d{i}" for i in range(128)]
    declare = f".reg .{kind} {', '.join(acc)};\n\t.reg .b64 %da, %db;\n\t.reg .b32 %w, %v, %z, %q, %n;"
    # operands of 128-byte rows, swizzled: 8 rows after 1024 bytes (PTX ISA, matrix descriptor)
    bits = (1 << 62) | (64 << 32) | (1 << 16)
    before = f"""mov.b32 %w, 0;
	mov.b32 %z, pool;
	shl.b32 %q, %tid, 2;
	add.u32 %q, %q, %z;
	add.u32 %v, %z, 40960;
FILL:
	mul.lo.u32 %n, %q, """ + f"{0x9E3779B1}" + """;
	mul.hi.u32 %n, %n, """ + f"{0xC2B2AE35}" + """;
	mul.lo.u32 %n, %n, """ + f"{0x85EBCA6B}" + """;
	and.b32 %n, %n, """ + f"{FINITE}" + f""";
	st.shared.b32 [%q], %n;
	add.u32 %q, %q, 1024;
	setp.lt.u32 %p, %q, %v;
	@%p bra FILL;
	fence.proxy.async;
	bar.sync 0;
	shr.b32 %z, %z, 4;
	cvt.u64.u32 %da, %z;
	or.b64 %da, %da, {bits};
	add.u64 %db, %da, 512;""" + "".join(f"\n\tmov.b32 {x}, %w;" for x in acc)
    one = (f"wgmma.mma_async.sync.aligned.m64n256k{k}.{types} {{{', '.join(acc)}}}, %da, %db, %one{tail};")
    body = ("wgmma.fence.sync.aligned;\n\t" + "\n\t".join([one] * repeats) +
            "\n\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;")
    keep = "mov.b32 %v, 0;" + "".join(f"\n\tmov.b32 %w, {x};\n\txor.b32 %v, %v, %w;" for x in acc)
    return Probe(_text(target, declare, before, body, _unless(keep, "%v, 77"), shared=40960), 256,
                 64 * 256 * k * repeats * 2, 40960)


STRIDE = 256  # bytes between the links of a pointer chain


def ring(target: str) -> Probe:
    """Writes a cyclic pointer chain of count addresses into data: one thread, count iterations."""
    body = """mul.lo.u64 %x, %i, 256;
	add.u64 %x, %x, %data;
	add.u64 %i, %i, 1;
	setp.eq.u64 %p, %i, %count;
	selp.u64 %i, 0, %i, %p;
	mul.lo.u64 %y, %i, 256;
	add.u64 %y, %y, %data;
	st.global.u64 [%x], %y;"""
    return Probe(_text(target, ".reg .b64 %x, %y;", "mov.u64 %i, 0;", body, ""), 1, 1)


def chase(target: str) -> Probe:
    """One thread follows the chain, bypassing L1; the unit of work is loads."""
    keep = "setp.eq.u64 %p, %x, 77;\n\t@%p st.global.u64 [%out], %x;"
    return Probe(_text(target, ".reg .b64 %x;", "mov.u64 %x, %data;", "ld.global.cg.u64 %x, [%x];", keep), 1, 1)


def chase_shared(target: str) -> Probe:
    """An address in shared memory that points to itself."""
    before = "mov.b32 %x, pool;\n\tst.shared.b32 [%x], %x;"
    keep = "setp.eq.u32 %p, %x, 77;\n\t@%p st.global.u32 [%out], %x;"
    body = "\n\t".join(["ld.shared.b32 %x, [%x];"] * 16)
    return Probe(_text(target, ".reg .b32 %x;", before, body, keep, shared=1024), 1, 16, 1024)


def read(target: str) -> Probe:
    """All blocks read data, count bytes per iteration, bypassing L1; work is 0: the host knows count."""
    before = """mad.lo.u32 %s, %cta, %ntid, %tid;
	cvt.u64.u32 %first, %s;
	shl.b64 %first, %first, 4;
	mul.lo.u32 %s, %ncta, %ntid;
	cvt.u64.u32 %step, %s;
	shl.b64 %step, %step, 4;
	mov.b32 %v, 0;"""
    body = """mov.u64 %i, %first;
	setp.ge.u64 %p, %i, %count;
	@%p bra DONE;
INNER:
	add.u64 %at, %data, %i;
	ld.global.cg.v4.b32 {%r0, %r1, %r2, %r3}, [%at];
	xor.b32 %v, %v, %r0;
	xor.b32 %v, %v, %r1;
	xor.b32 %v, %v, %r2;
	xor.b32 %v, %v, %r3;
	add.u64 %i, %i, %step;
	setp.lt.u64 %p, %i, %count;
	@%p bra INNER;
DONE:"""
    return Probe(_text(target, ".reg .b64 %first, %step;\n\t.reg .b32 %s, %v, %r0, %r1, %r2, %r3;", before, body,
                       _unless("", "%v, 77")), 1024, 0)


def copy(target: str) -> Probe:
    """Copies the first half of data, count bytes, to the second half."""
    p = read(target)
    return Probe(p.ptx.replace("xor.b32 %v, %v, %r0;", "add.u64 %at, %at, %count;\n\tst.global.v4.b32 [%at], {%r0, %r1, %r2, %r3};")
                 .replace("xor.b32 %v, %v, %r1;\n\txor.b32 %v, %v, %r2;\n\txor.b32 %v, %v, %r3;\n\t", "")
                 .replace("ld.global.cg.v4", "ld.global.v4"), 1024, 0)


# ---- uncertain constants of infer/core/cost_constants.def
# -------------------------------------------------------------------

def barrier(target: str) -> Probe:
    """bar.sync of 4 warps that arrive together; the unit of work is barriers."""
    return Probe(_text(target, "", "", "\n\t".join(["bar.sync 0;"] * 16), ""), 128, 16)


def shuffle(target: str) -> Probe:
    """A chain of shuffles of one warp; the unit of work is shuffles."""
    keep = "setp.eq.b32 %p, %x, 77;\n\t@%p st.global.b32 [%out], %x;"
    return Probe(_text(target, ".reg .b32 %x;", "mov.b32 %x, %tid;", "\n\t".join(["shfl.sync.bfly.b32 %x, %x, 1, 31, -1;"] * 16), keep), 32, 16)


def dot(target: str) -> Probe:
    """A chain of dependent mma.sync of one warp; the unit of work is MMAs."""
    shape, types, na, nb, nc, _, _ = MMA["f16"]
    a, b, c = [f"%a{i}" for i in range(na)], [f"%b{i}" for i in range(nb)], [f"%e{i}" for i in range(nc)]
    declare = f".reg .b32 {', '.join(a + b)};\n\t.reg .f32 {', '.join(c)};\n\t.reg .b32 %w, %v;"
    before = "mov.b32 %w, 0;" + "".join(f"\n\tmov.b32 {x}, %w;" for x in c) + "".join(_random(x, i) for i, x in enumerate(a + b))
    one = f"mma.sync.aligned.{shape}.row.col.{types} {{{', '.join(c)}}}, {{{', '.join(a)}}}, {{{', '.join(b)}}}, {{{', '.join(c)}}};"
    keep = "mov.b32 %v, 0;" + "".join(f"\n\tmov.b32 %w, {x};\n\txor.b32 %v, %v, %w;" for x in c)
    return Probe(_text(target, declare, before, "\n\t".join([one] * 16), _unless(keep, "%v, 77")), 32, 16)


def bubble(target: str, rotated: bool) -> Probe:
    """Iterations of 4 warps: a barrier, a fragment from shared memory, MMAs with it. rotated: the fragment was
    loaded in the previous iteration, and the next one is in flight meanwhile. The unit of work is iterations."""
    shape, types, na, nb, nc, _, _ = MMA["f16"]
    a, d = [f"%a{i}" for i in range(na)], [f"%d{i}" for i in range(na)]
    b, c = [f"%b{i}" for i in range(nb)], [[f"%c{k}_{i}" for i in range(nc)] for k in range(4)]
    accs = [x for chain in c for x in chain]
    declare = f".reg .b32 {', '.join(a + d + b)};\n\t.reg .f32 {', '.join(accs)};\n\t.reg .b32 %w, %v, %q;"
    before = ("mov.b32 %w, 0;\n\tmov.b32 %q, pool;\n\tshl.b32 %v, %tid, 4;\n\tadd.u32 %q, %q, %v;" +
              "".join(f"\n\tmov.b32 {x}, %w;" for x in accs) + "".join(_random(x, i) for i, x in enumerate(a + b)) +
              f"\n\tst.shared.v4.b32 [%q], {{{', '.join(a)}}};")
    load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}}}, [%q];"
    products = "\n\t".join(f"mma.sync.aligned.{shape}.row.col.{types} {{{', '.join(x)}}}, {{{', '.join(a)}}}, {{{', '.join(b)}}}, {{{', '.join(x)}}};"
                           for x in c)
    moves = "\n\t".join(f"mov.b32 {x}, {y};" for x, y in zip(a, d))
    turn = ["bar.sync 0;", load.format(", ".join(d)), products, moves] if rotated else ["bar.sync 0;", load.format(", ".join(a)), products]
    keep = "mov.b32 %v, 0;" + "".join(f"\n\tmov.b32 %w, {x};\n\txor.b32 %v, %v, %w;" for x in accs)
    return Probe(_text(target, declare, before, "\n\t".join(turn * 4), _unless(keep, "%v, 77"), shared=2048), 128, 4, 2048)


def signal(target: str) -> Probe:
    """One thread arrives at an mbarrier, which completes its phase, and waits for it; the
    unit of work is such pairs."""
    before = "mov.b32 %bar, pool;\n\tmbarrier.init.shared::cta.b64 [%bar], 1;\n\tmov.b32 %phase, 0;"
    one = """mbarrier.arrive.shared::cta.b64 %state, [%bar];
	mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], %phase;
	xor.b32 %phase, %phase, 1;"""
    return Probe(_text(target, ".reg .b32 %bar, %phase;\n\t.reg .b64 %state;\n\t.reg .pred %done;", before, "\n\t".join([one] * 8), "", shared=1024), 1, 16,
                 1024)


def box(target: str) -> Probe:
    """One thread copies 128 bytes of data to shared memory by TMA, and waits for them;
    the unit of work is copies."""
    before = "mov.b32 %bar, pool;\n\tmbarrier.init.shared::cta.b64 [%bar], 1;\n\tadd.u32 %to, %bar, 128;\n\tmov.b32 %phase, 0;\n\tfence.proxy.async;"
    body = """mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 128;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%data], 128, [%bar];
WAIT:
	mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], %phase;
	@!%done bra WAIT;
	xor.b32 %phase, %phase, 1;"""
    return Probe(_text(target, ".reg .b32 %bar, %phase, %to;\n\t.reg .b64 %state;\n\t.reg .pred %done;", before, body, "", shared=1024), 1, 1, 1024)


def cluster(target: str) -> Probe:
    """A chain of loads of one thread from the shared memory of the other block of its cluster: two blocks;
    the unit of work is loads."""
    before = """mov.b32 %x, pool;
	mov.b32 %r, %cluster_ctarank;
	xor.b32 %r, %r, 1;
	mapa.shared::cluster.u32 %y, %x, %r;
	st.shared.b32 [%x], %y;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	mov.b32 %z, %y;"""
    # the loaded value is the address as seen by the other block: it is recomputed from the value
    one = """ld.shared::cluster.b32 %z, [%y];
	and.b32 %z, %z, 0;
	add.u32 %y, %y, %z;"""
    keep = "barrier.cluster.arrive;\n\tbarrier.cluster.wait;\n\tsetp.eq.u32 %p, %y, 77;\n\t@%p st.global.u32 [%out], %y;"
    text = _text(target, ".reg .b32 %x, %y, %z, %r;", before, "\n\t".join([one] * 8), keep, shared=1024)
    return Probe(text.replace(".param .u64 p_count)\n{", ".param .u64 p_count)\n.reqnctapercluster 2, 1, 1\n{"), 1, 8, 1024)
