#!/bin/sh
# scripts/gpu-day on the simulated driver. Faults, hangs, lack of memory, PTX that the driver rejects, and missing
# tools and packages are each recorded, and affect nothing else. A kill at any time loses only the running item. A
# run resumes an earlier one, per GPU. --read needs no GPU. KILLS=50: number of kills (3; QUICK=1: 1).
# WHOLE=MINUTES: a rehearsal of all steps.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/python.sh
need_python
new_python
. test/gpu/fake.sh
make_driver "$dir" || exit 1
export PYTHONDONTWRITEBYTECODE=1 PTXAS=none
PYTHONPATH=scripts/python "$python" test/python/bench.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
case $HEXC in /*) ;; *) HEXC=$PWD/$HEXC ;; esac
export HEXC
# An isolated environment: no packages but NumPy, no tools.
bare=$dir/bare
mkdir "$bare"
cat >"$bare/python3" <<END
#!/bin/sh
exec $(command -v "$python" | sed "s|^[^/]|$PWD/&|") "\$@"
END
chmod +x "$bare/python3"
day() { # directory; environment settings, as words; arguments
	to=$dir/$1 set=$2
	shift 2
	# shellcheck disable=SC2086 # a list of words
	env -i PATH="$bare" LD_LIBRARY_PATH="$dir" HEXC="$HEXC" PTXAS=none B="$B" TMPDIR="$dir" $set \
		"$bare/python3" -B scripts/gpu-day --out "$to" --shrink 32 --workers 2 "$@" >"$to.log" 2>&1
}
holds() { # WHAT DIRECTORY: reads assertions about `found`, the summary, and `by`, its items by name
	cat >"$dir/holds.py" <<-'END'
	import json, sys
	from hexc_bench import schema
	found = json.load(open(f"{sys.argv[1]}/summary.json"))
	bad = schema.check(found, schema.load("summary"))
	assert not bad, bad
	by = {i["key"]: i for i in found["items"] if i["on"] == found["machine"]}
	END
	cat >>"$dir/holds.py"
	PYTHONPATH=scripts/python "$python" "$dir/holds.py" "$dir/$2" "$dir" 2>"$dir/why" ||
		fail "$1: $(tail -3 "$dir/why"); $(tail -5 "$dir/$2.log")"
}
if [ "${WHOLE:-}" ]; then
	start=$(date +%s)
	day whole FAKE_CUDA_STRETCH=20 --minutes "$WHOLE"
	echo "the whole day: $(($(date +%s) - start)) s, exit status $?"
	cat "$dir/whole.log"
	holds 'the whole day' whole <<-'END'
	assert all(s["state"] in ("done", "cut") for s in found["steps"].values()), found["steps"]
	END
fi

# Injected: one failure of each kind; softmax is unaffected. 155 KB hold 300 x 264 f16
# values, but not 2 x 20000 f32.
some='here,a first kernel,example convert/,vector_add,example softmax,example sort,operator scan line 3,feature explicit'
day planted "FAKE_CUDA_FAULT=narrow FAKE_CUDA_HANG=widen FAKE_CUDA_REFUSE=sort FAKE_CUDA_MEMORY=155 HEXC_DAY_LAUNCH=1" \
	--minutes 30 --only machine,right,counters,sanitizers,headline --match "$some,compute-sanitizer,peers" --workers 1
[ $? = 1 ] || fail "planted faults: exit status not 1: $(tail -5 "$dir/planted.log")"
holds 'planted faults' planted <<'END'
def state(key, want, lost, why):
    i = by[key]
    assert (i["state"], i.get("lost")) == (want, lost) and why in i.get("why", i.get("note", "")), i
state("example convert/narrow, small", "failed", "fault", "")
state("example convert/widen, small", "failed", "hang", "a launch did not end")
state("example sort, small", "failed", None, "PTX JIT")
state("operator scan line 3, small", "failed", None, "out of memory")
state("example convert/narrow, hexc run --check", "skipped", None, "fault")
state("example convert/widen, hexc run --check", "skipped", None, "hang")
for key in ("a first kernel", "example vector_add, small", "example softmax, small", "example softmax_long, small", "feature explicit roles",
            "example softmax, hexc run --check"):
    state(key, "ok", None, "")
    assert by[key].get("outputs", by[key].get("first", {}).get("outputs", {"": {"judged": 1}})), by[key]
state("peers", "skipped", None, "no torch")
state("vector_add", "skipped", None, "ncu")
state("compute-sanitizer", "skipped", None, "no compute-sanitizer")
assert "ncu" in by["here"]["absent"] and "torch" in by["here"]["absent"]
assert found["ended"] and all(s["state"] == "done" for s in found["steps"].values()), found["steps"]
END

# A wrong result is reported: this changes the outputs of one kernel before the comparison.
cat >"$dir/sitecustomize.py" <<'END'
import hexc_bench.right as right
compare = right.compare
def wrong(item, shape, target, given, got, *more):
    if "C" in got and got["C"].ndim == 1:
        got["C"][7] += 1
    return compare(item, shape, target, given, got, *more)
right.compare = wrong
END
day wrong "PYTHONPATH=$dir:scripts/python" --minutes 30 --only right --match 'vector_add,example sort'
holds 'a wrong result' wrong <<'END'
assert {k: i["state"] for k, i in by.items() if k.endswith("small")} == {"example vector_add, small": "wrong", "example sort, small": "ok"}, by
assert "C: 1 of 5003 elements are wrong" in by["example vector_add, small"]["why"], by
END

# A cut step gets the time that another step leaves over. With a clock 20 times as fast: a hundred items of two
# seconds in half of five minutes; the other half has one item.
cat >"$dir/sitecustomize.py" <<'END'
import time
import hexc_bench.steps as steps
from hexc_bench.day import Step, Work
real, begun = time.monotonic, time.monotonic()
time.monotonic = lambda: begun + 20 * (real() - begun)
def item(seconds):
    def run(limit):
        time.sleep(seconds / 20)
        return {"says": "done"}
    return run
steps.STEPS = [Step("right", "many", 50, lambda day: [Work(f"item {i}", item(2)) for i in range(100)]),
               Step("sanitizers", "one", 50, lambda day: [Work("only one", item(1))])]
END
day second "PYTHONPATH=$dir:scripts/python" --minutes 5 --only right,sanitizers
holds 'a second pass' second <<'END'
from pathlib import Path
from hexc_bench import journal
lines = [e for e in journal.read(Path(sys.argv[1], "journal.jsonl")) if e["line"] in ("enter", "leave", "item")]
passes = [(e["step"], e["state"]) for e in lines if e["line"] == "leave"]
assert passes[:2] == [("right", "cut"), ("sanitizers", "done")] and passes[2][0] == "right", passes
first = [e["key"] for e in lines[:next(i for i, e in enumerate(lines) if e["line"] == "leave")] if e["line"] == "item"]
keys = [e["key"] for e in lines if e["line"] == "item" and e["step"] == "right"]
assert 0 < len(first) < len(keys) == len(set(keys)), (len(first), len(keys))
assert found["steps"]["right"]["state"] == passes[2][1] and found["steps"]["right"]["items"] == len(keys), found["steps"]
END
rm "$dir/sitecustomize.py"

# Killed at random times, then resumed: finished items are stored and do not run again.
list='example vector_add,example convert/,example sort,operator map line 4'
for i in $(seq "${KILLS:-$([ -z "${QUICK:-}" ] && echo 3 || echo 1)}"); do
	[ $((i % 10)) != 1 ] || rm -rf "$dir/killed"
	setsid env LD_LIBRARY_PATH="$dir" "$python" -B scripts/gpu-day --out "$dir/killed" --shrink 32 --workers 2 --minutes 30 --only machine,right \
		--match "$list" >"$dir/killed.log" 2>&1 &
	pid=$!
	sleep "$(awk -v i="$i" -v s="$$" 'BEGIN { srand(i * 7919 + s); printf "%.2f", 0.6 + 4 * rand() }')"
	kill -9 -- -$pid 2>/dev/null
	wait $pid 2>/dev/null
	[ -f "$dir/killed/summary.json" ] || continue # before the first line
	holds "kill $i" killed <<-'END'
	from pathlib import Path
	from hexc_bench import journal
	whole = journal.items(journal.read(Path(sys.argv[1], "journal.jsonl")))
	assert found["items"] in (whole, whole[:-1]), (len(found["items"]), len(whole))
	keys = [(i["step"], i["key"]) for i in found["items"]]
	assert len(set(keys)) == len(keys) and not found["ended"] or found["steps"]["right"]["state"] == "done"
	tried = [e["key"] for e in journal.read(Path(sys.argv[1], "journal.jsonl")) if e["line"] == "item"]
	assert len(set(tried)) == len(tried), "done again"
	END
done
day killed '' --minutes 30 --only machine,right --match "$list"
holds 'gone on with' killed <<'END'
assert found["ended"] and found["steps"]["right"]["state"] == "done" and found["steps"]["right"]["wrong"] == 0, found["steps"]
assert len(by) == found["steps"]["right"]["items"] + found["steps"]["machine"]["items"], (len(by), found["steps"])
END

# On another GPU all items run again, and both GPUs are in the summary; on the same GPU nothing is left to do.
day same '' --minutes 30 --only machine,right --match "$list" --from "$dir/killed"
[ $? = 0 ] || fail "the same GPU: $(tail -3 "$dir/same.log")"
grep -q 'vector_add' "$dir/same.log" && fail "what was done is done again: $(cat "$dir/same.log")"
day other FAKE_CUDA_NAME=NVIDIA-H100 --minutes 30 --only machine,right --match "$list" --from "$dir/killed"
holds 'another GPU' other <<'END'
assert len(found["machines"]) == 2 and found["machines"][found["machine"]]["gpu"] == "NVIDIA-H100", found["machines"]
assert len(found["items"]) == 2 * len(by) and by["example sort, small"]["state"] == "ok", len(by)
END

# Evaluation without a GPU: a page, and measurements.
rm "$dir/other/summary.json"
FAKE_CUDA_DEVICES=0 "$python" scripts/gpu-day --read "$dir/other" --file "$dir/figures" >"$dir/read" 2>&1 || fail "--read: $(tail -3 "$dir/read")"
for text in '# hexc gpu-day' 'NVIDIA-H100' '| right | done |' 'Beside it, of earlier days: simulated GPU 0'; do
	grep -qF "$text" "$dir/read" || fail "--read does not say '$text': $(cat "$dir/read")"
done
[ -s "$dir/figures/nvidia-h100.json" ] && [ -s "$dir/other/day.html" ] && [ -s "$dir/other/rest.tgz" ] || fail "--read: files are missing"
FAKE_CUDA_DEVICES=0 LD_LIBRARY_PATH="$dir" "$python" scripts/gpu-day --out "$dir/none" >"$dir/log" 2>&1 && fail "there is no GPU"
grep -q 'there is no GPU here' "$dir/log" || fail "no GPU: $(cat "$dir/log")"
"$python" -S -B scripts/gpu-day --out "$dir/none" >"$dir/log" 2>&1 && fail "there is no NumPy"
grep -q 'has no NumPy' "$dir/log" || fail "no NumPy: $(cat "$dir/log")"
for wrong in '--only nothing' '--minutes x' '--workers -1' '--frobnicate'; do
	# shellcheck disable=SC2086 # words
	"$python" scripts/gpu-day $wrong >"$dir/log" 2>&1 && fail "$wrong is taken"
done

# A fake profiler and sanitizer: they run the command and print output in the tools' format.
cat >"$dir/ncu" <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
	case $1 in
	--metrics) names=$2; shift ;;
	--page | --target-processes | --tool | --error-exitcode) shift ;;
	esac
	shift
done
"$@" >/dev/null || exit 1
case $0 in *sanitizer) echo '========= ERROR SUMMARY: 1 error'; exit 9 ;; esac
echo '==PROF== Connected'
echo "\"ID\",\"Kernel Name\",\"$(echo "$names" | sed 's/,/","/g')\""
echo "\"\",\"\",\"$(echo "$names" | sed 's/[^,]*/unit/g; s/,/","/g')\""
echo "\"0\",\"$(basename "$3" .hexc)\",\"$(echo "$names" | sed 's/[^,]*/1;024/g; s/,/","/g; s/;/,/g')\""
END
chmod +x "$dir/ncu"
mkdir "$dir/tools"
cp "$dir/ncu" "$dir/tools/ncu"
cp "$dir/ncu" "$dir/tools/compute-sanitizer"
day tools "PATH=$dir/tools:$PATH" --minutes 30 --only counters,sanitizers --match vector_add
holds 'tools' tools <<'END'
i = by["vector_add"]
assert i["profiled"]["global_requests"] == 2048 and i["profiled"]["mma"] == 1024, i
# 64 K elements: two are read for one written, 32 bytes per sector
assert i["simulated"]["global_sectors_read"] == 2 * 65536 * 4 // 32, i
assert by["memcheck, vector_add"]["state"] == "wrong" and "1 error" in by["memcheck, vector_add"]["why"], by
END
exit $bad
