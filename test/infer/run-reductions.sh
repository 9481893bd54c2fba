#!/bin/sh
# Reductions across warps go through shared memory without a bank conflict, in every candidate, and are right.
# A program's first line has its arguments, the second the constants it is tried with, comma by comma.
set -u
hexc=${HEXC:-build/hexc}
here=$(dirname "$0")
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail=0 ran=0 staged=0

count() { # NAME: the first number of that name in the statistics
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" "$tmp/s" | head -n 1
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
	n=$("$hexc" candidates "$file" $def | grep -c cycles)
	[ "$n" -gt 0 ] || { echo "$file $*: no candidates"; fail=1; return; }
	"$hexc" explain "$file" $def >"$tmp/e"
	grep -q 'reduce_shared.*staged as' "$tmp/e" && staged=$((staged + 1))
	while [ "$i" -lt "$n" ]; do
		if ! "$hexc" run "$file" --exec=sim --check --prove --candidate "$i" --stats "$tmp/s" $args $def \
			>"$tmp/o" 2>&1; then
			echo "$file $* candidate $i: $(cat "$tmp/o")"
			fail=1
		elif [ "$(count bank_conflicts)" != 0 ]; then
			echo "$file $* candidate $i: $(count bank_conflicts) bank conflicts"
			fail=1
		fi
		ran=$((ran + 1))
		i=$((i + 1))
	done
}

for f in "$here"/reductions/*.hexc; do
	sed -n '2s|^// with: ||p' "$f" | tr ',' '\n' >"$tmp/with"
	while read -r with; do
		try "$f" $with
	done <"$tmp/with"
done
[ "$staged" -ge 15 ] || { echo "only $staged programs reduce across warps"; fail=1; }
echo "$ran candidates run, $staged programs reduce across warps"
exit $fail
