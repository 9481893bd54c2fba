#!/bin/sh
# Every external function or table of the library outside the API is used by another file of the library or of the
# command line. One that only its own file uses must be static. One that only tests use is dead, or declared in a
# header with "for tests" in its first line. A function named by a macro (rule_##layout, with a row of a *.def)
# counts as used by the table, in any file that expands it.
[ -z "$SAN" ] || { echo "sanitizers export symbols of their own"; exit 77; }
B=${B:-build}
# The API: the exports of the shared library, and lib/sim/sim.h.
api=$(mktemp) || exit 1
trap 'rm -f "$api"' EXIT
{
	cat test/libhexc.symbols
	grep -o '\<sim_[a-z_]*(' lib/sim/sim.h | tr -d '('
} >"$api"
# "D object name": a definition. "U object name": an undefined symbol. "T name": named in a test. "H name": named in
# a header for tests. "P prefix_": prefix of names that macros form. "W name": a word of a table.
facts() {
	find taskmap hexc infer ptxgen lib -name '*.c' | sed 's|\.c$|.o|' | while read -r object; do
		[ ! -f "$B/obj/$object" ] || echo "$object"
	done | (cd "$B/obj" && xargs nm -A) | awk '
		{ object = $1; sub(/:.*/, "", object) }
		NF == 3 && $2 ~ /^[TDRBVWC]$/ { print "D", object, $3 }
		NF == 3 && $2 == "U" { print "U", object, $3 }'
	find test -name '*.[ch]' -exec cat {} + | tr -cs 'A-Za-z0-9_' '\n' | LC_ALL=C sort -u | sed 's/^/T /'
	find taskmap hexc infer ptxgen lib -name '*.h' -exec awk 'FNR == 1 && /for tests/ { print FILENAME }' {} + |
		xargs cat /dev/null | tr -cs 'A-Za-z0-9_' '\n' | sed 's/^/H /'
	find taskmap hexc infer ptxgen lib -name '*.[ch]' -exec sed -n 's/^#define.*[^a-z_]\([a-z_]*_\)##.*/P \1/p' {} + | sort -u
	find taskmap hexc infer ptxgen lib -name '*.def' -exec cat {} + | tr -cs 'A-Za-z0-9_' '\n' | LC_ALL=C sort -u |
		sed 's/^/W /'
}
facts | awk '
FILENAME == ARGV[1] { public[$1] = 1; next }
$1 == "T" { tested[$2] = 1 }
$1 == "H" { for_tests[$2] = 1 }
$1 == "P" { prefix[$2] = 1 }
$1 == "W" { in_table[$2] = 1 }
$1 == "U" { used[$3] = 1 }
$1 == "D" && $2 !~ /^hexc\/cli\// { home[$3] = $2 }
function is_made(name,  p) {
	for (p in prefix)
		if (index(name, p) == 1 && substr(name, length(p) + 1) in in_table)
			return 1
	return 0
}
END {
	for (name in home) {
		if (is_made(name) || name in public || name in used || (name in tested && name in for_tests))
			continue
		sub(/o$/, "c", home[name])
		if (name in tested)
			print home[name] ": only tests use " name ": make it static, drop it, or declare it in a header for tests"
		else
			print home[name] ": no other file uses " name ": make it static, or drop it"
	}
}' "$api" - | LC_ALL=C sort | awk '{ print } END { exit NR > 0 }'
