#!/bin/sh
# scripts/gpu-day on the simulated driver: steps write what their schema says, go on after kill -9 without doing again what was
# done, and past what fails; counts stand beside those of a profiler.  WHOLE=1: all steps, which takes minutes.
. test/script.sh
command -v python3 >/dev/null && python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "no python3 of 3.11"; exit 77; }
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
export PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=scripts/python python3 test/python/bench.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"

day() { # arguments
	LD_LIBRARY_PATH=$dir timeout 800 scripts/gpu-day --out "$dir/day" --shrink 64 "$@"
}
valid() { # steps
	PYTHONPATH=scripts/python python3 - "$dir/day" "$@" <<'END' || fail "what is in $dir/day"
import json, sys
from hexc_bench import schema
rules = schema.load("day")
for step in sys.argv[2:]:
    found = json.load(open(f"{sys.argv[1]}/{step}.json"))
    bad = schema.check(found, rules, step) + schema.check(found, rules)
    assert not bad, (step, bad)
    keys = [i["key"] for i in found["items"]]
    assert found["state"] == "done" and found["left"] == 0 and len(set(keys)) == len(keys), (step, keys)
END
}
if [ "${WHOLE:-0}" = 1 ]; then
	start=$(date +%s)
	day >"$dir/log" 2>&1
	status=$?
	[ $status = 0 ] || fail "the whole day: exit $status: $(tail -20 "$dir/log")"
	valid machine checks calibrate schedules bench tune counters
	echo "the whole day: $(($(date +%s) - start)) s"
fi

# Killed when three numbers are there; what fails is told, and the next goes on.  No occupancy from this driver.
rm -rf "$dir/day"
steps=machine,calibrate
export FAKE_CUDA_FAIL=cuOccupancyMaxActiveBlocksPerMultiprocessor
setsid env LD_LIBRARY_PATH="$dir" scripts/gpu-day --out "$dir/day" --shrink 64 --steps $steps >"$dir/log" 2>&1 &
pid=$!
while n=$(grep -cs '"state": "ok"' "$dir/day/calibrate.json"); [ "${n:-0}" -lt 3 ]; do
	kill -0 $pid 2>/dev/null || break
	sleep 0.05
done
kill -9 $pid || fail "it ended by itself: $(cat "$dir/log")"
wait $pid
cp "$dir/day/calibrate.json" "$dir/before.json"
day --steps $steps >"$dir/log" 2>&1
status=$?
[ $status = 1 ] || fail "gone on: exit $status, not 1: $(cat "$dir/log")"
unset FAKE_CUDA_FAIL
valid machine calibrate
grep -q '  sms: ' "$dir/log" && fail "what was done is done again: $(cat "$dir/log")"
python3 - "$dir" <<'END' || bad=1
import json, sys
before, after = (json.load(open(f"{sys.argv[1]}/{n}")) for n in ("before.json", "day/calibrate.json"))
n = len(before["items"])
assert before["state"] == "partial" and before["left"] and n >= 3, before
assert after["items"][:n] == before["items"]
bad = [i["why"] for i in after["items"] if i["state"] == "failed"]
assert len(bad) == 5 and all("cuOccupancyMaxActiveBlocksPerMultiprocessor" in w for w in bad), bad
p = after["proposal"]
assert p["row"].startswith('RATES(90, .gpu = "simulated GPU 0", .sms = 4, .mhz = 1000,') and p["row"].endswith(")"), p
assert p["distance"]["sms"] == {"stands": 132, "measured": 4, "ratio": 4 / 132}
END

# A profiler that runs the command and counts as nobody does.
cat >"$dir/ncu" <<'END'
#!/bin/sh
# options, then hexc; what it prints is what `ncu --csv --page raw` does
while [ "${1#-}" != "$1" ]; do
	case $1 in
	--metrics) names=$2; shift ;;
	--page | --target-processes) shift ;;
	esac
	shift
done
"$@" >/dev/null || exit 1
echo '==PROF== Connected'
echo "\"ID\",\"Kernel Name\",\"$(echo "$names" | sed 's/,/","/g')\""
echo "\"\",\"\",\"$(echo "$names" | sed 's/[^,]*/unit/g; s/,/","/g')\""
echo "\"0\",\"$(basename "$3" .hexc)\",\"$(echo "$names" | sed 's/[^,]*/1;024/g; s/,/","/g; s/;/,/g')\""
END
chmod +x "$dir/ncu"
PATH=$dir:$PATH day --steps counters >"$dir/log" 2>&1 || fail "counters: $(cat "$dir/log")"
valid counters
python3 - "$dir/day/counters.json" <<'END' || bad=1
import json, sys
items = json.load(open(sys.argv[1]))["items"]
for i in items:
    assert i["profiled"]["global_requests"] == 2048 and i["profiled"]["mma"] == 1024 and i["note"] == "", i
# 64 K elements: two are read for one written, 32 bytes a sector
assert items[0]["simulated"]["global_sectors_read"] == 2 * 65536 * 4 // 32, items[0]
END
for text in 'Measured, as a multiple' 'RATES(90' '<svg' 'What failed' 'vector_add'; do
	grep -qF "$text" "$dir/day/day.html" || fail "day.html has no '$text'"
done
FAKE_CUDA_DEVICES=0 day >"$dir/log" 2>&1 && fail "there is no GPU"
grep -q 'there is no GPU here' "$dir/log" || fail "no GPU: $(cat "$dir/log")"
exit $bad
