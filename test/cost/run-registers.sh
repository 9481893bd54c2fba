#!/bin/sh
# Predicted registers and the spill warning, compared with ptxas: a sample of examples with high register pressure.
# REGISTERS=all: all examples, GPUs and values of tunables, first solutions; an hour.
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
# Two spill and report it: their kernels have no solution without. None is ranked before one that does not spill.
grep -c ' warned$' "$dir/log" | grep -qx 2 || fail "two of these are to be warned of"
# 64 f16 values loaded by 64 loads occupy 64 registers; gathered rows occupy one register each for the offset. (LLVM
# 19's code needs 24 bytes more than available.)
grep -Eq 'gemm_any_group sm_80 0 .* spilled (0|24) ' "$dir/log" || fail "gemm_any_group of 128 rows has a solution that does not spill"
# The fragments of A prefetched for the next iteration are those of its first k step, however
# the weights are computed.
grep -q 'gemm_zero sm_80 0 .* spilled 0 ' "$dir/log" || fail "gemm_zero of 128 rows has a solution that does not spill"
grep -q '^layer_norm.hexc.* spilled 0 ' "$dir/log" || fail "layer_norm of 4096 columns has a solution that does not spill"
exit $bad
