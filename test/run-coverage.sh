#!/bin/sh
# Counts the error returns in the runtime's modules that a test reaches. COVERAGE=1 builds with gcov in
# build-gcov and runs the tests of those modules, which takes minutes. It prints a row for each module, and the
# lines that no test reached. COVERAGE="test/plan/test_plan_errors.c ..." runs these tests instead.
# COVERAGE=none only counts again. The result is for information, not a limit: a line counts if any part of it
# ran, both arms of a ternary together.
. test/script.sh
[ -n "$COVERAGE" ] || { echo "COVERAGE is not set: the builds and runs take minutes"; exit 77; }
command -v gcov >/dev/null || { echo "no gcov"; exit 77; }
gcov_build=${GCOV_BUILD:-build-gcov}
case $COVERAGE in
1) tests=$(ls test/gpu/test_*.c test/plan/test_*.c test/cache/test_*.c test/pack/test_*.c test/weights/test_*.c \
	test/lib/test_[!b]*.c test/lib/test_bundle.c test/ops/test_op_errors.c test/ops/test_choose_line.c test/ops/test_copy.c \
	test/gpu/run-calls.sh test/gpu/run-host.sh test/gpu/run-family.sh test/gpu/run-gpu.sh \
	test/plan/run-layer.sh) ;;
none) tests= ;;
*) tests=$COVERAGE ;;
esac
if [ -n "$tests" ]; then
	programs=$(printf '%s\n' "$tests" | tr ' ' '\n' | sed -n "s,^\(.*\)\.c\$,$gcov_build/\1,p")
	find "$gcov_build" -name '*.gcda' -delete 2>/dev/null
	# shellcheck disable=SC2086 # lists of words
	make B="$gcov_build" CFLAGS='-O0 -g --coverage' all $programs >"$dir/log" 2>&1 || { tail "$dir/log"; exit 1; }
	# The compiler for the scripts' programs, which link with these objects.
	printf '#!/bin/sh\nexec %s --coverage "$@"\n' "${CC:-cc}" >"$dir/cc" && chmod +x "$dir/cc"
	# shellcheck disable=SC2086
	CC=$dir/cc B=$gcov_build HEXC=$gcov_build/hexc scripts/runtests $tests || bad=1
fi
all=$dir/lines
for room in rt gpu plan cache ops weights pack base; do
	for f in "lib/$room"/*.c; do
		# COUNT: LINE: TEXT; COUNT is ##### if the line never ran, - if it has no code
		gcov -t "$gcov_build/obj/${f%.c}.gcno" 2>/dev/null |
			awk -F: -v room="$room" -v file="$f" '
				$1 ~ /Source$/ || $3 == "Source" { mine = $4 == file; next }
				!mine || $1 ~ /-$/ { next }
				{ text = $0; sub(/^[^:]*:[^:]*:/, "", text) }
				text !~ /(return|=|\?|:|,|\() *\(?(why|file|plan|launch|gpu|call|buffers)_error\(/ &&
				text !~ /HEXC_E_[A-Z]+/ && text !~ /(return|=|\?|:) *(refuse|op_fail|fail|driver_says|host_says)\(/ { next }
				text ~ /^\t+(case|if|while) / && text !~ /return|;$/ { next }
				{ gsub(/^[ \t]+/, "", text); print room "\t" ($1 ~ /#/ ? "never" : "entered") "\t" file ":" $2 + 0 "\t" text }'
	done
done >"$all"
[ -s "$all" ] || { echo "FAIL: gcov found no line of $gcov_build"; exit 1; }
awk -F'\t' '$2 == "never" { print $3 ": " $4 }' "$all"
awk -F'\t' '{ n[$1]++; hit[$1] += $2 == "entered"; t++; h += $2 == "entered" }
	END { for (r in n) printf "%-8s %4d of %4d\n", r, hit[r], n[r]; printf "%-8s %4d of %4d error returns entered\n", "all", h, t }' "$all" | sort
exit $bad
