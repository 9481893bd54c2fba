#!/bin/sh
# The readers, decoders and packs, built with ASan and UBSan, with mutated and truncated files and flipped header
# bits: each file is rejected with a message or read within its bounds. FUZZ=N: mutations of each file (500;
# QUICK=1: 50); above 1000 files are also truncated after every byte, and every header bit is flipped. SEED=N.
. test/script.sh
N=${FUZZ:-${QUICK:+50}}
N=${N:-500}
SEED=${SEED:-1}
out=$B/fuzz-weights
mkdir -p "$out" || exit 1
need_sanitizers

# Objects are kept between runs; dependencies are the compiler's. Other library code that they
# use is not instrumented.
cat >"$out/Makefile" <<END
SRC := \$(wildcard lib/weights/*.c taskmap/*.c taskmap/support/*.c hexc/ir/dtype_*.c lib/base/*.c) \
	lib/pack/pack.c lib/pack/pack_plan.c lib/pack/bit_permute.c lib/pack/plane_kernels.c hexc/ir/pack.c hexc/ir/bit_order.c test/weights/test_mutated_files.c \
	test/util_main.c
OBJ := \$(SRC:%.c=$out/%.o)
$out/fuzz: \$(OBJ)
	@$CC -pthread -fsanitize=address,undefined \$^ $B/libhexc.a -lcheck -lsubunit -lcjson -lm -lrt -o \$@
$out/%.o: %.c
	@mkdir -p \$(@D)
	@$CC -std=c11 -D_POSIX_C_SOURCE=200809L -I. -O1 -g1 -pthread -MMD -MP -fno-omit-frame-pointer \
		-fsanitize=address,undefined -fno-sanitize-recover=all -c \$< -o \$@
-include \$(OBJ:.o=.d)
END
unset MAKEFLAGS MAKELEVEL
make -s -j2 -f "$out/Makefile" "$out/fuzz" || exit 1
export ASAN_OPTIONS=detect_leaks=1:max_allocation_size_mb=256:allocator_may_return_null=1:malloc_context_size=3
export UBSAN_OPTIONS=print_stacktrace=1
"$out/fuzz" "$N" "$SEED" test/weights/fixtures/*.gguf test/weights/fixtures/*.safetensors \
	test/weights/fixtures/compressed/*.safetensors
