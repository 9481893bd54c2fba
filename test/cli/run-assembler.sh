#!/bin/sh
# Candidates ranked by an assembler: hexc build, pack, candidates --assemble and --emit-ptx --assemble.
# The assembler is a script with one answer per solution. With ptxas, the answers for the examples are
# checked against ptxas's own.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
prog=examples/attention.hexc
mkdir "$dir/bin" "$dir/k"
for tool in sh cat cmp sed rm mkdir; do
	ln -s "$(command -v $tool)" "$dir/bin/$tool"
done
i=0
while [ $i -lt 9 ]; do
	"$HEXC" --emit-ptx $prog --candidate $i -o "$dir/k/$i.ptx" 2>/dev/null || fail "no solution $i"
	i=$((i + 1))
done
# Line "NUMBER REGISTERS BYTES" of $dir/answers is the answer for the solution of this PTX; REFUSED instead
# of registers rejects it.
cat >"$dir/asm" <<END
#!/bin/sh
[ "\$1" != --version ] || { echo "an assembler"; cat "$dir/version"; exit; }
ptx=\$2 out=\$4
[ "\$5" = -v ] || { echo "cubin of \$1" >"\$out"; echo cubin >>"$dir/asked"; exit; }
i=0
until [ \$i = 9 ] || cmp -s "\$ptx" "$dir/k/\$i.ptx"; do i=\$((i + 1)); done
echo "\$i \$1" >>"$dir/asked"
while read -r number registers bytes; do
	[ "\$number" = \$i ] || continue
	[ "\$registers" != REFUSED ] || { echo "ptxas fatal: no such thing as solution \$i" >&2; exit 255; }
	echo "    0 bytes stack frame, \$bytes bytes spill stores, \$bytes bytes spill loads
ptxas info    : Used \$registers registers, used 1 barriers" >&2
done <"$dir/answers"
END
chmod +x "$dir/asm"
echo 'release 1' >"$dir/version"
PTXAS=$dir/asm
export PTXAS

answers() { # LINE...
	printf '%s\n' "$@" >"$dir/answers"
	: >"$dir/asked"
}
asked() { # NUMBERS: the solutions that were assembled, in this order
	[ "$(sed -n 's/^\([0-9]\) .*/\1/p' "$dir/asked" | tr -d '\n')" = "$1" ] || fail "$2: asked about $(cat "$dir/asked"), not $1"
}
taken() { # NUMBER WHAT: the solution in $dir/b.hxb
	python3 - "$dir/b.hxb" "$dir/k/$1.ptx" <<'END' || fail "$2: not solution $1"
import sys
bundle, ptx = (open(p, "rb").read() for p in sys.argv[1:])
sys.exit(ptx not in bundle)
END
}
alike() { # REGISTERS BYTES: the same answer for all eight
	for n in 0 1 2 3 4 5 6 7; do echo "$n $1 $2"; done
}

# Selects the first solution that does not spill, although the estimate ranks seven before it.
alike 128 16 | sed 's/^6 .*/6 128 0/' >"$dir/answers"; : >"$dir/asked"
says 0 '' build $prog -o "$dir/b.hxb"
taken 6 'one does not spill'
asked 0123456 'the next would need more cycles with the fewest registers'
! grep -q warning "$dir/out" || fail "a warning of what does not spill: $(cat "$dir/out")"
says 0 '' --emit-ptx $prog --assemble -o "$dir/p"
cmp "$dir/p" "$dir/k/6.ptx" || fail "--emit-ptx --assemble takes another"
says 0 '' --emit-ptx $prog -o "$dir/p"
cmp "$dir/p" "$dir/k/0.ptx" || fail "--emit-ptx asks by itself"

# All spill: selects the one that spills least, and the warning says so.
alike 255 40 | sed 's/^3 .*/3 255 12/' >"$dir/answers"
says 0 'kernel attention: 12 bytes of each lane go to memory and back, as the assembler says' build $prog -o "$dir/b.hxb"
taken 3 'all spill'

