#!/bin/sh
# examples/ggml against ggml's own CPU backend: ggml's test program compares the cases of cases.tsv (compute capability
# of the simulated device, operation, parameters) and others that have the same operation and parameters. A driver that
# fails, at one of its calls, is told of and does no other harm. ggml is built from the source package of
# llama-cpp-python, which pip fetches once. GGML=DIR: from this source of llama.cpp instead. QUICK=1: a third of the
# cases. ALL=1: all operations that the backend accepts, not those of cases.tsv.
. test/script.sh
. test/gpu/fake.sh
[ -z "$SAN" ] || { echo "ggml is built without sanitizers"; exit 77; }
package=llama-cpp-python==0.3.36
for tool in cmake make g++; do
	command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/hexc-test
source=${GGML:-$cache/llama-cpp-python-0.3.36}
mkdir -p "$cache" || exit 1

# The source, unpacked: complete once it has its name.
if [ ! -d "$source" ]; then
	python3 -m pip download -q --no-deps --no-binary :all: -d "$dir" $package >"$dir/pip" 2>&1 ||
		{ echo "pip does not fetch $package: $(tail -n 1 "$dir/pip")"; exit 77; }
	mkdir "$dir/source" && tar -xzf "$dir"/llama_cpp_python-*.tar.gz -C "$dir/source" || exit 1
	mv "$dir"/source/*/vendor/llama.cpp "$source" || exit 1
fi
built=$source/built-for-hexc
log() { "$@" >>"$dir/log" 2>&1 || { tail -n 20 "$dir/log"; exit 1; }; }
if [ ! -x "$built/bin/test-backend-ops" ]; then
	log cmake -S "$source" -B "$built" -DCMAKE_BUILD_TYPE=Release -DGGML_BACKEND_DL=ON -DBUILD_SHARED_LIBS=ON \
		-DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DLLAMA_CURL=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF \
		-DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF
	log cmake --build "$built" -j 2 --target ggml --target ggml-cpu
	log g++ -std=c++17 -O1 -I"$source/ggml/include" "$source/tests/test-backend-ops.cpp" -o "$built/test-backend-ops.new" \
		-L"$built/bin" -lggml -lggml-base -Wl,-rpath,"$built/bin" -pthread
	mv "$built/test-backend-ops.new" "$built/bin/test-backend-ops"
fi
log make ggml GGML="$source" B="$B"

# compare CAPABILITY: the cases of its lines, with QUICK=1 a third of them, or all
compare() {
	awk -F '\t' -v c="$1" -v every="${QUICK:+3}" '$1 == c && n++ % (every ? every : 1) == 0' "$here/cases.tsv" >"$dir/cases"
	ops=$(cut -f 2 "$dir/cases" | sort -u | paste -sd, -)
	params=$(cut -f 3 "$dir/cases" | sort -u | sed 's/[][().*+?{}|^$\\]/\\&/g' | paste -sd'|' -)
	set -- "$1" test -b HEXC0
	[ -n "${ALL:-}" ] || set -- "$@" -o "$ops" -p "^($params)\$"
	capability=$1
	shift
	GGML_HEXC_SIMULATOR=$capability GGML_BACKEND_PATH=$(pwd)/$B/libggml-hexc.so XDG_CACHE_HOME=$dir/cache \
		"$built/bin/test-backend-ops" "$@" >"$dir/out" 2>&1
	passed=$(sed -n 's,^ *\([0-9]*\)/\([0-9]*\) tests passed.*,\1 of \2,p' "$dir/out")
	echo "sm_$capability: $passed"
	! grep -a 'FAIL\|HEXC0: [A-Z]' "$dir/out" || fail "sm_$capability: an operation failed"
	[ "${passed%% *}" = "${passed##* }" ] && [ "${passed%% *}" -ge "$(grep -c . "$dir/cases")" ] ||
		fail "sm_$capability: cases are missing: $(tail -n 3 "$dir/out")"
}
compare 80
compare 90
compare 75

# An operation for which the device has too little shared memory is not promised.
promised() {
	GGML_HEXC_SIMULATOR=$1 GGML_BACKEND_PATH=$(pwd)/$B/libggml-hexc.so "$built/bin/test-backend-ops" support -b HEXC0 \
		--output csv -o FLASH_ATTN_EXT 2>"$dir/out" | grep -c 'hsk=512,hsv=512.*"yes"'
}
[ "$(promised 75)" = 0 ] && [ "$(promised 80)" -gt 0 ] || fail "wide heads: $(promised 75), $(promised 80) promised"

# Graphs of several operations that are fewer launches.
while read -r op nodes launches params; do
	GGML_HEXC_SIMULATOR=80 GGML_HEXC_STATS=1 GGML_BACKEND_PATH=$(pwd)/$B/libggml-hexc.so XDG_CACHE_HOME=$dir/cache \
		"$built/bin/test-backend-ops" test -b HEXC0 -o "$op" -p "$params" >"$dir/out" 2>&1
	grep -q "HEXC0: graphs 1, nodes $nodes, launches $launches," "$dir/out" && grep -q '1/1 tests passed' "$dir/out" ||
		fail "$op is not $launches launches: $(grep 'graphs\|passed' "$dir/out")"
done <<'END'
MUL_MAT_VEC_FUSION 4 1 type=f16,glu_op=6,m=1,n=32,k=256,use_id=0,.*with_bias=0,with_gate=1,with_lane_scale=0,batch_dims=.1,1
SSM_CONV_BIAS_SILU 3 1 ne_a=.9,2048,1,1.*fuse_bias=1
RMS_NORM_MUL_ADD 5 2 ne=.64,5,4,3.,eps=0.000001,broadcast=0,multi_add=0,post_mul=0,alias_rms_input=0,weight_broadcast=0
ROPE_SET_ROWS 2 1 type=f16,type_idx=i64,ne_a=.128,32,1,1.,mode=0
END

# Graphs that ggml's test program does not have, four times each. Of each the first run is not replayed.
log "${CC:-cc}" -O1 -isystem "$source/ggml/include" "$here/graphs.c" -o "$dir/graphs" -L"$built/bin" -lggml -lggml-base \
	-Wl,-rpath,"$built/bin" -lm
library=$(pwd)/$B/libggml-hexc.so
(cd "$built/bin" && GGML_HEXC_SIMULATOR=80 GGML_HEXC_STATS=1 GGML_BACKEND_PATH=$library XDG_CACHE_HOME=$dir/cache \
	"$dir/graphs" >"$dir/out" 2>&1) || fail "graphs: $(grep -v load_backend "$dir/out" | head -n 8)"
counts=$(sed -n 's/^HEXC0: graphs \([0-9]*\),.* replayed \([0-9]*\)$/\1 * 3 == \2 * 4/p' "$dir/out")
[ "$((${counts:-0}))" = 1 ] || fail "graphs are not replayed: $(grep graphs "$dir/out")"
# Two products of one factor are one launch, and so are two ropes; concat is two. Of four runs two launch.
while IFS=: read -r name nodes launches; do
	(cd "$built/bin" && GGML_HEXC_SIMULATOR=80 GGML_HEXC_STATS=1 GGML_BACKEND_PATH=$library XDG_CACHE_HOME=$dir/cache \
		"$dir/graphs" "$name" >"$dir/out" 2>&1) && grep -q "nodes $nodes, launches $launches," "$dir/out" ||
		fail "$name: not $launches launches: $(grep graphs "$dir/out")"
done <<'END'
two turned:12:10
two turned, rows:14:10
END

# Copies and events, on two simulated devices. Where no memory can be pinned, the CPU's memory does.
log "${CC:-cc}" -O1 -isystem "$source/ggml/include" "$here/transfers.c" -o "$dir/transfers" -L"$built/bin" -lggml -lggml-base \
	-Wl,-rpath,"$built/bin"
transfers() { # LIBRARY SETTINGS..: status in $rc
	backend=$1
	shift
	(cd "$built/bin" && env "$@" GGML_BACKEND_PATH="$backend" XDG_CACHE_HOME="$dir/cache" timeout 60 "$dir/transfers" \
		>"$dir/out" 2>&1)
	rc=$?
}
copies() { # LIBRARY SETTINGS..: all is right
	transfers "$@"
	[ $rc = 0 ] && ! grep -q 'HEXC[0-9]: [a-z]*: ' "$dir/out" || fail "transfers $*: $rc: $(grep -v load_backend "$dir/out" | head -n 8)"
}
copies "$library" GGML_HEXC_SIMULATOR=80,90

# Weights, which are packed; with QUICK=1 a third of their types.
log "${CC:-cc}" -O1 -isystem "$source/ggml/include" "$here/weights.c" -o "$dir/weights" -L"$built/bin" -lggml -lggml-base \
	-Wl,-rpath,"$built/bin" -lm
(cd "$built/bin" && GGML_HEXC_SIMULATOR=80 GGML_HEXC_STATS=1 GGML_BACKEND_PATH=$library XDG_CACHE_HOME=$dir/cache \
	"$dir/weights" "${QUICK:+3}" >"$dir/out" 2>&1) || fail "weights: $(grep -v load_backend "$dir/out" | head -n 8)"
# Of seven launches a type five are products of a packed weight; a large weight has one more.
counts=$(sed -n 's/^HEXC0: graphs .* launches \([0-9]*\), packed \([0-9]*\),.*/(\1 - 1) * 5 == (\2 - 1) * 7 \&\& \2 > 1/p' "$dir/out")
[ "$((${counts:-0}))" = 1 ] || fail "weights are not packed: $(grep graphs "$dir/out")"
# Two weights of different types are one launch.
(cd "$built/bin" && GGML_HEXC_SIMULATOR=80 GGML_HEXC_STATS=1 GGML_BACKEND_PATH=$library XDG_CACHE_HOME=$dir/cache \
	"$dir/weights" "${QUICK:+3}" pairs >"$dir/out" 2>&1) || fail "pairs: $(grep -v load_backend "$dir/out" | head -n 8)"
