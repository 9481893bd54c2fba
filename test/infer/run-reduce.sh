#!/bin/sh
# The cost of a reduction by a user-defined function, compared with sum(). It calls the function once per element
# and keeps adjacent elements in registers. So few shuffles and no bank conflicts remain, and the instruction count
# is close to that of sum.
set -u
. test/script.sh

program() { # EXPRESSION ROWS COLUMNS
	cat <<-EOF
		fn plus(a, b) { return a + b; }
		kernel total(X: f32[M, $3], Y: out f32[M, 1])
		{
		    grid(ceil(M, $2));
		    let m = block.x * $2;
		    let x: register = X[m :+ $2, 0 :+ $3];
		    Y[m :+ $2, 0 :+ 1] = $1;
		}
	EOF
}

count() { # NAME: the first number of that name in the statistics
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" "$dir/s" | head -n 1
}

cost() { # EXPRESSION ROWS COLUMNS ARCH: sets instructions, shuffles and conflicts
	program "$1" "$2" "$3" >"$dir/p.hexc"
	"$HEXC" run "$dir/p.hexc" --exec=sim --check --prove --arch "$4" --stats "$dir/s" \
		--arg "X=random(1)[$2,$3]" >"$dir/o" 2>&1 || fail "$*: $(cat "$dir/o")"
	instructions=$(count thread_instructions) shuffles=$(count shfl) conflicts=$(count bank_conflicts)
}

for arch in sm_80 sm_90a; do
	for shape in '8 1024' '1 4096' '8 4096'; do
		set -- $shape
		cost 'sum(x, 1)' "$1" "$2" "$arch"
		sum=$instructions
		cost 'reduce(plus, 1, x)' "$1" "$2" "$arch"
		[ "$instructions" -le $((sum * 2)) ] ||
			fail "$shape, $arch: $instructions instructions, sum has $sum"
		[ "$shuffles" -le 64 ] || fail "$shape, $arch: $shuffles shuffles"
		[ "$conflicts" = 0 ] || fail "$shape, $arch: $conflicts bank conflicts"
		echo "$shape, $arch: $instructions instructions, sum has $sum"
	done
done
exit $bad
