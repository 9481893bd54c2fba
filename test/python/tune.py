"""The tuner's modules (test/python/run-tune.sh): predictions and choices compared with hand-computed
numbers, guards with the shapes that they come from, the static model with loops of known time, and the
guarantees of the database."""

import re
import sqlite3
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from hexc_tune import clock, clock_roles, export, gpu, ops, report, sass, study
from hexc_tune.errors import TuneError
from hexc_tune.expr import evaluate
from hexc_tune.hosts import local_name
from hexc_tune.judge import Job, least_us, whole
from hexc_tune.measurer import Measurer
from hexc_tune.sass import Instruction, decode, main_loop, read
from hexc_tune.space import (Choice, Machine, arguments, blocks_of, loops_of, part_of, predicted_us, prune, read_shape,
                             shape_text, sizes_of, stretch, tensor_bytes, waves_cycles)
from hexc_tune.store import KEY, Store
from hexc_tune.sweep import Options, Result, combine, results, survivors


def raises(what, *args):
    try:
        what(*args)
    except TuneError as error:
        return str(error)
    raise AssertionError(f"{what.__name__}{args} is taken")


def choice(define="BM=64", candidate=0, cycles=100.0, predicted=1.0, shape="M=1", pruned=""):
    return Choice(shape, define, candidate, cycles, cycles, 1, f"text {candidate}", predicted, pruned)


def test_expressions():
    sizes = {"M": 7, "K": 64}
    for text, want in {"ceil(M, 2)": 4, "M / 2": 3, "K % 64 == 0 && M > 6": True, "M <= 6 || K == 64": True, "-M + 1": -6,
                       "min(M, K) * 2": 14, "where(M > 9, 1, 2)": 2, "!(M == 7)": False, "(M - 1) * (K / 3)": 126}.items():
        assert evaluate(text, sizes) == want, text
    for text in ("N", "M +", "M / 0", "open('x')", "M.real", "'a'"):
        assert evaluate(text, sizes) is None, text


def test_shapes():
    assert read_shape("M=64, K=512") == {"M": 64, "K": 512} == read_shape("K=512 M=64")
    assert shape_text({"M": 64, "K": 5}) == "K=5 M=64"
    assert "what is 'M'" in raises(read_shape, "M")
    params = [{"name": "A", "kind": "pointer", "read": True, "shape": ["M", "K"]},
              {"name": "S", "kind": "pointer", "read": True, "shape": ["ceil(K, 128)", "N"]},
              {"name": "C", "kind": "pointer", "read": False, "shape": ["M", "N"]}, {"name": "PARTS", "kind": "size"}]
    sizes = {"M": 3, "K": 200, "N": 8, "PARTS": 2}
    assert arguments(params, ["A=arange[M,K]"], sizes) == ["A=arange[3,200]", "S=random(2)[2,8]", "PARTS=2"]
    assert arguments(params, ["S=zeros[ceil(K,128),N]"], sizes)[0] == "S=zeros[2,8]"
    assert "name every size" in raises(arguments, params, [], {"M": 1})
    assert sizes_of(params, ["A=random(1)[3,200]", "PARTS=2"]) == {"M": 3, "K": 200, "PARTS": 2}


LISTED = {"grid": ["ceil(M, 64)", "1", "1"], "most_runs": 32, "loop_share": 0.75,
          "loops": [{"depth": 0, "trips": "ceil(K, 64)"}]}


def test_predictions():
    # 9 blocks on 4 multiprocessors: one gets 3; 2 are resident concurrently
    assert waves_cycles(9, 4, 2, 100, 150) == 2 * 100 + 150
    assert waves_cycles(8, 4, 2, 100, 150) == 200 and waves_cycles(4, 4, 2, 100, 150) == 150
    # a quarter runs once; the rest 8 times, and not 32
    assert stretch(LISTED, {"M": 1, "K": 512}) == 0.25 + 0.75 * 8 / 32
    c = {"cycles": 100, "alone": 160, "blocks_together": 2}
    assert predicted_us(c, LISTED, {"M": 64, "K": 2048}, Machine("x", 4, 2.0)) == 160 / 2
    assert predicted_us(c, LISTED, {}, Machine("x", 4, 2.0)) == 100
    ir = """kernel k {
  param %6.K size K : i64 read
  body {
    %32 = const value 0 : i64
    %74 = const value 64 : i64
    %75 = div %6.K, %74 : i64
    %1.acc, %2 = for %32, %6.K, %74, %3 stages 3 : f32 { (%35.k : i64)
      %9 = for %32, %75, %77, %3 : f32 {
    }
    %4 = for %32, %74, %74, %3 : f32 {
"""
    loops = loops_of(ir)
    assert [loop["depth"] for loop in loops] == [0, 1, 0]
    assert [evaluate(loop["trips"], {"K": 130}) if loop["trips"] else None for loop in loops] == [3, None, 1]


