#!/bin/sh
# Every header compiles on its own; public headers also as C99 and C++11, with stricter flags than the library's.
warn="-Wall -Wextra -Wpedantic -Wundef -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Werror"
bad=0
alone() { # HEADER COMPILER FLAGS...
	header=$1
	shift
	printf '#include "%s"\n' "$header" | "$@" -I. -fsyntax-only - || {
		echo "$header does not compile alone: $*"
		bad=1
	}
}
# shellcheck disable=SC2086 # $warn is a list
for h in $(find taskmap hexc infer ptxgen lib -name "*.h" | LC_ALL=C sort); do
	[ -f "$h" ] || continue
	set --
	case $h in ptxgen/*) set -- -isystem "$("${LLVM_CONFIG:-llvm-config}" --includedir)" ;; esac
	alone "$h" "${CC:-cc}" -x c -std=c11 -D_POSIX_C_SOURCE=200809L $warn "$@"
	case $h in lib/hexc.h | lib/hexc_bundle.h | lib/hexc_cache.h | lib/hexc_family.h | lib/hexc_weights.h | lib/hexc_gpu.h | lib/hexc_plan.h | lib/hexc_ops.h | lib/sim/sim.h) ;; *) continue ;; esac
	alone "$h" "${CC:-cc}" -x c -std=c99 $warn -Wstrict-prototypes -Wmissing-prototypes
	! command -v c++ >/dev/null || alone "$h" c++ -x c++ -std=c++11 $warn -Wold-style-cast
	# Macros that hosts define too, and that the headers must not undefine.
	printf '#define X 17\n#define OK X\n#define CODE X\n#define SIZE X\n#define INT X\n#define TRAP X\n#define LOCAL X\n#include "%s"\n_Static_assert(X == 17, "X");\n' "$h" |
		"${CC:-cc}" -x c -std=c11 $warn -I. -fsyntax-only - || bad=1
done
exit $bad
