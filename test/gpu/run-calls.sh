#!/bin/sh
# An engine of the runtime library (calls.c) with a driver whose GPU is the simulator: the context is hexc's or the
# host's, launches are prepared, captured and updated, there are two GPUs.  Then each call of the driver fails in turn,
# and each request for memory: that is told, and nothing is left behind.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
"${CC:-cc}" -std=c11 -O1 -I. test/gpu/calls.c -o "$dir/calls" -L"$B" -l:libhexc_rt.so.0 -L"$dir" -l:libcuda.so.1 || exit 1
says 0 '' build examples/vector_add.hexc examples/gemm_roles.hexc --arch sm_90a -D BN=128 -D BM=64 -o "$dir/k.hxb"

calls() { # SETTINGS MODE: status in $status, what is said in $dir/said
	# shellcheck disable=SC2086 # a list of words
	env LD_LIBRARY_PATH="$B:$dir" $1 timeout 60 "$dir/calls" "$dir/k.hxb" "$2" >"$dir/said" 2>&1
	status=$?
	# what frees cannot free where the driver refuses the context
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

# Every call in turn: all was right, or it was told that it failed, and which.
each() { # VARIABLE MODE WORD: until WORD is said, or is not
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
