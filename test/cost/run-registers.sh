#!/bin/sh
# Registers that are predicted, and the warning of spills, against ptxas: a sample of examples in which most is read, or
# held.  REGISTERS=all: all examples, GPUs and values of tunables, first solutions; an hour.
. test/script.sh
command -v ptxas >/dev/null && command -v python3 >/dev/null || { echo "no ptxas or no python3"; exit 77; }
export JOBS="${JOBS:-2}" CANDIDATES=1
if [ "$REGISTERS" = all ]; then
	scripts/registers -t
	exit
fi
export ARCHS=sm_80
scripts/registers 'examples/attention.hexc -D WARPS=1' 'examples/layer_norm.hexc -D BN=4096' \
	'examples/gemm_schemes.hexc -D BM=128 --kernel gemm_zero' 'examples/gemm_schemes.hexc --kernel gemm_ordered' \
	'examples/gemm_schemes.hexc -D BM=128 --kernel gemm_any_group' 'examples/gemm_wNa8.hexc -D BN=256' \
	'examples/decode_wNa16.hexc -D WARPS=1 --kernel decode' examples/gemm_fp8.hexc examples/attention.hexc >"$dir/log" || {
	tail -n 3 "$dir/log"
	exit 1
}
cat "$dir/log"
# two spill, which is all that their kernels can do, and say so; none in front of one that does not
grep -c ' warned$' "$dir/log" | grep -qx 2 || fail "two of these are to be warned of"
# 64 of f16 that come by 64 loads have 64 registers, and rows that they are gathered from an offset each
# (what LLVM 19 makes of it is 24 bytes more than fit)
grep -Eq 'gemm_any_group sm_80 0 .* spilled (0|24) ' "$dir/log" || fail "gemm_any_group of 128 rows has a solution that does not spill"
# of A a turn has ahead what its first step takes, whatever the weights are made by
grep -q 'gemm_zero sm_80 0 .* spilled 0 ' "$dir/log" || fail "gemm_zero of 128 rows has a solution that does not spill"
grep -q '^layer_norm.hexc.* spilled 0 ' "$dir/log" || fail "layer_norm of 4096 columns has a solution that does not spill"
exit $bad
