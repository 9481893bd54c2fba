#!/bin/sh
# Wrong command lines, files, data and sizes: the message, the exit status, no standard output.
. test/script.sh
n=0

# t STATUS TEXT ARGUMENTS...: TEXT must be in standard error
t() {
	want=$1 text=$2
	shift 2
	n=$((n + 1))
	"$HEXC" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ $got != "$want" ]; then
		echo "hexc $*: status $got, not $want"
		cat "$dir/err"
		bad=1
	elif ! grep -qF -- "$text" "$dir/err"; then
		echo "hexc $*: no '$text' in"
		cat "$dir/err"
		bad=1
	elif [ -s "$dir/out" ]; then
		echo "hexc $*: wrote to standard output"
		bad=1
	fi
}
# npy FILE DESCR SHAPE BYTES: data of zeros
npy() {
	header="{'descr': '$2', 'fortran_order': ${5:-False}, 'shape': $3, }"
	printf "\\223NUMPY\\001\\000\\$(printf %03o ${#header})\\000%s" "$header" >"$1"
	[ "$4" = 0 ] || dd if=/dev/zero bs="$4" count=1 2>/dev/null >>"$1"
}

cat >"$dir/add.hexc" <<'END'
kernel add(A: f32[N], B: f32[N], C: out f32[N])
    tune BN = 128|256
{
    grid(ceil(N, BN));
    let i = block.x * BN;
    C[i :+ BN] = A[i :+ BN] + B[i :+ BN];
}
END
cat >"$dir/mm.hexc" <<'END'
kernel mm(A: f16[M, K], W: u4[N, K], s: f32, C: out f16[M, N])
    assume K % 8 == 0
{
    grid(ceil(M, 16), ceil(N, 16));
    var acc: register f32[16, 16] = 0;
    for k in 0..K step 16 {
        acc += dot(A[block.x * 16 :+ 16, k :+ 16], f16(W[block.y * 16 :+ 16, k :+ 16]).T);
    }
    C[block.x * 16 :+ 16, block.y * 16 :+ 16] = f16(acc * s);
}
END
printf 'kernel a(C: out f32[N]) { grid(1); C[0 :+ 8] = 1.0; }\nkernel b(C: out f32[N]) { grid(1); C[0 :+ 8] = 1.0; }\n' >"$dir/two.hexc"
printf 'kernel k(C: out f32[N]) {\n    grid(1);\n    C[0 :+ 8] = nosuch;\n}\n' >"$dir/wrong.hexc"
: >"$dir/empty.hexc"
mkfifo "$dir/never"
add=$dir/add.hexc mm=$dir/mm.hexc
npy "$dir/a.npy" '<f4' '(100,)' 400
npy "$dir/b.npy" '<f4' '(101,)' 404
npy "$dir/h.npy" '<f2' '(8, 16)' 256
npy "$dir/w.npy" '|u1' '(8, 16)' 128
npy "$dir/w24.npy" '|u1' '(8, 24)' 192
npy "$dir/big.npy" '>f4' '(100,)' 400
npy "$dir/fortran.npy" '<f2' '(8, 16)' 256 True
npy "$dir/short.npy" '<f4' '(100,)' 399
npy "$dir/f8.npy" '<f8' '(100,)' 800
npy "$dir/rank.npy" '<f4' '(10, 10)' 400
npy "$dir/wbad.npy" '|u1' '(8, 16)' 127
printf '\021' >>"$dir/wbad.npy"
echo 'not an array' >"$dir/text.npy"

