#!/bin/sh
# Hosts of three kinds (host.c), with a driver whose GPU is the simulator: one launches as hexc.h says, with more than
# 48 KB of shared memory; one leaves all to hexc_gpu_close; one gives the device a weight, which says what the driver
# refused, of which weight.  Nothing is left behind.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
# the library's copy of the simulator and the driver's are two
"${CC:-cc}" -std=c11 -I. test/gpu/host.c -o "$dir/host" -L"$B" -l:libhexc.so.0 -L"$dir" -l:libcuda.so.1 || exit 1
for kind in engine tool weight; do
	LD_LIBRARY_PATH=$B:$dir timeout 60 "$dir/host" $kind >"$dir/out" 2>&1 || fail "$kind: status $?"
	[ ! -s "$dir/out" ] || fail "$kind says: $(cat "$dir/out")"
done
refused() { # SETTING TEXT: the weight cannot be given, and that is said
	env "$1" LD_LIBRARY_PATH="$B:$dir" timeout 60 "$dir/host" weight >"$dir/out" 2>&1 || fail "$1 weight: status $?"
	grep -q "^weight blk.0: $2" "$dir/out" && ! grep -q 'left behind' "$dir/out" || fail "$1 weight says: $(cat "$dir/out")"
}
refused FAKE_CUDA_SM=70 'the device runs no arch that hexc compiles for'
refused FAKE_CUDA_FAIL=cuMemAlloc_v2 '.*cuMemAlloc_v2'
refused FAKE_CUDA_FAIL=cuMemcpyHtoD_v2 '.*cuMemcpyHtoD_v2'
exit $bad
