#!/bin/sh
# Copies on streams (transfers.c), on the simulator and with a driver whose GPUs are the simulator. That driver copies
# as late as a driver may, so that a wait that is missing shows. Each driver call fails, one at a time: the error names
# it, and nothing leaks.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
"${CC:-cc}" -std=c11 -O1 -I. test/gpu/transfers.c -o "$dir/transfers" -L"$B" -l:libhexc_rt.so.0 || exit 1
transfers() { # SETTING DEVICES..: status in $status, output in $dir/said
	setting=$1
	shift
	env "$setting" FAKE_CUDA_DEVICES=2 LD_LIBRARY_PATH="$B:$dir" timeout 60 "$dir/transfers" "$@" >"$dir/said" 2>&1
	status=$?
}
for devices in '-80 -90' '-90 -90' '0 1' '0 0'; do
	# shellcheck disable=SC2086 # a list of numbers
	transfers A=1 $devices
	[ $status = 0 ] && [ ! -s "$dir/said" ] || fail "transfers $devices: status $status: $(cat "$dir/said")"
done
transfers A=1 -80 -90 refuse
[ $status = 0 ] && [ ! -s "$dir/said" ] || fail "the simulator refuses: status $status: $(cat "$dir/said")"
transfers A=1 0 1 refuse
# The two frees that fail; a copy that was never waited for.
[ $status = 0 ] && [ "$(grep -c 'memory of a copy is freed before it' "$dir/said")" = 2 ] ||
	fail "the driver refuses: status $status: $(cat "$dir/said")"
n=0
while n=$((n + 1)); do
	transfers FAKE_CUDA_FAIL_AT=$n 0 1
	name=$(sed -n 's/^fake driver: call [0-9]*, \(.*\), fails$/\1/p' "$dir/said")
	[ -n "$name" ] || break
	case $status in
	0) ;; # what is freed last
	1) grep -q "^failed: .*$name: " "$dir/said" || fail "call $n, $name: no reason: $(cat "$dir/said")" ;;
	*) fail "call $n, $name: exit $status: $(cat "$dir/said")" ;;
	esac
	# The free functions cannot free if the driver rejects the context.
	[ $status = 0 ] && [ "$name" = cuCtxPushCurrent_v2 ] || ! grep -q 'left behind' "$dir/said" ||
		fail "call $n, $name: $(cat "$dir/said")"
	[ $n -lt 1000 ] || { fail "it never ends"; break; }
done
[ $n -gt 100 ] || fail "only $n calls"
[ $status = 0 ] || fail "nothing fails, and exit $status"
exit $bad
