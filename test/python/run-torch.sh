#!/bin/sh
# Kernels, families and linear layers as torch operators: torch.library's own checks, torch.compile,
# symbolic shapes. Tensors are on the CPU, the device is the simulator (test/python/torch_ops.py).
# Skipped if Python has no torch.
. test/script.sh
. test/python/package.sh
for python in "${TORCH_PYTHON:-}" "$python" python3 ''; do
	[ -z "$python" ] || ! "$python" -c 'import numpy, torch; assert torch.library.custom_op' 2>/dev/null || break
done
[ -n "$python" ] || { echo "Python has no torch here: TORCH_PYTHON=... of one that has"; exit 77; }
timeout 200 "$python" test/python/torch_ops.py >"$dir/log" 2>&1 || fail "$(tail -40 "$dir/log")"
exit $bad
