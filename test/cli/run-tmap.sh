#!/bin/sh
# hexc sim --arg tmap:FILE.json: the map reaches the kernel, and errors in a file are reported.
. test/script.sh

# 64 threads write their indices to 8 rows of 8 words. The tensor store writes them to column 4, row 2 of a tensor
# of 16 x 9 words: one row and four columns are out of bounds.
cat >"$dir/k.ptx" <<'END'
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])
{
	.reg .pred %p;
	.reg .b32 %r<4>;
	.reg .b64 %d;
	.shared .align 1024 .b8 tile[256];
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 2;
	mov.u32 %r3, tile;
	add.u32 %r3, %r3, %r2;
	st.shared.u32 [%r3], %r1;
	fence.proxy.async;
	bar.sync 0;
	setp.ne.u32 %p, %r1, 0;
	@%p ret;
	mov.b64 %d, map;
	cvta.param.u64 %d, %d;
	cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d, {4, 2}], [tile];
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;
	ret;
}
END
sim() # STATUS JSON OPTIONS...: standard error is in $dir/err
{
	want=$1
	printf '%s\n' "$2" >"$dir/map.json"
	shift 2
	"$HEXC" sim "$dir/k.ptx" --entry k --grid 1 --block 64 --arg zeros:u32:144 --arg tmap:"$dir/map.json" "$@" \
		>"$dir/out" 2>"$dir/err"
	got=$?
	[ $got = "$want" ] || { echo "sim with $(cat "$dir/map.json"): status $got, not $want"; sed 5q "$dir/err"; bad=1; }
	[ ! -s "$dir/out" ] || fail "sim writes to standard output"
}
says() { grep -qF -- "$1" "$dir/err" || fail "no '$1' in: $(cat "$dir/err")"; }
# words ROW: prints the 16 words of a row of the result
words() { tail -c 576 "$1" | od -An -v -tu4 -w64 | sed -n "$2p" | tr -s ' ' | sed 's/^ //'; }
row() { # FILE ROW WORDS
	[ "$(words "$1" "$2")" = "$3" ] || fail "row $2 is $(words "$1" "$2"), not $3"
}

map='"tensorRank": 2, "globalDim": [10, 9], "globalStrides": [64], "boxDim": [8, 8]'
# The buffer is argument 0; the driver's names with and without prefix, or numbers.
for type in CU_TENSOR_MAP_DATA_TYPE_UINT32 UINT32 u32; do
	sim 0 "{\"tensorDataType\": \"$type\", \"globalAddress\": 0, $map}" --save 0="$dir/o.npy"
	row "$dir/o.npy" 2 '0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'
	row "$dir/o.npy" 3 '0 0 0 0 0 1 2 3 4 5 0 0 0 0 0 0'
	row "$dir/o.npy" 9 '0 0 0 0 48 49 50 51 52 53 0 0 0 0 0 0'
done
# A separate buffer of the map, with an offset and a swizzle: 16-byte chunks 0 and 1 are
# exchanged in lines 1, 3, ...
sim 0 "{\"tensorDataType\": 2, \"globalAddress\": \"zeros:u32:144\", \"globalOffset\": 64, \"swizzle\": \"CU_TENSOR_MAP_SWIZZLE_32B\",
	\"tensorRank\": 2, \"globalDim\": [12, 8], \"globalStrides\": [64], \"boxDim\": [8, 8]}" --save 1="$dir/o.npy"
row "$dir/o.npy" 3 '0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'
row "$dir/o.npy" 4 '0 0 0 0 0 1 2 3 4 5 6 7 0 0 0 0'
row "$dir/o.npy" 8 '0 0 0 0 36 37 38 39 32 33 34 35 0 0 0 0'

good='"tensorDataType": "UINT32", "globalAddress": 0'
sim 1 "[]"
says ': not a JSON object'
sim 1 "{$good, \"tensorRank\": 6}"
says '"tensorRank" is not in 1..5'
sim 1 "{$good, \"tensorRank\": 2, \"globalDim\": [10], \"globalStrides\": [64], \"boxDim\": [8, 8]}"
says ': "globalDim" must be an array of 2 numbers'
sim 1 "{$good, \"tensorRank\": 2, \"globalDim\": [10, 9.5], \"globalStrides\": [64], \"boxDim\": [8, 8]}"
says '"globalDim" has an element that is not such a number'
sim 1 "{$good, \"tensorRank\": 2, \"globalDim\": [10, 9], \"boxDim\": [8, 8]}"
says '"globalStrides" is missing'
sim 1 "{$good, \"tensorRank\": 2, \"globalDim\": [10, 9], \"globalStrides\": [60], \"boxDim\": [8, 8]}"
says 'stride 60 of dimension 1 is not a multiple of 16'
sim 1 "{$good, $map, \"swizzle\": \"96B\"}"
says "\"swizzle\" is '96B'; expected NONE, 32B, 64B, 128B"
sim 1 "{$good, $map, \"swizle\": \"32B\"}"
says '"swizle" is not a field of a tensor map'
sim 1 "{$good, $map, \"oobFill\": \"NAN_REQUEST_ZERO_FMA\"}"
says 'NaN fill requires a floating-point type'
sim 1 "{$good, $map, \"pixelsPerColumn\": 8}"
says 'must be 3, 4 or 5 for an im2col map'
sim 1 "{\"tensorDataType\": \"UINT32\", \"globalAddress\": 1, $map}"
says 'argument 1 (tmap:'
sim 1 "{\"tensorDataType\": \"UINT32\", \"globalAddress\": \"x\", $map}"
says 'must be @FILE.npy, zeros:TYPE:COUNT or the index of an argument'
sim 1 "{\"tensorDataType\": \"UINT33\", \"globalAddress\": 0, $map}"
says 'BFLOAT16'
# A map that is larger than its buffer.
sim 3 "{$good, \"tensorRank\": 2, \"globalDim\": [16, 100], \"globalStrides\": [64], \"boxDim\": [8, 8]}"
says 'fault: out-of-bounds: cp.async.bulk.tensor.2d'
exit $bad
