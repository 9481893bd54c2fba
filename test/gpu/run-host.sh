#!/bin/sh
# Hosts of the two kinds (host.c), with a driver whose GPU is the simulator: one launches as hexc.h says, with more than
# 48 KB of shared memory; the other leaves all to hexc_gpu_close, and nothing is left behind.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
# the library's copy of the simulator and the driver's are two
"${CC:-cc}" -std=c11 -I. test/gpu/host.c -o "$dir/host" -L"$B" -l:libhexc.so.0 -L"$dir" -l:libcuda.so.1 || exit 1
for kind in engine tool; do
	LD_LIBRARY_PATH=$B:$dir timeout 60 "$dir/host" $kind >"$dir/out" 2>&1 || fail "$kind: status $?"
	[ ! -s "$dir/out" ] || fail "$kind says: $(cat "$dir/out")"
done
exit $bad