def test_tiles():
    """A tile loop counts as one trip: it is recognized by the block_id that defines its variable."""
    ir = """    %84, %85 = for %62, %53, %63, %26, %26 : i64, i64 !2:8+8 { (%64 : i64, %74 : i64, %86 : i64)
        %65 = block_id %64, %48, %50, %7 : i64 !8:13+7
        %87 = for %26, %5.K, %27, %74 stages 3 : i64, i64 !10:5+8 { (%69 : i64, %76 : i64)
"""
    assert loops_of("  param %5.K size K : i64 read\n" + ir)[0] == {"depth": 0, "trips": "1"}
    assert loops_of(ir.replace("block_id %64", "block_id %7"))[0]["trips"] is None


def test_part():
    listed = {**LISTED, "grid": ["ceil(M, 64)", "ceil(N, 128)", "1"]}
    sizes = {"M": 4100, "N": 4096, "K": 512}
    part = part_of(listed, [], sizes, 16)
    # partial tiles keep their extents, and the loop its length; no size falls below a multiple of the tiles
    assert part["K"] == 512 and part["M"] % 256 == 4 and part["N"] % 256 == 0 and blocks_of(listed, part) <= 16, part
    assert part_of(listed, [], {"M": 100, "N": 300, "K": 512}, 1) == {"M": 100, "N": 300, "K": 512}
    assert part_of(listed, ["A=random(1)[M,K]"], sizes, 16) == part
    for given in ["A=@a.npy"], ["A=random(1)[4100,512]"]:
        assert part_of(listed, given, sizes, 16) == sizes
    # sizes on which a loop depends stay, and all sizes if a loop is not understood
    assert part_of({**listed, "loops": [{"depth": 0, "trips": "ceil(M, 64)"}]}, [], sizes, 16)["M"] == 4100
    assert part_of({**listed, "loops": [{"depth": 0, "trips": None}]}, [], sizes, 16) == sizes
    params = [{"name": "A", "kind": "pointer", "bits": 4, "shape": ["M", "K"]}, {"name": "M", "kind": "size"}]
    assert tensor_bytes(params, {"M": 3, "K": 10}) == 15
    # 16 of 2048 blocks on 4 multiprocessors, each of which then does 512 of them, and not 4
    stats = {"grid": [16, 1, 1], "roofline": {"sms": 4, "limits": {"dram": 1.0, "l2": 1.0, "mma": 1.0}}}
    whole(stats, Job("p", (), (), grid=(2048, 1, 1), bytes=3))
    assert stats["grid"] == [2048, 1, 1] and stats["sampled"] == 16
    assert stats["roofline"]["limits"] == {"dram": 3.0, "l2": 128.0, "mma": 128.0}
    # with fewer blocks than multiprocessors, counts were distributed over those that had one
    stats = {"grid": [2, 1, 1], "roofline": {"sms": 4, "limits": {"dram": 1.0, "l2": 1.0, "mma": 1.0}}}
    whole(stats, Job("p", (), (), grid=(8, 1, 1)))
    assert stats["roofline"]["limits"]["mma"] == 2.0


