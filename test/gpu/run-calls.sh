#!/bin/sh
# An engine on the runtime library (calls.c), with a driver whose GPU is the simulator. The context is hexc's or the
# host's; launches are prepared, captured and updated; there are two GPUs. Then each driver call fails, one at a
# time, and each memory allocation: the error is reported, and nothing leaks.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
"${CC:-cc}" -std=c11 -O1 -I. test/gpu/calls.c -o "$dir/calls" -L"$B" -l:libhexc_rt.so.0 -L"$dir" -l:libcuda.so.1 || exit 1
says 0 '' build examples/vector_add.hexc examples/gemm_roles.hexc --arch sm_90a -D BN=128 -D BM=64 -o "$dir/k.hxb"

calls() { # SETTINGS MODE: status in $status, output in $dir/said
	# shellcheck disable=SC2086 # a list of words
	env LD_LIBRARY_PATH="$B:$dir" $1 timeout 60 "$dir/calls" "$dir/k.hxb" "$2" >"$dir/said" 2>&1
	status=$?
	# The free functions cannot free if the driver rejects the context.
	[ $status = 0 ] && grep -q 'cuCtxPushCurrent_v2, fails' "$dir/said" ||
		! grep -q 'left behind' "$dir/said" || fail "FAIL: $1 calls $2: $(cat "$dir/said")"
}
right() { # SETTINGS MODE
	calls "$1" "$2"
	[ $status = 0 ] || fail "FAIL: $1 calls $2: exit $status: $(cat "$dir/said")"
}
right '' open
right '' adopt
right '' given
right '' refuse
right FAKE_CUDA_DEVICES=2 two

# Launches take no lock: the library's only lock is the file lock of the cache.
locks=$(nm -D --undefined-only "$B"/libhexc_rt.so.[0-9]* | grep -E 'pthread_(mutex|rwlock|spin|cond|once)|sem_|mtx_|cnd_|call_once|lockf|syscall')
[ -z "$locks" ] || fail "FAIL: libhexc_rt has locks: $locks"
files=$(nm -A "$B"/obj/lib/rt/*.o "$B"/obj/lib/base/*.o "$B"/obj/lib/gpu/*.o "$B"/obj/lib/plan/*.o | grep ' U flock')
[ -z "$files" ] || fail "FAIL: a launch may lock a file: $files"

# Cubins: the nearest one of the device's generation; PTX if there is none, or if the driver rejects it.
says 0 '' build examples/vector_add.hexc --arch sm_80 -o "$dir/old.hxb"
cubin() { # CAPABILITY GOOD EXPECTED
	FAKE_CUDA_SM=$1 LD_LIBRARY_PATH=$B:$dir "$dir/calls" "$dir/old.hxb" cubins "$2" "$3" >"$dir/said" 2>&1 ||
		fail "FAIL: cubins on $1, good $2: not $3: $(cat "$dir/said")"
}
cubin 80 sm_80 sm_80
cubin 86 sm_86 sm_86
cubin 89 sm_86 sm_86
cubin 86 sm_80 - # the nearest is not valid code
cubin 90 sm_90 sm_90
cubin 100 sm_90 -
FAKE_CUDA_SM=75 LD_LIBRARY_PATH=$B:$dir "$dir/calls" "$dir/old.hxb" cubins sm_90 - >"$dir/said" 2>&1
grep -q 'module for sm_80 is incompatible with simulated GPU 0 (compute capability 7.5); compile for sm_75' "$dir/said" ||
	fail "FAIL: on sm_75: $(cat "$dir/said")"

# An old driver without tensor maps and graph updates is reported; so is a missing driver.
mkdir "$dir/lacks"
make_driver "$dir/lacks" -DFAKE_OLD || exit 1
LD_LIBRARY_PATH=$B:$dir/lacks "$dir/calls" "$dir/k.hxb" open >"$dir/said" 2>&1
grep -q 'the CUDA driver has no cuTensorMapEncodeTiled: it is older than CUDA 12; install a newer one' "$dir/said" ||
	fail "FAIL: of an old driver: $(cat "$dir/said")"
LD_LIBRARY_PATH=$B:$dir/lacks "$dir/calls" "$dir/old.hxb" old >"$dir/said2" 2>&1 || fail "FAIL: graphs of an old driver: $(cat "$dir/said2")"
LD_LIBRARY_PATH=$B:$dir/lacks "$dir/calls" "$dir/k.hxb" oldmaps >>"$dir/said2" 2>&1 || fail "FAIL: maps of an old driver: $(cat "$dir/said2")"
grep -q 'left behind' "$dir/said" "$dir/said2" && fail "FAIL: an old driver: $(cat "$dir/said")"

# Each call fails, one at a time: either the result is correct, or the error names the failed call.
each() { # VARIABLE MODE WORD: until WORD is in the output, or is not
	n=0
	while n=$((n + 1)); do
		calls "$1=$n" "$2"
		case $status in
		0) ;;
		1) grep -q '^failed: .*: .' "$dir/said" || fail "FAIL: $1=$n calls $2: no reason: $(cat "$dir/said")" ;;
		*) fail "FAIL: $1=$n calls $2: exit $status: $(cat "$dir/said")" ;;
		esac
		if [ "$3" = driver ]; then
			grep -q 'fake driver: call' "$dir/said" || break
		else
			! grep -q 'memory was enough' "$dir/said" || break
		fi
		[ $n -lt 2000 ] || { fail "FAIL: $1: it never ends"; break; }
	done
	[ $n -gt "$4" ] || fail "FAIL: only $n tries with $1"
	[ $status = 0 ] || fail "FAIL: $1=$n calls $2: nothing fails, and exit $status"
}
each FAKE_CUDA_FAIL_AT open driver 60
each FAKE_CUDA_FAIL_AT given driver 60
each ALLOC_FAIL_AT open memory 20
exit $bad
