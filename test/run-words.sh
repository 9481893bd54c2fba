#!/bin/sh
# Names and words: no type and no file name twice, and no retired word in comments, messages and documents.  The words
# are those in backquotes in the second column of the table of CONTRIBUTING.md, "Words".
. test/script.sh

# A typedef of a struct, enum or union with a body; forward declarations may recur.
find taskmap hexc infer ptxgen lib -name '*.[ch]' -exec awk '
	/^\} *[A-Z][A-Za-z0-9]*;/ { gsub(/[};]/, ""); print $1, FILENAME }
	/^typedef (struct|enum|union).*\{.*\} *[A-Z][A-Za-z0-9]*;/ {
		sub(/.*\} */, ""); sub(/;.*/, ""); print $1, FILENAME
	}' {} + | sort >"$dir/types"
cut -d ' ' -f 1 "$dir/types" | uniq -d >"$dir/twice"
[ ! -s "$dir/twice" ] || fail "types that are defined twice: $(grep -wFf "$dir/twice" "$dir/types")"

for top in taskmap hexc infer ptxgen lib examples; do
	find $top \( -name '*.[ch]' -o -name '*.def' \) | sed 's|.*/||' | sort | uniq -d >"$dir/twice"
	[ ! -s "$dir/twice" ] || fail "$top: file names that recur: $(tr '\n' ' ' <"$dir/twice")"
done

sed -n '/^## Words/,/^## /p' CONTRIBUTING.md | grep '^|' | cut -d '|' -f 3 | grep -o '`[^`]*`' | tr -d '`' >"$dir/words"
[ "$(wc -l <"$dir/words")" -ge 20 ] || fail "CONTRIBUTING.md: no table of words"

# FILE:LINE: the comments and strings of C files.
find taskmap hexc infer ptxgen lib \( -name '*.[ch]' -o -name '*.def' \) -exec awk '
	FNR == 1 { comment = 0 }
	{
		rest = $0; said = ""
		while (rest != "") {
			if (comment) {
				end = index(rest, "*/")
				said = said " " (end ? substr(rest, 1, end - 1) : rest)
				rest = end ? substr(rest, end + 2) : ""
				comment = !end
			} else if (match(rest, /\/\*|"([^"\\]|\\.)*"/)) {
				if (substr(rest, RSTART, 2) == "/*")
					comment = 1
				else
					said = said " " substr(rest, RSTART, RLENGTH)
				rest = substr(rest, RSTART + RLENGTH)
			} else
				rest = ""
		}
		if (said != "")
			print FILENAME ":" FNR ":" said
	}' {} + >"$dir/said"
for f in README.md CONTRIBUTING.md hexc/IR.md hexc/LANGUAGE.md hexc/cli/hexc.1 scripts/python/README.md scripts/python/TUNE.md; do
	awk '/^## Words/ { words = 1; next } /^## / { words = 0 } !words { print FILENAME ":" FNR ": " $0 }' "$f"
done >>"$dir/said"
grep -wiFf "$dir/words" "$dir/said" >"$dir/found" && fail "retired words (CONTRIBUTING.md, Words):
$(head -n 40 "$dir/found" | cut -c 1-160)"
exit $bad
