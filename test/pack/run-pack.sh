#!/bin/sh
# hexc weights, pack and unpack: a round trip preserves the data; the pack is the kernel's; mismatches are rejected.
. test/script.sh

f=test/weights/fixtures
p=examples/gemm_schemes.hexc

says 0 'Q4_K' weights $f/blocks.gguf
says 0 '"format":	"GPTQ-4"' weights $f/gptq4.safetensors --json
says 1 'neither a safetensors file' weights README.md
says 1 'no weight x in the file' weights $f/awq.safetensors --save "x=$dir/x.npy"
says 1 'has no plane offset' weights $f/awq.safetensors --save "a:offset=$dir/x.npy"
says 2 ': expected NAME=FILE.npy or NAME:PLANE=FILE.npy' weights $f/awq.safetensors --save "a"

for t in 'u4 gemm_scale blk.0.q4_0' 'u5 gemm_offset blk.0.q5_1' 'u6 gemm_two_level blk.1.q6_k' 'i8 gemm_scale blk.0.q8_0'; do
	# shellcheck disable=SC2086 # three words
	set -- $t
	says 0 '' weights $f/blocks.gguf --save "$3:code=$dir/code.npy"
	says 0 '' pack $p --kernel "$2" -D "WEIGHT=$1" --arg "W=@$f/blocks.gguf:$3" -o "$dir/a.safetensors"
	says 0 '' unpack "$dir/a.safetensors" --save "W=$dir/a.npy"
	# codes of one byte each pack to the same file
	says 0 '' pack $p --kernel "$2" -D "WEIGHT=$1" --arg "W=@$dir/a.npy" -o "$dir/b.safetensors"
	cmp -s "$dir/a.safetensors" "$dir/b.safetensors" || fail "$3: pack of what unpack wrote differs"
	says 0 'U32' weights "$dir/a.safetensors"
	if [ "$1" = i8 ]; then # one byte each in both
		tail -c 4096 "$dir/a.npy" >"$dir/a.bytes"
		tail -c 4096 "$dir/code.npy" | cmp -s - "$dir/a.bytes" || fail "$3: unpack has other codes than the file"
	fi
	grep -qaF "hexc-pack 1 $1 " "$dir/a.safetensors" || fail "$3: no pack in the metadata"
done
says 1 'has codes of type u4, but W is packed as u5; compile the kernel for u4' pack $p --kernel gemm_offset -D WEIGHT=u5 \
	--arg "W=@$f/blocks.gguf:blk.0.q4_0" -o "$dir/a.safetensors"
says 1 'A is not declared `packed`' pack $p --kernel gemm_offset --arg "A=@$dir/a.npy" -o "$dir/c.safetensors"
says 2 'the kernel has no parameter X' pack $p --kernel gemm_offset --arg "X=@$dir/a.npy" -o "$dir/c.safetensors"
says 2 'nothing to pack; add --arg NAME=@FILE.npy or NAME=@FILE:WEIGHT' pack $p --kernel gemm_offset -o "$dir/c.safetensors"
says 2 'choose one with --kernel' pack $p --arg "W=@$dir/a.npy" -o "$dir/c.safetensors"
says 2 'missing -o FILE.safetensors for the packed weights' pack $p --kernel gemm_offset
says 1 'no packed tensor V in the file' unpack "$dir/b.safetensors" --save "V=$dir/a.npy"
says 1 'no packed tensor a in the file' unpack $f/awq.safetensors --save "a=$dir/a.npy"
sed 's/W.shape":"16,256/W.shape":"16,999/' "$dir/b.safetensors" >"$dir/d.safetensors"
says 1 'bytes do not match [16,999]' unpack "$dir/d.safetensors" --save "W=$dir/a.npy"
sed 's/hexc-pack 1/hexc-pack 7/' "$dir/b.safetensors" >"$dir/d.safetensors"
says 1 'its pack or shape in the metadata is damaged' unpack "$dir/d.safetensors" --save "W=$dir/a.npy"
exit $bad
