#!/bin/sh
# `make check-gpu` runs on a GPU only the programs for its arch. Programs for another GPU are skipped and counted; a
# GPU that fails does not skip anything.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
export LD_LIBRARY_PATH="$dir" EXEC=gpu QUICK=1
"${CC:-cc}" -std=c11 -O1 test/random/gen*.c -lm -o "$dir/gen" || exit 1

# Three programs of loops: for sm_90a, sm_120a and sm_100a, as the generator prints.
seeds='3 4 5'
loops() { FAKE_CUDA_SM=$1 KIND=loops FIRST=3 NIGHTLY=3 CANDIDATES=1 test/random/run-random.sh >"$dir/out" 2>&1; }
for sm in 80 90; do
	other=0
	for s in $seeds; do
		case $sm:$("$dir/gen" "$s" loops | sed -n 's|^// arch: ||p') in
		*:sm_75 | *:sm_80 | $sm:sm_${sm}a) ;;
		*) other=$((other + 1)) ;;
		esac
	done
	[ $other -ge 2 ] || fail "seeds $seeds: $other programs that sm_$sm does not run; take others"
	loops $sm || fail "on sm_$sm: $(tail -3 "$dir/out")"
	grep -q " 0 wrong, $other for other GPUs$" "$dir/out" || fail "on sm_$sm: $(tail -1 "$dir/out"), not $other for other GPUs"
done
FAKE_CUDA_FAIL=cuModuleLoadDataEx loops 90 && fail "a GPU that loads nothing: $(tail -1 "$dir/out")"

FAKE_CUDA_SM=75 test/ptxgen/run-long.sh >"$dir/out" 2>&1
[ $? = 77 ] || fail "run-long.sh on sm_75: $(tail -1 "$dir/out")"
exit $bad
