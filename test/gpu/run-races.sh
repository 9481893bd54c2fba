#!/bin/sh
# Eight threads of a host (threads.c) on the simulator, directly and under valgrind: no uninitialized reads, no
# leaks. RACES=1: with ThreadSanitizer too, and the multithreaded tests of test/cache and test/lib, built in
# build-tsan; that takes minutes.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
host() { # DIRECTORY OF THE LIBRARIES FLAGS
	libs=$1
	shift
	"${CC:-cc}" -std=c11 -g -O1 "$@" -I. test/gpu/threads.c -o "$dir/threads" -pthread -L"$libs" -l:libhexc_rt.so.0 || exit 1
}
quiet() { # WHAT COMMAND..
	what=$1
	shift
	timeout 300 "$@" >"$dir/out" 2>&1 || fail "$what: status $?: $(head -40 "$dir/out")"
	[ ! -s "$dir/out" ] || fail "$what says: $(head -40 "$dir/out")"
}
says 0 '' build examples/vector_add.hexc --arch sm_80 -D BN=256 -o "$dir/k.hxb"
host "$B"
quiet threads env LD_LIBRARY_PATH="$B" "$dir/threads" "$dir/k.hxb" 100
if command -v valgrind >/dev/null; then
	quiet valgrind env LD_LIBRARY_PATH="$B" valgrind -q --leak-check=full --error-exitcode=9 "$dir/threads" "$dir/k.hxb" 2
fi
[ -n "$RACES" ] || exit $bad
tests='test/lib/test_async test/lib/test_threads test/lib/test_workers test/lib/test_parallel test/cache/test_cache'
tsan=${TSAN_BUILD:-build-tsan}
# shellcheck disable=SC2086 # a list of words
make B="$tsan" SANF=-fsanitize=thread CFLAGS='-O1 -g' all $(for t in $tests; do echo "$tsan/$t"; done) >"$dir/log" 2>&1 ||
	{ tail "$dir/log"; exit 1; }
host "$tsan" -fsanitize=thread
quiet 'threads with ThreadSanitizer' env LD_LIBRARY_PATH="$tsan" "$dir/threads" "$dir/k.hxb" 20
for t in $tests; do
	B=$tsan timeout 600 "$tsan/$t" >"$dir/out" 2>&1 || fail "$t: status $?"
	! grep -q 'WARNING: ThreadSanitizer' "$dir/out" || fail "$t: $(grep -A 30 'WARNING: ThreadSanitizer' "$dir/out" | head -60)"
done
exit $bad
