#!/bin/sh
# Reports what has outgrown its file: a pass under 400 lines, a function under 60.  Never fails; tables,
# the public headers and the tests may be longer.
git ls-files -co --exclude-standard '*.c' | grep -v '^test/' | while read -r f; do
	[ ! -f "$f" ] || awk -v f="$f" '
		/^{/ { start = NR }
		/^}/ && start { if (NR - start > 61) printf "%s:%d: a function of %d lines\n", f, start, NR - start - 1; start = 0 }
		END { if (NR > 400) printf "%s: %d lines\n", f, NR }' "$f"
done >"${TMPDIR:-/tmp}/sizes.$$"
n=$(wc -l <"${TMPDIR:-/tmp}/sizes.$$")
cat "${TMPDIR:-/tmp}/sizes.$$"
rm -f "${TMPDIR:-/tmp}/sizes.$$"
echo "$n files or functions are longer than they should be"
