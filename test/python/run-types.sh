#!/bin/sh
# Type-checks the Python package with mypy, strict.
. test/script.sh
. test/python/package.sh
need_python mypy
case $python in
/*) ;;
*/*) python=$PWD/$python ;; # relative paths do not work in the directory of the configuration
esac
(cd scripts/python && "$python" -m mypy --cache-dir "$dir/mypy") >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
exit $bad
