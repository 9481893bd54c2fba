#!/bin/sh
# Kernels, families and linear layers as operators of torch: torch.library's own checks, torch.compile, symbols for shapes;
# tensors are on the CPU, and the simulator is the device (test/python/torch_ops.py).  Skipped where Python has no torch.
. test/script.sh
. test/python/package.sh
for python in "${TORCH_PYTHON:-}" "$python" python3 ''; do
	[ -z "$python" ] || ! "$python" -c 'import numpy, torch; assert torch.library.custom_op' 2>/dev/null || break
done
[ -n "$python" ] || { echo "Python has no torch here: TORCH_PYTHON=... of one that has"; exit 77; }
timeout 200 "$python" test/python/torch_ops.py >"$dir/log" 2>&1 || fail "$(tail -40 "$dir/log")"
exit $bad
