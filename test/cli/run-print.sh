#!/bin/sh
# print and assert: the output of the simulator equals that of the tile interpreter, byte by byte, for all
# candidates and targets, in program order. Assertions report text, file and line. ptxas accepts the calls.
. test/script.sh

cat >"$dir/k.hexc" <<'END'
fn told(x, n) { print("in a function: {}", n); return x * 2; }
kernel k(X: f32[M, N], W: u4[M, N], L: i64[M], Y: out f32[M, 8], s: i32, d: f64)
    const BM = 4, BN = 8
{
    grid(ceil(M, BM), 2);
    let m = block.x * BM;
    print("block {} {}, 100% {{}} {}", block.x, block.y, -s);
    print("numbers {} {} {} {}", BM, 0.1, true, inf);
    print("no values");
    let x: register = X[m :+ BM, 0 :+ BN], w: register = W[m :+ BM, 0 :+ BN];
    print("x {} as f16 {} w {}; m {} d {}", x, f16(x), w, m, d);
    print("{}", x.T);
    print("row {}", X[m, 0 :+ BN]);
    let _unused = x + 1;
    print("u8 {} i64 {} u64 {} bool {}", u8(300 * s), i64(s) << 40, u64(s) << 63, s > 2);
    var acc: register f32[BM, BN] = 0;
    pipeline n in 0..N step BN stages 2 {
        let a: shared = X[m :+ BM, n :+ BN];
        print("n {} first {}", n, a[0, 0]);
        acc += fill(a, 0);
        for j in 0..n { if j == 1 { print("j {} {}", j, L[j]); } else { print("not {}", j); } }
    }
    if block.y == 1 {
        print("sum {}", sum(acc, 1) + 0 * sum(x, 1));
        Y[m :+ BM, 0 :+ BN] = fill(told(x, block.x), 0) + sum(acc, 1);
    }
    print("last");
}
END
run="--arg X=randint(1,-4,4)[7,11] --arg W=randint(2,0,15)[7,11] --arg L=randint(3,0,99)[7] --arg s=3 --arg d=0.1"
"$HEXC" run "$dir/k.hexc" --exec=tile $run >"$dir/tile" || fail "the interpreter fails"
cat >"$dir/head" <<'END'
block 0 0, 100% {} -3
numbers 4 0.10000000000000001 1 inf
no values
END
head -n 3 "$dir/tile" | diff "$dir/head" - || fail "the first lines are not those"
# 2 x 2 blocks; 7 x 8 elements are in bounds of tiles of 4 x 8, also after loops.
for want in '4 ^numbers 4 ' '112 as f16 ' '32 row ' '4 ^last$' '8 first ' '4 ^j 1 ' '28 ^not ' '7 sum ' '2 in a function: ' \
	'4 ^u8 132 i64 3298534883328 u64 9223372036854775808 bool 1$'; do
	n=$(grep -c "${want#* }" "$dir/tile")
	[ "$n" = "${want%% *}" ] || fail "$n lines with '${want#* }', not ${want%% *}"
done
for arch in $(archs); do
	i=0
	while [ $i -lt 3 ]; do
		"$HEXC" run "$dir/k.hexc" --arch "$arch" --exec=sim --check --prove --candidate $i $run >"$dir/sim" 2>"$dir/err"
		rc=$?
		[ $rc = 0 ] || grep -q 'candidate' "$dir/err" || fail "$arch candidate $i: status $rc: $(head -n 3 "$dir/err")"
		[ $rc != 0 ] || sed '$d' "$dir/sim" | cmp -s "$dir/tile" - || fail "$arch candidate $i: other lines than the interpreter's"
		i=$((i + 1))
	done
	"$HEXC" --emit-ptx "$dir/k.hexc" --arch "$arch" -o "$dir/k.ptx" || fail "$arch: no PTX"
	grep -q 'call.*vprintf' "$dir/k.ptx" || grep -q 'vprintf' "$dir/k.ptx" || fail "$arch: no call of vprintf"
	if command -v ptxas >/dev/null; then
		ptxas -arch="$arch" "$dir/k.ptx" -o "$dir/k.cubin" >"$dir/out" 2>&1 || fail "ptxas, $arch: $(cat "$dir/out")"
	fi
done

