#!/bin/sh
# Every candidate of every program here and of the examples' default configurations equals the tile
# interpreter. From long lists about twenty-five run, the best first; FULL=1: all. A program's first line has
# its arguments: `// run: A=.. B=..`
set -u
. test/script.sh
ran=0 most=25
# On a GPU the lists are for its arch, as only that code runs there.
for_arch=
if [ "${EXEC:-sim}" = gpu ]; then
	sm=$("$HEXC" run examples/vector_add.hexc --exec=gpu --arg 'A=zeros[8]' --arg 'B=zeros[8]' --stats - |
		sed -n 's/.*"capability":[^0-9]*\([0-9]*\).*/\1/p')
	for_arch=$("$HEXC" --list-archs | tr ' ' '\n' | grep -x "sm_$sm[a-z]*" | sed 's/^/--arch /')
fi
[ -z "${QUICK:-}" ] || most=5
exact=

try() { # file arguments...
	file=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	n=$("$HEXC" candidates "$file" $for_arch "$@" 2>"$dir/said" | grep -c cycles)
	[ "$n" -gt 0 ] || { fail "$file: no candidates: $(cat "$dir/said")"; return; }
	args=
	for a in $(sed -n '1s|^// run: ||p' "$file") $extra; do
		args="$args --arg $a"
	done
	i=0
	step=$((n / most + 1))
	[ "${FULL:-0}" = 0 ] || step=1
	while [ "$i" -lt "$n" ]; do
		out=$("$HEXC" run "$file" $for_arch --exec="${EXEC:-sim}" --check --prove --candidate "$i" $args "$@" 2>&1)
		rc=$?
		if [ $rc != 0 ]; then
			fail "$file candidate $i $*: status $rc: $(echo "$out" | grep -v ' warning: ' | tail -n 20)"
		elif [ -n "$exact" ] && ! echo "$out" | grep -q "$exact"; then
			fail "$file candidate $i $*: not to the bit: $out"
		fi
		ran=$((ran + 1))
		i=$((i + step))
	done
}

for f in "$here"/programs/*.hexc; do
	extra=
	try "$f"
done
extra='A=random(1)[100,72] B=random(2)[136,72]' try examples/gemm_f16.hexc
extra='A=random(1)[40,256] W=randint(2,0,15)[160,256] S=random(3) Z=randint(4,0,15)' try examples/gemm_w4a16.hexc
extra='A=random(1)[40,256] W=randint(2,0,15)[160,256] S=random(3)' try examples/gemm_w4a16_sym.hexc
extra='X=random(1)[37,300]' try examples/softmax.hexc
# Integers exact in f16 and f32: every bit must match.
exact='largest absolute error 0,'
extra='A=randint(1,-3,3)[100,72] B=randint(2,-3,3)[136,72]' try examples/gemm_f16.hexc
extra='A=randint(1,-1,1)[40,256] W=randint(2,0,15)[160,256] S=randint(3,1,2) Z=randint(4,0,15)' try examples/gemm_w4a16.hexc
echo "$ran candidates run"
exit $bad
