#!/bin/sh
# ptxas accepts every text of faults/, including the faulty ones: their errors occur only at run time. Also the
# random kernels of test_sync_programs.
. test/script.sh
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
for t in faults sync_programs; do
	[ -x "$B/test/sim/sanitizer/test_$t" ] || { echo "no $B/test/sim/sanitizer/test_$t: make check builds it"; exit 77; }
done
"$B/test/sim/sanitizer/test_faults" --dump "$dir" && "$B/test/sim/sanitizer/test_sync_programs" --dump "$dir" || exit 1
for f in "$dir"/*.ptx; do
	name=${f##*/}
	ptxas -arch="${name%%-*}" "$f" -o /dev/null >"$dir/log" 2>&1 && continue
	grep -q 'not defined for option\|Unsupported .version' "$dir/log" && continue # an older ptxas
	fail "$name: ptxas refuses it: $(sed -n 1,3p "$dir/log")"
done
exit $bad
