#!/bin/sh
# The modules of scripts/tune (test/python/tune.py). A sweep of three shapes on the simulator, killed five times at
# random and resumed, finds the same as one run. Pruning reports its loss. Guards select the best entry for each
# shape. The page is complete.
. test/script.sh
unset PTXAS
command -v python3 >/dev/null && python3 -c 'import sqlite3, sys; sys.exit(sys.version_info < (3, 11))' || { echo "no python3 of 3.11 with sqlite3"; exit 77; }
[ -z "$SAN" ] || { echo "the command line is not what is tested"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
PYTHONPATH=scripts/python python3 test/python/tune.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"

sweep() { # DATABASE OPTIONS...
	db=$1
	shift
	scripts/tune examples/gemm_wNa16.hexc -D BM=16,64 -D BN=64 --exec sim --shape M=16,N=64,K=128 --shape M=64,N=128,K=128 \
		--shape M=128,N=64,K=64 --no-assemble --db "$dir/$db" "$@"
}
sweep all.db --within 9 --export "$dir/family" --report "$dir/page.html" --study >"$dir/all" 2>&1 || fail "the sweep: $(cat "$dir/all")"
[ "$(grep -c '^best: ' "$dir/all")" = 3 ] || fail "not a best for each shape: $(cat "$dir/all")"
scripts/tune --db "$dir/all.db" --dump >"$dir/all.dump"
# The exported table is a family that hexc build accepts.
says 0 '' build examples/gemm_wNa16.hexc --family "$dir/family" -o "$dir/family.hxb"
says 0 'family gemm_wNa16  sm_80' bundle list "$dir/family.hxb"
samples=$(grep -c '^sample' "$dir/all.dump")
[ "$samples" -gt 30 ] || fail "few samples: $samples"

# Killed five times: results are retained, and the final output is the same, word for word.
python3 - "$dir" "$samples" <<'END' || fail "killed and gone on with"
import os, random, signal, sqlite3, subprocess, sys, time
folder, samples = sys.argv[1], int(sys.argv[2])
words = ["scripts/tune", "examples/gemm_wNa16.hexc", "-D", "BM=16,64", "-D", "BN=64", "--exec", "sim", "--within", "9",
         *(w for s in ("M=16,N=64,K=128", "M=64,N=128,K=128", "M=128,N=64,K=64") for w in ("--shape", s)),
         "--no-assemble", "--db", folder + "/killed.db"]

def count():
    try:
        return sqlite3.connect(folder + "/killed.db").execute("select count(*) from sample").fetchone()[0]
    except sqlite3.Error:
        return 0

at = sorted(random.sample(range(samples - 8), 5))
for n in at:
    before = count()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and count() <= max(n, before):
        time.sleep(0.01)
    time.sleep(random.random() / 20)
    assert child.poll() is None, "it ended by itself"
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert before < count() < samples, (before, count())
print("killed at", at)
sys.exit(subprocess.run(words, stdout=open(folder + "/killed", "w")).returncode)
END
scripts/tune --db "$dir/killed.db" --dump | cmp - "$dir/all.dump" || fail "killed five times, the database is another"
grep -v '^study\|judgements' "$dir/all" | cmp - "$dir/killed" || fail "killed five times, other words"

# A repeated sweep does nothing; another program, build or list of options is another sweep.
[ "$(sweep all.db --within 9 | cmp - "$dir/killed")" = "" ] || fail "done is not done"
scripts/tune --db "$dir/all.db" --dump | cmp - "$dir/all.dump" || fail "done, and something else is found"
python3 - "$dir/all.db" <<'END' || fail "done is done again"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
((judged,),), ((samples,),) = (db.execute(f"select count(*) from {t}").fetchall() for t in ("log", "sample"))
sys.exit(judged != samples)
END

# Pruned: only the candidates reported as selected are timed, and the loss equals that of the full sweep's study.
sweep first.db --within 9 --first 3 >"$dir/first" 2>&1 || fail "the first three: $(cat "$dir/first")"
grep -qF "pruned by the cost model: $((samples - 9)) of $samples" "$dir/first" || fail "it does not say what was pruned: $(cat "$dir/first")"
# A spent budget: the same command resumes and produces the same result.
sweep budget.db --within 9 --budget 0.01 >"$dir/budget" 2>&1
grep -q 'the same command goes on' "$dir/budget" || fail "nothing is said of the budget: $(cat "$dir/budget")"
sweep budget.db --within 9 >/dev/null 2>&1
scripts/tune --db "$dir/budget.db" --dump | cmp - "$dir/all.dump" || fail "after a budget, the database is another"

PYTHONPATH=scripts/python:test/python python3 - "$dir" <<'END' || fail "pruning, guards"
import sys
from hexc_tune import export, space, store, study, sweep
folder = sys.argv[1]
full, first = (sweep.results(store.Store(f"{folder}/{name}.db"), 1, "sim") for name in ("all", "first"))
for s in study.study(full):
    of = [r for r in first if r.choice.shape == s.shape and r.state == "ok"]
    kept, loss = s.loses["the first 3"]
    assert kept == len(of) == 3 and abs(min(r.us for r in of) / s.best.us - 1 - loss) < 1e-9, (s.loses, of)
    # guards: the entry for this shape was timed, and is near the best
    take = export.choose(open(folder + "/family").read(), space.read_shape(s.shape))
    us = next(r.us for r in full if r.choice.key == (s.shape, *take))
    assert us <= 1.02 * s.best.us, (s.shape, take, us, s.best.us)
assert export.choose(open(folder + "/family").read(), {"M": 16, "N": 64, "K": 65}) is None  # violates the program's assumption
END
PYTHONPATH=scripts/python python3 test/python/tune.py "$dir/page.html" >"$dir/log" 2>&1 || fail "the page: $(cat "$dir/log")"

# The static model, if available, also of warp roles; for larger grids a part runs.
if PYTHONPATH=scripts/python python3 -c 'import sys; from hexc_tune import clock; sys.exit(not clock.ready())'; then
	sweep clock.db --exec clock --first 2 >"$dir/clock" 2>&1 || fail "by the clock: $(cat "$dir/clock")"
	grep -q '^ *us by clock' "$dir/clock" && ! grep -q '  sim  ' "$dir/clock" || fail "no clock: $(cat "$dir/clock")"
	scripts/tune examples/gemm_f16.hexc --arch sm_90a --exec clock -D BM=128 -D BN=128 --first 1 --sample 2 --no-check --no-assemble \
		--shape M=512,N=1024,K=64 >"$dir/clock" 2>&1
	grep -q ' clock 4 of 32 ' "$dir/clock" || fail "roles: $(cat "$dir/clock")"
fi

# An unavailable static model: each line has the reason, and the exported table names the method of its times.
printf '#!/bin/sh\necho "ptxas fatal: no" >&2\nexit 1\n' >"$dir/noptxas"
chmod +x "$dir/noptxas"
PTXAS=$dir/noptxas NVDISASM=$dir/noptxas sweep noclock.db --exec clock --first 1 --export "$dir/noclock.family" >"$dir/clock" 2>&1
grep -q '^judge sim' "$dir/noclock.family" || fail "judged by: $(grep '^judge' "$dir/noclock.family")"
grep -q 'ptxas fatal: no' "$dir/clock" || fail "not told why there is no clock: $(cat "$dir/clock")"

# With an assembler, here a script: candidate 0 of each list spills, and is skipped.
cat >"$dir/asm" <<END
#!/bin/sh
[ "\$1" != --version ] || { echo "an assembler"; exit; }
grep -q . "$dir/first.ptx" 2>/dev/null || cp "\$2" "$dir/first.ptx"
bytes=0
! cmp -s "\$2" "$dir/first.ptx" || bytes=24
echo "\$bytes bytes spill stores, \$bytes bytes spill loads
Used 64 registers" >&2
END
chmod +x "$dir/asm"
PTXAS=$dir/asm scripts/tune examples/gemm_wNa16.hexc -D BM=16 -D BN=64 --exec sim --shape M=16,N=64,K=128 --first 2 --jobs 1 \
	--db "$dir/asm.db" >"$dir/log" 2>&1 || fail "by an assembler: $(cat "$dir/log")"
scripts/tune --db "$dir/asm.db" --dump >"$dir/asm.dump"
grep -q 'ptxas spills 24 bytes of it, and 0 of another of its constants' "$dir/asm.dump" && grep -q -e --assembler "$dir/asm.dump" &&
	! grep -q '^best: .*--candidate 0' "$dir/log" || fail "what spills is not left out: $(cat "$dir/log" "$dir/asm.dump")"

# An operator: its kernel, and its chain kernel by kernel; hexc_op_plan accepts the table.
scripts/tune --op gemm --arch sm_80 --exec sim -D BM=16 -D BN=64 -D BK=64 --first 1 --shape M=16,N=64,K=1024 --no-assemble \
	--db "$dir/op.db" \
	--export "$dir/op" >"$dir/log" 2>&1 || fail "an operator: $(cat "$dir/log")"
grep -q '^take gemm BM=16 BN=64 BK=64 candidate=[0-9]* when K % 8 == 0' "$dir/op" ||
	grep -q '^take partial BM=16 BN=64 BK=64 candidate=[0-9]* then join candidate=[0-9]* with S=min(16, ceil(K, 512)) when M <= 16' "$dir/op" ||
	fail "the operator's table: $(cat "$dir/op")"
grep -q '^kernel join' "$dir/log" || fail "the operator's chain: $(cat "$dir/log")"
python3 - "$B" "$dir/op" <<'END' || fail "hexc_op_plan and the table"
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1] + "/libhexc.so.0")
text = open(sys.argv[2], "rb").read()

