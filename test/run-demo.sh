#!/bin/sh
# Checks the table of `make demo`: every verdict is `right`, and the GEMMs have no bank conflicts and transfer at
# most 3 % more sectors than the minimum.
. test/script.sh
log=$dir/log
B=$B scripts/table >"$log" || bad=1
cat "$log"
awk '$1 ~ /^gemm_/ && $2 ~ /^sm_/ && ($5 != 0 || $6 + 0 > 3) { print "too much: " $0; bad = 1 }
	END { exit bad }' "$log" || bad=1
exit $bad