grep -q '^HEXC0: graphs \([0-9]*\),.* launches \1, packed \1,' "$dir/out" ||
	fail "pairs are not one launch each: $(grep graphs "$dir/out")"

# When operators are compiled. cold.c's graph is six operators, which several streams and devices compile once.
log "${CC:-cc}" -O1 -isystem "$source/ggml/include" "$here/cold.c" -o "$dir/cold" -L"$built/bin" -lggml -lggml-base \
	-Wl,-rpath,"$built/bin" -lm -pthread
log "${CC:-cc}" -O1 -I. -fPIC -shared "$here/no_operators.c" -o "$dir/no_operators.so"
# cold [NAME=VALUE..] PROGRAM ARGUMENTS..: with an empty cache
cold() {
	rm -rf "$dir/empty"
	(cd "$built/bin" && timeout 120 env GGML_HEXC_STATS=1 GGML_HEXC_SIMULATOR=80 GGML_BACKEND_PATH="$library" \
		XDG_CACHE_HOME="$dir/empty" "$@" >"$dir/out" 2>&1)
	rc=$?
}
# counted TEXT: the run succeeded, and TEXT is in its counts
counted() { [ $rc = 0 ] && grep -q "^HEXC0: kernels .*$1" "$dir/out" || fail "cold: $rc: $(tail -n 3 "$dir/out")"; }
cold "$dir/cold" plan HEXC0
counted 'operators 6, unforeseen 0, by graphs 0, failed 0; graphs waited 0.00 s, for threads 0$'
cold GGML_HEXC_THREADS=0 "$dir/cold" plan HEXC0
counted 'operators 6, unforeseen 6, by graphs 6, failed 0;'
for threads in 0 2; do
	cold GGML_HEXC_THREADS=$threads "$dir/cold" run HEXC0 HEXC0
	counted 'operators 6, unforeseen 6, by graphs [0-6], failed 0;'
	cold GGML_HEXC_SIMULATOR=80,80 GGML_HEXC_THREADS=$threads "$dir/cold" run HEXC0 HEXC1
	counted 'operators 6, unforeseen 6, by graphs [0-6], failed 0;'
	cold LD_PRELOAD="$dir/no_operators.so" GGML_HEXC_THREADS=$threads "$dir/cold" fail HEXC0
	counted 'operators 0, .* failed [1-9][0-9]*;'
	[ "$(grep -c 'graph: RMS_NORM: operator norm: not today' "$dir/out")" = 2 ] ||
		fail "a failing compile is not told twice: $(tail -n 3 "$dir/out")"