class Opts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("arch", ctypes.c_char_p), ("cache", ctypes.c_void_p), ("families", ctypes.c_char_p),
                ("flags", ctypes.c_uint32), ("realloc", ctypes.c_void_p), ("user", ctypes.c_void_p)]

def plan(text):
    op, why = ctypes.c_void_p(), ctypes.create_string_buffer(400)
    opts = Opts(ctypes.sizeof(Opts), b"sm_80", None, text, 0, None, None)
    code = lib.hexc_op_plan(ctypes.byref(op), b"gemm", None, 0, ctypes.byref(opts), why, ctypes.c_size_t(400))
    lib.hexc_op_free(op)
    return code, why.value

assert plan(text) == (0, b""), plan(text)
bad = plan(text.replace(b"take gemm", b"take gem").replace(b"take partial", b"take partia"))
assert bad[0] == -9 and b"its dispatch table names an unknown kernel partia" in bad[1], bad
END

# A wrong or faulting candidate is recorded, and the sweep continues: a compiler that breaks candidate 1.
cat >"$dir/hexc" <<END
#!/bin/sh
case "\$*" in
run*"--candidate 1 "*) echo "a[3] is 1, not 2" >&2; exit 3 ;;
run*"--candidate 2 "*) kill -9 \$\$ ;;
run*"--candidate 3 "*BM=16*M=16*) sleep 100 ;;
esac
exec $HEXC "\$@"
END
chmod +x "$dir/hexc"
HEXC=$dir/hexc sweep bad.db -D STAGES=3 --within 9 --limit 5 >"$dir/bad" 2>&1
status=$?
[ $status = 1 ] && grep -q 'candidate 1 K=64 M=128 N=64: a\[3\] is 1, not 2' "$dir/bad" && grep -q '^best: .*candidate' "$dir/bad" ||
	fail "a wrong one: exit $status: $(cat "$dir/bad")"
states=$(scripts/tune --db "$dir/bad.db" --dump | awk -F '\t' '$1 == "sample" { print $6 }' | sort -u | tr '\n' ' ')
[ "$states" = "ok slow trouble wrong " ] || fail "wrong, slow and killed ones are recorded as: $states"
exit $bad
