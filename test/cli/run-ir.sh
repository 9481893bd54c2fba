#!/bin/sh
# hexc ir compiles the IR of --dump to the same PTX, and runs passes by name and by range. scripts/bisect finds a
# wrong pass and its op; scripts/reduce shrinks programs. WHOLE=1: all examples on all GPUs, every pass (an hour).
. test/script.sh

# dumps PROGRAM ARCH: writes the IR after each pass to $dir/ir/PASS.ir, and the PTX to $dir/want.ptx
dumps() {
	rm -rf "$dir/ir"
	mkdir "$dir/ir"
	"$HEXC" --emit-ptx "$1" --arch "$2" --dump all -o "$dir/want.ptx" 2>"$dir/dumps" || return 1
	awk -v to="$dir/ir" '/^\/\/ [^ ]* after [^ ]*$/ { file = to "/" $4 ".ir"; next } /^kernel /, /^}/ { print >>file }' "$dir/dumps"
}
# onward PROGRAM ARCH [EACH]: compiles every EACH-th of these to PTX
onward() {
	dumps "$1" "$2" || return 0 # not for this GPU
	n=0
	for ir in "$dir"/ir/*.ir; do
		n=$((n + 1))
		[ $((n % ${3:-1})) = 0 ] || continue
		"$HEXC" ir "$ir" --arch "$2" --passes .. -o "$dir/got.ptx" 2>"$dir/err" && cmp -s "$dir/got.ptx" "$dir/want.ptx" ||
			fail "$1 for $2, from ${ir##*/}: $(head -3 "$dir/err")"
	done
	[ $n -gt 20 ] || fail "$1 for $2: $n dumps"
}
if [ "${WHOLE:-0}" = 1 ]; then
	for arch in $(archs); do
		for program in examples/*.hexc; do
			onward "$program" "$arch"
		done
	done
else
	onward examples/vector_add.hexc sm_80 2
	onward examples/gemm_w4a16.hexc sm_90a 8
	onward test/cli/judged/lu.hexc sm_80 13
fi

# Without passes the IR stays unchanged, however often; a named pass runs.
dumps examples/softmax.hexc sm_80
says 0 '' ir "$dir/ir/mask_bounds.ir" -o "$dir/a.ir"
cmp -s "$dir/a.ir" "$dir/ir/mask_bounds.ir" || fail 'hexc ir changes what it reads'
"$HEXC" ir "$dir/ir/mask_bounds.ir" --passes fold,cse,merge_row_accesses,dce | diff - "$dir/ir/dce.ir" >"$dir/diff" || fail "four passes: $(head -5 "$dir/diff")"
"$HEXC" ir "$dir/ir/mask_bounds.ir" --passes ..dce | diff - "$dir/ir/dce.ir" >"$dir/diff" || fail "to dce: $(head -5 "$dir/diff")"
"$HEXC" ir "$dir/ir/mask_bounds.ir" --passes fold..dce --print-changed --print-after dce >/dev/null 2>"$dir/log"
grep -q '^// softmax after merge_row_accesses: no change$' "$dir/log" && grep -q '^// softmax after dce$' "$dir/log" || fail "what changed: $(grep '^//' "$dir/log")"
says 0 '.visible .entry softmax' ir "$dir/ir/insert_barriers.ir" --passes emit
says 2 "unknown pass 'fould'" ir "$dir/ir/mask_bounds.ir" --passes fold,fould
says 2 'fold runs before cse' ir "$dir/ir/mask_bounds.ir" --passes cse..fold
says 2 'emit: the IR is after mask_bounds, but layouts exist only after infer' ir "$dir/ir/mask_bounds.ir" --passes emit
says 2 'emit is the last pass; no pass can follow it' ir "$dir/ir/mask_bounds.ir" --passes emit,fold
says 2 "'..fold' is empty: the IR is already after insert_barriers" ir "$dir/ir/insert_barriers.ir" --passes ..fold
sed 's/after mask_bounds/after "no such"/' "$dir/ir/mask_bounds.ir" >"$dir/odd.ir"
says 1 'is after the unknown pass `no such`' ir "$dir/odd.ir"
says 2 'IR contains its constants; BN cannot be set here' run "$dir/ir/mask_bounds.ir" --exec tile --arg 'X=random(1)[5,300]' -D BN=64
says 2 "--print-after: unknown pass 'fould'" ir "$dir/ir/mask_bounds.ir" --print-after dce,fould
sed 's/= const value 0\.0/= const walue 0.0/' "$dir/ir/mask_bounds.ir" >"$dir/bad.ir"
says 1 'IR text: ' ir "$dir/bad.ir"
sed 's/exp %/exp %1.X, %/' "$dir/ir/mask_bounds.ir" >"$dir/bad.ir"
says 1 'invalid IR: kernel softmax: op exp: 2 operands; expected 1' ir "$dir/bad.ir"
cat "$dir/ir/dce.ir" "$dir/ir/dce.ir" >"$dir/bad.ir"
says 1 'two kernels named softmax' ir "$dir/bad.ir"
sed '1,/^}/s/kernel softmax/kernel other/' "$dir/bad.ir" >"$dir/two.ir"
says 0 '' ir "$dir/two.ir" --passes .. -o "$dir/two.ptx"
[ "$(grep -c '^.visible .entry' "$dir/two.ptx")" = 2 ] || fail 'two kernels, but not in the PTX'
says 2 'several kernels; choose one' run "$dir/two.ir" --exec tile --arg 'X=random(1)[5,300]'
says 0 '' run "$dir/two.ir" --kernel softmax --exec tile --arg 'X=random(1)[5,300]'
says 1 'no kernel third in this IR' run "$dir/two.ir" --kernel third --exec tile --arg 'X=random(1)[5,300]'
"$HEXC" ir "$dir/ir/parse.ir" --passes ..fold --stats >/dev/null 2>"$dir/log"
awk '$1 == "fold" { if ($2 > 0 && $3 == "ops" && $5 == "values:") found = 1 } END { exit !found }' "$dir/log" || fail "--stats: $(cat "$dir/log")"
"$HEXC" ir "$dir/ir/legalize.ir" --passes infer --trace-search "$dir/plans" -o /dev/null || bad=1
grep -q 'plan 1: *.*cycles, .*registers' "$dir/plans" && [ "$(wc -l <"$dir/plans")" -gt 3 ] || fail "--trace-search: $(head -3 "$dir/plans")"

# IR runs like a program: unchanged in the tile interpreter, through the remaining passes in the simulator.
run="--arg X=random(1)[5,300] --check"
for ir in parse mask_bounds infer insert_barriers; do
	# shellcheck disable=SC2086 # words
	{
		says 0 '' run examples/softmax.hexc --exec tile --from "$dir/ir/$ir.ir" $run
		says 0 '' run "$dir/ir/$ir.ir" --exec sim $run
	}
done
sed 's/ sub \(.*: reg f32\)/ add \1/' "$dir/ir/fold.ir" >"$dir/wrong.ir"
# shellcheck disable=SC2086
{
	says 3 'WRONG' run examples/softmax.hexc --exec tile --from "$dir/wrong.ir" $run
	says 3 'WRONG' run examples/softmax.hexc --exec sim --from "$dir/wrong.ir" $run
}

# A compiler with a wrong pass: it edits the IR after PASS with sed. bisect names the pass and the op.
cat >"$dir/hexc" <<'END'
#!/bin/sh
case " $* " in
*' --dump all '*)
	"$REAL" "$@" 2>"$0.dump"
	status=$?
	sed -E "/^\/\/ [^ ]+ after $PASS\$/,\$ $EDIT" "$0.dump" >&2
	exit $status ;;
esac
exec "$REAL" "$@"
END
chmod +x "$dir/hexc"
# bisected PASS EDIT NAMED PROGRAM ARGUMENTS...
bisected() {
	pass=$1 edit=$2 named=$3
	shift 3
	REAL=$HEXC PASS=$pass EDIT=$edit HEXC=$dir/hexc scripts/bisect "$@" >"$dir/out" 2>&1 || fail "bisect of $pass: $? $(tail -3 "$dir/out")"
	grep -q "^pass $pass makes it wrong" "$dir/out" && grep -q "$named" "$dir/out" || fail "bisect of $pass names no '$named': $(cat "$dir/out")"
}
cat >"$dir/p.hexc" <<'END'
kernel p(X: f32[M, N], Y: out f32[M])
{
    grid(ceil(M, 4));
    let m = block.x * 4;
    var t: register f32[4, 1] = 0;
    for n in 0..N step 64 {
        let x = X[m :+ 4, n :+ 64];
        t += sum(exp(x * 0.5), 1);
    }
    Y[m :+ 4] = reshape(t, 4);
}
END
p="$dir/p.hexc --arg X=random(1)[6,1400]"
gemm="examples/gemm_f16.hexc --arg A=random(1)[70,200] --arg B=random(2)[50,200]"
says 0 '' run $p --exec tile --save Y="$dir/y.npy"
# shellcheck disable=SC2086 # words
{
	bisected fold 's/ = exp (%[0-9]+)\S* / = exp2 \1 /' 'of op exp2' $p
	bisected mask_bounds 's/( = mask .* dims 2)/\1 fill 1.0/' 'mask .* fill 1.0' $p --expect Y=@"$dir/y.npy:1e-5"
	bisected pipeline '{/copy %[0-9]+, %[0-9]+\.b async/d}' 'of op load' $gemm
	bisected split_loops 's/ = sub (%[0-9]+\.N), (%[0-9]+) : i64/ = add \1, \2 : i64/' '= add %[0-9]*\.N' $p
	bisected prefetch_fragments '{/copy %[0-9]+, %[0-9]+\.a async/d}' 'of op load' $gemm
}
# After lowering, packed tensors have no counterpart in the program: bisect must not blame a
# pass, and tries the rest.
w4="examples/gemm_wNa16.hexc --kernel gemm_wNa16 --arg A=random(1)[16,128] --arg W=random(2)[64,128] --arg S=random(3)"
# shellcheck disable=SC2086 # words
{
	scripts/bisect $w4 >"$dir/out" 2>&1
	[ $? = 1 ] && grep -q 'nothing is wrong' "$dir/out" || fail "bisect of packed: $(cat "$dir/out")"
	"$HEXC" --emit-ptx examples/gemm_wNa16.hexc --kernel gemm_wNa16 --dump infer -o /dev/null 2>&1 | sed -n '/^kernel/,/^}/p' >"$dir/w4.ir"
	says 2 'W is a different argument in this IR than in the program; if it is packed, use the IR before pass lower_packed' run $w4 --exec tile --from "$dir/w4.ir"
}
# No pass is wrong.
HEXC=$HEXC scripts/bisect $p >"$dir/out" 2>&1
[ $? = 1 ] && grep -q 'nothing is wrong' "$dir/out" || fail "bisect of nothing: $(cat "$dir/out")"

# An internal error (here the validator's, for IR without a barrier) writes a directory that
# reproduces it; also as JSON.
"$HEXC" --emit-ptx examples/gemm_f16.hexc --arch sm_90a --schedule groups -D BK=32 --dump insert_barriers -o /dev/null 2>&1 | sed -n '/^kernel/,/^}/p' |
	awk '!gone && /^ *barrier / { gone = 1; next } 1' >"$dir/no.ir"
case $HEXC in /*) absolute=$HEXC ;; *) absolute=$PWD/$HEXC ;; esac
for diag in text json; do
	rm -rf "$dir/bugs"
	mkdir "$dir/bugs"
	TMPDIR=$dir/bugs "$HEXC" ir "$dir/no.ir" --arch sm_90a --passes ..emit --prove --diag $diag -o /dev/null 2>"$dir/err"
	[ $? = 4 ] && grep -q 'internal: .*barrier' "$dir/err" && grep -q "sh $dir/bugs/hexc-bug-[^ ]*/replay. reproduces it" "$dir/err" ||
		fail "an internal error: $(cat "$dir/err")"
	[ $diag = text ] || [ "$(grep -c '^{"severity":.*}$' "$dir/err")" = "$(wc -l <"$dir/err")" ] || fail "as JSON: $(cat "$dir/err")"
	for from in '' ir; do
		HEXC=$absolute TMPDIR=$dir/bugs sh "$dir"/bugs/hexc-bug-*/replay $from 2>"$dir/again"
		[ $? = 4 ] && grep -q 'internal: .*barrier' "$dir/again" || fail "replay $from: $(cat "$dir/again")"
	done
	[ "$(ls "$dir/bugs")" = "$(basename "$dir"/bugs/*)" ] && [ "$(ls "$dir"/bugs/* | tr '\n' ' ')" = 'last.ir program.ir replay ' ] ||
		fail "kept: $(ls -R "$dir/bugs")"
done
TMPDIR=$dir/none "$HEXC" ir "$dir/no.ir" --arch sm_90a --passes ..emit --prove -o /dev/null 2>"$dir/err"
grep -q ': could not save a report of this internal error: No such file' "$dir/err" || fail "no folder: $(cat "$dir/err")"

# The property to preserve: an exponential function.
scripts/reduce "$dir/p.hexc" -o "$dir/r.hexc" sh -c "'$HEXC' --emit-ptx {} -o - 2>/dev/null | grep -q ex2" 2>"$dir/log" ||
	fail "reduce: $(cat "$dir/log")"
[ "$(wc -l <"$dir/r.hexc")" -lt 11 ] && "$HEXC" --emit-ptx "$dir/r.hexc" -o - 2>"$dir/err" | grep -q ex2 || fail "reduced: $(cat "$dir/r.hexc")"
scripts/reduce "$dir/p.hexc" false 2>"$dir/log"
[ $? = 2 ] || fail "reduce of nothing: $(cat "$dir/log")"
exit $bad
