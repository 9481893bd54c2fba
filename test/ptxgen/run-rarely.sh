#!/bin/sh
# Slow paths of selects (rarely.hexc): all candidates, if all, some or no elements take the branch. The simulated
# PTX equals the tile interpreter. A sin of small arguments executes less than half the instructions of one of large
# arguments. FULL=1: all targets.
. test/script.sh
n=0
prog=$here/rarely.hexc
archs=sm_80
[ -z "${FULL-}" ] || archs=$(archs)

right() { # KERNEL ARG...
	kernel=$1
	shift
	for arch in $archs; do
		last=$("$HEXC" candidates "$prog" --kernel "$kernel" --arch "$arch" -W no-unwritten | wc -l)
		[ "$last" -gt 0 ] || fail "$kernel: no candidates for $arch"
		c=0
		while [ $c -lt "$last" ]; do
			n=$((n + 1))
			"$HEXC" run "$prog" --kernel "$kernel" --arch "$arch" --candidate $c --prove --exec=sim --check \
				-W no-unwritten "$@" >"$dir/out" 2>&1 ||
				fail "$kernel $* $arch candidate $c: $(tail -3 "$dir/out")"
			c=$((c + 1))
		done
	done
}

# large arguments in one warp only, in one lane, everywhere and nowhere
python3 - "$dir" <<'P' || exit 1
import array, struct, sys

def save(name, shape, x):
    head = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as f:
        f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + array.array("f", x).tobytes())

near = [(i % 777) * 0.25 - 90 for i in range(2000)]
save("near", (2000,), near)
save("far", (2000,), [(x + 0.1) * 3e7 for x in near])
save("warp", (2000,), [x * 1e20 if 100 < i < 140 else x for i, x in enumerate(near)])
save("one", (2000,), [x * 1e30 if i == 1501 else x for i, x in enumerate(near)])
P
executed() { # FILE: warp instructions of sines
	"$HEXC" run "$prog" --kernel sines --arch sm_80 --exec=sim --check --stats "$dir/s" --arg "X=@$dir/$1.npy" \
		>"$dir/out" 2>&1 || fail "sines $1: $(tail -3 "$dir/out")"
	sed -n 's/^[[:space:]]*"warp_instructions":[[:space:]]*\([0-9]*\).*/\1/p' "$dir/s" | head -n 1
}
for x in near far warp one; do
	right sines --arg "X=@$dir/$x.npy"
done
near=$(executed near) far=$(executed far) one=$(executed one)
[ $((2 * near)) -lt "$far" ] || fail "sines: $near instructions where all are small, $far where none is"
more=$((far - near)) # 2 blocks of 2 warps with 4 branches each, in one
[ "$one" -gt "$near" ] && [ $((8 * (one - near))) -lt $more ] || fail "sines: $one instructions where one element is large"
for kernel in turned shared_choice nested; do
	says 0 '' --emit-ptx "$prog" --kernel $kernel -W no-unwritten -o "$dir/p.ptx"
	grep -q vote.sync.any "$dir/p.ptx" || fail "$kernel: no branch"
done
right turned --arg 'X=random(1)[11,200]'
right turned --arg 'X=randint(1,-60000,60000)[8,64]'
for x in 'randint(1,-3,3)' 'randint(1,0,1)' 'randint(1,2,5)'; do
	right shared_choice --arg "X=$x[7,96]"
	right needed_by_all --arg "X=$x[7,96]"
	right nested --arg "X=$x[9,128]" --arg 'R=randint(2,-1,1)'
done
echo "$n runs, sines: $near instructions where all are small, $one where one is large, $far where all are"
exit $bad