def test_pruning():
    cs = [choice("a", 0, 100, 5.0), choice("a", 1, 130, 6.5), choice("a", 2, 120, 6.0), choice("b", 0, 10, 20.0)]
    kept = [c.key[1:] for c in prune(cs, 1.25, 0, 0) if not c.pruned]
    assert kept == [("a", 0), ("a", 2), ("b", 0)]
    assert [c.key[1:] for c in prune(cs, 1.25, 0, 2) if not c.pruned] == [("a", 0), ("a", 2)]
    assert [c.key[1:] for c in prune(cs, 9, 2, 0) if not c.pruned] == [("a", 0), ("a", 2)]
    assert all(c.pruned for c in prune(cs, 9, 2, 0)[2:]) and len(prune(cs, 9, 2, 0)) == 4
    # candidates that spill more than another of their constants are skipped, however fast their prediction; if all
    # spill, the least remains
    spill = [replace(c, spilled=n) for c, n in zip(cs, (8, 0, 4, 16))]
    assert [c.key[1:] for c in prune(spill, 9, 0, 0) if not c.pruned] == [("a", 1), ("b", 0)]
    assert "spills 8 bytes" in next(c.pruned for c in prune(spill, 9, 0, 0) if c.candidate == 0 and c.define == "a")
    # and skipped ones do not make others look slow
    assert not [c for c in prune(spill[:2], 1.25, 0, 0) if not c.pruned and c.spilled]
    assert [c.candidate for c in prune(spill[:2], 1.25, 0, 0) if not c.pruned] == [1]


def test_tools():
    """Missing tools are reported by name; an exported table names the method that was
    used, not the requested one."""
    here, tool = {"ptxas": "/bin/ptxas"}, sass.tool
    try:
        sass.tool = here.get
        assert sass.missing("ptxas") == "" and clock.lacks().startswith("nvdisasm not found (by $NVDISASM, ")
        assert not clock.ready()
        assert sass.assemble("p", "sm_80", None, None) == ("", 0, 0, clock.lacks())
        here.clear()
        assert clock.lacks().startswith("ptxas and nvdisasm not found (by $PTXAS, $NVDISASM, ")
    finally:
        sass.tool = tool

    def judged(asked, *by):
        return export._judged({"judge": asked}, [Result(choice(), "ok", by=b) for b in by])

    assert judged("clock 16 blocks", "sim", "sim") == "sim 16 blocks" and judged("clock", "clock") == "clock"
    assert judged("clock", "sim", "clock") == "clock and sim" and judged("gpu warm", "gpu") == "gpu warm"


def test_rounds():
    def options(**more):
        return Options("p", [], [], [], [], "gpu", None, **more)

    assert options(repeat=30).rounds() == [5, 10, 15] and options(repeat=3).rounds() == [1, 1, 1]
    assert options(repeat=30, halving=1).rounds() == [30]
    samples = [{"state": "ok", "us": [3.0, 1.0], "stats": {}, "clocks": {}, "why": ""},
               {"state": "ok", "us": [2.0, 9.0, 2.0], "stats": {}, "clocks": {"throttled": ["power cap"]}, "why": ""}]
    r = combine(choice(), samples, "gpu")
    assert (r.us, r.launches, r.throttled, r.spread) == (2.0, 5, ["power cap"], 0.5)
    assert combine(choice(), [samples[0], {"state": "wrong", "why": "x"}], "gpu").state == "wrong"
    assert combine(choice(), [], "gpu").state == "open" and combine(choice(pruned="y"), [], "gpu").why == "y"

    def result(us, spread=0.0, state="ok"):
        return Result(choice(candidate=int(us)), state, us=us, spread=spread)

    assert [r.us for r in survivors([result(4), result(1), result(3), result(2), result(0, state="wrong")], 2)] == [1, 2]
    # the third may be as fast as the second: their quartiles overlap
    assert [r.us for r in survivors([result(1), result(20, 0.1), result(21, 0.1), result(30)], 2)] == [1, 20, 21]


def test_roofline():
    stats = {"grid": [4, 1, 1], "roofline": {"sms": 8, "limits": {"dram": 1e-6, "l2": 2e-6, "mma": 3e-6, "int": 1e-6}}}
    # limits are those of the 4 multiprocessors with a block, which waits 1.5 times as long as it computes
    assert abs(least_us(stats, 100, 150, 2) - 4.5) < 1e-9
    # of 9 blocks on 8 multiprocessors one has two, which hide each other's latency
    assert abs(least_us({**stats, "grid": [9, 1, 1]}, 100, 150, 2) - 3 * 2 / (9 / 8)) < 1e-9
    stats["roofline"]["limits"]["dram"] = 2e-5
    assert abs(least_us(stats, 100, 150, 2) - 20) < 1e-9


