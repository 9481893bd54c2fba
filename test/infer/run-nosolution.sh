#!/bin/sh
# Programs without a solution, or with an error in layouts, memory, types or instructions. The comments at the end
# of each test/infer/nosolution/*.hexc are the expected diagnostics:
#
#     // error LINE: text      // note LINE: text
#
# in this order, and no others. Independently of the text, both sides of a conflict have a line each (two locations,
# or "line N" in the text), unless the program has `// one line`. A layout conflict names an element and its
# threads, unless the program has `// no element`. UPDATE=1 rewrites the comments.
set -u
. test/script.sh
n=0

for f in test/infer/nosolution/*.hexc; do
	n=$((n + 1))
	args=$(sed -n 's|^// args: ||p' "$f")
	# shellcheck disable=SC2086 # the arguments are words
	timeout 120 "$HEXC" --emit-ptx "$f" $args -o /dev/null >"$dir/out" 2>&1
	status=$?
	[ $status -eq 1 ] || fail "$f: exit status $status"
	sed -nE "s#^$f:([0-9]+):[0-9]+: (error|note): (.*)#// \2 \1: \3#p" "$dir/out" >"$dir/got"
	if [ -n "${UPDATE:-}" ]; then
		grep -v '^// \(error\|note\) ' "$f" >"$dir/new"
		cat "$dir/got" >>"$dir/new"
		cp "$dir/new" "$f"
	fi
	grep '^// \(error\|note\) ' "$f" >"$dir/want"
	cmp -s "$dir/want" "$dir/got" || {
		fail "$f: other words than announced"
		diff "$dir/want" "$dir/got"
	}
	grep -q '^// error' "$dir/got" || fail "$f: no error with a line"
	places=$(sed 's|^// [a-z]* \([0-9]*\):.*|\1|' "$dir/got" | sort -u | wc -l)
	[ "$places" -ge 2 ] || grep -q 'line [0-9]' "$dir/got" || grep -q '^// one line' "$f" ||
		fail "$f: names one line only"
	grep -q '^// no element' "$f" ||
		grep -q '([0-9][0-9, ]*).*\(lane\|element\) [0-9]\|lane [0-9].*([0-9][0-9, ]*)' "$dir/got" ||
		fail "$f: names no element and thread"
done
[ $n -ge 40 ] || fail "only $n programs"
[ $bad -eq 0 ] && echo "$n programs"
exit $bad
