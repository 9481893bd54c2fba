# script.sh - sourced by tests that are scripts, run from the root: $B, $HEXC, a folder $dir that goes when they end, the
# folder $here that they stand in, `fail TEXT`, after which `exit $bad` fails, and `says STATUS TEXT ARGUMENTS...`, which
# runs hexc.  `only_arch FILE` prints the one GPU that an example is for, as its first line says it, `(sm_90a)`, if
# the LLVM of this hexc knows it.
# `archs` prints all GPUs that the LLVM of this hexc knows.  `need_sanitizers` skips where $CC has none.
# `runs_here ARCH`: with EXEC=gpu, does this machine's GPU run what is compiled for that one?  `only_here ARCHS...` prints those
# that it does.  Without EXEC=gpu all are.
B=${B:-build}
HEXC=${HEXC:-$B/hexc}
export HEXC
here=$(dirname "$0")
dir=$(mktemp -d) || exit 1
# shellcheck disable=SC2064 # the folder as it is now, whatever a script may call $dir
trap "rm -rf '$dir'" EXIT
# What hexc builds does not depend on the ptxas of this machine, unless a test asks for that: `unset PTXAS`.
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
	# a GPU that fails is no reason to leave anything out: only what hexc says of the arch is
	[ -e "$dir/runs.$1" ] || "$HEXC" run examples/vector_add.hexc --exec=gpu --arch "$1" --arg 'A=zeros[8]' --arg 'B=zeros[8]' \
		>"$dir/runs.$1" 2>&1
	! grep -q 'does not run PTX for' "$dir/runs.$1"
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
