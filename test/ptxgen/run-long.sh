#!/bin/sh
# A loop, a branch and straight-line code, each longer than the code generator's limit for a basic block. The PTX
# has more blocks than the program, ptxas (if available) accepts it, and the result is correct.
. test/script.sh
turn() { # $1: how many dots of 32 x 32, each with a sum of its rows
	i=0
	while [ $i -lt "$1" ]; do
		echo "        x = f16(dot(x, b) * 0.3); x = x - f16(0.125 * sum(f32(x), $((i % 2))));"
		i=$((i + 1))
	done
}
{
	cat <<'END'
kernel long(A: f16[32, 32], B: f16[32, 32], C: out f16[32, 32], n: i64)
{
    grid(1);
    var x: register f16[32, 32] = A[0 :+ 32, 0 :+ 32];
    let b: register = B[0 :+ 32, 0 :+ 32];
    for i in 0..n {
END
	turn 44
	echo '    }'
	turn 44
	echo '    if n > 1 {'
	turn 44
	echo '    } else {'
	turn 44
	echo '    }'
	echo '    C[0 :+ 32, 0 :+ 32] = x;'
	echo '}'
} >"$dir/long.hexc"
"$HEXC" --emit-ptx "$dir/long.hexc" --arch sm_80 -o "$dir/long.ptx" || exit 1
blocks=$(grep -c '^\$L__BB' "$dir/long.ptx")
[ "$blocks" -ge 12 ] || { echo "FAIL: $blocks blocks of code; four pieces of the program were to be several each"; exit 1; }
if command -v ptxas >/dev/null; then
	ptxas -arch=sm_80 "$dir/long.ptx" -o "$dir/long.cubin" || exit 1
fi
runs_here sm_80 || { echo "the GPU here does not run PTX for sm_80"; exit 77; }
for n in 0 1 3; do
	"$HEXC" run "$dir/long.hexc" --exec="${EXEC:-sim}" --check --arch sm_80 --arg A='random(1)[32,32]' --arg B='random(2)[32,32]' \
		--arg n=$n >"$dir/out" 2>&1 || { echo "FAIL: n = $n"; cat "$dir/out"; exit 1; }
done
echo "$(wc -l <"$dir/long.ptx") lines of PTX in $blocks blocks"
