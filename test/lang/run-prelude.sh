#!/bin/sh
# hexc/LANGUAGE.md lists all functions of hexc/prelude/prelude.def, and the errors that
# test/interp/test_functions.c checks.
. test/script.sh

sed -n '/^| function | | error |$/,/^$/p' hexc/LANGUAGE.md | sed 1,2d | grep . >"$dir/table"
[ -s "$dir/table" ] || fail "hexc/LANGUAGE.md: no table of the prelude"

sed -n 's/^FN([a-z0-9_]*, [0-9]*, \(own\|number\|single\|word\), "\([^"]*\)",.*/\2/p' hexc/prelude/prelude.def |
	LC_ALL=C sort >"$dir/defined"
[ -s "$dir/defined" ] || fail "hexc/prelude/prelude.def: no rows"
sed 's/^| `\([^`]*\)`.*/\1/' "$dir/table" | LC_ALL=C sort | diff "$dir/defined" - ||
	fail "hexc/prelude/prelude.def (<) and hexc/LANGUAGE.md (>) have different functions"

# { "name", name_of, of_y, of_xy, of_x, floor, ...
sed -n '/^} cases/,/^\t\/\* of f64/s/^\t{ "\([a-z0-9_]*\)", [a-z0-9_]*, \(-*[0-9]*\), \(-*[0-9]*\), \(-*[0-9]*\), \(-*[0-9]*\),.*/\1 \2 \3 \4 \5/p' \
	test/interp/test_functions.c | while read -r name of_y of_xy of_x floor; do
	text="2^$of_y of y"
	[ "$of_xy" = 0 ] || text="2^$of_y + abs(x) 2^$of_xy of y; below 2^$floor it may be 0"
	[ "$of_x" = 0 ] || text="2^$of_x of x"
	[ "$of_x" = 0 ] || [ "$floor" = 0 ] || text="$text; below 2^$floor it may be 0"
	echo "$name	$text"
done | LC_ALL=C sort >"$dir/tested"
[ -s "$dir/tested" ] || fail "test/interp/test_functions.c: no cases"
sed -n 's/^| `\([a-z0-9_]*\)(.* | \(.*2^.*\) |$/\1\t\2/p' "$dir/table" | sed 's/of the result/of y/' | LC_ALL=C sort |
	diff "$dir/tested" - || fail "test/interp/test_functions.c (<) and hexc/LANGUAGE.md (>) state different errors"

# The error bounds that --check assumes are those documented.
sed -n 's/^KNOWN(\([a-z0-9]*\), [1-3], \([0-9]*\))/\1\t2^-\2 of y/p' hexc/prelude/prelude.def >"$dir/known"
[ -s "$dir/known" ] || fail "hexc/prelude/prelude.def: nothing is known"
grep -vxFf "$dir/tested" "$dir/known" && fail "hexc/prelude/prelude.def: not the errors that are stated"
exit $bad