def test_like_with_like():
    roof = {"sms": 1, "limits": {"dram": 0, "l2": 0, "mma": 3e-6}}
    store = Store(":memory:")
    number = store.sweep(dict.fromkeys(KEY, "x"), "p")
    choices = [choice(candidate=k, shape=f"M={m}") for m in (1, 2) for k in (0, 1)]
    store.add_trials(number, choices)
    for c in choices:
        stats = {"grid": [1], "roofline": roof} | ({"no_clock": "roles"} if c.key == ("M=1", "BM=64", 1) else {"clock": {"us": 7}})
        store.add_sample(number, c.key, 0, {"state": "ok", "stats": stats}, "h", 0)
    assert [(r.choice.shape, r.by, round(r.us)) for r in results(store, number, "clock")] == [
        ("M=1", "sim", 3), ("M=1", "sim", 3), ("M=2", "clock", 7), ("M=2", "clock", 7)]


# ---- guards and study ---------------------------------------------------------------------------------------------------


def test_guards():
    sets = ("a", 0), ("b", 1), ("c", 0)
    by_shape = {f"K={k} M={m}": {s: 10.0 + 5 * (i != (m > 16) + (m > 16 and k > 512)) for i, s in enumerate(sets)}
                for m in (1, 16, 64, 256) for k in (512, 4096)}
    by_shape["K=512 M=1"]["b", 1] = 10.1  # near enough, but not needed
    takes = export.cover(by_shape)
    for shape, us in by_shape.items():
        assert us[takes[shape]] <= 1.02 * min(us.values())
    points = [(read_shape(shape), takes[shape]) for shape in by_shape]
    boxes = export.divide(points, {})
    assert len(boxes) == 3, boxes
    # every size is in exactly one box; each shape is in the box of its set
    for m in (1, 2, 16, 17, 999):
        for k in (1, 512, 513, 9999):
            assert sum(lo < v <= hi for b, _ in boxes for n, v in (("M", m), ("K", k)) for lo, hi in [b.get(n, (0, 9e9))]
                       ) >= 2 and sum(all(lo < {"M": m, "K": k}[n] <= hi for n, (lo, hi) in b.items()) for b, _ in boxes) == 1
    file = "take a candidate=0 when M <= 16 && K % 64 == 0  # us x\ntake b candidate=3 when (M > 16) || (K > 9)\n"
    assert export.choose(file, {"M": 16, "K": 64}) == ("a", 0) and export.choose(file, {"M": 17, "K": 5}) == ("b", 3)
    assert export.choose(file, {"M": 16, "K": 5}) is None


def test_operators():
    gemm = ops.read("gemm")
    assert gemm.kernel() == "gemm" and gemm.values("gemm") == {"BM": ["16", "32", "64", "128"], "BN": ["64", "128"], "BK": ["64", "32"]}
    chain, = gemm.chains()
    assert [s.kernel for s in chain.stages] == ["partial", "join"] and chain.sizes == (("S", "min(16, ceil(K, 512))"),)
    assert chain.extended({"M": 16, "N": 9, "K": 2048}) == {"M": 16, "N": 9, "K": 2048, "S": 4}
    assert chain.extended({"M": 17, "N": 9, "K": 2048}) is None
    assert gemm.has("gemm", "OUT") and gemm.has("join", "BM") and not gemm.has("partial", "OUT")
    named = sorted(p.stem for p in ops.folder().glob("*.hexc") if "//: op" in p.read_text())
    assert "there are " + " ".join(named) in raises(ops.read, "gemma")
    assert "sweep one value" in raises(ops.settings, gemm, "gemm", [("ACT", ["f16", "bf16"])])
    assert ops.settings(gemm, "gemm", [("BM", ["16"]), ("ACT", ["bf16"]), ("WARPS", ["4", "8"])]) == [("ACT", ["bf16"])]
    line = ops.line_of("a X=1 then b with S=max(1, min(N, 2)), T=N / 2 when N == 4 || N > 9", "f")
    assert line.sizes == (("S", "max(1, min(N, 2))"), ("T", "N / 2")) and line.extended({"N": 4})["T"] == 2
    for path in sorted(ops.folder().glob("*.hexc")):  # all can be parsed
        if "//: op" in path.read_text():
            assert ops.read(path.stem).kernel(), path


