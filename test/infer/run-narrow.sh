#!/bin/sh
# Types of up to 8 bits in memory, as rows of bits: test/infer/narrow.hexc equals the tile interpreter for partial
# tiles. By default one type of each width and kind on one target; FULL=1: all types on all targets.
set -u
. test/script.sh
some='u1 i2 u3 i4 u5 i6 u7 e1m1 e2m1 nf4 e2m2 e3m2 e4m2 e3m4 e8m0'
all=$(sed -n '/^kernel turned/,/^{/p' "$here/narrow.hexc" | tr -d '\n ' | sed 's/.*tuneT=//; s/[{].*//; s/|/ /g')
archs=sm_80
[ "${FULL:-0}" = 1 ] && some=$all archs='sm_75 sm_80 sm_89 sm_90a'
ran=0

try() { # kernel, type, arguments...
	kernel=$1 type=$2
	shift 2
	for arch in $(only_here $archs); do
		out=$("$HEXC" run "$here/narrow.hexc" --kernel "$kernel" -D "T=$type" --arch "$arch" --exec="${EXEC:-sim}" --check \
			--prove "$@" 2>&1) || fail "$kernel of $type on $arch, $*: $out"
		ran=$((ran + 1))
	done
}

for t in $some; do
	x='random(1)'
	[ "$t" = e8m0 ] && x='arange' # random values below 1 have too small a range there
	try moved "$t" --arg "X=${x}[37,88]"
	try turned "$t" --arg "X=${x}[21,61]"
	try mixed "$t" --arg "X=${x}[37,72]" --arg 'F=random(2)'
	try made "$t" --arg 'X=random(3)[19,96]' --arg "Z=$x"
	[ "$t" = e8m0 ] || try anywhere "$t" --arg 'A=random(1)[20,37]' --arg "W=${x}[35,37]" --arg 'V=random(4)' \
		--arg ld=41 --arg 'U=random(5)' --arg 'P=randint(6,-1,38)'
	[ "$t" = e8m0 ] || try product "$t" --arg 'A=random(1)[40,72]' --arg "W=${x}[56,72]" --arg 'V=random(4)'
done
# One warp loads full words of single elements, one of which starts in the last bits of a word.
for t in u3 i5; do
	try anywhere "$t" -D WARPS=1 --arg 'A=random(1)[20,37]' --arg "W=random(2)[35,37]" --arg 'V=random(4)' \
		--arg ld=41 --arg 'U=random(5)' --arg 'P=randint(6,-1,38)'
done
# Files hold codes: a saved file reads back unchanged.
for t in e2m1 e3m2 nf4 i3; do
	for run in "moved --arg X=random(1)[16,64] --save Y=$dir/moved.npy" \
		"turned --arg X=random(1)[16,64] --save Y=$dir/want.npy" \
		"turned --arg X=@$dir/moved.npy --arg N=64 --save Y=$dir/got.npy"; do
		# shellcheck disable=SC2086 # words without blanks
		"$HEXC" run "$here/narrow.hexc" -D "T=$t" --exec=tile --kernel $run >"$dir/out" 2>&1 ||
			{ cat "$dir/out"; bad=1; }
	done
	cmp "$dir/want.npy" "$dir/got.npy" || fail "$t: not what was saved"
done
echo "$ran kernels run"
exit $bad
