#!/bin/sh
# scripts/tune sweeps tunables and candidates, on the simulated driver and the simulator, and stores the results.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
args="--arg A=random(1)[64,64] --arg B=random(2)[64,64] -D BM=32,64,7 -D BN=64"

t() { # exit status, part of the output, arguments
	want=$1 says=$2
	shift 2
	LD_LIBRARY_PATH=$dir timeout 120 scripts/tune "$@" >"$dir/out" 2>&1
	status=$?
	if [ $status != "$want" ] || ! grep -qF -e "$says" "$dir/out"; then
		echo "FAIL: tune $*: exit $status, not $want; or does not say '$says':"
		cat "$dir/out"
		bad=1
	fi
}
# shellcheck disable=SC2086
{
	t 0 'the fastest is among the first five in 2 of 2 lists' examples/gemm_f16.hexc $args --repeat 3 -o "$dir/gpu.json"
	grep -qF 'left out: BM=7 BN=64: examples/gemm_f16.hexc:4:10: error: BM=7 is not a value of tunable `BM`' "$dir/out" ||
		fail "FAIL: nothing is said of BM=7"
	# two blocks on two multiprocessors, or one with all the work
	t 0 'best: -D BM=32 -D BN=64 --candidate 0' examples/gemm_f16.hexc $args --exec sim --within 1 -o "$dir/sim.json"
	t 1 "--roofline: ambiguous GPU 'A100'" examples/gemm_f16.hexc $args --exec sim --roofline A100
	t 1 "unknown arch 'sm_99'" examples/gemm_f16.hexc $args --exec sim --arch sm_99
	t 1 'needs --exec sim' examples/gemm_f16.hexc $args --roofline A10
	t 1 "--exec is gpu or sim, not 'tile'" examples/gemm_f16.hexc --exec tile
	t 1 'choose one with --kernel: decode join' examples/decode_wNa16.hexc
	t 1 'which program?' -D BM=1
	t 1 'nothing could be run' examples/gemm_f16.hexc --arg 'A=random(1)[64,60]' --arg 'B=random(2)[64,64]'
}
python3 - "$dir" <<'END' || bad=1
import json, sys
for name, has in ("gpu", "median_us"), ("sim", "roofline"):
    d = json.load(open(f"{sys.argv[1]}/{name}.json"))
    assert {e["define"][0] for e in d["tried"]} == {"BM=32", "BM=64"}, d["tried"]
    assert all(has in e and e["block"] in ([128, 1, 1], [256, 1, 1], [384, 1, 1]) for e in d["tried"])
    assert [e["define"] for e in d["refused"]] == [["BM=7", "BN=64"]], d["refused"]
    # the best of each list is there, and no candidate above the predicted limit
    most = 1.25 if name == "gpu" else 1
    for bm in "BM=32", "BM=64":
        cycles = [e["cycles"] for e in d["tried"] if e["define"][0] == bm]
        assert max(cycles) <= most * min(cycles), cycles
END
# Measurements run in rounds over the remaining candidates, the last round over fewer. Clocks are monitored, and
# throttling is recorded. With --warm the L2 cache is not flushed.
"${CC:-cc}" -shared -fPIC -O1 test/gpu/nvml.c -o "$dir/libnvidia-ml.so.1" || exit 1
gpu="examples/gemm_f16.hexc --exec gpu -D BM=32,64 -D BN=64 --shape M=64,N=64,K=64 --repeat 6 --first 4 --within 9"
# shellcheck disable=SC2086
{
	FAKE_NVML_REASONS=0x44 t 0 '(throttled: power cap, thermal)' $gpu --db "$dir/gpu.db" --report "$dir/gpu.html"
	FAKE_NVML_REASONS=0x1 t 0 'best: -D BM=' $gpu --repeat 1 # idle between launches
	grep -q throttled "$dir/out" && fail "FAIL: an idle GPU is told to be throttled"
	FAKE_CUDA_FAIL=cuMemsetD8Async t 1 'cuMemsetD8Async' $gpu --db "$dir/cold.db"
	FAKE_CUDA_FAIL=cuMemsetD8Async t 0 'best: -D BM=' $gpu --db "$dir/cold.db" --warm
	t 0 'best: -D BM=' $gpu --db "$dir/cold.db" # candidates that failed by an error of the machine run again
}
python3 - "$dir" <<'END' || bad=1
import collections, json, sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/gpu.db")
rows = db.execute("select define, candidate, round, us, clocks from sample").fetchall()
launches, most = collections.Counter(), []
for define, candidate, number, us, clocks in rows:
    launches[define, candidate] += len(json.loads(us))
    assert len(json.loads(us)) == (1, 2, 3)[number], rows
    clocks = json.loads(clocks)
    assert clocks["mhz_least"] == 1200, clocks
    most.append(clocks["mhz_most"])
