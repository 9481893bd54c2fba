# script.sh - sourced by the test scripts, which run from the root. Defines $B, $HEXC, a temporary directory $dir
# (removed at exit) and the script's directory $here.
#   fail TEXT                      prints TEXT; `exit $bad` then fails
#   says STATUS TEXT ARGUMENTS..   runs hexc and checks its exit status and that its output contains TEXT
#   only_arch FILE                 prints the GPU of an example for one GPU (`(sm_90a)` in line 1), if the LLVM knows it
#   archs                          prints all GPUs that hexc's LLVM knows
#   need_sanitizers                skips the test if $CC has no sanitizers
#   runs_here ARCH                 with EXEC=gpu: whether this machine's GPU runs code for ARCH; otherwise true
#   only_here ARCHS..              prints those of ARCHS for which runs_here is true
B=${B:-build}
HEXC=${HEXC:-$B/hexc}
export HEXC
here=$(dirname "$0")
dir=$(mktemp -d) || exit 1
# shellcheck disable=SC2064 # the folder as it is now, whatever a script may call $dir
trap "rm -rf '$dir'" EXIT
# The output of hexc must not depend on the ptxas of this machine. A test that needs ptxas uses `unset PTXAS`.
export PTXAS=none
bad=0
fail() {
	echo "$*"
	bad=1
}
says() {
	want=$1 text=$2
	shift 2
	"$HEXC" "$@" >"$dir/out" 2>&1
	got=$?
	[ $got = "$want" ] || fail "hexc $*: status $got, not $want: $(head -2 "$dir/out")"
	[ -z "$text" ] || grep -qF -- "$text" "$dir/out" || fail "hexc $*: no '$text' in $(head -2 "$dir/out")"
}
only_arch() {
	only=$(sed -n '1s/.*(\(sm_[0-9a-z]*\)).*/\1/p' "$1")
	[ -z "$only" ] || "$HEXC" --emit-ptx examples/vector_add.hexc --arch "$only" -o /dev/null 2>/dev/null && echo "$only"
	return 0
}
archs() {
	for name in $("$HEXC" --list-archs); do
		"$HEXC" --emit-ptx examples/vector_add.hexc --arch "$name" -o "$dir/arch.ptx" 2>"$dir/arch.err" ||
			! grep -q 'needs LLVM' "$dir/arch.err" || continue
		echo "$name"
	done
}
runs_here() {
	[ "${EXEC:-sim}" = gpu ] || return 0
	# A failing GPU must not exclude a test; only hexc's message about the arch does.
	[ -e "$dir/runs.$1" ] || "$HEXC" run examples/vector_add.hexc --exec=gpu --arch "$1" --arg 'A=zeros[8]' --arg 'B=zeros[8]' \
		>"$dir/runs.$1" 2>&1
	! grep -q 'cannot run PTX for' "$dir/runs.$1"
}
only_here() {
	for name in "$@"; do
		! runs_here "$name" || echo "$name"
	done
}
need_sanitizers() {
	CC=${CC:-cc}
	printf 'int main(void) { return 0; }\n' >"$dir/try.c"
	$CC -fsanitize=address,undefined "$dir/try.c" -o "$dir/try" 2>/dev/null && "$dir/try" || {
		echo "$CC has no sanitizers here"
		exit 77
	}
}
