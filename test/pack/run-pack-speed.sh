#!/bin/sh
# hexc_pack and hexc_unpack beside memcpy of as many bytes with as many threads, 8192 x 8192 weights of each width in
# the pack of examples/gemm_wNa16.hexc.  One thread may take 4 times as long for 4 bits; 1 and 2 bits are more work
# for each byte.  The machine may have other things to do: the best of some tries counts.
[ -z "$SAN" ] || { echo "sanitizers are not about speed"; exit 77; }
. test/script.sh
for width in 1 2 3 4 5 6 7 8; do
	"$B/hexc" --emit-ptx examples/gemm_wNa16.hexc -D WEIGHT=u$width --arch sm_80 -o "$dir/ptx" --manifest "$dir/m" || exit 1
	pack=$(grep -o 'hexc-pack [^"]*' "$dir/m" | head -1)
	case $width in
	1) limit=8 ;;
	2) limit=6 ;;
	4) limit=4 ;;
	*) limit=5 ;;
	esac
	slow=1
	for _ in 1 2 3 4 5 6; do
		"$B/test/pack/test_pack" speed "$pack=$limit" >"$dir/out" && slow=0 && break
	done
	cat "$dir/out"
	[ $slow = 0 ] || fail "FAIL u$width: more than $limit times as long as memcpy"
done
exit $bad
