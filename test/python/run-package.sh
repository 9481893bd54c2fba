#!/bin/sh
# The Python package: doctests, kernels on NumPy arrays against NumPy, errors, ownership, threads (test/python/package.py),
# and mypy's strict rules where there is one.
. test/script.sh
. test/python/package.sh
"$python" test/python/package.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
for mypy in "$(dirname "$python")/mypy" "$(command -v mypy)"; do
	[ -x "$mypy" ] || continue
	(cd scripts/python && "$mypy" --python-executable "$python" --cache-dir "$dir/mypy") >"$dir/log" 2>&1 || fail "$mypy: $(cat "$dir/log")"
	exit $bad
done
echo "no mypy: types are not checked"
exit $bad