# usage
t 2 'nothing to do'
t 2 "no command 'compil', did you mean compile" compil x.hexc
t 1 "x.hexc: No such file" compile x.hexc
t 2 'unknown option --nosuch' --nosuch
t 2 'unknown option --emit' run --emit "$add"
t 2 '--stats is not an option of this command' --emit-ptx "$add" --stats x
t 2 'no input program' --emit-ptx
t 2 'no input program' run
t 2 "only one program is allowed; unexpected 'y.hexc'" --emit-ptx "$add" y.hexc
t 2 '-o requires a value: FILE' --emit-ptx "$add" -o
t 2 '-o given twice' --emit-ptx "$add" -o a -o b
t 2 '--time does not accept a value' --emit-ptx "$add" --time=3
t 2 "unknown arch 'sm_99'; known: sm_75, sm_80" --emit-ptx "$add" --arch sm_99
t 2 "-D: expected NAME=VALUE, got 'BN'" --emit-ptx "$add" -D BN
t 2 "'big' is neither an integer nor an element type" --emit-ptx "$add" -DBN=big
t 2 '-D BN given twice' --emit-ptx "$add" -D BN=128 -D BN=256
t 2 "unknown pass 'nosuch'; known: parse, bounded, mark_reductions, mask_bounds" --emit-ptx "$add" --dump nosuch
t 2 "unknown pass 'all'" --emit-ptx "$add" --stop=all
t 2 "--candidate: expected a number from 0, got '-1'" --emit-ptx "$add" --candidate=-1
t 2 "--exec: expected tile, sim, gpu or auto, got 'cpu'" run "$add" --exec cpu
t 2 '--stats requires --exec=sim or --exec=gpu' run "$add" --exec tile --stats x.json
t 2 "choose one with --kernel: a b" run "$dir/two.hexc" --exec tile
t 2 "--arg: expected NAME=VALUE, got 'A'" run "$add" --exec tile --arg A
t 2 "--arg: the kernel has no parameter 'X'; it has A, B, C, N" run "$add" --exec tile --arg X=1
t 2 '--arg A given twice' run "$add" --exec tile --arg A=zeros --arg A=zeros
t 2 ": invalid value 'randm(1)'; expected @FILE.npy, @FILE:TENSOR, a number, random(SEED), randint(SEED,LO,HI), positions(SEED), zeros or arange, optionally followed by [shape]" run "$add" --exec tile --arg 'A=randm(1)'
t 2 ": invalid value 'random(1'; expected @FILE.npy, @FILE:TENSOR, a number, random(SEED), randint(SEED,LO,HI), positions(SEED), zeros or arange, optionally followed by [shape]" run "$add" --exec tile --arg 'A=random(1'
t 2 ": '[1x]' is not a shape such as [128,256]" run "$add" --exec tile --arg 'A=zeros[1x]'
t 2 "unexpected 'z' after the shape" run "$add" --exec tile --arg 'A=zeros[1]z'
t 2 ': randint(SEED,LO,HI) requires LO < HI, but 5 > 3' run "$add" --exec tile --arg 'A=randint(1,5,3)'
t 2 'missing --arg B=... for parameter B' run "$add" --exec tile --arg 'A=zeros[5]'
t 2 'size N cannot be inferred from the arguments; add --arg N=' run "$add" --exec tile --arg A=zeros --arg B=zeros
t 2 's is a scalar and requires a number' run "$mm" --exec tile --arg s=zeros
t 2 "N is i64, but '1.5' is not an integer" run "$add" --exec tile --arg N=1.5
t 2 '--save: expected NAME=FILE.npy, got' run "$add" --exec tile --arg A=@"$dir/a.npy" --arg B=zeros --save C
t 2 "the kernel has no tensor 'N'" run "$add" --exec tile --arg A=@"$dir/a.npy" --arg B=zeros --save N=x.npy
t 2 'missing --entry NAME' sim x.ptx --grid 1 --block 1
t 2 "--grid: expected X[,Y[,Z]] of numbers from 1, got '0'" sim x.ptx --entry k --grid 0 --block 1
t 2 "got '1,2,3,4'" sim x.ptx --entry k --grid 1 --block 1,2,3,4
t 2 '--seed: expected a number from 0 to' sim x.ptx --entry k --grid 1 --block 1 --seed -1
t 2 '--max-faults: expected a number from 0 to' sim x.ptx --entry k --grid 1 --block 1 --max-faults x
t 2 '--smem: expected a number of bytes' sim x.ptx --entry k --grid 1 --block 1 --smem -1

