#!/bin/sh
# A plan of families (families.c), on the simulator as a device of hexc_gpu_open, and with a driver whose GPU is the
# simulator: its graph, captured for one number of rows, equals launches for all others.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
"${CC:-cc}" -std=c11 -O1 -I. test/plan/families.c -o "$dir/families" -L"$B" -l:libhexc_rt.so.0 || exit 1
says 0 '' build examples/split_k.hexc examples/gemm_f16.hexc --family examples/gemm.family --arch sm_80 -o "$dir/k.hxb"
for on in simulator driver; do
	FAKE_CUDA_SM=80 LD_LIBRARY_PATH="$B:$dir" timeout 120 "$dir/families" "$dir/k.hxb" $on >"$dir/said" 2>&1 ||
		fail "FAIL: $on: exit $?: $(cat "$dir/said")"
done
exit $bad