def test_measurer():
    """One process for many jobs; another if it ended, timed out or died."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "measure")
        script.write_text("""import os, sys, time
for line in sys.stdin:
    word = line.strip().split("\\t")[0]
    if word == "die":
        os.kill(os.getpid(), 9)
    if word == "sleep":
        time.sleep(60)
    print("bad", file=sys.stderr) if word == "3" else print("said", os.getpid(), line.count("\\t"))
    sys.stdout.write("\\004%s\\n" % (word if word.isdigit() else 0))
    sys.stdout.flush()
    if word == "3":  # the context is spoilt
        break
""")
        m = Measurer([sys.executable, str(script)], None)
        first, second = m.run(["a", "b"], 5), m.run(["c"], 5)
        assert first[0] == second[0] == 0 and first[1].split()[2] == "1" and first[1].split()[1] == second[1].split()[1]
        assert m.run(["3"], 5) == (3, "", "bad\n") and m.run(["c"], 5)[0] == 0 and m.begun == 2
        assert m.run(["sleep"], 0.3)[0] == 124 and m.run(["c"], 5)[0] == 0 and m.begun == 3
            # it may have ended after the previous job: a job whose process dies runs once more
        assert m.run(["die"], 5)[0] == -9 and m.run(["c"], 5)[0] == 0 and m.begun == 5
        m.end()
        assert m.run(["c"], 5)[0] == 0 and m.begun == 6
        m.end()


def test_study():
    found = [Result(choice(f"BM={d}", c, 1, predicted), "ok", us=us, by="sim")
             for d, c, predicted, us in ((1, 0, 1.0, 9.0), (1, 1, 2.0, 8.0), (2, 0, 3.0, 7.0), (2, 1, 4.0, 5.0), (2, 2, 5.0, 5.05))]
    s, = study.study(found)
    assert s.judged == 5 and s.best.us == 5.0
    assert s.needs["by prediction"] == 4 and s.needs["constants in turns"] == 4
    assert s.needs["probes, then the best constants"] == 3
    assert s.needs["at random"] == 6 / 3  # two of five are near
    assert s.loses["the first 3"] == (3, 7 / 5 - 1) and s.loses["within 2 of the best predicted"][0] == 2
    assert report.spearman([(1, 10), (2, 20), (3, 30)]) == 1 and report.spearman([(1, 3), (2, 2), (3, 1)]) == -1


# ---- the static model
# -------------------------------------------------------------------------------------------------------


def op(text, stall=1, writes=7, reads=7, waits=(), yields=False):
    name, _, operands = text.partition(" ")
    return Instruction("", name, operands, stall, yields, writes, reads, waits)


def turn(body, warps, blocks=1, arch="sm_80"):
    """Cycles per iteration, over many."""
    chip = clock.CHIPS[arch]
    code = [*body, op("EXIT")]
    took = [clock.cycles(code, (0, len(body)), n, blocks, warps, chip)[0] for n in (1000, 3000)]
    return (took[1] - took[0]) / 2000


def test_clock():
    product = op("HMMA.16816.F32 R0, R1, R2, R3")

    def near(took, want):
        assert abs(took - want) <= 0.01 * want, (took, want)

    # 2048 multiply-accumulates at 256 of a sub-core's 1024 / 4: 8 cycles; a second warp of the same sub-core waits
    near(turn([product] * 16, 1), 128)
    near(turn([product] * 16, 4), 128)
    near(turn([product] * 16, 8), 256)
    near(turn([product] * 16, 4, blocks=2), 256)
    near(turn([product] * 16, 1, arch="sm_86"), 256)
    # in a chain each waits 4 cycles; two warps fill each other's gaps, four saturate the pipe of 16 lanes
    add = op("FFMA R0, R1, R2, R0", stall=4)
    near(turn([add] * 8, 4), 32)
    near(turn([add] * 8, 8), 32)
    near(turn([add] * 8, 16), 64)
    # a load's result comes after its 4 wavefronts and the latency; all share one data path
    load = [op("LDS.128 R0, [R4]", writes=0), op("FADD R0, R0, R1", stall=4, waits=(0,))]
    near(turn(load, 1), 4 + 29 + 4)
    near(turn(load * 8, 32), 8 * 32 * 4)
    # copy groups: with one in flight, an iteration waits only for the copy of the previous iteration
    wait = [op("LDGSTS.E.128 [R0], [R2]"), op("LDGDEPBAR", writes=0), op("DEPBAR.LE SB0, 0x0", stall=4)]
    later = [*wait[:2], op("DEPBAR.LE SB0, 0x1", stall=4)]
    assert turn(wait, 1) > 262 > 2 * turn(later, 1) * 0.9, (turn(wait, 1), turn(later, 1))
    # at a barrier both warps of a sub-core wait for the later
    assert turn([add] * 2 + [op("BAR.SYNC 0x0")], 8) >= 8 + clock.BARRIER


def test_clock_of_code():
    # control codes of sm_80, decoded by hand
    x = decode("", "MOV", "R1, c[0x0][0x28]", 0x000fc400000000ff << 64)
    assert (x.stall, x.yields, x.writes, x.reads, x.waits) == (2, True, 7, 7, ()), x
    x = decode("", "LDG.E", "R0, [R2]", 0x000ea2000c1e1900 << 64)  # barrier 2 is set
    assert x.writes == 2 and x.reads == 7 and x.stall == 1 and not x.waits, x
    text = """	.section	.text.other,"ax"
