#!/bin/sh
# Lookup tables (test/infer/lookup.hexc): the simulator equals the tile interpreter. If entry i has the value i, the
# result is the index. By default some entry types on one target; FULL=1: all.
set -u
. test/script.sh
file=$here/lookup.hexc
archs=sm_80 some='f16 f32 i8'
[ "${FULL:-0}" = 1 ] && archs='sm_75 sm_80 sm_89 sm_90a' some='f16 bf16 f32 i8 u8 e4m3 i16 i32'
ran=0

try() { # kernel, index, entries, type, arguments...
	kernel=$1 index=$2 n=$3 type=$4
	shift 4
	for arch in $(only_here $archs); do
		[ "$arch$type" = sm_75bf16 ] && continue
		out=$("$HEXC" run "$file" --kernel "$kernel" -D "I=$index" -D "ENTRIES=$n" -D "E=$type" --arch "$arch" \
			--exec="${EXEC:-sim}" --check --prove "$@" 2>&1) ||
			fail "$kernel by $index to $type on $arch: $out"
		ran=$((ran + 1))
	done
}

for in in u1:2 u2:4 u3:8 u4:16; do
	index=${in%:*} n=${in#*:}
	for type in $some; do
		try whole "$index" "$n" "$type" --arg 'T=random(5)' --arg 'W=arange[21,88]'
		try rows "$index" "$n" "$type" --arg 'T=random(5)' --arg 'W=random(7)[37,72]'
		case $type in f16 | bf16 | i8 | e4m3)
			try product "$index" "$n" "$type" --arg 'T=random(5)' --arg 'W=random(7)[72,96]' \
				--arg 'A=random(3)[40,96]' --arg 'S=random(8)'
			try packed_product "$index" "$n" "$type" --arg 'T=random(5)' --arg 'W=random(7)[72,96]' \
				--arg 'A=random(3)[40,96]' ;;
		esac
	done
	# codes of less than 4 bits are packed in the bit order that lookups prefer
	"$HEXC" --emit-ptx "$file" --kernel packed_product -D "I=$index" -D "ENTRIES=$n" -o "$dir/p" --manifest "$dir/m" &&
		{ [ "$n" = 16 ] || grep -q 'hexc-pack.* spread 4 ' "$dir/m"; } || fail "$index: no spread 4"
	"$HEXC" run "$file" --kernel whole -D "I=$index" -D "ENTRIES=$n" -D E=u8 --exec="${EXEC:-sim}" --arg T=arange \
		--arg 'W=arange[16,64]' --save "Y=$dir/y.npy" >"$dir/out" 2>&1 || { cat "$dir/out"; bad=1; }
	tail -c 1024 "$dir/y.npy" | od -An -v -tu1 -w1 | awk -v n="$n" '$1 != (NR - 1) % n { bad++ } END { exit bad > 0 || NR != 1024 }' ||
		fail "entry i of u8 by $index is not i"
done
echo "$ran kernels run"
exit $bad
