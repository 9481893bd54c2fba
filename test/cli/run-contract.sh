#!/bin/sh
# The contract of the command line: each command works as documented, in every spelling, without other output.
. test/script.sh
n=0
# ok STATUS ARGUMENTS...: output in $dir/out and $dir/err
ok() {
	want=$1
	shift
	n=$((n + 1))
	"$HEXC" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	[ $got = "$want" ] || {
		fail "hexc $*: status $got, not $want"
		cat "$dir/err"
	}
}
says() { grep -qF -- "$1" "$dir/out" || { fail "no '$1' in standard output of the last command:" && head -5 "$dir/out"; }; }
quiet() { [ ! -s "$dir/out" ] || fail "the last command wrote to standard output: $(head -1 "$dir/out")"; }
same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }

cat >"$dir/add.hexc" <<'END'
kernel add(A: f32[N], B: f32[N], alpha: f32, C: out f32[N])
    tune BN = 128|256
{
    grid(ceil(N, BN));
    let i = block.x * BN;
    C[i :+ BN] = A[i :+ BN] + B[i :+ BN] * alpha;
}
END
cat >"$dir/w.hexc" <<'END'
kernel w(A: f16[M, K], W: u4[N, K], C: out f16[M, N])
    assume K % 32 == 0
{
    grid(ceil(M, 16), ceil(N, 16));
    var acc: register f32[16, 16] = 0;
    for k in 0..K step 32 {
        acc += dot(A[block.x * 16 :+ 16, k :+ 32], f16(W[block.y * 16 :+ 16, k :+ 32]).T);
    }
    C[block.x * 16 :+ 16, block.y * 16 :+ 16] = f16(acc);
}
END
cat >"$dir/copy.hexc" <<'END'
kernel copy(A: TYPE[M, N], C: out TYPE[M, N])
{
    grid(ceil(M, 8), ceil(N, 32));
    C[block.x * 8 :+ 8, block.y * 32 :+ 32] = A[block.x * 8 :+ 8, block.y * 32 :+ 32];
}
END
add=$dir/add.hexc w=$dir/w.hexc

# help, version, archs
ok 0 --help
says 'hexc run PROG.hexc'
for c in run sim candidates explain; do
	ok 0 $c --help
	says "usage: hexc $c"
done
ok 0 --emit-ptx --help
says '--manifest FILE.json'
ok 0 --version
grep -qx 'hexc [0-9]*\.[0-9]*\.[0-9]*, LLVM [0-9]*' "$dir/out" || fail --version
ok 0 --list-archs
grep -qx sm_80 "$dir/out" || fail --list-archs

# --emit-ptx to standard output and to a file, in any order and spelling: the same bytes
ok 0 --emit-ptx "$add"
cp "$dir/out" "$dir/1.ptx"
says '.visible .entry add('
says '.target sm_80'
[ ! -s "$dir/err" ] || fail 'a good compile wrote to standard error'
ok 0 "$add" -o "$dir/2.ptx" --arch=sm_80 --emit-ptx
quiet
same "$dir/1.ptx" "$dir/2.ptx"
ok 0 --emit-ptx -o - --arch sm_80 -DBN=128 -- "$add"
same "$dir/1.ptx" "$dir/out"
"$HEXC" --emit-ptx - <"$add" >"$dir/out" || fail 'program on standard input'
same "$dir/1.ptx" "$dir/out"
ok 0 --emit-ptx "$add" --arch sm_89 -D BN=256
says '.target sm_89'
ok 0 --emit-ptx "$add" --paranoid --prove
same "$dir/1.ptx" "$dir/out"
ok 0 --emit-ptx "$add" --stop fold --dump fold
quiet
grep -q '^kernel add' "$dir/err" || fail '--dump prints the IR to standard error'
ok 0 --emit-ptx "$add" --time
same "$dir/1.ptx" "$dir/out"
grep -q 'median of' "$dir/err" && grep -q ' infer ' "$dir/err" || fail '--time'

