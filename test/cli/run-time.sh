#!/bin/sh
# --time: its rows add up to the total. "other" has the time of parts without a row, and that is little.
. test/script.sh
rows() { # FILE: prints total, sum of the rows, other
	awk '/^then/ { whole = $2 } /^  / { sum += $2; if ($1 == "other") other = $2 } END { print whole, sum, other + 0 }' "$1"
}
for e in examples/attention.hexc examples/gemm_schemes.hexc examples/layer_norm.hexc; do
	"$HEXC" --emit-ptx $e --time -o /dev/null 2>"$dir/err" || fail "$e: $(cat "$dir/err")"
	for row in parse verify infer describe build optimise emit wait registers close other; do
		[ "$(grep -c "^  $row  *[0-9.]* ms\$" "$dir/err")" = 1 ] || fail "$e: no row $row, or several"
	done
	[ "$(grep '^  ' "$dir/err" | sed -n '$s/^  \([a-z]*\) .*/\1/p')" = other ] || fail "$e: other is not the last row"
	rows "$dir/err" >>"$dir/rows"
done
# Compilation and output outside of the rows take a thousandth; a busy machine can delay any part.
awk '{ if ($2 > 1.03 * $1 || $2 < 0.97 * $1) { print "the rows are " $2 " ms of " $1; bad = 1 } all += $1; other += $3 }
	END { if (other > 0.1 * all) { print "no part has " other " of " all " ms"; bad = 1 } exit bad }' "$dir/rows" ||
	fail "--time does not add up"
# A program with several kernels, and one from the cache, which has one row.
"$HEXC" --emit-ptx examples/vector_add.hexc --cache="$dir/cache" -o /dev/null
"$HEXC" --emit-ptx examples/vector_add.hexc --cache="$dir/cache" --time -o /dev/null 2>"$dir/err"
[ "$(grep -c '^  ' "$dir/err")" = 1 ] && grep -q '^  cache ' "$dir/err" || fail "from the cache: $(cat "$dir/err")"
exit $bad