# all times are equal on this GPU: the quartiles overlap, and every candidate remains
assert sorted(most)[-1] == 1980 and sorted(most)[0] == 1200, most # the library's clock drops once
assert len(launches) == 4 and set(launches.values()) == {6}, launches
((gpu, driver, arch, judge),) = db.execute("select gpu, driver, arch, judge from sweep").fetchall()
assert (gpu, driver, arch, judge) == ("simulated GPU 0", "13000", "sm_90a", "gpu"), (gpu, driver, arch, judge)
judges = sorted(j for (j,) in sqlite3.connect(sys.argv[1] + "/cold.db").execute("select judge from sweep"))
assert judges == ["gpu", "gpu warm"], judges
END
# One process owns the GPU and compiles nothing: it runs the bundles of the other processes, in all rounds. If a
# kernel ends it, another is started.
cat >"$dir/hexc" <<END
#!/bin/sh
echo "\$1" >>"$dir/calls"
exec $HEXC "\$@"
END
chmod +x "$dir/hexc"
export HEXC_OF_TEST="$HEXC"
HEXC=$dir/hexc
export HEXC
# shellcheck disable=SC2086
t 0 'best: -D BM=' $gpu --db "$dir/one.db" --jobs 2
# (for an old ptxas the bundle is built again, without a cubin)
[ "$(grep -v '^build' "$dir/calls" | sort | uniq -c | awk '{ print $2 $1 }' | tr '\n' ' ')" = '--emit-ptx2 --list-archs1 --version2 explain2 measure1 ' ] &&
	[ "$(grep -c '^build' "$dir/calls")" -ge 4 ] ||
	fail "FAIL: calls of hexc: $(sort "$dir/calls" | uniq -c)"
rm "$dir/calls"
# shellcheck disable=SC2086
FAKE_CUDA_FAIL=cuLaunchKernelEx FAKE_CUDA_CODE=700 t 1 'nothing could be run' $gpu --db "$dir/fault.db" --jobs 2
[ "$(grep -c '^measure' "$dir/calls")" = 4 ] || fail "FAIL: a context that is lost goes on: $(sort "$dir/calls" | uniq -c)"
HEXC=$HEXC_OF_TEST
# Ended by a signal: finished results are stored and reported; no traceback.
long="--arg A=random(1)[256,256] --arg B=random(2)[256,256] -D BM=16,32,64,128 -D BN=32,64,128 -D BK=32,64 --within 9"
# shellcheck disable=SC2086
setsid scripts/tune examples/gemm_f16.hexc --exec sim --no-check $long -o "$dir/int.json" >"$dir/out" 2>&1 &
pid=$!
while [ ! -s "$dir/int.json" ] || ! grep -q '"grid"' "$dir/int.json"; do
	kill -0 $pid || break
	sleep 0.1
done
kill -TERM $pid
wait $pid
status=$?
[ $status = 143 ] && grep -q 'ended before all was tried' "$dir/out" && grep -q '^best: ' "$dir/out" ||
	fail "FAIL: ended by a signal: exit $status: $(cat "$dir/out")"
grep -q Traceback "$dir/out" && fail "FAIL: a traceback"
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["tried"]' "$dir/int.json" || fail "FAIL: nothing is kept"
exit $bad