.text.other:
        /*0000*/                   NOP ;                              /* 0x0000000000007918 */
                                                                      /* 0x000fc00000000000 */
.text.k:
        /*0000*/                   FADD R0, R0, R1 ;                  /* 0x0000000100007221 */
                                                                      /* 0x000fc80000000000 */
.L_x_0:
        /*0010*/              @!P0 FFMA R0, R0, R1, R2 ;              /* 0x0000000100007223 */
                                                                      /* 0x004fc80000000002 */
        /*0020*/               @P1 BRA `(.L_x_0) ;                    /* 0xffffffe000000947 */
                                                                      /* 0x000fea000383ffff */
        /*0030*/                   EXIT ;                             /* 0x000000000000794d */
                                                                      /* 0x000fea0003800000 */
"""
    code, labels = read(text, "k")
    assert [c.base for c in code] == ["FADD", "FFMA", "BRA", "EXIT"] and labels == {".L_x_0": 1}
    assert code[1].guard == "@!P0" and code[1].waits == (2,) and code[1].stall == 4, code[1]
    assert main_loop(code, labels) == (1, 3)
    # 100 products of 4 warps each: 4 before the loop, 8 in it
    product = op("HMMA.16816.F32 R0, R1, R2, R3")
    code = [product] * 4 + [product] * 8 + [op("EXIT")]
    assert clock.turns_of(code, (4, 12), {"mma": 400, "instructions": {}}, 4) == 12
    # 128 threads of 128 registers: 4 warps of 4096; 37632 bytes of shared memory and 1024: 4 blocks
    assert clock.resident(clock.CHIPS["sm_80"], 128, 128, 37632) == 4
    assert clock.resident(clock.CHIPS["sm_80"], 128, 129, 0) == 3


# a warp-specialized kernel: a producer of two copies per iteration, consumers of four MMAs, three stages
ROLES = """
 SYNCS.EXCH.64 URZ, [UR8], UR4|SYNCS.EXCH.64 URZ, [UR8+0x8], UR4|SYNCS.EXCH.64 URZ, [UR8+0x10], UR4
 SYNCS.EXCH.64 URZ, [UR8+0x20], UR6|SYNCS.EXCH.64 URZ, [UR8+0x28], UR6|SYNCS.EXCH.64 URZ, [UR8+0x30], UR6
 @!P0 BRA `(.L_x_2)
.L_x_7:
 SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [R3+URZ+0x11020], R2|@!P2 BRA `(.L_x_6)
.L_x_22:
 UTMALDG.2D [UR12], [UR4]|UTMALDG.2D [UR8], [UR16]|SYNCS.ARRIVE.TRANS64 RZ, [R3+URZ+0x11000], R2|@!P2 BRA `(.L_x_7)
 BRA `(.L_x_3)
.L_x_2:
.L_x_14:
 SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR22+0x11000], R8|@!P2 BRA `(.L_x_12)