# Failed assertions report element, location and text. Satisfied assertions change nothing.
cat >"$dir/a.hexc" <<'END'
kernel a(X: f32[M, N], Y: out f32[M, N], s: i32)
{
    grid(ceil(M, 4));
    let m = block.x * 4;
    let x: register = X[m :+ 4, 0 :+ 8];
    assert(s > 0, "s is positive");
    assert(s < 10 || block.x == 0, "s is below 10");
    assert(x >= 0 && x < 5, "x is {small}");
    for i in 0..N { assert(i32(i) < s * 2, "few columns"); }
    Y[m :+ 4, 0 :+ 8] = x;
}
END
says() { # line text arguments...
	line=$1 text=$2
	shift 2
	"$HEXC" run "$dir/a.hexc" --exec=tile "$@" >"$dir/out" 2>&1 && fail "tile: '$text' holds"
	grep -q "a.hexc:$line:[0-9]*: assertion failed: $text" "$dir/out" || fail "tile: $(cat "$dir/out")"
	cp "$dir/out" "$dir/tile"
	"$HEXC" run "$dir/a.hexc" --exec=sim "$@" >"$dir/out" 2>&1 && fail "sim: '$text' holds"
	grep -q "a.hexc:$line: a: assertion .$text' failed" "$dir/out" || fail "sim: $(cat "$dir/out")"
	grep '^\[' "$dir/tile" >"$dir/t"
	grep '^\[' "$dir/out" | cmp -s "$dir/t" - || fail "sim and tile tell different elements"
}
says 6 's is positive' --arg 'X=zeros[7,6]' --arg s=0
says 7 's is below 10' --arg 'X=zeros[7,6]' --arg s=10
says 8 'x is {small}' --arg 'X=randint(1,0,9)[7,6]' --arg s=3
grep -q '^\[[0-3], [0-5]\] x is {small}$' "$dir/t" || fail "which element: $(cat "$dir/t")"
says 9 'few columns' --arg 'X=zeros[7,6]' --arg s=2
for exec in tile sim; do
	"$HEXC" run "$dir/a.hexc" --exec=$exec --check --arg 'X=randint(1,0,4)[7,6]' --arg s=3 >"$dir/out" 2>&1 ||
		fail "$exec: $(cat "$dir/out")"
done

# Out-of-bounds elements violate no assertion (zeros would), and are not printed.
cat >"$dir/e.hexc" <<'END'
kernel e(X: f32[N], Y: out f32[N])
{
    grid(ceil(N, 32));
    let x: register = X[block.x * 32 :+ 32];
    assert(x > 0, "positive");
    print("{}", x);
    Y[block.x * 32 :+ 32] = x;
}
END
"$HEXC" run "$dir/e.hexc" --exec=sim --check --arg 'X=randint(1,1,9)[37]' >"$dir/out" || fail "edges: $(cat "$dir/out")"
[ "$(grep -c '^\[' "$dir/out")" = 37 ] || fail "not one line for each of 37 elements"

# A sum of ragged tiles, not filled: after the loop, elements that were missing in an iteration are in no line and no sum.
cat >"$dir/r.hexc" <<'END'
kernel r(X: f32[M, N], Y: out f32[M])
{
    grid(ceil(M, 4));
    let m = block.x * 4;
    var acc: register f32[4, 8] = 0;
    pipeline n in 0..N step 8 stages 2 {
        let a: shared = X[m :+ 4, n :+ 8];
        acc += a;
    }
    print("{}", acc);
    print("sum {}", sum(acc, 1));
    Y[m :+ 4] = reshape(sum(acc, 1), 4);
}
END
"$HEXC" run "$dir/r.hexc" --exec=tile --arg 'X=randint(1,-4,4)[7,11]' >"$dir/tile" || fail "ragged: the interpreter fails"
"$HEXC" run "$dir/r.hexc" --exec=sim --check --arg 'X=randint(1,-4,4)[7,11]' >"$dir/out" || fail "ragged: $(tail -n 2 "$dir/out")"
sed '$d' "$dir/out" | cmp -s "$dir/tile" - || fail "ragged: other lines than the interpreter's"
[ "$(grep -c ' sum ' "$dir/out")" = 7 ] && [ "$(grep -c '^\[' "$dir/out")" = 28 ] || fail "ragged: not 7 x 3 elements and 7 sums"

# Unlimited output is truncated, not buffered.
cat >"$dir/m.hexc" <<'END'
kernel m(Y: out i32[N])
{
    grid(1);
    for i in 0..N { print("a line that is some forty bytes long: {}", i); }
    Y[0 :+ 1] = 1;
}
END
for exec in tile sim; do
	"$HEXC" run "$dir/m.hexc" --exec=$exec --arg 'Y=zeros[60000]' >"$dir/out" || fail "many lines: $exec"
	n=$(wc -c <"$dir/out")
	[ "$n" -gt 1000000 ] && [ "$n" -le 1048576 ] || fail "$exec: $n bytes of what is printed without end"
done
exit $bad