# The manifest has what a host needs.
ok 0 --emit-ptx "$w" --manifest "$dir/m.json" -o "$dir/w.ptx"
tr -d ' \t\n' <"$dir/m.json" >"$dir/m"
for want in '"entry":"w"' '"grid":["ceil(M,16)","ceil(N,16)","1"]' '"block":[128,1,1]' '"cluster":[1,1,1]' \
	'"name":"W","kind":"pointer","dtype":"u4","bytes":8,"bits":4,"align":16,"read":true,"written":false,"shape":["N","K"],"strides":["K","1"]' \
	'"name":"M","kind":"size","dtype":"i64","bytes":8' '"assume":["K%32==0"]' '"arch":"sm_80"'; do
	grep -qF -- "$want" "$dir/m" || fail "manifest: no $want"
done
grep -q '"smem":[0-9]' "$dir/m" || fail 'manifest: no smem'
# Constants by name and value, including element types.
sed 's/^{/    const T = f32, G = 8\n{/; s/f32\[N\]/T[N]/g; s/alpha: f32/alpha: T/' "$add" >"$dir/typed.hexc"
ok 0 --emit-ptx "$dir/typed.hexc" -D T=f16 -D G=-3 --manifest "$dir/m.json" -o "$dir/typed.ptx"
tr -d ' \t\n' <"$dir/m.json" | grep -qF '"constants":{"BN":128,"T":"f16","G":-3}' || fail 'manifest: constants'

# run: every form of a value; sizes from tensors, from --arg, from scalars.
for exec in tile sim; do
	ok 0 run "$add" --exec $exec --arg 'A=random(1)[300]' --arg 'B=randint(2,-8,8)' --arg alpha=0.5 --save C="$dir/c.npy" --save A="$dir/a.npy" --save B="$dir/b.npy"
	quiet
	ok 0 run "$add" --exec=$exec --arg A=@"$dir/a.npy" --arg=B=@"$dir/b.npy" --arg alpha=0.5 --save "C=$dir/c2.npy"
	same "$dir/c.npy" "$dir/c2.npy"
	cp "$dir/c.npy" "$dir/c.$exec.npy"
	ok 0 run "$add" --exec $exec --arg A=arange --arg B=zeros --arg N=100 --arg alpha=2 --check
	says 'C f32[100]: largest absolute error 0, largest relative error 0: right'
done
same "$dir/c.tile.npy" "$dir/c.sim.npy"
ok 0 run "$add" --arg 'A=random(1)[0]' --arg B=zeros --arg alpha=1 --check
# Random numbers are the same on every machine: element 0 of random(1) as f32.
od -An -tx1 -j 128 -N 8 "$dir/a.npy" | tr -d ' \n' >"$dir/hex"
grep -qx '0352693fbaa6fe3e' "$dir/hex" || fail "random(1) begins with $(cat "$dir/hex")"

# Unsigned 64-bit scalars.
sed 's/alpha: f32/alpha: u64/; s/\* alpha/+ f32(alpha >> 63)/' "$add" >"$dir/u64.hexc"
for big in 18446744073709551615 0xffffffffffffffff 9223372036854775808; do
	ok 0 run "$dir/u64.hexc" --arg A=zeros --arg B=zeros --arg N=1 --arg alpha=$big --save C="$dir/c1.npy"
	[ "$(od -An -tf4 -j 128 "$dir/c1.npy" | tr -d ' ')" = 1 ] || fail "alpha=$big"
	ok 0 --emit-ptx "$dir/u64.hexc" -o "$dir/u64.ptx"
	ok 0 sim "$dir/u64.ptx" --entry add --grid 1 --block=128 --arg zeros:f32:1 --arg zeros:f32:1 --arg u64:$big \
		--arg zeros:f32:1 --arg s64:1 --save 3="$dir/c3.npy"
	same "$dir/c1.npy" "$dir/c3.npy"
done
ok 2 run "$dir/u64.hexc" --arg A=zeros --arg B=zeros --arg N=1 --arg alpha=18446744073709551616

# 4-bit codes, one per byte or packed, are the same weights.
ok 0 run "$w" --exec tile --arg 'A=randint(1,-4,5)[5,64]' --arg 'W=random(3)[9,64]' --save W="$dir/codes.npy" --save A="$dir/wa.npy" --save C="$dir/wc.npy"
ok 0 run "$w" --arg A=@"$dir/wa.npy" --arg W=@"$dir/codes.npy" --check
says 'C f16[5,9]: largest absolute error 0'
od -An -v -tu1 -j 128 "$dir/codes.npy" | tr -s ' ' '\n' | sed '/^$/d' |
	awk 'NR % 2 { lo = $1; next } { printf "\\%03o", lo + 16 * $1 }' >"$dir/esc"
