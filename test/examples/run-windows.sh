#!/bin/sh
# Windows of tensors are slices: all candidates of the kernels of windows.hexc, compared with the tile interpreter.
# A convolution uses no index tiles. Its copies are as wide as those of GEMM operands; on sm_90a they are TMA boxes
# with negative start coordinates. FULL=1: all targets.
. test/script.sh
n=0
prog=test/examples/windows.hexc

# all KERNEL ARG..: every candidate at sizes 1, 7, 33 and 200: N; T is 2 N, O the next multiple of 8
all() {
	kernel=$1
	shift
	for arch in $archs; do
		last=$("$HEXC" candidates $prog --kernel "$kernel" --arch "$arch" -W no-idle | wc -l)
		[ "$last" -gt 0 ] || fail "$kernel: no candidates"
		for size in 1 7 33 200; do
			given=$(printf -- '--arg %s ' "$@" | sed "s/T/$((2 * size))/g; s/N/$size/g; s/O/$(((size + 7) / 8 * 8))/g")
			c=0
			while [ $c -lt "$last" ]; do
				n=$((n + 1))
				# shellcheck disable=SC2086 # words
				"$HEXC" run $prog --kernel "$kernel" --arch "$arch" --candidate $c --prove --exec=sim --check \
					-W no-idle $given >"$dir/out" 2>&1 ||
					fail "$kernel $size $arch candidate $c: $(tail -3 "$dir/out")"
				c=$((c + 1))
			done
		done
	done
}

shows() { # arch, example, words
	says 0 '' explain "examples/$2.hexc" --arch "$1" --short
	grep -q -- "$3" "$dir/out" || fail "$2 on $1: no '$3'"
}

archs='sm_80 sm_90a'
[ -z "${FULL-}" ] || archs=$("$HEXC" --list-archs)
all causal 'X=random(1)[N,T]' 'W=random(2)'
all pairs 'X=random(1)[N,T]'
all pixel_shuffle 'X=random(1)[4,N,O]'
all delayed 'A=random(1)[N,O]' 'B=random(2)[N,O]'
all shifted 'X=random(1)[2,N,O]'
all nibbles 'X=random(1)[N,T]'

for tile in x y; do
	shows sm_80 conv2d "^  $tile  .*swizzled, no bank conflicts; written by cp_async_16; read by ldmatrix_x4"
done
! grep -q iota "$dir/out" || fail "conv2d: a tile of indices"
shows sm_90a conv2d '2 copy by tma_load'
shows sm_80 max_pool 'load by ld_global_128'
shows sm_80 causal_conv 'load by ld_global_128'
says 0 '' --emit-ptx $prog --kernel shifted -o "$dir/p.ptx"
for wide in 'ld.global.*v4' 'st.global.*v4'; do
	grep -q "$wide" "$dir/p.ptx" || fail "by indices that are a start and steps: no $wide"
done
echo "$n runs"
exit $bad
