#!/bin/sh
# Checks the dependencies between directories (rooms) against test/layers.tsv: includes, and the symbols that
# objects import from each other. The symbols catch a repeated prototype, and a header in the wrong directory.
rooms=test/layers.tsv
B=${B:-build}
bad=0

# A room comes after the rooms that it uses.
awk -F '\t' '/^#/ { next }
	{
		n = split($2, use, " ")
		for (i = 1; i <= n; i++)
			if (use[i] != "public" && use[i] != "llvm" && !(use[i] in seen)) {
				print FILENAME ":" FNR ": " $1 " uses " use[i] ", which does not stand above it"
				bad = 1
			}
		seen[$1] = 1
	}
	END { exit bad }' $rooms || bad=1

# shellcheck disable=SC2016 # the dollars are awk's
allowed='
function room_of(file) { sub(/\/[^\/]*$/, "", file); return file }
function fail(why) { print why; bad = 1 }
FILENAME == ARGV[1] {
	if (/^#/ || !NF)
		next
	room[$1] = 1
	for (i = 2; i <= NF; i++)
		may[$1, $i] = 1
	next
}'

find taskmap hexc infer ptxgen lib examples \( -name '*.[ch]' -o -name '*.def' \) \
	-exec grep -Hn '^[ 	]*#[ 	]*include' {} + | awk "$allowed"'
{
	split($0, part, ":")
	file = part[1]; place = file ":" part[2]; from = room_of(file)
	angle = /include[ \t]*</
	match($0, /[<"][^>"]*[>"]/)
	inc = substr($0, RSTART + 1, RLENGTH - 2)
	if (!(from in room))
		fail(place ": " from "/ is no room of " ARGV[1])
	if (angle && inc !~ /^llvm/)
		next
	to = room_of(inc)
	if (inc ~ /^llvm/)
		to = "llvm"
	if (to == from || (from, to) in may)
		next
	if (inc ~ /^lib\/(hexc(_bundle|_cache|_family|_weights|_gpu|_plan|_ops)?|sim\/sim)\.h$/ && (from, "public") in may)
		next
	fail(place ": " from "/ may not use " inc)
}
END { exit bad }' $rooms - || bad=1

# nm: symbols that an object defines and imports. Public symbols are the exports of the shared library and the
# functions of lib/sim/sim.h.
if [ -d "$B/obj" ]; then
	for object in $(find taskmap hexc infer ptxgen lib -name '*.c' | sed "s|\.c\$|.o|"); do
		[ ! -f "$B/obj/$object" ] || echo "$object"
	done | (cd "$B/obj" && xargs nm -A) | awk '
		NF == 3 && $2 == "U" { sub(/:$/, "", $1); print "U", $1, $3 }
		NF == 3 && $2 ~ /^[TDRBV]$/ { object = $1; sub(/:[^:]*$/, "", object); print "D", object, $3 }
	' | LC_ALL=C sort | awk "$allowed"'
FILENAME == ARGV[2] { public[$1] = 1; next }
$1 == "D" { home[$3] = $2; next }
$3 in home {
	from = room_of($2); to = room_of(home[$3])
	if (to == from || (from, to) in may || ($3 in public || to ~ /^lib\/sim/ && $3 ~ /^sim_/) && (from, "public") in may)
		next
	fail($2 ": " from "/ may not use " $3 " of " home[$3])
}
END { exit bad }' $rooms test/libhexc.symbols - || bad=1
fi

# A directory has at most 45 files.
for room in $(find taskmap hexc infer ptxgen lib examples test -type d ! -path '*/__pycache__'); do
	n=$(find "$room" -maxdepth 1 -type f ! -name '*.hexc' ! -name '*.ptx' ! -name '*.cu' | wc -l)
	[ "$n" -le 45 ] || { echo "$room/ has $n files; a room has at most 45"; bad=1; }
done
exit $bad