.L_x_23:
 WARPGROUP.ARRIVE |HGMMA.64x64x16.F32 R56, gdesc[UR8], R56|HGMMA.64x64x16.F32 R24, gdesc[UR32], R24
 HGMMA.64x64x16.F32 R56, gdesc[UR8], R56|HGMMA.64x64x16.F32 R24, gdesc[UR32], R24, gsb0
 WARPGROUP.DEPBAR.LE gsb0, 0x1|@P1 SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [R111+UR5+0x11020], RZ|@!P2 BRA `(.L_x_14)
 @P4 BRA `(.L_x_20)
 STG.E.128 [R2], R4|BRA `(.L_x_3)
.L_x_20:
 IADD3 R0, R0, R1, RZ|IADD3 R0, R0, R1, RZ|STG.E [R2], R4
.L_x_3:
 EXIT
.L_x_6:
 SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [R3+URZ+0x11020], R2|@!P2 BRA `(.L_x_6)|BRA `(.L_x_22)
.L_x_12:
 SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [UR22+0x11000], R8|@!P2 BRA `(.L_x_12)|BRA `(.L_x_23)
"""


def roles_code(text=ROLES):
    code, labels = [], {}
    for line in text.strip().splitlines():
        if line.startswith("."):
            labels[line.rstrip(":")] = len(code)
            continue
        for part in line.strip().split("|"):
            guard = part.split()[0] if part.startswith("@") else ""
            x = op(part.removeprefix(guard).strip())
            code.append(Instruction(guard, x.op, x.operands, 1, False, 7, 7, ()))
    return code, labels


def test_clock_of_roles():
    code, labels = roles_code()
    shape = clock_roles.shape_of(code, labels)
    # out-of-line blocks, after the EXIT, are no loops; the ring has the three consecutive barriers
    assert (shape.stages, shape.bulk, shape.lag, shape.outer) == (3, 2, 1, None), shape
    assert code[shape.consume[0]].op.startswith("SYNCS.PHASECHK") and shape.consume[0] == labels[".L_x_14"]
    # the shortest path to the end that stores
    path = clock_roles.way(code, labels, shape.consume[1], labels[".L_x_3"], clock_roles.STORES)
    assert [code[i].base for i in path] == ["BRA", "STG", "BRA"], path
    assert clock_roles.roles_of("roles2 4+2x4 warps; wgmma") == clock_roles.Roles(4, 2, 4)
    assert clock_roles.roles_of("roles 4+8 warps; wgmma") == clock_roles.Roles(4, 1, 8)
    assert clock_roles.roles_of("wgmma") is None

    def turn(moved, roles, ring=ROLES):
        code, labels = roles_code(ring)
        took = [clock_roles.cycles(code, labels, roles, n, roles.teams, 1, moved, chip)[0] for n in (100, 300)]
        return (took[1] - took[0]) / 200 / roles.teams

    chip, one = clock.CHIPS["sm_90a"], clock_roles.Roles(4, 1, 4)
    # 64x64x16 takes 32 cycles of each sub-core; four of them
    assert abs(turn(0, one) - 128) < 7, turn(0, one)
    assert abs(turn(0, clock_roles.Roles(4, 2, 4)) - 128) < 7
    assert abs(turn(0, clock_roles.Roles(4, 1, 8)) - 256) < 13
    # L2 delivers 38.8 bytes per cycle to a multiprocessor
    assert abs(turn(38800, one) - 1000) < 100, turn(38800, one)
    # an iteration's bytes arrive later than its MMAs end: fewer stages hide less of it
    two = ROLES.replace("|SYNCS.EXCH.64 URZ, [UR8+0x10], UR4", "").replace("|SYNCS.EXCH.64 URZ, [UR8+0x30], UR6", "")
    assert clock_roles.shape_of(*roles_code(two)).stages == 2
    assert turn(4096, one, two) > 1.2 * turn(4096, one), (turn(4096, one, two), turn(4096, one))
    # without mbarriers, or without MMAs, it reports that
    assert "no loops of their own" in clock_roles.shape_of(*roles_code(ROLES.replace("HGMMA", "FFMA")))


def test_rates():
    """The static model's table agrees with the simulator's on common entries."""
    text = Path("lib/sim/launch/rates.def").read_text()
    for cc, int32, f32, f16, f64, mufu in re.findall(r"RATE\((\d+), +(\d+), +(\d+), +(\d+), +(\d+), +(\d+)", text):
        if int(cc) >= 100: # not modelled: their machine code has not been decoded
            continue
        chip = clock.CHIPS["sm_90a" if cc == "90" else "sm_" + cc]
        assert (chip.int32, chip.f32, chip.f16, chip.f64, chip.mufu) == tuple(map(int, (int32, f32, f16, f64, mufu))), cc
    text = Path("infer/core/sm_throughput.def").read_text()
    rows = {cc: row for cc, row in re.findall(r"RATES\((\d+), (.*?)\)\n", text, re.S) if int(cc) < 100}
    assert len(rows) == len(clock.CHIPS)
    for cc, row in rows.items():
        chip, value = clock.CHIPS["sm_90a" if cc == "90" else "sm_" + cc], dict(re.findall(r"\.(\w+) = ([\d.]+)", row))
        assert chip.mma == int(float(value["mma_f16"]) * float(value["sync"])), cc
        assert (chip.shared_wait, chip.l2_wait) == (int(value["shared_wait"]), int(value["l2_wait"])), cc
        assert abs(chip.l2 - int(value["l2"]) / int(value["sms"])) < 0.1, cc


# ---- the rest -----------------------------------------------------------------------------------------------------------


def test_store():
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"{folder}/a.db")
        key = dict.fromkeys(KEY, "x")
        number = store.sweep(key, "p.hexc")
        assert store.sweep(key, "q.hexc") == number != store.sweep({**key, "driver": "2"}, "p.hexc")
        at, ok = ("M=1", "BM=64", 0), {"state": "ok", "us": [1.0]}
        assert store.add_sample(number, at, 0, {"state": "trouble", "why": "no memory"}, "h", 0)
        assert store.add_sample(number, at, 0, ok, "h", 0)  # an error of the machine is replaced
        assert not store.add_sample(number, at, 0, {**ok, "us": [2.0]}, "other", 0)  # the first result counts
        assert [found["us"] for _, _, found in store.samples(number)] == [[1.0]]
        assert [host for _, host, _, _ in store.log(number)] == ["h", "h"]
        store.close()
        db = sqlite3.connect(f"{folder}/a.db")
        db.execute("pragma user_version = 99")
        db.close()
        assert "another version" in raises(Store, f"{folder}/a.db")
        Path(folder, "b.db").write_text("no database at all, but long enough to be looked at\n" * 40)
        assert "not a database" in raises(Store, f"{folder}/b.db")


def test_archs():
    archs = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"]
    assert {c: gpu.arch_of(c, archs) for c in (70, 75, 87, 89, 90, 100)} == {
        70: None, 75: "sm_75", 87: "sm_86", 89: "sm_89", 90: "sm_90a", 100: "sm_89"}


def test_names():
    assert [local_name(n) for n in ("examples/a.hexc", "/x/a.hexc", "../../b/a.hexc", "./a.hexc")] == [
        "examples/a.hexc", "x/a.hexc", "a.hexc", "a.hexc"]


class Page(HTMLParser):
    """Counts tags; every opened one is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], Counter()

    def handle_starttag(self, tag, attrs):
        self.seen[tag] += 1
        assert tag not in ("script", "link", "img", "iframe"), tag
        assert not any(name in ("src", "href") or name.startswith("on") for name, _ in attrs), attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen[tag] += 1

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()


def check_page(path):
    """A report is complete, has no external resources, and has its plots."""
    page = Page()
    text = Path(path).read_text()
    page.feed(text)
    assert not page.open and page.seen["svg"] >= 5 and page.seen["circle"] > 5 and page.seen["polyline"] > 3, page.seen
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+|[a-z]+nan", "", text.lower()) and "url(" not in text
    for head in ("The best of each shape", "Predicted and found", "The frontier over time", "Where time goes",
                 "What pruning would have lost"):
        assert head in text, head


if __name__ == "__main__":
    if len(sys.argv) > 1:
        check_page(sys.argv[1])
    else:
        for name, test in sorted(globals().items()):
            if name.startswith("test_"):
                test()
