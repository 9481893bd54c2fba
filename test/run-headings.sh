#!/bin/sh
# Headings in headers are correct: the named file defines the prototypes below the heading. Forms of headings:
#	/* ---- inline_asm.c, split.c: text ---- */     up to the next such line; without a file, it promises nothing
#	/* inline_asm.c: text */                        up to an empty line, or the next of these two
#	/* Text (inline_asm.c) */                       up to the next remark or empty line
# access*.c matches all such files. Each file starts with its own name, "/* NAME.c - what".
find taskmap hexc infer ptxgen lib test examples \( -name '*.c' -o -name '*.h' \) -print | LC_ALL=C sort | xargs awk '
# Returns the names of C files in a text, without directories, as "a.c b.c "; skips those of other modules.
function files_of(text,  list, name, room) {
	while (match(text, /[a-z][a-z0-9_\/]*[*]?[a-z0-9_]*\.c/)) {
		name = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		room = name
		sub(/[^\/]*$/, "", room)
		sub(/.*\//, "", name)
		if (room == "" || index(FILENAME, room))
			list = list name " "
	}
	return list
}
function is_among(file, list,  n, part, i) {
	sub(/.*\//, "", file)
	n = split(list, part, " ")
	for (i = 1; i <= n; i++) {
		gsub(/\./, "[.]", part[i])
		gsub(/[*]/, ".*", part[i])
		if (file ~ "^" part[i] "$")
			return 1
	}
	return 0
}
FNR == 1 {
	section = remark = one = before = ""
	comment = 0
	header = FILENAME ~ /\.h$/
	own = FILENAME
	sub(/.*\//, "", own)
	if ($1 != "/*" || $2 != own || $3 != "-") {
		printf "%s:1: does not start with \"/* %s - what\"\n", FILENAME, own
		wrong = 1
	}
}
# A definition is a name at the start of a line, with or without "static" on the line before.
!header {
	if (match($0, /^[a-z_][a-zA-Z0-9_]*\(/) && before !~ /^static|^#/)
		home[substr($0, 1, RLENGTH - 1)] = home[substr($0, 1, RLENGTH - 1)] FILENAME " "
	before = $0
	next
}
/^$/ { remark = one = ""; next }
/^\/\* ----/ { section = files_of($0); remark = one = ""; next }
/^\/\* [a-z][a-z0-9_\/*]*\.c( \*\/|[:;.,])/ {
	text = $0
	sub(/([:;]|\.[^c]).*/, "", text)
	remark = files_of(text)
	one = ""
	next
}
/^\/\*/ { one = ""; comment = 1 }
comment {
	n_parts = split($0, part, "(")
	for (i = 2; i <= n_parts; i++)
		if (part[i] ~ /^[a-z][a-z0-9_\/*]*\.c\)/)
			one = one files_of(substr(part[i], 1, index(part[i], ")")))
	comment = !/\*\//
	next
}
/^[A-Za-z].*[ *][a-z_][a-zA-Z0-9_]*\(/ && !/^(typedef|static|extern "C")/ {
	promise = one != "" ? one : remark != "" ? remark : section
	if (promise == "")
		next
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	n++
	said[n] = promise; called[n] = name; at[n] = FILENAME ":" FNR
}
END {
	for (i = 1; i <= n; i++) {
		k = split(home[called[i]], file, " ")
		for (j = 1; j <= k && !is_among(file[j], said[i]); j++)
			;
		if (k && j > k) {
			printf "%s: %s stands under %sbut is in %s\n", at[i], called[i], said[i], home[called[i]]
			wrong = 1
		}
	}
	exit wrong
}'
