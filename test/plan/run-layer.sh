#!/bin/sh
# A transformer layer (layer.c) as a plan, on the simulator as a device of hexc_gpu_open, and with a driver whose
# GPU is the simulator. Its results have the bits of sequential launches, on 1 and 2 streams, as graphs, and as
# graphs updated for other sizes. Graphs run unordered nodes in the opposite order. The graph's edges are those of
# the layer. Then each driver call fails, one at a time: the error is reported, and nothing leaks.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
"${CC:-cc}" -std=c11 -O1 -I. test/plan/layer.c -o "$dir/layer" -L"$B" -l:libhexc_rt.so.0 || exit 1
says 0 '' build examples/rms_norm.hexc examples/gemm_f16.hexc examples/gemm_epilogue.hexc examples/attention.hexc \
	examples/swiglu.hexc --arch sm_80 -o "$dir/k.hxb"
layer() { # SETTINGS ARGUMENTS: status in $status, output in $dir/said
	settings=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	env LD_LIBRARY_PATH="$B:$dir" $settings timeout 120 "$dir/layer" "$dir/k.hxb" "$@" >"$dir/said" 2>&1
	status=$?
}
layer '' simulator
[ $status = 0 ] || fail "FAIL: on the simulator: exit $status: $(cat "$dir/said")"
layer 'FAKE_CUDA_SM=80 FAKE_CUDA_TELL=1' driver
[ $status = 0 ] || fail "FAIL: with a driver: exit $status: $(cat "$dir/said")"
# q, k and v after the norm, one of them on the other stream; attention after all of them
cat >"$dir/edges" <<'END'
node 0, rms_norm, behind
node 1, gemm_f16, behind 0
node 2, gemm_f16, behind 0
node 3, gemm_f16, behind 1
node 4, attention, behind 2 3
node 5, gemm_epilogue, behind 4
node 6, rms_norm, behind 5
node 7, swiglu, behind 6
node 8, gemm_epilogue, behind 7
END
sed -n 's/fake driver: //p' "$dir/said" | tail -9 >"$dir/found"
diff "$dir/edges" "$dir/found" || fail "FAIL: other edges"
# A missing libhexc_sim is reported.
mkdir "$dir/alone"
cp "$B"/libhexc_rt.so.0 "$dir/alone"
LD_LIBRARY_PATH=$dir/alone "$dir/layer" "$dir/k.hxb" simulator >"$dir/said" 2>&1
grep -q 'simulator not found (libhexc_sim.so.0); install it beside libhexc, or link it' "$dir/said" ||
	fail "FAIL: without a simulator: $(cat "$dir/said")"
# All calls with EVERY=1; otherwise every seventh.
n=0
while n=$((n + ${EVERY:-7})); do
	layer "FAKE_CUDA_SM=80 FAKE_CUDA_IDLE=1 FAKE_CUDA_FAIL_AT=$n" driver quick
	case $status in
	0) ;;
	1) grep -q '^failed: .*: .' "$dir/said" || fail "FAIL: call $n fails: no reason: $(cat "$dir/said")" ;;
	*) fail "FAIL: call $n fails: exit $status: $(cat "$dir/said")" ;;
	esac
	# The free functions cannot free if the driver rejects the context.
	grep -q 'cuCtxPushCurrent_v2, fails' "$dir/said" || ! grep -q 'left behind' "$dir/said" ||
		fail "FAIL: call $n fails: $(cat "$dir/said")"
	grep -q 'fake driver: call' "$dir/said" || break
	[ $n -lt 3000 ] || { fail "FAIL: it never ends"; break; }
done
[ $n -gt 100 ] && [ $status = 0 ] || fail "FAIL: $n calls, exit $status"
exit $bad
