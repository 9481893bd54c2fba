#!/bin/sh
# Reports oversized code: a file of over 400 lines, a function of over 60. Never fails. Tables, public headers
# and tests may be longer.
find taskmap hexc infer ptxgen lib examples -name '*.c' | sort | while read -r f; do
	awk -v f="$f" '
		/^{/ { start = NR }
		/^}/ && start { if (NR - start > 61) printf "%s:%d: a function of %d lines\n", f, start, NR - start - 1; start = 0 }
		END { if (NR > 400) printf "%s: %d lines\n", f, NR }' "$f"
done | awk '{ print } END { print NR " files or functions are longer than they should be" }'
