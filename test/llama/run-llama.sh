#!/bin/sh
# examples/llama: small random models in GGUF files on the simulator as a device: logits of prompts, in chunks, and of 8
# steps of two sequences side by side, within derived bounds of the formulas in double (reference.py), and the same
# tokens; draws are those of the logits; text by the file's vocabulary; what is wrong is said.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/python.sh
need_python
llama=$B/llama
reference() { "$python" "$here/reference.py" "$@"; }
a=5,17,200,3,9,88,41,300,7,7,19,256,33,2,1,64,99,150,151,12,30
b=11,300,42,8,77
run() { # MODEL OPTIONS...
	model=$1
	shift
	"$llama" "$dir/$model" --simulator 80 --cache "$dir/cache" "$@" >"$dir/out" 2>"$dir/err" || fail "$*: $(cat "$dir/err")"
}
check() { # MODEL OPTIONS...
	run "$@" --tokens $a --tokens $b --chunk 16 --generate 9 --logits "$dir/logits"
	reference logits "$dir/$1" "$dir/logits" "$dir/out" $a $b >"$dir/log" 2>&1 || fail "$*: $(tail -1 "$dir/log")"
	[ -z "${SHOW:-}" ] || echo "$* $(cat "$dir/log")"
}
for f in F16 Q8_0 Q4_K Q6_K; do
	reference make "$dir/$f" $f 1
	check $f
	[ $f != F16 ] || cp "$dir/err" "$dir/told"
	"$python" -c 'import gguf' 2>/dev/null || continue
	reference same "$dir/$f" >"$dir/log" 2>&1 || fail "$f and the package gguf: $(tail -1 "$dir/log")"
done
exit $bad
