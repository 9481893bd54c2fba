#!/bin/sh
# --exec=gpu with a driver whose GPU is the simulator (driver.c). Kernels receive arguments, packed
# tensors and shared memory in the form of cuLaunchKernel. Every driver function may fail; faults are
# reported, and nothing leaks.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1

gpu() { # environment settings, as words; then the arguments of hexc
	set="$1"
	shift
	# shellcheck disable=SC2086 # a list of words
	env LD_LIBRARY_PATH="$dir" $set timeout 60 "$HEXC" "$@" >"$dir/out" 2>"$dir/err"
}
t() { # exit status, part of the output, environment, arguments
	want=$1 says=$2 set=$3
	shift 3
	gpu "$set" "$@"
	status=$?
	if [ $status != "$want" ] || ! cat "$dir/out" "$dir/err" | grep -qF -e "$says" || grep -q 'left behind' "$dir/err"; then
		echo "FAIL: $set hexc $*: exit $status, not $want; or does not say '$says':"
		cat "$dir/out" "$dir/err"
		bad=1
	fi
}

add="run examples/vector_add.hexc --exec=gpu --arg A=random(1)[1000] --arg B=random(2)[1000]"
gemm="run examples/gemm_f16.hexc --arg A=random(1)[100,72] --arg B=random(2)[136,72]"
# shellcheck disable=SC2086
{
	for k in 0 1 2; do
		t 0 ': right' '' $gemm --exec=gpu --check --candidate $k
	done
	# 96 KB of shared memory; a packed tensor; scalars, sizes, an output of narrow elements; several types
	t 0 ': right' '' $gemm --exec gpu --check -D BM=128 -D BN=128 -D BK=64 -D STAGES=3
	t 0 ': right' '' run examples/gemm_wNa16.hexc --exec=gpu --check -D WEIGHT=u3 --kernel gemm_wNa16 \
		--arg 'A=random(1)[33,256]' --arg 'W=randint(2,0,7)[136,256]' --arg 'S=random(3)'
	cat >"$dir/scalars.hexc" <<'END'
kernel scalars(X: f32[M, N], Y: inout i8[M, N], Z: out u4[M, N], a: f32, b: i32, c: bf16, d: bool, e: f64)
    assume N % 32 == 0
{
    grid(ceil(M, 8));
    let m = block.x * 8;
    let x: register = X[m :+ 8, 0 :+ 32] * a + f32(b) + f32(c) + f32(e);
    Y[m :+ 8, 0 :+ 32] = Y[m :+ 8, 0 :+ 32] + i8(x) + where(d, i8(1), i8(0));
    Z[m :+ 8, 0 :+ 32] = u4(abs(x));
}
END
	t 0 'Z u4[20,32]: largest absolute error 0' '' run "$dir/scalars.hexc" --exec=gpu --check --arg 'X=random(1)[20,32]' \
		--arg 'Y=randint(1,-9,9)' --arg a=2.5 --arg b=-3 --arg c=1.5 --arg d=1 --arg e=0.25
	# tensor maps, partial boxes and empty tensors
	roles="run examples/gemm_roles.hexc --exec=gpu --check --arg A=randint(1,-3,3)"
	t 0 ': right' '' $roles --arg 'B=randint(2,-3,3)' --arg M=100 --arg N=136 --arg K=200
	t 0 ': right' '' $roles --arg 'B=randint(2,-3,3)' --arg M=8 --arg N=8 --arg K=0
	t 4 'cuTensorMapEncodeTiled' FAKE_CUDA_FAIL=cuTensorMapEncodeTiled $roles --arg 'B=random(2)' --arg M=8 --arg N=8 --arg K=8
	# clusters: limited by the driver's occupancy
	pairs="run examples/gemm_f16.hexc --cluster 2x1 --exec=gpu --check --arg A=randint(1,-3,3)[300,72] --arg B=randint(2,-3,3)[136,72]"
	for n in 1 2; do
		t 0 ': right' FAKE_CUDA_CLUSTERS=$n $pairs
	done
	t 4 'cuOccupancyMaxActiveClusters' FAKE_CUDA_FAIL=cuOccupancyMaxActiveClusters $pairs
	# a driver without that function (it has another name)
	mkdir "$dir/lacks" && make_driver "$dir/lacks" -DcuOccupancyMaxActiveClusters=cuNothing || exit 1
	t 4 'the CUDA driver has no cuOccupancyMaxActiveClusters: it is older than CUDA 11.8' "LD_LIBRARY_PATH=$dir/lacks" $pairs
	# nothing to launch; times; what auto selects
	t 0 'right' '' run examples/vector_add.hexc --exec=gpu --check --arg 'A=zeros[0]' --arg 'B=zeros[0]'
	t 0 'time: median 1000.00 us, 1000.00 to 1000.00, of 7 launches' '' $add --repeat 7
	t 4 'cuMemsetD8Async' FAKE_CUDA_FAIL=cuMemsetD8Async $add --repeat 2
	t 0 'the L2 cache as the one before left it' FAKE_CUDA_FAIL=cuMemsetD8Async $add --repeat 2 --warm
	t 2 '--warm requires --repeat' '' $add --warm
	t 0 '"median_us":	1000' '' $add --repeat 3 --stats -
	t 0 '"gpu":	"simulated GPU 0"' '' $add --stats -
	t 0 'time: median' '' $gemm --repeat 2
	t 2 '--repeat requires --exec=gpu' FAKE_CUDA_DEVICES=0 $gemm --repeat 2
	t 0 '"warp_instructions"' '' $gemm --stats - # only the simulator counts
	t 2 "--repeat: expected a number from 1 to 1000000, got '0'" '' $add --repeat 0
	t 2 "--roofline requires --exec=sim" '' $add --roofline H200
	# archs
	t 0 ': right' FAKE_CUDA_SM=75 $gemm --exec=gpu --check # its default arch
	t 4 'cannot run PTX for sm_90a; use --arch sm_86' FAKE_CUDA_SM=87 $add --arch sm_90a
	t 4 'is older than every arch hexc compiles for' FAKE_CUDA_SM=70 $add
	t 2 "unknown arch 'sm_1'" '' $add --arch sm_1
	# failures
	mv "$dir/libcuda.so.1" "$dir/away"
	if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
		t 4 'CUDA driver not found (libcuda.so.1)' '' $add
	fi
	mv "$dir/away" "$dir/libcuda.so.1"
	t 4 'the CUDA driver finds no GPU' FAKE_CUDA_DEVICES=0 $add
	for f in $(grep -o '^	X(cu[A-Za-z0-9_]*' lib/gpu/driver.h | sed 's/.*(//'); do
		case $f in
		cuGetError* | cuTensorMap*) continue ;; # cannot fail in the same way; no map is needed here
		cuMemcpy*Async* | cuMemHostAlloc | cuMemFreeHost) continue ;; # only transfers.c uses them
		cuStreamSynchronize) t 4 "$f: unknown error" FAKE_CUDA_FAIL=$f $add ;;
		cuCtxGet* | cuStream* | cuGraph*) continue ;; # only calls.c uses them
		cuLink*) continue ;; # only the cache of cubins uses them
		cuMemFree_v2 | cuModuleUnload | cuEventDestroy_v2 | cuDevicePrimaryCtxRelease_v2 | cuCtxPopCurrent_v2) ;;
		cuOccupancyMaxActiveClusters) ;; # tested above
		cuLaunchKernel) t 4 "$f: unknown error" FAKE_CUDA_FAIL=$f $gemm --no-pdl --exec=gpu ;;
		cuLaunchCooperativeKernel)
			t 4 "$f: unknown error" FAKE_CUDA_FAIL=$f run examples/softmax_grid.hexc --exec=gpu --arg 'X=random(1)[5003]' \
				--arg 'TOP=zeros[4]' --arg TOTAL=zeros --arg S=zeros
			;;
		*) t 4 "$f: unknown error (unknown, 999)" FAKE_CUDA_FAIL=$f $gemm --cluster 1x1 --exec=gpu --repeat 2 --check ;;
		esac
	done
	t 4 'cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)' 'FAKE_CUDA_FAIL=cuMemAlloc_v2 FAKE_CUDA_CODE=2' $add
	cat >"$dir/assert.hexc" <<'END'
kernel assert(X: f32[N])
{
    grid(1);
    let x: register = X[0 :+ 64];
    assert(x < 1.0, "too large");
}
END
	t 3 'kernel failed on the GPU: cu' '' run "$dir/assert.hexc" --exec=gpu --arg 'X=arange[64]'
}
exit $bad
