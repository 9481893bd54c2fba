#!/bin/sh
# --lineinfo: .file and .loc name the program and its lines, for all of its operations. The instructions equal those
# without it, byte by byte. ptxas accepts it, and a fault in hexc run names the line.
. test/script.sh

# What debug directives add: .file, .loc, the labels of their ranges, an empty section.
bare() { grep -Ev '^[[:space:]]*\.(loc|file|section)[[:space:]]|^\$L__(func_begin|func_end|tmp)[0-9]*:$' "$1" | grep -v '^$'; }

for e in gemm_w4a16 attention sort moe mamba2 decode_wNa16 layer_norm; do
	for arch in sm_75 sm_80 sm_90a; do
		"$HEXC" --list-archs | grep -q "^$arch" || continue
		"$HEXC" --emit-ptx "examples/$e.hexc" --arch "$arch" -o "$dir/a.ptx" 2>"$dir/err" || fail "$e $arch: $(cat "$dir/err")"
		"$HEXC" --emit-ptx "examples/$e.hexc" --arch "$arch" --lineinfo -o "$dir/b.ptx" || fail "$e $arch: --lineinfo fails"
		bare "$dir/a.ptx" >"$dir/a"
		bare "$dir/b.ptx" >"$dir/b"
		cmp -s "$dir/a" "$dir/b" || fail "$e $arch: other instructions with --lineinfo: $(diff "$dir/a" "$dir/b" | head -5)"
		grep -q '^\.target.*debug' "$dir/b.ptx" && fail "$e $arch: ptxas would not optimise: .target has debug"
		[ "$(grep -c '^[[:space:]]*\.file[[:space:]]' "$dir/b.ptx")" = 1 ] &&
			grep -q "^[[:space:]]*\.file[[:space:]]1 \".*examples/$e\.hexc\"" "$dir/b.ptx" || fail "$e $arch: $(grep '\.file' "$dir/b.ptx")"
		# within the program; and each line with a copy or a dot has an instruction
		sed -n 's/^[[:space:]]*\.loc[[:space:]]*1 \([0-9]*\) .*/\1/p' "$dir/b.ptx" | grep -vx 0 | sort -un >"$dir/lines" # 0: of several
		lines=$(wc -l <"examples/$e.hexc")
		[ "$(sed -n 1p "$dir/lines")" -ge 1 ] && [ "$(sed -n '$p' "$dir/lines")" -le "$lines" ] || fail "$e $arch: lines outside of the program"
		grep -nE 'dot\(|^ *[A-Z][A-Za-z]*\[.*\] = ' "examples/$e.hexc" | grep -v '^[0-9]*: *//' | cut -d : -f 1 | while read -r n; do
			grep -qx "$n" "$dir/lines" || echo "$e $arch: nothing is of line $n"
		done >"$dir/lack"
		[ ! -s "$dir/lack" ] || fail "$(cat "$dir/lack")"
		if command -v ptxas >/dev/null && [ $arch = sm_80 ]; then
			ptxas -lineinfo -arch=$arch "$dir/b.ptx" -o "$dir/b.cubin" >"$dir/out" 2>&1 || fail "ptxas, $e: $(head -3 "$dir/out")"
		fi
	done
done

# Names that LLVM's assembly syntax would misread.
mkdir "$dir/a \"b\\c"
cp examples/sort.hexc "$dir/a \"b\\c/ü.hexc"
"$HEXC" --emit-ptx "$dir/a \"b\\c/ü.hexc" --lineinfo -o "$dir/c.ptx" || fail "a file with a name of quotes and backslashes"
grep -q '\.loc' "$dir/c.ptx" || fail "no lines with a name of quotes and backslashes"
"$HEXC" --emit-ptx --lineinfo - <examples/sort.hexc >"$dir/c.ptx" || fail "standard input"
grep -q '^[[:space:]]*\.file[[:space:]]1 "<stdin>"' "$dir/c.ptx" || fail "standard input: $(grep '\.file' "$dir/c.ptx")"

cat >"$dir/f.hexc" <<'END'
kernel f(A: f32[N], C: out f32[N])
{
    grid(1);
    let a: register = A[0 :+ 128];
    assert(sum(a, 0) > 0, "positive");
    C[0 :+ 128] = a;
}
END
"$HEXC" run "$dir/f.hexc" -W no-unwritten -W no-idle --exec sim --arg 'A=zeros[128]' --ptx "$dir/f.ptx" 2>"$dir/err"
[ $? = 3 ] || fail "an assertion that fails: $(cat "$dir/err")"
grep -q "^$dir/f.ptx:[0-9]*:1: fault: assert: .*\[$dir/f.hexc:5\]$" "$dir/err" || fail "fault: $(cat "$dir/err")"
line=$(sed -n "s|^$dir/f.ptx:\([0-9]*\):1: fault.*|\1|p" "$dir/err")
sed -n "${line}p" "$dir/f.ptx" | grep -q call || sed -n "$((line - 1)),$((line + 9))p" "$dir/f.ptx" | grep -q __assertfail || fail "line $line of the PTX that was kept is no call"
exit $bad
