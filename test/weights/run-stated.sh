#!/bin/sh
# hexc weights, run and pack read the format of weights from --model-config or from the files next to the weights. A
# file of several and an index state their contents.
. test/script.sh
gptq=$dir/model-00001-of-00002.safetensors
cp test/weights/fixtures/gptq4.safetensors "$gptq"
first_line() { # FORMAT: of the listed weight
	"$HEXC" weights "$@" | grep -q "^$format  *\\[32, 64\\]" || fail "hexc weights $*: not $format"
}
state() { printf '{"checkpoint_format": "%s", "bits": 4}' "$2" >"$1"; }

format=GPTQ-4 && first_line "$gptq"
says 0 'safetensors, file 1 of 2 of a model, ' weights "$gptq"
says 0 '"files":	2' weights "$gptq" --json
state "$dir/v2.json" gptq_v2
format=GPTQ-v2-4 && first_line "$gptq" --model-config "$dir/v2.json"
state "$dir/quantize_config.json" gptq_v2
format=GPTQ-v2-4 && first_line "$gptq"
state "$dir/v1.json" gptq
format=GPTQ-4 && first_line "$gptq" --model-config "$dir/v1.json"
state "$dir/quantize_config.json" bitblas
says 1 "$dir/quantize_config.json: unknown checkpoint_format bitblas; known: gptq, gptq_v2, gemm, marlin" \
	weights "$gptq"
rm "$dir/quantize_config.json"
printf '{"model_type": "llama", "quantization_config": {"checkpoint_format": "gptq_v2"}}' >"$dir/config.json"
format=GPTQ-v2-4 && first_line "$gptq"
(cd "$dir" && case $HEXC in /*) ;; *) HEXC=$OLDPWD/$HEXC ;; esac && "$HEXC" weights "${gptq##*/}") |
	grep -q '^GPTQ-v2-4' || fail 'a file without a folder in its name'
echo 'not JSON' >"$dir/config.json"
format=GPTQ-4 && first_line "$gptq"
says 1 'the configuration is not a JSON object' weights "$gptq" --model-config "$dir/config.json"
says 1 'No such file' weights "$gptq" --model-config "$dir/none.json"
rm "$dir/config.json"

# W of version 2 is one scale above that of version 1, wherever its zero point is not 0.
for v in v1 v2; do
	says 0 '' weights "$gptq" --model-config "$dir/$v.json" --save "l.0=$dir/$v.npy" --save "l.0:zero=$dir/zero-$v.npy"
	says 0 right run examples/gemm_schemes.hexc --kernel gemm_zero --exec=sim --check --arg 'A=random(1)[16,64]' -D G=32 \
		--model-config "$dir/$v.json" --arg "W=@$gptq:l.0" --arg "S=@$gptq:l.0:scale" --arg "Z=@$gptq:l.0:zero" \
		--save "C=$dir/c-$v.npy"
done
! cmp -s "$dir/c-v1.npy" "$dir/c-v2.npy" || fail 'hexc run: the same of both versions'

printf '{"metadata": {}, "weight_map": {"l.0.qweight": "%s"}}' "${gptq##*/}" >"$dir/model.safetensors.index.json"
says 1 'this is the index of a model of several files' weights "$dir/model.safetensors.index.json"
exit $bad
