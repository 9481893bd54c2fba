#!/bin/sh
# Warnings: each of hexc/ir/warnings.def where it is due, and nowhere in the examples; -W, --werror, --diag json.
. test/script.sh

# w NAME TEXT [ARGUMENTS...] <PROGRAM: it compiles, and warning NAME with TEXT is all that is said
w() {
	name=$1 text=$2
	shift 2
	cat >"$dir/w.hexc"
	"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" "$@" 2>"$dir/err" || fail "$name: $(cat "$dir/err")"
	grep -F -- "$text" "$dir/err" | grep -qF "[-W no-$name]" || fail "no warning '$text' of $name, but: $(cat "$dir/err")"
	[ "$(grep -c 'warning: ' "$dir/err")" = 1 ] || fail "$name: more than one warning: $(grep 'warning: ' "$dir/err")"
	"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w2.ptx" "$@" -W "no-$name" 2>"$dir/err" || fail "-W no-$name fails"
	[ ! -s "$dir/err" ] || fail "-W no-$name: $(cat "$dir/err")"
	cmp -s "$dir/w.ptx" "$dir/w2.ptx" || fail "-W no-$name changes the PTX"
	"$HEXC" --emit-ptx "$dir/w.hexc" "$@" --werror >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] || fail "$name: --werror has another status"
	grep -qF "error: " "$dir/err" && [ ! -s "$dir/out" ] || fail "$name: --werror is no error"
	seen="$seen $name"
}
seen=

w unused 'warning: parameter `B` is not used: remove it, or call it `_B`' <<'END2'
kernel k(_A: f32[N], B: f32[N], C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = 1; }
END2
w unused 'value `y` is not used: remove it, or call it `_y`' <<'END2'
kernel k(C: out f32[N]) { grid(ceil(N, 128)); let y = 3, _z = 4; C[block.x * 128 :+ 128] = 1; }
END2
w unused 'variable `y` is not used' <<'END2'
kernel k(C: out f32[N]) { grid(ceil(N, 128)); var y = 3; y = 4; C[block.x * 128 :+ 128] = 1; }
END2
w unused 'tunable `BM` is not used' <<'END2'
kernel k(C: out f32[N]) tune BM = 16, WARPS = 2 { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = 1; }
END2
w unused 'parameter `y` is not used' <<'END2'
fn twice(x, y) { return x + x; }
kernel k(C: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = twice(1.0, 2.0); }
END2
w slice 'the slice of `W` runs along K in dimension 1, which has K / 2 elements: divide the start by 2' <<'END2'
kernel k(W: u8[64, K / 2], C: out f32[64, K]) assume K % 64 == 0
{
    grid(ceil(K, 64));
    let k = block.x * 64;
    C[0 :+ 64, k :+ 64] = f32(W[0 :+ 64, k :+ 64]);
}
END2
w slice 'the slice of `T` runs to 256 in dimension 0, which has 128 elements' <<'END2'
kernel k(T: f32[128], C: out f32[256])
{
    grid(2);
    for i in 0..256 step 128 {
        C[i :+ 128] = T[i :+ 128];
    }
}
END2
w unwritten '`C` is out, but the last N % 128 along dimension 0 are not written: the grid has ceil(N, 128) blocks, or assume N % 128 == 0' <<'END2'
kernel k(C: out f32[N]) { grid(N / 128); C[block.x * 128 :+ 128] = 1; }
END2
w unwritten '`C` is out, but of every 128 along dimension 0 only 64 are written' <<'END2'
kernel k(C: out f32[N]) tune WARPS = 2 { grid(ceil(N, 128)); C[block.x * 128 :+ 64] = 1; }
END2
w unwritten '`C` is out, but of N along dimension 0 only the first 128 are written' <<'END2'
kernel k(C: out f32[N]) { grid(1); C[0 :+ 128] = 1; }
END2
w unwritten '`_D` is out and never written: its elements keep what was there' <<'END2'
kernel k(C: out f32[N], _D: out f32[N]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128] = 1; }
END2
w strides '`C` is out, but elements of dimensions 0 and 1 share addresses: its strides are too small for its extents' <<'END2'
kernel k(C: out f32[N, 4] strides [2, 1]) { grid(ceil(N, 128)); C[block.x * 128 :+ 128, :] = 1; }
END2
w fma 'this dot of f32 is done by fma, without tensor cores: cast both sides, as in `dot(f16(a), f16(b))`, or write `dot(a, b, tf32)`' <<'END2'
kernel k(A: f32[64, 64], B: f32[64, 64], C: out f32[64, 64]) 
{
    grid(1);
    let a: shared = A[:, :], b: shared = B[:, :];
    C[:, :] = dot(a, b);
}
END2
w idle 'of 3 warps of 32 lanes the largest tile keeps 1 of 32 busy, the others repeat them: WARPS = 1 does the same' <<'END2'
kernel k(A: f32[1024], C: out f32[1024]) tune WARPS = 3 { grid(1); C[:] = A[:] + 1; }
END2
w masked 'what is behind the end of K is cleared here: with `assume K % 64 == 0` nothing is' -W masked <<'END2'
kernel k(A: f16[16, K], W: i8[64, K], C: out f32[16, 64]) assume K % 16 == 0
{
    grid(1);
    var acc: register f32[16, 64] = 0;
    pipeline k in 0..K step 64 stages 2 {
        let a: shared = A[:, k :+ 64], w: shared = W[:, k :+ 64];
        acc += dot(a, (f16(w) - 8).T);
    }
    C[:, :] = acc;
}
END2
w narrow '`A` is accessed by 16 bits at a time: with `assume N % 8 == 0` by 128' -W narrow <<'END2'
kernel k(A: f16[64, N], C: out f32[64, 64]) { grid(1); let a: shared = A[:, 0 :+ 64]; C[:, :] = dot(a, a.T); }
END2

