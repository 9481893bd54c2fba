#!/bin/sh
# The first candidates of warp-specialized examples, under every validator: schedules differ in what can be wrong.
. test/script.sh
for example in attention conv2d gemm_f16 gemm_wNa16 lora moe swiglu; do
	for arch in sm_90a sm_120a; do
		for candidate in 0 1 2 3; do
			"$HEXC" --emit-ptx "examples/$example.hexc" --arch $arch --prove --candidate $candidate -o /dev/null 2>"$dir/said" ||
				fail "FAIL: $example on $arch, candidate $candidate: $(cat "$dir/said")"
		done
	done
done
exit $bad
