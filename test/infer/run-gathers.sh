#!/bin/sh
# test/infer/gathers.hexc: gathers of rows of shared tiles equal the tile interpreter, also for out-of-bounds
# indices, and pass the validator. Contiguous elements move together.
set -u
. test/script.sh
ran=0

try() { # arch kernel arguments...
	arch=$1 kernel=$2
	shift 2
	n=$("$HEXC" candidates "$here/gathers.hexc" --kernel "$kernel" --arch "$arch" -W no-idle "$1" "$2" 2>/dev/null |
		grep -c cycles)
	i=0
	while [ $i -lt 2 ]; do
		"$HEXC" run "$here/gathers.hexc" --kernel "$kernel" --arch "$arch" --exec=sim --check --prove --candidate $i \
			-W no-idle --stats "$dir/s" "$@" >"$dir/o" 2>&1 || fail "$kernel on $arch, candidate $i, $*: $(cat "$dir/o")"
		ran=$((ran + 1))
		i=$((i + 1))
		[ $i -lt "$n" ] || break
	done
}

for arch in sm_75 sm_80 sm_90a; do
	for t in f16 f32 u8 u4 e2m3 i64; do
		x='random(1)'
		case $t in u8 | u4 | i64) x='randint(1,0,15)' ;; esac
		try $arch scatter -D T=$t --arg "X=$x[64,64]" --arg 'I=randint(2,-3,70)[64]'
		try $arch deep -D T=$t --arg "X=$x" --arg 'I=randint(2,-1,8)' --arg 'J=randint(3,-1,4)'
		try $arch part -D T=$t --arg "X=$x" --arg 'I=randint(2,-1,8)' --arg K=3
	done
	try $arch fed -W no-fma --arg 'X=random(1)' --arg 'B=random(4)' --arg 'I=randint(2,-1,64)'
done

# 64 by 64 f16 with 128 threads: scattered elements take 4 accesses of 16 bytes per warp, and as many back
"$HEXC" run "$here/gathers.hexc" --kernel scatter -D T=f16 --exec=sim --arg 'X=random(1)[64,64]' --arg 'I=arange[64]' \
	--stats "$dir/s" >"$dir/o" 2>&1 || fail "$(cat "$dir/o")"
n=$(sed -n 's/^[[:space:]]*"shared_requests":[[:space:]]*\([0-9]*\).*/\1/p' "$dir/s" | head -n 1)
[ "${n:-99}" -le 32 ] || fail "$n accesses of shared memory for two tiles of 8192 bytes, 32 of 512 bytes will do"

# Gathers from register tiles: each is tried in shared memory and across lanes, most by shuffles only.
# (test/examples/test_choose runs them all.)
choose=test/examples/choose.hexc
for kernel in $(sed -n 's/^kernel \([a-z]*\).*/\1/p' $choose); do
	"$HEXC" candidates $choose --kernel "$kernel" >"$dir/ranked" || fail "$kernel"
	grep -q 'cycles  [^;]* shared' "$dir/ranked" || fail "$kernel: not tried in shared memory"
	first=$(grep 'cycles  [^;]* registers' "$dir/ranked" | grep -v 'cycles  [^;]* shared\|via shared' | sed -n '1s/^ *\([0-9]*\).*/\1/p')
	[ "$first" ] || { fail "$kernel: not tried in registers"; continue; }
	case $kernel in nibbles | parts | sevens) continue ;; esac # a lane owns full rows, or rows go through shared memory
	"$HEXC" --emit-ptx $choose --kernel "$kernel" --candidate "$first" -o "$dir/p" || fail "$kernel"
	grep -q 'shfl\.sync\.idx' "$dir/p" && ! grep -q '\.shared' "$dir/p" || fail "$kernel: candidate $first is not by shuffles alone"
done
# 7 by 33 indices, as those of longer tiles, and 33 table entries: distributed over the lanes, not replicated.
n=$("$HEXC" --emit-ptx $choose --kernel odd -o "$dir/p" && grep -c 'ld\.global' "$dir/p")
[ "$n" -le 24 ] || fail "odd: $n loads of a lane"
echo "$ran kernels run"
exit $bad
