#!/bin/sh
# A kernel with a grid barrier is launched by cuLaunchCooperativeKernel, others are not; a grid that the device does not
# hold at a time is refused with its numbers. On the simulated driver of driver.c.
. test/script.sh
. test/gpu/fake.sh
[ -z "$SAN" ] || { echo "the driver is not instrumented"; exit 77; }
make_driver "$dir" || exit 1
softmax() { # BLOCKS
	LD_LIBRARY_PATH=$dir "$HEXC" run examples/softmax_grid.hexc --arch sm_90a --exec=gpu --check --arg 'X=random(1)[5003]' \
		--arg "TOP=zeros[$1]" --arg TOTAL=zeros --arg S=zeros >"$dir/said" 2>&1
}
add() {
	LD_LIBRARY_PATH=$dir "$HEXC" run examples/vector_add.hexc --arch sm_90a --exec=gpu --check --arg 'A=random(1)[1000]' \
		--arg 'B=random(2)' >"$dir/said" 2>&1
}
softmax 4 || fail "4 blocks: $(cat "$dir/said")"
export FAKE_CUDA_FAIL=cuLaunchCooperativeKernel
softmax 4 && fail "the launch is not cooperative"
grep -q cuLaunchCooperativeKernel "$dir/said" || fail "another call failed: $(cat "$dir/said")"
add || fail "a launch without barriers is cooperative: $(cat "$dir/said")"
unset FAKE_CUDA_FAIL
# 4 multiprocessors
softmax 5 && fail "5 blocks of 4 ran"
grep -q 'the grid has 5 blocks, .*the device holds 4 of them at a time' "$dir/said" || fail "$(cat "$dir/said")"
export FAKE_CUDA_BLOCKS=2
softmax 5 || fail "5 blocks of 8: $(cat "$dir/said")"
exit $bad
