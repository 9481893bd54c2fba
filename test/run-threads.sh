#!/bin/sh
# Only taskmap/support/thread_pool.c starts threads: without signals, at most as many as the process may use, or the
# host's.
. test/script.sh
[ -z "$SAN" ] || { echo "sanitizers start threads their own way"; exit 77; }
find taskmap hexc infer ptxgen lib -name '*.c' | sed "s|\(.*\)\.c$|$B/obj/\1.o|" | xargs ls 2>/dev/null | xargs nm -A |
	awk -F: '/ U pthread_create/ && $1 !~ /taskmap\/support\/thread_pool\.o$/ { print $1 " starts threads" }' >"$dir/out"
grep -rnE '_SC_NPROCESSORS|sched_getaffinity\(' --include='*.[ch]' taskmap hexc infer ptxgen lib |
	grep -v '^taskmap/support/cpu_count\.c:' >>"$dir/out"
[ ! -s "$dir/out" ] || fail "$(cat "$dir/out")"
exit $bad
