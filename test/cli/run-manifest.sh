#!/bin/sh
# hexc-manifest(5) has exactly the paths and types of values that manifests have: those of all examples for a GPU
# without warp roles and for one with them, and of clusters.
. test/script.sh
paths() { # prints from a JSON text: path, tab, type of each value that is no array and no object
	awk '
	BEGIN { RS = "\001" }
	function blank() { while (substr(s, i, 1) ~ /[ \t\r\n]/) i++ }
	function string(  from, c) {
		for (from = ++i; (c = substr(s, i, 1)) != "\""; i += c == "\\" ? 2 : 1)
			;
		return substr(s, from, i++ - from)
	}
	function value(path,  c, key, word) {
		blank()
		c = substr(s, i, 1)
		if (c == "{" || c == "[") {
			i++
			blank()
			if (substr(s, i, 1) ~ /[]}]/) { i++; return }
			do {
				blank()
				if (c == "{") {
					key = string()
					blank()
					i++
					value((path == "" ? "" : path ".") (path ~ /constants$/ ? "NAME" : key))
				} else
					value(path "[]")
				blank()
			} while (substr(s, i++, 1) == ",")
		} else if (c == "\"") {
			string()
			print path "\tstring"
		} else {
			match(substr(s, i, 40), /^[-+.0-9a-zA-Z]+/)
			word = substr(s, i, RLENGTH)
			i += RLENGTH
			print path "\t" (word == "true" || word == "false" ? "boolean" : "number")
		}
	}
	{ s = $0; i = 1; value("") }' "$1"
}
for arch in sm_80 sm_90a; do
	for f in examples/*.hexc; do
		only=$(only_arch "$f")
		[ -z "$only" ] || [ "$only" = $arch ] || continue
		"$HEXC" --emit-ptx "$f" --arch $arch -o /dev/null --manifest "$dir/m.json" 2>"$dir/err" || fail "$f: $(cat "$dir/err")"
		paths "$dir/m.json"
	done
done >"$dir/all"
LC_ALL=C sort -u "$dir/all" | awk -F '\t' '
	$1 != last { if (last) print last "\t" types; last = $1; types = $2; next }
	{ types = types " or " $2 }
	END { print last "\t" types }' >"$dir/written"
sed -n 's|^\\fB\([^\\]*\)\\fR \([a-z ]*\)$|\1\t\2|p' lib/rt/hexc-manifest.5 |
	LC_ALL=C sort -u >"$dir/said"
[ "$(wc -l <"$dir/written")" -gt 25 ] || fail "only so few values: $(cat "$dir/written")"
diff "$dir/written" "$dir/said" || fail "what is written (<) and lib/rt/hexc-manifest.5 (>) differ"
exit $bad
