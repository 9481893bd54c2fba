#!/bin/sh
# Every version made by pass version_accesses is correct: all candidates of the kernels of versions.hexc, compared
# with the tile interpreter, at sizes around those that allow wide accesses or full blocks. FULL=1: all targets.
. test/script.sh
n=0
prog=test/examples/versions.hexc

# all KERNEL SIZES ARG..: every candidate at every size NxM; in ARG, N and M are that size, T is 2 N, O is 3
all() {
	kernel=$1 sizes=$2
	shift 2
	for arch in $archs; do
		last=$("$HEXC" candidates $prog --kernel "$kernel" --arch "$arch" | wc -l)
		for size in $sizes; do
			given=$(printf -- '--arg %s ' "$@" | sed "s/T/$((2 * ${size%x*}))/g; s/N/${size%x*}/g; s/M/${size#*x}/g; s/O/3/g")
			c=0
			while [ $c -lt "$last" ]; do
				n=$((n + 1))
				# shellcheck disable=SC2086 # words
				"$HEXC" run $prog --kernel "$kernel" --arch "$arch" --candidate $c --prove --exec=sim --check \
					$given >"$dir/out" 2>&1 || fail "$kernel $size $arch candidate $c: $(tail -3 "$dir/out")"
				c=$((c + 1))
			done
		done
	done
}

archs=sm_80
[ -z "${FULL-}" ] || archs=$(archs)
matrix='256x8 257x9 255x7 264x8 4x3'
all line '1024 1023 1025 1032 7' 'X=random(1)[N]' 'Y=random(2)'
all whole '512 511 504 1' 'X=random(1)[N]'
all tiles "$matrix" 'X=random(1)[M,N]'
all beside '136x8 135x8 131x6 132x5' 'X=random(1)[M,N]' 'Z=random(2)'
all row '256x4 255x3 253x2 248x3 1x1' 'X=random(1)[M,N]'
all total "$matrix" 'X=random(1)[M,N]'
all gather "$matrix" 'X=random(1)[O,N]' 'I=randint(2,-1,3)[M]'
all turned '64x8 63x7 65x9 68x5' 'X=random(1)[O,M,N]'
all staged '64x8 63x7 65x9 68x5' 'X=random(1)[M,N]'
all turns '128x64 96x33 40x31 31x40 104x8' 'A=random(1)[M,N]' 'B=random(2)[N,N]'
all halves '256x8 136x5 135x4 132x3' 'X=random(1)[M,T]' 'D=N'
all behind '32x64 33x33 40x31 31x40' 'A=random(1)[M,N]' 'B=random(2)[N,N]' 'R=random(3)'
echo "$n runs"
exit $bad