# files
t 1 'No such file' --emit-ptx "$dir/none.hexc"
t 1 'none.npy: No such file' run "$add" --exec tile --arg A=@"$dir/none.npy"
t 1 'Is a directory' --emit-ptx "$dir"
t 1 "$dir/wrong.hexc:3:17: error:" --emit-ptx "$dir/wrong.hexc"
t 1 "$dir/empty.hexc:" --emit-ptx "$dir/empty.hexc"
t 1 'not a .npy file' run "$add" --exec tile --arg A=@"$dir/text.npy"
t 1 'big-endian data; save a.astype' run "$add" --exec tile --arg A=@"$dir/big.npy"
t 1 'Fortran order; save numpy.ascontiguousarray(a)' run "$mm" --exec tile --arg A=@"$dir/fortran.npy"
t 1 'truncated: 399 bytes of data, but the header specifies 400' run "$add" --exec tile --arg A=@"$dir/short.npy"
t 1 ') is f32, which is stored as float32 in .npy; the file has float64' run "$add" --exec tile --arg A=@"$dir/f8.npy"
t 1 '): element 127 is 17, which is not a code of u4' run "$mm" --exec tile --arg A=@"$dir/h.npy" --arg W=@"$dir/wbad.npy" --arg s=1
t 4 'No such file or directory' explain "$add" --svg "$dir/none/svg"
t 4 'cannot write' --emit-ptx "$add" -o /dev/full
t 4 'No such file or directory' --emit-ptx "$add" -o "$dir/no/such/x.ptx"
# Control characters in names are escaped at a terminal.
esc=$(printf '\033')
cp "$dir/wrong.hexc" "$dir/${esc}[2Jx.hexc"
printf 'c2 9b: \302\2331m' >"$dir/c1"
for file in "$dir/${esc}[2Jx.hexc" "$dir/${esc}[2Jnone" "$dir/$(cat "$dir/c1")"; do
	"$HEXC" --emit-ptx "$file" >"$dir/err" 2>&1
	LC_ALL=C grep -q '[[:cntrl:]]\|'"$(printf '\302\233')" "$dir/err" && fail "control characters: $(cat -v "$dir/err")"
	grep -q '??*' "$dir/err" || fail "no name: $(cat -v "$dir/err")"
done
# Files that cannot grow, and failed allocations in LLVM: hexc does not end by a signal.
for to in "-o $dir/none.ptx" "--manifest $dir/none.json"; do
	# shellcheck disable=SC2086 # words
	err=$(ulimit -f 0 && exec "$HEXC" --emit-ptx "$add" $to 2>&1 >/dev/null)
	case "$? $err" in 4*'File too large') ;; *) echo "$to without room: $err"; bad=1 ;; esac
done
"$HEXC" --emit-ptx - <"$dir/never" 2>/dev/null &
pid=$!
exec 3>"$dir/never"
for _ in 1 2 3 4 5 6 7 8 9 10; do # until hexc is working
	grep -q '^SigCgt:.*[2367abef].$' /proc/$pid/status && break
	sleep 1
done
kill -ABRT $pid
wait $pid
[ $? = 4 ] || fail 'an abort in LLVM is no status 4'
exec 3>&-

# Programs and candidates.
t 1 'BN' --emit-ptx "$add" -D BN=77
t 1 'BN=f16 is not a value of tunable `BN`; allowed: 128, 256' --emit-ptx "$add" -D BN=f16
t 1 'XX' --emit-ptx "$add" -D XX=1
t 1 'nosuch' --emit-ptx "$add" --kernel nosuch
t 1 'candidate 9999 does not exist: kernel add has' --emit-ptx "$add" --candidate 9999

# sizes
t 1 "N is 100 in A (@$dir/a.npy, dimension 0), but 101 in B (@$dir/b.npy, dimension 0)" \
	run "$add" --exec tile --arg A=@"$dir/a.npy" --arg B=@"$dir/b.npy"
t 1 'N is 50 by --arg, but 100 in A' run "$add" --exec tile --arg A=@"$dir/a.npy" --arg B=zeros --arg N=50
t 1 ') has 2 dimensions; A requires 1' run "$add" --exec tile --arg A=@"$dir/rank.npy" --arg B=zeros
t 1 'K is 16 in A' run "$mm" --exec tile --arg A=@"$dir/h.npy" --arg 'W=zeros[8,24]' --arg s=1
t 1 'dimension 1 of W is K = 16, but' run "$mm" --exec tile --arg A=@"$dir/h.npy" --arg W=@"$dir/w24.npy" --arg s=1
t 1 'the kernel assumes K % 8 == 0, but K is 12' run "$mm" --exec tile --arg 'A=zeros[8,12]' --arg 'W=zeros[8,12]' --arg s=1
t 1 'W is u4; randint(1,0,17)[8,16] is out of range' run "$mm" --exec tile --arg 'A=zeros[8,16]' --arg 'W=randint(1,0,17)[8,16]' --arg s=1
t 1 'the size N is -5' run "$add" --exec tile --arg A=zeros --arg B=zeros --arg N=-5
t 4 'the tensors need more than 4096 MiB (at' run "$add" --exec tile --arg 'A=zeros[5000000000]' --arg B=zeros
t 1 '; the maximum is' run "$add" --exec tile --arg 'A=zeros[9000000000000000000]' --arg B=zeros

echo "$n wrong uses"
exit $bad