# What is off unless asked for; the last word holds.
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" 2>"$dir/err" && [ ! -s "$dir/err" ] || fail "narrow is on: $(cat "$dir/err")"
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" -W no-narrow -W narrow 2>"$dir/err"
grep -qF "[-W no-narrow]" "$dir/err" || fail "-W no-narrow -W narrow: the last does not hold"

# Each was seen; the examples have none of those that are on.
for name in $(sed -n 's/^WARNING(\([a-z]*\),.*/\1/p' hexc/ir/warnings.def); do
	case "$seen " in *" $name "*) ;; *) fail "nothing here warns of $name" ;; esac
done
for e in examples/*.hexc; do
	"$HEXC" --emit-ptx "$e" --werror -o "$dir/e.ptx" 2>"$dir/err" || fail "$e: $(grep -m 1 error: "$dir/err")"
done

# JSON, one object a line, of which errors have no `warning`.
"$HEXC" --emit-ptx "$dir/w.hexc" -o "$dir/w.ptx" -W narrow --diag=json 2>"$dir/err"
want='{"severity":"warning","warning":"narrow","file":"'$dir'/w.hexc","line":1,"col":'
grep -qF "$want" "$dir/err" || fail "--diag json: $(cat "$dir/err")"
printf 'kernel k(C: out f32[N]) { grid(1); C[0 :+ 8] = nosuch; }' >"$dir/w.hexc"
"$HEXC" --emit-ptx "$dir/w.hexc" --diag=json 2>"$dir/err"
[ "$(cat "$dir/err")" = '{"severity":"error","file":"'"$dir"'/w.hexc","line":1,"col":48,"len":6,"text":"there is no `nosuch` here"}' ] ||
	fail "--diag json: $(cat "$dir/err")"
says 2 "-W wants NAME or no-NAME, not 'nosuch'; the warnings are unused, slice" --emit-ptx "$dir/w.hexc" -W nosuch
says 2 "--diag is text or json, not 'xml'" --emit-ptx "$dir/w.hexc" --diag xml
exit $bad
