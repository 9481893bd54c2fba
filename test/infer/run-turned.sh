#!/bin/sh
# Transposed narrow tiles (turned.hexc): every candidate is correct, and on the transposed side of the conversion
# through shared memory uses accesses of at least twice the element size.
#
# The width follows from a lane's elements: 4 warps have 32 elements per lane of a tile of 64 x 64, and of 32 x 4 x
# 32. With 16-byte accesses these are 4 rows of 8 f16; 4 adjacent rows give 8 bytes on the transposed side. For 8
# bits they are 4 rows of 8, in accesses of 8 bytes, and a word on the transposed side; 2 rows of 16 would give
# half a word. For 4 bits they are 4 rows of 8, in words, and half a word; 8 rows would narrow the memory accesses.
# For 2 bits they are 4 rows of 8, and bytes; 2 rows of a word would give less than a byte. 16 rows of 4 bits leave
# a lane 2 rows of 4, instead of a word of one row and 8 bytes. Accesses of a warp on the transposed side are then
# elements / (32 lanes * 4).
set -u
. test/script.sh
elements=16384

# kernel, type, adjacent rows, accesses of the transposed side, arguments
turned() {
	for arch in sm_80 sm_90a; do
		n=$("$HEXC" candidates "$here/turned.hexc" --kernel "$1" -D T="$2" --arch $arch | grep -c cycles)
		i=0
		while [ $i -lt "$n" ]; do
			"$HEXC" run "$here/turned.hexc" --kernel "$1" -D T="$2" --arch $arch --candidate $i --exec=sim --check \
				--prove --arg "$5" --stats "$dir/stats.$i" >"$dir/out" 2>&1 ||
				fail "$1 of $2, $arch, candidate $i: $(tail -3 "$dir/out")"
			i=$((i + 1))
		done
		got=$(sed -n "s,.*\"$4\":[[:space:]]*\([0-9]*\).*,\1,p" "$dir/stats.0" | head -1)
		[ "${got:-0}" = $((elements / 32 / $3)) ] ||
			fail "$1 of $2, $arch: ${got:-no} $4, not $((elements / 32 / $3)), by $n candidates"
	done
}

turned from_registers f16 4 st_shared 'X=random(1)[128,128]'
turned from_registers bf16 4 st_shared 'X=random(1)[128,128]'
turned from_registers i8 4 st_shared 'X=randint(1,-9,9)[128,128]'
turned from_registers u4 4 st_shared 'X=randint(1,0,15)[128,128]'
turned from_registers u2 4 st_shared 'X=randint(1,0,3)[128,128]'
turned few_rows u4 2 st_shared 'X=randint(1,0,15)[128,128]'
turned from_shared f16 4 ld_shared 'X=random(1)[128,128]'
turned from_shared e4m3 4 ld_shared 'X=random(1)[128,128]'
turned outer_dims f16 4 st_shared 'X=random(1)[64,4,64]'
turned outer_dims u8 4 ld_shared 'X=randint(1,0,9)[64,4,64]'
exit $bad