# No assembler runs for a solution selected by number, or with --assembler none.
: >"$dir/asked"
says 0 '' build $prog --candidate 0 -o "$dir/b.hxb"
taken 0 '--candidate 0'
says 0 '' build $prog --assembler none -o "$dir/b.hxb"
taken 0 '--assembler none'
PTXAS=none
says 0 '' build $prog -o "$dir/b.hxb"
taken 0 'PTXAS=none'
PTXAS=$dir/asm
printf 'hexc-family 1\nfamily f\narch sm_80\ntake attention candidate=0 when 1\n' >"$dir/family"
says 0 '' build $prog --family "$dir/family" -o "$dir/b.hxb"
taken 0 'a family that says which'
asked '' 'named ones'
sed -i 's/ candidate=0//' "$dir/family"
says 0 '' build $prog --family "$dir/family" -o "$dir/b.hxb"
taken 3 'a family that does not say which'

# A rejected solution is reported and skipped. If the first is rejected, the estimates decide
# and no other is assembled.
answers '0 255 8' '1 REFUSED 0' "$(alike 128 0 | sed 1,2d)"
says 0 'the assembler rejected solution 1 of kernel attention: ptxas fatal: no such thing as solution 1' build $prog -o "$dir/b.hxb"
taken 2 'one is refused'
answers '0 REFUSED 0' "$(alike 128 0)"
says 0 'no such thing as solution 0; solutions are ranked by estimates [-W no-assembler]' build $prog -o "$dir/b.hxb"
taken 0 'the first is refused'
asked 0 'the first is refused'
says 0 'cannot be run' build $prog --assembler "$dir/nothing" -o "$dir/b.hxb"
says 1 'the assembler rejected solution 0 of kernel' build $prog --werror -o "$dir/x.hxb"
printf '#!/bin/sh\necho hello\n' >"$dir/mute"
chmod +x "$dir/mute"
says 0 'its output has no register count' build $prog --assembler "$dir/mute" -o "$dir/b.hxb"
# An assembler that hangs is killed after 60 s (of a clock 100 times as fast here), and the estimates decide.
if [ -z "${SAN:-}" ]; then # the sanitizer's library must be loaded first
	cat >"$dir/fast.c" <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int
clock_gettime(clockid_t id, struct timespec *t)
{
	int code = (int)syscall(SYS_clock_gettime, id, t);
	long long ns = (t->tv_sec * 1000000000LL + t->tv_nsec) * 100;

	if (id == CLOCK_MONOTONIC) {
		t->tv_sec = (time_t)(ns / 1000000000);
		t->tv_nsec = (long)(ns % 1000000000);
	}
	return code;
}
END
	${CC:-cc} -shared -fPIC -o "$dir/fast.so" "$dir/fast.c" || fail "no clock"
	printf '#!/bin/sh\n[ "$1" != --version ] || exit 0\necho $$ >>"%s/hung"\nexec sleep 600\n' "$dir" >"$dir/hang"
	chmod +x "$dir/hang"
	LD_PRELOAD=$dir/fast.so "$HEXC" build $prog --assembler "$dir/hang" -o "$dir/b.hxb" >"$dir/out" 2>&1 ||
		fail "a hanging assembler: $(cat "$dir/out")"
	grep -q 'took more than 60 seconds; solutions are ranked by estimates' "$dir/out" ||
		fail "a hanging assembler: $(cat "$dir/out")"
	taken 0 'the assembler hangs'
	[ "$(wc -l <"$dir/hung")" = 1 ] || fail "an assembler that hangs is asked again"
	! kill -0 "$(cat "$dir/hung")" 2>/dev/null || fail "the assembler hangs on"
fi
without() { # STATUS ARGUMENTS: hexc without a ptxas on PATH
	want=$1
	shift
	PATH=$dir/bin "$HEXC" "$@" >"$dir/out" 2>&1
	got=$?
	[ $got = "$want" ] || fail "$*: status $got, not $want: $(cat "$dir/out")"
}
PTXAS=
without 4 candidates $prog --assemble
grep -q -e '--assemble requires ptxas' "$dir/out" || fail "it does not say what it needs: $(cat "$dir/out")"
without 0 build $prog -o "$dir/b.hxb"
without 0 candidates $prog
PTXAS=$dir/asm
taken 0 'without an assembler'

