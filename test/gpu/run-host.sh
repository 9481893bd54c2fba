#!/bin/sh
# Three kinds of hosts (host.c), with a driver whose GPU is the simulator. One launches as documented in hexc.h,
# with more than 48 KB of shared memory. One leaves all cleanup to hexc_gpu_close. One uploads a weight; a failed
# driver call is reported with the weight's name. Nothing leaks.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
# The library's simulator and the driver's are two copies.
"${CC:-cc}" -std=c11 -I. test/gpu/host.c -o "$dir/host" -L"$B" -l:libhexc.so.0 -L"$dir" -l:libcuda.so.1 || exit 1
for kind in engine tool weight; do
	LD_LIBRARY_PATH=$B:$dir timeout 60 "$dir/host" $kind >"$dir/out" 2>&1 || fail "$kind: status $?"
	[ ! -s "$dir/out" ] || fail "$kind says: $(cat "$dir/out")"
done
refused() { # SETTING TEXT: the upload of the weight fails, with this message
	env "$1" LD_LIBRARY_PATH="$B:$dir" timeout 60 "$dir/host" weight >"$dir/out" 2>&1 || fail "$1 weight: status $?"
	grep -q "^weight blk.0: $2" "$dir/out" && ! grep -q 'left behind' "$dir/out" || fail "$1 weight says: $(cat "$dir/out")"
}
refused FAKE_CUDA_SM=70 'the device supports no architecture that hexc compiles for'
refused FAKE_CUDA_FAIL=cuMemAlloc_v2 '.*cuMemAlloc_v2'
refused FAKE_CUDA_FAIL=cuMemcpyHtoD_v2 '.*cuMemcpyHtoD_v2'
exit $bad
