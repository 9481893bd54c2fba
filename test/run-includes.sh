#!/bin/sh
# Who may include whom: taskmap <- hexc <- infer <- ptxgen <- lib.  lib/sim stands alone with
# taskmap/base.h, the CLI and the examples are clients of the public headers, LLVM stays in ptxgen/.
find taskmap hexc infer ptxgen lib examples \( -name '*.[ch]' -o -name '*.def' \) \
	-exec grep -Hn '^[ 	]*#[ 	]*include' {} + | awk '
function fail(why) { print place ": " why; bad = 1 }
BEGIN { n = split("taskmap hexc infer ptxgen lib", order); for (i = 1; i <= n; i++) rank[order[i]] = i }
{
	split($0, part, ":")
	file = part[1]; place = file ":" part[2]
	from = file; sub(/\/[^\/]*$/, "", from)
	angle = /include[ \t]*</
	match($0, /[<"][^>"]*[>"]/)
	inc = substr($0, RSTART + 1, RLENGTH - 2)
	if (inc ~ /^llvm/ && from != "ptxgen")
		fail("only ptxgen/ may include " inc)
	if (angle)
		next
	if (inc !~ /\//) # beside the file that includes it
		inc = from "/" inc
	to = inc; sub(/\/[^\/]*$/, "", to)
	client = file ~ /^hexc\/(main|cli(_[^\/]*)?)\.[ch]$/ || from ~ /^examples/
	if (client) {
		if (inc !~ /^lib\/hexc(_weights|_gpu)?\.h$|^lib\/sim\/sim\.h$|^hexc\/cli[^\/]*\.(h|def)$|^examples\//)
			fail("a client of the library includes " inc)
	} else if (from == "lib/sim") {
		if (to != "lib/sim" && inc != "taskmap/base.h")
			fail("the simulator includes " inc)
	} else if (to == "lib/sim" && from == "lib") {
		;
	} else if (!(from in rank) || !(to in rank))
		fail(from "/ includes " inc ": no such folder in the order")
	else if (rank[to] > rank[from])
		fail(from "/ includes " inc ", but " to "/ is built on " from "/")
}
END { exit bad }'