# With --cache each solution is assembled once, and again for another version of the assembler.
answers '0 128 16' "$(alike 128 0 | sed 1d)"
says 0 '' build $prog --cache="$dir/cache" -o "$dir/b.hxb"
taken 1 'first'
: >"$dir/asked"
says 0 '' build $prog --cache="$dir/cache" -o "$dir/b.hxb"
taken 1 'from the cache'
asked '' 'what the cache has'
echo 'release 2' >"$dir/version"
answers "$(alike 128 0)"
says 0 '' build $prog --cache="$dir/cache" -o "$dir/b.hxb"
taken 0 'another version'
says 0 '' build $prog --cache="$dir/cache" --assembler none -o "$dir/b.hxb"
taken 0 'none, and the cache has what was asked'
says 4 'cannot be run' build $prog --cache="$dir/cache" --assembler "$dir/nothing" -o "$dir/b.hxb"

# $PTXAS makes the cubins.
: >"$dir/asked"
without 0 build examples/vector_add.hexc --candidate 0 --cubin sm_86 -o "$dir/c.hxb"
grep -q cubin "$dir/asked" && grep -aq 'cubin of -arch=sm_86' "$dir/c.hxb" || fail "--cubin: \$PTXAS is not read"

# Registers determine blocks per SM, and those the cycles: sm_80 has 65536 registers per SM, allocated in units of
# 256, and blocks have 4 warps.
answers '0 255 0' '1 168 0' '2 104 0' "$(alike 152 0 | sed 1,3d)"
"$HEXC" candidates $prog --assemble --json >"$dir/json" || fail "candidates --assemble"
"$HEXC" candidates $prog --json >"$dir/plain"
"$HEXC" --emit-ptx $prog --manifest "$dir/m.json" -o /dev/null
python3 - "$dir" <<'END' || fail "what is made of registers"
import json, sys
folder = sys.argv[1]
found, plain = (json.load(open(f"{folder}/{n}"))[0]["candidates"] for n in ("json", "plain"))
threads = json.load(open(f"{folder}/m.json"))["kernels"][0]["block"][0]
warps = threads // 32
used = {0: 255, 1: 168, 2: 104, **dict.fromkeys(range(3, 8), 152)}
estimated = {c["index"]: c for c in plain}
assert sorted(c["index"] for c in found) == sorted(estimated), "all are listed"
assert [c["index"] for c in found[8:]] == list(range(8, len(plain))), "those that were not asked about follow"

def blocks(registers):
    return 65536 // (-(-registers * 32 // 256) * 256 * warps)

cycles = {}
for c in found[:8]:
    e, said = estimated[c["index"]], c["assembled"]
    assert said["registers"] == used[c["index"]] and said["spilled_bytes"] == 0
    # prediction for n = `together` blocks, whose busiest unit needs `busy` cycles each: cycles =
    # busy + (alone - busy) / n
    n = e["blocks_together"]
    assert n > 1 and n == blocks(e["registers"]), (e, "another limit than registers")
    busy = (n * e["cycles"] - e["alone"]) / (n - 1)
    most = blocks(said["registers"])
    assert said["blocks_together"] <= most
    want = busy + (e["alone"] - busy) / said["blocks_together"]
    assert abs(said["cycles"] / want - 1) < 1e-6, (c["index"], said, want)
    cycles[c["index"]] = want
assert [c["index"] for c in found[:8]] == sorted(cycles, key=cycles.get), cycles
assert found[0]["index"] == 2, "the one of the fewest registers"
END

# With ptxas: the list has ptxas's own numbers.
unset PTXAS
command -v ptxas >/dev/null || exit $bad
"$HEXC" candidates $prog --assemble --json >"$dir/json" || fail "candidates --assemble with ptxas"
ptxas -v -arch=sm_80 "$dir/k/0.ptx" -o /dev/null 2>"$dir/said"
python3 - "$dir" <<'END' || fail "not what ptxas says: $(cat "$dir/said")"
import json, re, sys
said = open(sys.argv[1] + "/said").read()
first = next(c for c in json.load(open(sys.argv[1] + "/json"))[0]["candidates"] if c["index"] == 0)["assembled"]
assert first["registers"] == int(re.search(r"Used (\d+) registers", said)[1]), first
assert first["spilled_bytes"] == int(re.search(r"(\d+) bytes spill stores", said)[1]), first
END
exit $bad
