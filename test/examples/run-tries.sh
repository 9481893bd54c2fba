#!/bin/sh
# test/examples/tries.hexc: compare-and-swap updates leave and return the same values as in the tile interpreter,
# also under contention. ptxas accepts them.
set -u
. test/script.sh
ran=0

try() { # arch kernel arguments...
	arch=$1 kernel=$2
	shift 2
	"$HEXC" run "$here/tries.hexc" --kernel "$kernel" --arch "$arch" --exec=sim --check --prove --ptx "$dir/p" "$@" \
		>"$dir/o" 2>&1 || fail "$kernel on $arch, $*: $(cat "$dir/o")"
	ran=$((ran + 1))
	command -v ptxas >/dev/null || return 0
	ptxas -arch="$arch" "$dir/p" -o "$dir/c" >"$dir/o" 2>&1 || fail "$kernel on $arch: $(cat "$dir/o")"
}

archs="sm_75 sm_80 sm_90a"
archs | grep -q sm_100a && archs="$archs sm_100a"
# shellcheck disable=SC2086 # words
for arch in $archs; do
	for t in f16 bf16 f32 f64; do
		try $arch once -D T=$t --arg 'X=random(1)' --arg 'C=random(2)' --arg 'D=random(3)'
		try $arch many -D T=$t --arg 'X=random(1)[1000]' --arg 'I=randint(4,-1,8)' --arg 'C=random(2)' --arg 'D=random(3)'
	done
	for t in i8 u8; do
		case $t in i8) x='randint(7,-128,127)' ;; *) x='randint(7,0,255)' ;; esac
		try $arch bytes -D T=$t --arg "X=$x" --arg 'C=randint(8,0,9)'
		try $arch crowd -D T=$t --arg 'X=randint(9,0,99)[1000]' --arg 'I=randint(4,-1,8)' --arg 'C=randint(2,0,99)' \
			--arg 'D=randint(3,0,99)' --arg 'E=randint(5,0,99)'
	done
	for t in f16 bf16 i16 u16 i8 u8; do
		try $arch swap -D T=$t --arg 'X=randint(2,0,99)' --arg 'C=randint(3,0,99)'
	done
	try $arch sums --arg 'X=random(1)' --arg 'C=random(2)'
	try $arch tickets --arg C=zeros --arg D=zeros
done
echo "$ran kernels run"
exit $bad
