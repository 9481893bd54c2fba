#!/bin/sh
# Tiles padded by pass pad_tiles are correct: all candidates of the kernels of padded.hexc, compared with
# the tile interpreter, at sizes around access widths and at the extent itself. FULL=1: all targets;
# QUICK=1: every third candidate.
. test/script.sh
n=0
prog=test/examples/padded.hexc

# all KERNEL "NAME=EXTENT.." SIZES ARG..: every candidate at every size NxM; in ARG, N and M are that size, T is 2 N
all() {
	kernel=$1 sizes=$3
	set=$(printf -- '-D %s ' $2)
	shift 3
	for arch in $archs; do
		# shellcheck disable=SC2086 # words
		last=$("$HEXC" candidates $prog --kernel "$kernel" $set --arch "$arch" -W no-idle | wc -l)
		[ "$last" -gt 0 ] || fail "$kernel $set: no candidates"
		for size in $sizes; do
			given=$(printf -- '--arg %s ' "$@" | sed "s/T/$((2 * ${size%x*}))/g; s/N/${size%x*}/g; s/M/${size#*x}/g")
			c=0
			while [ $c -lt "$last" ]; do
				n=$((n + 1))
				# shellcheck disable=SC2086 # words
				"$HEXC" run $prog --kernel "$kernel" $set --arch "$arch" --candidate $c --prove --exec=sim \
					--check -W no-idle $given >"$dir/out" 2>&1 ||
					fail "$kernel $set $size $arch candidate $c: $(tail -3 "$dir/out")"
				c=$((c + ${QUICK:+2} + 1))
			done
		done
	done
}

archs=sm_80
[ -z "${FULL-}" ] || archs=$(archs)
for extent in '1000 1000x2 992x2 999x2 7x2' '200 200x3 192x3 199x3 1x3' '33 33x3 32x3 5x3'; do
	bn=BN=${extent%% *} sizes=${extent#* }
	all norm "$bn" "$sizes" 'X=random(1)[M,N]' 'gain=random(2)'
	all spread "$bn" "$sizes" 'X=random(1)[M,N]'
	all gate "$bn" "$sizes" 'X=random(1)[M,T]' 'D=N'
done
for extent in '200 200x3 208x3 256x2 199x3 7x3' '33 33x3 40x3 64x2 32x3'; do
	bn=BN=${extent%% *} sizes=${extent#* }
	all front "$bn" "$sizes" 'X=random(1)[M,N]'
	all count "$bn" "$sizes" 'X=randint(1,-9,9)[M,N]'
	all part "$bn" "$sizes" 'X=random(1)[M,N]' 'Y=random(2)'
done
all both 'BM=33 BN=9' '9x33 8x32 7x5' 'X=random(1)[M,N]'
all both 'BM=25 BN=50' '50x25 48x24 49x7' 'X=random(1)[M,N]'
all carried BN=1000 '1000x4 992x3 999x1' 'X=random(1)[M,N]'
all carried BN=33 '33x4 32x3 5x1' 'X=random(1)[M,N]'
for extents in 'BM=33 BN=9' 'BM=7 BN=50' 'BM=25 BN=33' 'BM=48 BN=200'; do
	all tiles "$extents" '71x40 200x33' 'X=random(1)[M,N]' 'Y=random(2)'
	all lines "$extents" '71x40 200x33' 'X=random(1)[M,N]'
done
for extents in '9 BM=33 BN=9' '50 BM=7 BN=50' '33 BM=25 BN=33' '72 BM=48 BN=72'; do
	all stays "${extents#* }" '71x40 80x50' 'X=random(1)[M,N]'
	all staged "${extents#* }" '71x40 80x50' 'X=random(1)[M,N]' 'W=random(2)'
done
all gathered WARPS=4 '7x9' 'X=random(1)[N,M,33]' 'P=randint(2,-1,8)' 'Y=zeros'
"$HEXC" --emit-ptx $prog --kernel gathered --werror -o /dev/null || fail 'gathered: lanes that do what others do'
for extent in '200 200x3 199x2 150x2' '33 33x3 5x2'; do
	for size in ${extent#* }; do
		all choose "BN=${extent%% *}" "$size" 'X=random(1)[M,N]' "L=randint(2,0,${size%x*})"
	done
done
all square WARPS=4 '49x19' 'X=random(1)[N,M]' 'W=random(2)'
for extents in '9 BM=33 BN=9' '50 BM=7 BN=50' '33 BM=25 BN=33'; do
	all pieces "${extents#* }" "${extents%% *}x40" 'X=random(1)[M,T]' 'D=N'
	all product "${extents#* }" "${extents%% *}x40" 'X=random(1)[M,N]' 'W=random(2)'
done
echo "$n runs"
exit $bad
