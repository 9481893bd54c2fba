#!/bin/sh
# Kernels on tensors in GPU memory, without copies, on a stream. The driver's GPU is the simulator, and leaks are
# reported. torch is a stub (test/python/launch.py).
. test/script.sh
. test/python/package.sh
. test/gpu/fake.sh
make_driver "$dir" || exit 1
LD_LIBRARY_PATH=$dir FAKE_CUDA_STREAM=7 FAKE_CUDA_SM=80 timeout 100 "$python" test/python/launch.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
! grep 'left behind' "$dir/log" || fail "the program leaves something behind"
exit $bad
