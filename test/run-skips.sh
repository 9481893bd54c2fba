#!/bin/sh
# scripts/runtests with SKIPS: a test that skips fails, unless the list has it with the reason.
. test/script.sh
root=$(pwd)
mkdir -p "$dir/t" && cd "$dir" || exit 1
printf '#!/bin/sh\necho no GPU here; exit 77\n' >t/run-gpu.sh
printf '#!/bin/sh\nexit 0\n' >t/run-good.sh
chmod +x t/run-*.sh
tests() { # LIST
	B=. SKIPS=$1 "$root/scripts/runtests" t/run-gpu.sh t/run-good.sh >out 2>&1
	rc=$?
	last=$(tail -n 1 out)
}
tests ''
[ "$rc $last" = '0 1 passed, 0 failed, 1 skipped' ] || fail "without a list: $rc $last"
printf 't/run-gpu.sh\tno GPU\n' >list
tests list
[ "$rc $last" = '0 1 passed, 0 failed, 1 skipped as expected' ] || fail "expected: $rc $last"
for line in 't/run-gpu.sh\tno driver\n' 't/run-other.sh\tno GPU\n' ''; do
	# shellcheck disable=SC2059 # formats
	printf "$line" >list
	tests list
	[ "$rc $last" = '1 1 passed, 1 failed' ] && grep -q 'run-gpu.sh  (skipped, which list does not expect: no GPU here)' out ||
		fail "not expected: $rc $last"
done
exit $bad
