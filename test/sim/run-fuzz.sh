#!/bin/sh
# The simulator, built with ASan and UBSan, with mutated PTX: every text is rejected with a line number, or runs to
# its end. FUZZ=N: number of mutations (60000; QUICK=1: 8000); SEED=N. The corpus: hexc's PTX, nvcc's if available,
# test/sim/corpus/*.ptx and kernels generated from isa.txt.
. test/script.sh
N=${FUZZ:-${QUICK:+8000}}
N=${N:-60000}
SEED=${SEED:-1}
out=$B/fuzz
PATH=$PATH:/usr/local/cuda/bin
mkdir -p "$out" || exit 1
need_sanitizers

# Objects are kept between runs; dependencies are the compiler's.
cat >"$out/Makefile" <<EOF
SRC := \$(wildcard lib/sim/*.c lib/sim/*/*.c) \$(wildcard taskmap/support/*.c) test/sim/fuzz.c
OBJ := \$(SRC:%.c=$out/%.o)
$out/fuzz: \$(OBJ)
	@$CC -pthread -fsanitize=address,undefined \$^ -lm -o \$@
$out/%.o: %.c
	@mkdir -p \$(@D)
	@$CC -std=c11 -D_POSIX_C_SOURCE=200809L -I. -O1 -g1 -pthread -MMD -MP -fno-omit-frame-pointer \
		-fsanitize=address,undefined -fno-sanitize-recover=all -c \$< -o \$@
-include \$(OBJ:.o=.d)
EOF
unset MAKEFLAGS MAKELEVEL
make -s -j2 -f "$out/Makefile" "$out/fuzz" || exit 1

for src in examples/*.hexc; do
	"$HEXC" --emit-ptx "$src" --arch sm_80 -o "$dir/$(basename "$src" .hexc).ptx" 2>/dev/null
done
if command -v nvcc >/dev/null; then
	for cu in test/sim/*.cu test/sim/exec/*.cu; do
		nvcc -Wno-deprecated-gpu-targets -arch=sm_80 -ptx -o "$dir/$(basename "$cu" .cu).ptx" "$cu" 2>/dev/null
	done
fi
export ASAN_OPTIONS=detect_leaks=1:max_allocation_size_mb=64:allocator_may_return_null=1:malloc_context_size=3
export UBSAN_OPTIONS=print_stacktrace=1
half=$((N / 2))
(
	"$out/fuzz" "$SEED" "$half" "$dir"/*.ptx test/sim/corpus/*.ptx test/sim/triton/*.ptx >"$dir/one" 2>&1
	echo $? >"$dir/one.rc"
) &
"$out/fuzz" $((SEED + 1)) $((N - half)) "$dir"/*.ptx test/sim/corpus/*.ptx test/sim/triton/*.ptx >"$dir/two" 2>&1
rc=$?
wait
tail -n 60 "$dir/one" "$dir/two" | grep -v WARNING:
[ $rc = 0 ] && [ "$(cat "$dir/one.rc")" = 0 ]
