#!/bin/sh
# Cross-warp reductions go through shared memory without bank conflicts, and are correct, in every candidate. A
# program's first line has its arguments, the second its sets of constants, separated by commas.
set -u
. test/script.sh
ran=0 staged=0

count() { # NAME: the first number of that name in the statistics
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" "$dir/s" | head -n 1
}

try() { # file constants...
	file=$1 def='' args='' i=0
	shift
	for d; do
		def="$def -D $d"
	done
	for a in $(sed -n '1s|^// run: ||p' "$file"); do
		args="$args --arg $a"
	done
	n=$("$HEXC" candidates "$file" $def | grep -c cycles)
	[ "$n" -gt 0 ] || { echo "$file $*: no candidates"; bad=1; return; }
	"$HEXC" explain "$file" $def >"$dir/e"
	grep -q 'reduce_shared.*through shared memory as' "$dir/e" && staged=$((staged + 1))
	while [ "$i" -lt "$n" ]; do
		if ! "$HEXC" run "$file" --exec=sim --check --prove --candidate "$i" --stats "$dir/s" $args $def \
			>"$dir/o" 2>&1; then
			echo "$file $* candidate $i: $(cat "$dir/o")"
			bad=1
		elif [ "$(count bank_conflicts)" != 0 ]; then
			echo "$file $* candidate $i: $(count bank_conflicts) bank conflicts"
			bad=1
		fi
		ran=$((ran + 1))
		i=$((i + 1))
	done
}

for f in "$here"/reductions/*.hexc; do
	sed -n '2s|^// with: ||p' "$f" | tr ',' '\n' >"$dir/with"
	while read -r with; do
		try "$f" $with
	done <"$dir/with"
done
[ "$staged" -ge 15 ] || fail "only $staged programs reduce across warps"
echo "$ran candidates run, $staged programs reduce across warps"
exit $bad