h="{'descr': '|u1', 'fortran_order': False, 'shape': (9, 32), }"
printf "\\223NUMPY\\001\\000\\$(printf %03o ${#h})\\000%s" "$h" >"$dir/packed.npy"
# shellcheck disable=SC2059 # the escapes are the data
printf "$(cat "$dir/esc")" >>"$dir/packed.npy"
ok 0 run "$w" --arg A=@"$dir/wa.npy" --arg W=@"$dir/packed.npy" --check --save C="$dir/wc2.npy" --save W="$dir/codes2.npy"
same "$dir/wc.npy" "$dir/wc2.npy"
same "$dir/codes.npy" "$dir/codes2.npy"

# Every type round-trips through a kernel to an identical file.
for type in f16 bf16 f32 i8 u8 i32 u32; do
	sed "s/TYPE/$type/g" "$dir/copy.hexc" >"$dir/copy_$type.hexc"
	for exec in tile sim; do
		ok 0 run "$dir/copy_$type.hexc" --exec $exec --arg 'A=random(5)[13,40]' --save A="$dir/ta.npy" --save C="$dir/tc.npy"
		same "$dir/ta.npy" "$dir/tc.npy"
	done
done

# --stats
ok 0 run "$w" --arg A=@"$dir/wa.npy" --arg W=@"$dir/codes.npy" --stats "$dir/s.json"
for f in instructions mma global_sectors_read global_sectors_written global_sectors_read_min global_sectors_written_min \
	global_requests shared_wavefronts shared_min barriers faults; do
	grep -q "\"$f\":" "$dir/s.json" || fail "--stats: no $f"
done

# sim: PTX from any producer, launched as in the manifest; the same bytes as run
ok 0 --emit-ptx "$add" -o "$dir/add.ptx"
ok 0 sim "$dir/add.ptx" --entry add --grid 3 --block=128,1,1 --arg @"$dir/a.npy" --arg @"$dir/b.npy" --arg f32:0.5 --arg zeros:f32:300 \
	--arg s64:300 --save 3="$dir/c3.npy" --stats "$dir/s2.json"
quiet
same "$dir/c.sim.npy" "$dir/c3.npy"
# A wrong launch is reported: the output is one element short.
ok 3 sim "$dir/add.ptx" --entry add --grid 3 --block 128 --arg @"$dir/a.npy" --arg @"$dir/b.npy" --arg f32:0.5 --arg zeros:f32:299 --arg s64:300 --stats "$dir/s3.json"
grep -q "add.ptx:[0-9]*:1: fault: out-of-bounds: " "$dir/err" || fail 'no report of the fault'
grep -q '"kind":	"out-of-bounds"' "$dir/s3.json" || fail 'no fault in --stats'
ok 2 sim "$dir/add.ptx" --entry nosuch --grid 1 --block 1
ok 2 sim "$dir/add.ptx" --entry add --grid 1 --block 128 --arg u32:1
ok 2 sim "$dir/add.ptx" --entry add --grid 1 --block 128 --arg u32:x
ok 2 sim "$dir/add.ptx" --entry add --grid 1 --block 128 --arg u8:256
ok 1 sim "$dir/add.hexc" --entry add --grid 1 --block 128
echo '{}' >"$dir/t.json"
ok 1 sim "$dir/add.ptx" --entry add --grid 1 --block 128 --arg tmap:"$dir/t.json"

# candidates and explain
ok 0 candidates "$w"
grep -q '^  0 .* cycles  .' "$dir/out" || fail candidates
ok 0 candidates "$w" --json
says '"cycles":'
ok 0 explain "$w"
[ "$(wc -c <"$dir/out")" -gt 300 ] || fail 'explain says too little'
ok 0 explain "$w" --json "$dir/x.json"
grep -q '"candidates":' "$dir/x.json" || fail 'explain --json'

echo "$n commands"
exit $bad
