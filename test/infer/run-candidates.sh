#!/bin/sh
# Every candidate of every program here and of the examples' default configurations gives what the tile
# interpreter gives.  A program's first line says with which arguments: `// run: A=.. B=..`
set -u
hexc=${HEXC:-build/hexc}
here=$(dirname "$0")
fail=0
ran=0

try() { # file arguments...
	file=$1
	shift
	n=$("$hexc" candidates "$file" "$@" | grep -c cycles)
	[ "$n" -gt 0 ] || { echo "$file: no candidates"; fail=1; return; }
	args=
	for a in $(sed -n '1s|^// run: ||p' "$file") $extra; do
		args="$args --arg $a"
	done
	i=0
	while [ "$i" -lt "$n" ]; do
		if ! out=$("$hexc" run "$file" --exec=sim --check --prove --candidate "$i" $args "$@" 2>&1); then
			echo "$file candidate $i $*: $out"
			fail=1
		fi
		ran=$((ran + 1))
		i=$((i + 1))
	done
}

for f in "$here"/programs/*.hexc; do
	extra=
	try "$f"
done
extra='A=random(1)[100,72] B=random(2)[136,72]' try examples/gemm_f16.hexc
extra='A=random(1)[40,256] W=randint(2,0,15)[160,256] S=random(3) Z=randint(4,0,15)' try examples/gemm_w4a16.hexc
extra='A=random(1)[40,256] W=randint(2,0,15)[160,256] S=random(3)' try examples/gemm_w4a16_sym.hexc
echo "$ran candidates run"
exit $fail
