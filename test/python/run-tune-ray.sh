#!/bin/sh
# scripts/tune on a Ray cluster of this host, for 127.0.0.1 only. Three workers, one of which is killed
# while working, produce the same database as one process. A worker of another build is excluded.
# Skipped if Python has no ray.
. test/script.sh
[ -z "$SAN" ] || { echo "the command line is not what is tested"; exit 77; }
for python in "${PYTHON:-}" "$B/reference/bin/python" python3 ''; do
	[ -z "$python" ] || ! "$python" -c 'import ray' 2>/dev/null || break
done
[ -n "$python" ] || { echo "Python has no ray here: pip install ray, or PYTHON=... of one that has"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
what="examples/gemm_wNa16.hexc -D BM=16,64 -D BN=64 --exec sim --within 9 --shape M=16,N=64,K=128 --shape M=64,N=128,K=128
	--shape M=128,N=64,K=64 --top 1"
# shellcheck disable=SC2086
scripts/tune $what --db "$dir/one.db" >"$dir/one" 2>&1 || fail "one process: $(cat "$dir/one")"

# shellcheck disable=SC2086
timeout 300 "$python" - "$dir" $what <<'END' || fail "a worker killed: $(cat "$dir/ray")"
import os, signal, sqlite3, subprocess, sys, time
folder, *what = sys.argv[1:]
# The log has the process id of each worker.
child = subprocess.Popen([sys.executable, "scripts/tune", *what, "--db", folder + "/ray.db", "--ray", "local", "--jobs", "3"],
                         stdout=open(folder + "/ray", "w"), stderr=subprocess.STDOUT)
workers = set()
while child.poll() is None and len(workers) < 3:
    time.sleep(0.05)
    try:
        workers = {host for (host,) in sqlite3.connect(folder + "/ray.db").execute("select distinct host from log")}
    except sqlite3.Error:
        pass
assert len(workers) == 3, workers
before = sqlite3.connect(folder + "/ray.db").execute("select count(*) from sample").fetchone()[0]
os.kill(int(sorted(workers)[0].rpartition(":")[2]), signal.SIGKILL)
try:
    assert child.wait(timeout=200) == 0
finally:
    child.terminate()
after = sqlite3.connect(folder + "/ray.db").execute("select count(*) from sample").fetchone()[0]
assert before < after, "it was killed at the end"
END
grep -q 'a worker is lost; its job goes to another' "$dir/ray" || fail "nothing is said of the worker: $(cat "$dir/ray")"
for db in one ray; do
	scripts/tune --db "$dir/$db.db" --dump >"$dir/$db.dump"
done
cmp "$dir/one.dump" "$dir/ray.dump" || fail "one process and three workers find different things"
grep '^best' "$dir/one" >"$dir/best"
grep '^best' "$dir/ray" | cmp - "$dir/best" || fail "another best"

# The worker pool by itself: duplicate jobs, unknown workers, a program at another path.
PYTHONPATH=scripts/python timeout 200 "$python" - "$dir" <<'END' >"$dir/log" 2>&1 || fail "the crew: $(cat "$dir/log")"
import contextlib, io, os, sys
import hexc_tune.hosts as hosts
from hexc_tune.compiler import Compiler
from hexc_tune.judge import Job

crew = hosts.Hosts("local", Compiler(), os.path.abspath("examples/gemm_f16.hexc"), 2)
crew.start("sim")
# The listening sockets accept connections from this host only; /proc/net/tcp has addresses in memory order.
crew._ray.wait(list(crew._new), num_returns=2)
parent = {int(p): int(open(f"/proc/{p}/stat").read().rpartition(")")[2].split()[1]) for p in os.listdir("/proc") if p.isdigit()
          and os.path.exists(f"/proc/{p}/stat")}
ours = {os.getpid()}
while more := {p for p, of in parent.items() if of in ours} - ours:
    ours |= more
sockets = set()
for p in ours:
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{p}/fd"):
            with contextlib.suppress(OSError):
                sockets.add(os.readlink(f"/proc/{p}/fd/{fd}"))
rows = [line.split() for name in ("tcp", "tcp6") for line in list(open("/proc/net/" + name))[1:]]
listen = [r[1].partition(":")[0] for r in rows if r[3] == "0A" and f"socket:[{r[9]}]" in sockets]
assert len(listen) >= 4 and set(listen) <= {"0100007F", "0000000000000000FFFF00000100007F",
                                            "00000000000000000000000001000000"}, listen
job = Job(crew._program, ("--arch", "sm_80"), ("BM=7",))
crew.submit("a", job)
found = crew.next()
assert found.tag == "a" and found.outcome["state"] == "refused", found
assert found.outcome["why"].startswith(crew._program + ":4:10: error: BM=7 is not a value of tunable `BM`"), found.outcome
# A second worker gets a slow job, and the later result is discarded.
hosts.SLOW_SECONDS, crew._took = 0, [0.0] * 5
args = ("A=random(1)[256,512]", "B=random(2)[256,512]")
crew.submit("slow", Job(crew._program, ("--arch", "sm_80"), ("BM=64",), args, 0, "sim", "A100-80GB", True))
crew.submit("quick", Job(crew._program, ("--arch", "sm_80"), ("BM=64",)))
tags = {crew.next().tag, crew.next().tag}
assert tags == {"slow", "quick"} and not crew._jobs
crew.submit("last", Job(crew._program, ("--arch", "sm_80"), ("BM=32",)))
assert crew.next().tag == "last"
# Workers belong to a build: a head of another build rejects them.
crew._build, crew._idle = "hexc of another day", []
crew._hire()
said = io.StringIO()
with contextlib.redirect_stderr(said):
    for ref in list(crew._new):
        crew._ray.wait([ref])
        crew._greet(ref)
assert "is left out: its hexc is " in said.getvalue() and not crew._idle, said.getvalue()
crew.close()
END
exit $bad
