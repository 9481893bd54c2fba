#!/bin/sh
# hexc run --arg NAME=@FILE:TENSOR: plain tensors are copied byte by byte, weights as hexc weights saves them,
# packed ones unpacked. A mismatch with the parameter is rejected with a message.
. test/script.sh

f=test/weights/fixtures
cat >"$dir/copy.hexc" <<'END'
kernel copy(A: TYPE[M, N], C: out TYPE[M, N])
    const TYPE = f16
    assume N % 2 == 0
{
    grid(ceil(M, 8), ceil(N, 32));
    C[block.x * 8 :+ 8, block.y * 32 :+ 32] = A[block.x * 8 :+ 8, block.y * 32 :+ 32];
}
END
copy() { # STATUS TEXT TYPE TENSOR ARGUMENTS...
	rm -f "$dir/c.npy"
	status=$1 said=$2 type=$3 tensor=$4
	shift 4
	says "$status" "$said" run "$dir/copy.hexc" --exec=sim -D "TYPE=$type" --arg "A=@$tensor" --save "C=$dir/c.npy" "$@"
}

# Plain tensors: 4 x 6 elements whose bytes are letters, contiguous in a file written here.
letters=ABCDEFGHIJKLMNOPQRSTUVWX
head='{"h":{"dtype":"F16","shape":[4,6],"data_offsets":[0,48]},"b":{"dtype":"BF16","shape":[4,6],"data_offsets":[48,96]}'
head=$head',"f":{"dtype":"F32","shape":[4,6],"data_offsets":[96,192]},"i":{"dtype":"I8","shape":[4,6],"data_offsets":[192,216]}'
head=$head',"u":{"dtype":"U8","shape":[4,6],"data_offsets":[216,240]},"w":{"dtype":"I32","shape":[4,6],"data_offsets":[240,336]}'
head=$head',"e:5":{"dtype":"F8_E4M3","shape":[4,6],"data_offsets":[336,360]},"one":{"dtype":"F32","shape":[1],"data_offsets":[360,364]}'
head=$head',"int":{"dtype":"I32","shape":[],"data_offsets":[364,368]}}'
while [ $((${#head} % 8)) != 0 ]; do head="$head "; done
# shellcheck disable=SC2059 # the length in eight bytes
{
	printf "\\$(printf %o $((${#head} % 256)))\\$(printf %o $((${#head} / 256)))\\0\\0\\0\\0\\0\\0"
	printf '%s' "$head"
	for n in 2 2 4 1 1 4 1; do
		for part in 1 2 3 4; do [ $part -gt $n ] || printf %s $letters; done
	done
	printf '\0\0\100\100\7\0\0\0' # 3 as f32, 7
} >"$dir/a:b.safetensors"
for t in 'f16 h 2' 'bf16 b 2' 'f32 f 4' 'i8 i 1' 'u8 u 1' 'i32 w 4' 'e4m3 e:5 1'; do
	# shellcheck disable=SC2086 # three words
	set -- $t
	copy 0 '' "$1" "$dir/a:b.safetensors:$2"
	for part in 1 2 3 4; do [ $part -gt "$3" ] || printf %s $letters; done >"$dir/want"
	tail -c $((24 * $3)) "$dir/c.npy" | cmp -s - "$dir/want" || fail "$1: not the bytes of the file"
done
cat >"$dir/scalar.hexc" <<'END'
kernel scalar(A: f32[N], s: f32, C: out f32[N])
{
    grid(ceil(N, 32));
    C[block.x * 32 :+ 32] = A[block.x * 32 :+ 32] * s;
}
END
says 0 '' run "$dir/scalar.hexc" --exec=tile --arg 'A=1[8]' --arg "s=@$dir/a:b.safetensors:one" --save "C=$dir/c.npy"
tail -c 4 "$dir/c.npy" | od -An -tf4 | grep -q '^ *3$' || fail 'a scalar of one element'

# Weights: each kernel gives the same result as with the .npy files of hexc weights, and the correct one.
both() { # KERNEL DEFINES FILE WEIGHT PARAMETER=PLANE...
	kernel=$1 defines=$2 file=$3 weight=$4
	shift 4
	held='' npy=''
	for p in "$@"; do
		says 0 '' weights "$f/$file" --save "$weight:${p#*=}=$dir/${p#*=}.npy"
		held="$held --arg ${p%%=*}=@$f/$file:$weight:${p#*=}"
		npy="$npy --arg ${p%%=*}=@$dir/${p#*=}.npy"
	done
	# shellcheck disable=SC2086 # words
	says 0 right run examples/gemm_schemes.hexc --kernel "$kernel" $defines --exec=sim --check $held --save "C=$dir/held.npy"
	# shellcheck disable=SC2086
	says 0 '' run examples/gemm_schemes.hexc --kernel "$kernel" $defines --exec=sim $npy --save "C=$dir/npy.npy"
	cmp -s "$dir/held.npy" "$dir/npy.npy" || fail "$weight: another result than with its .npy files"
}
a='--arg A=random(1)[16,256]'
both gemm_scale "$a --arg factor=1" blocks.gguf blk.0.q4_0 W=code S=scale
both gemm_scale "$a --arg factor=1 -D WEIGHT=e2m1 -D SCALE=e4m3 -D G=16 -D ZERO=0" blocks.gguf blk.1.nvfp4 W=code S=scale
both gemm_offset "$a -D WEIGHT=u5" blocks.gguf blk.0.q5_1 W=code S=scale O=offset
both gemm_two_level "$a" blocks.gguf blk.1.q6_k W=code S=scale S2=scale2
both gemm_two_level_offset "$a" blocks.gguf blk.1.q4_k W=code S=scale S2=scale2 O=offset O2=offset2
both gemm_zero '--arg A=random(1)[16,64] -D G=32' gptq4.safetensors l.0 W=code S=scale Z=zero
both gemm_table "$a --arg T=@$f/tables.gguf:iq4_nl:table" tables.gguf iq4_nl W=code S=scale
both gemm_table_two_level "$a --arg T=@$f/tables.gguf:iq4_xs:table" tables.gguf iq4_xs W=code S=scale S2=scale2
# The order of activations is a row; hexc weights writes it as a column.
says 0 right run examples/gemm_schemes.hexc --kernel gemm_ordered --exec=sim --check --arg 'A=random(1)[16,64]' \
	--arg "W=@$f/gptq4-order.safetensors:l.0" --arg "S=@$f/gptq4-order.safetensors:l.0:scale" \
	--arg "Z=@$f/gptq4-order.safetensors:l.0:zero" --arg "I=@$f/gptq4-order.safetensors:l.0:index"
# The default plane is the codes.
copy 0 '' u4 "$f/blocks.gguf:blk.0.q4_0"
says 0 '' weights $f/blocks.gguf --save "blk.0.q4_0:code=$dir/code.npy"
cp "$dir/c.npy" "$dir/codes.npy"
copy 0 '' u4 "$dir/code.npy" --arg N=256
cmp -s "$dir/c.npy" "$dir/codes.npy" || fail 'codes without a plane'
# The output of hexc pack equals its input, for any pack of the kernel.
says 0 '' pack examples/gemm_schemes.hexc --kernel gemm_scale --arg "W=@$f/blocks.gguf:blk.0.q4_0" -o "$dir/p.safetensors"
copy 0 '' u4 "$dir/p.safetensors:W"
cmp -s "$dir/c.npy" "$dir/codes.npy" || fail 'a packed tensor'

g=$f/blocks.gguf
copy 1 'No such file' f16 "$dir/no.gguf:norm"
copy 1 'No such file' f16 "$dir/no.npy"
copy 1 'one of its tensors is @FILE:TENSOR' u4 "$g"
copy 1 'neither a safetensors file' u4 README.md:x
copy 1 'no weight blk.0.q4_7 in the file; did you mean blk.0.q4_0, blk.0.q4_1' u4 "$g:blk.0.q4_7"
copy 1 'no weight norn in the file; did you mean norm' f32 "$g:norn"
copy 1 'blk.0.q4_0 is Q4_0, which has no plane zero; it has code, scale' u4 "$g:blk.0.q4_0:zero"
copy 1 "A is u4, but @$g:blk.0.q5_0 has u5 (code of Q5_0); declare A accordingly" u4 "$g:blk.0.q5_0"
copy 1 "A is f16, but @$g:norm has f32 (tensor F32)" f16 "$g:norm"
copy 1 ") has 1 dimension; A requires 2" f32 "$g:norm"
says 1 'K is 128 in A (random(1)[16,128], dimension 1), but 256 in W' run examples/gemm_schemes.hexc --kernel gemm_scale \
	--arg 'A=random(1)[16,128]' --arg "W=@$g:blk.0.q4_0" --arg "S=@$g:blk.0.q4_0:scale" --arg factor=1
says 1 's is a scalar, but' run "$dir/scalar.hexc" --arg 'A=1[8]' --arg "s=@$g:norm"
says 1 's is f32, but' run "$dir/scalar.hexc" --arg 'A=1[8]' --arg "s=@$dir/a:b.safetensors:int"
exit $bad
