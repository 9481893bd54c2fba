#!/bin/sh
# The Python package by mypy's strict rules.
. test/script.sh
. test/python/package.sh
need_python mypy
case $python in
/*) ;;
*/*) python=$PWD/$python ;; # where the rules are, that is nowhere
esac
(cd scripts/python && "$python" -m mypy --cache-dir "$dir/mypy") >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