done
for threads in 1 2 8; do
	cold GGML_HEXC_THREADS=$threads "$dir/cold" exit HEXC0
	[ $rc = 0 ] || fail "exit with $threads threads: $rc: $(tail -n 3 "$dir/out")"
done

# A GPU, by the simulated driver, with what is installed. ggml's test program itself aborts if it gets no backend.
log env MAKEFLAGS= make install B="$B" ${LLVM_CONFIG:+"LLVM_CONFIG=$LLVM_CONFIG"} PREFIX="$dir/usr"
make_driver "$dir" || exit 1
gpu() {
	env "$@" LD_LIBRARY_PATH="$dir" GGML_BACKEND_PATH="$dir/usr/lib/libggml-hexc.so" XDG_CACHE_HOME="$dir/cache" timeout 60 \
		"$built/bin/test-backend-ops" test -b HEXC0 -o ADD_ADD -p 'type=f16,type_addend=f32,.*broadcast=0' \
		>"$dir/out" 2>&1
	rc=$?
}
right() { [ $rc = 0 ] && grep -q '[1-9]/[1-9] tests passed' "$dir/out"; }
gpu A=1
right || fail "the driver: $rc: $(tail -n 3 "$dir/out")"
gpu FAKE_CUDA_FAULT=rows
[ $rc = 1 ] && grep -q 'HEXC0: synchronize: .*ILLEGAL_ADDRESS' "$dir/out" || fail "a fault: $rc: $(tail -n 3 "$dir/out")"
# Its copies come late. What a failing function is used for is told of; copies between streams that fail are made
# again, with the host waiting. A program that gets no memory any more, since nothing waits for copies, aborts.
copies "$dir/usr/lib/libggml-hexc.so" FAKE_CUDA_DEVICES=2 LD_LIBRARY_PATH="$dir"
copies "$dir/usr/lib/libggml-hexc.so" FAKE_CUDA_DEVICES=2 LD_LIBRARY_PATH="$dir" PLAIN=1 FAKE_CUDA_FAIL=cuMemHostAlloc
for name in cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemcpyPeerAsync cuMemsetD8Async cuStreamWaitEvent \
	cuStreamSynchronize cuEventRecord cuEventSynchronize; do
	transfers "$dir/usr/lib/libggml-hexc.so" FAKE_CUDA_DEVICES=2 LD_LIBRARY_PATH="$dir" FAKE_CUDA_FAIL=$name
	case $rc in 0 | 1 | 134) grep -q "HEXC[0-9]: [a-z]*: $name: " "$dir/out" ;; *) false ;; esac ||
		fail "$name fails: $rc: $(tail -n 3 "$dir/out")"
done

# Times of operations, each wave of blocks 7 us.
gpu FAKE_CUDA_STRETCH=7 GGML_HEXC_STATS=2
right && grep -q '^HEXC0: 100[.]0 % *[1-9][0-9.]* *[1-9][0-9.]* *[1-9]  ADD+ADD f16$' "$dir/out" ||
	fail "times: $(grep '%' "$dir/out")"
told=0
for n in $(seq 1 2 59); do
	gpu FAKE_CUDA_FAIL_AT="$n"
	case $rc in
	0 | 1) ;;
	134) grep -q 'HEXC0: stream: ' "$dir/out" ;;
	*) false ;;
	esac || fail "call $n fails: $rc: $(tail -n 3 "$dir/out")"
	if grep -q 'HEXC0*: [a-z A-Z]*: .*(unknown, 999)' "$dir/out"; then
		told=$((told + 1))
	else
		right || fail "call $n fails, and nothing is told: $rc"
	fi
done
echo "failing calls: $told told"
[ $told -ge 25 ] || fail "only $told calls failed"
exit $bad
