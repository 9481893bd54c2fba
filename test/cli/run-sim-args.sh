#!/bin/sh
# hexc sim: structs by value, arrays of device pointers, named buffers; suppressed faults.
. test/script.sh

# struct { f32 scale; u64 x; u16 n[3]; u8 last; } by value, and y[]: out[0] = scale * x[1] + n[2] + last + y[1][0]
cat >"$dir/k.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .align 8 .b8 s[24], .param .u64 y, .param .u64 out) {
	.reg .b32 %r<3>; .reg .b64 %d<4>; .reg .f32 %f<6>;
	ld.param.f32 %f0, [s]; ld.param.u64 %d0, [s+8]; ld.param.u16 %r0, [s+20]; ld.param.u8 %r1, [s+22];
	ld.param.u64 %d1, [y]; ld.param.u64 %d2, [out];
	ld.global.f32 %f1, [%d0+4];
	ld.global.u64 %d3, [%d1+8];
	ld.global.f32 %f2, [%d3];
	cvt.rn.f32.u32 %f3, %r0; cvt.rn.f32.u32 %f4, %r1;
	fma.rn.f32 %f5, %f0, %f1, %f3; add.f32 %f5, %f5, %f4; add.f32 %f5, %f5, %f2;
	st.global.f32 [%d2], %f5;
	ret;
}
END
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" >"$dir/x.npy"
printf '\000\000\200\077\000\000\000\100' >>"$dir/x.npy" # 1 2
sim() { # STATUS OPTIONS...
	want=$1
	shift
	"$HEXC" sim "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got = "$want" ] || fail "status $got, not $want, of $*: $(sed 5q "$dir/err")"
}
says() { grep -qF -e "$1" "$dir/err" || fail "no '$1' in: $(cat "$dir/err")"; }
# A buffer by its name and by its argument index, with an offset; arrays in a struct; padding.
k() { # STATUS STRUCT PTRS MORE...
	status=$1 struct=$2 ptrs=$3
	shift 3
	sim "$status" "$dir/k.ptx" --entry k --grid 1 --block 1 --arg "$struct" --arg "$ptrs" --arg zeros:f32:1 \
		--buffer "A=@$dir/x.npy" --buffer B=zeros:f32:1 --save "2=$dir/out.npy" "$@"
}
value() { tail -c 4 "$dir/out.npy" | od -An -tf4 | tr -d ' '; }
k 0 'struct:{f32 0.5, ptr A, u16 7 8 9, u8 3}' 'ptrs:{B, A+4}'
[ "$(value)" = 15 ] || fail "0.5 * 2 + 9 + 3 + 2 is $(value)"
k 0 'struct:{f32 2, ptr A,u16 1 2 3,u8 0x10 }' 'ptrs:{null,2}'
[ "$(value)" = 23 ] || fail "2 * 2 + 3 + 16 + 0 is $(value)"
# The contents of a file, and a buffer saved by its name.
printf '\000\000\200\077\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\001\000\002\000' >"$dir/s.bin"
sim 3 "$dir/k.ptx" --entry k --grid 1 --block 1 --arg "struct:$dir/s.bin" --arg 'ptrs:{B,B}' --arg zeros:f32:1 \
	--buffer B=zeros:f32:1 --save "B=$dir/b.npy"
says 'out-of-bounds' # its pointer is null
[ "$(wc -c <"$dir/b.npy")" = 132 ] || fail 'the buffer of --save B=... is not there'
# Errors are reported.
k 2 'struct:{f32 0.5, ptr A}' 'ptrs:{B, A}'
says 'has 16 bytes; parameter s takes 24'
k 2 'struct:{f32 0.5, ptr C}' 'ptrs:{B}'
says "': 'C' is not a pointer; expected NAME of a --buffer or the index of a buffer argument, optionally with +BYTES, or null"
k 2 'struct:{f31 0.5}' 'ptrs:{B}'
says "': 'f31' is not a PTX type such as u32 or f16"
k 2 'struct:{f32}' 'ptrs:{B}'
says "missing value after 'f32'"
k 2 'struct:{u8 256}' 'ptrs:{B}'
says 'the number is out of range'
k 2 'struct:{u8 1' 'ptrs:{B}'
says 'expected , or } at'
k 2 'struct:{u8 1} x' 'ptrs:{B}'
says 'expected , or } at'
k 2 'struct:{u8 1}' 'ptrs:{}'
says 'is not a pointer; expected NAME of a --buffer or the index of a buffer argument, optionally with +BYTES, or null'
k 1 "struct:$dir/none" 'ptrs:{B}'
k 2 'struct:{u8 1}' 'ptrs:{B}' --buffer A=zeros:f32:1
says "--buffer 'A=zeros:f32:1'"
k 2 'struct:{u8 1}' 'ptrs:{B}' --buffer 7=zeros:f32:1
says 'not a number and not null'
k 2 "struct:$dir/s.bin" 'ptrs:{B}' --save "C=$dir/c.npy"
says 'is neither a buffer argument nor a --buffer'

# Three kinds of faults in one kernel; each can be suppressed, and then does not count.
cat >"$dir/f.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 p) {
	.reg .b32 %r<3>; .reg .b64 %d;
	ld.param.u64 %d, [p]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5;
	st.global.u32 [%d], %r1;
	st.global.u32 [%d+4], %r1;
	ld.global.u32 %r0, [%d+4096];
	st.global.u32 [%d+8], %r2;
	ret;
}
END
f() { # STATUS OPTIONS...
	status=$1
	shift
	sim "$status" "$dir/f.ptx" --entry f --arg zeros:u32:4 --block=64 --grid=1 "$@"
}
count() { # FAULTS
	[ "$(grep -c ' fault: ' "$dir/err")" = "$1" ] || fail "not $1 faults: $(cat "$dir/err")"
}
f 3
count 4
f 3 --no-check race-global
count 2
f 0 --no-check race-global --no-check uninitialised-register --no-check out-of-bounds
count 0
f 3 --no-check all
count 1
f 2 --no-check races
says ": unknown fault kind 'races'; known: out-of-bounds,"
f 3 --no-check race-global --max-faults 1
count 1
rules() { printf "$@" >"$dir/rules"; }
rules 'race-global f 8\n'
f 3 --suppress "$dir/rules"
count 3
rules '# all in line 7, and what has these words\n\n* * 7\r\n*-register  f\t*used as data*\n'
f 3 --suppress "$dir/rules"
count 2
rules '* other 8\n*'
f 2 --suppress "$dir/rules"
says 'rules:2: expected KIND KERNEL LINE-OR-PATTERN, * for any'
rules 'race f 8\n'
f 2 --suppress "$dir/rules"
says "rules:1: unknown fault kind 'race'; known:"
rules '* other\n'
f 3 --suppress "$dir/rules"
count 4
rules '* f\n'
f 0 --suppress "$dir/rules"
count 0

# Unusual but valid: a warning, and no failure.
cat >"$dir/w.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry w() {
	.reg .pred %p; .reg .b32 %r; .shared .b64 mb;
	mbarrier.init.shared.b64 [mb], 1; mov.u32 %r, -1;
	mbarrier.test_wait.parity.shared.b64 %p, [mb], %r;
	ret;
}
END
sim 0 "$dir/w.ptx" --entry w --grid 1 --block 1 --stats "$dir/w.json"
says ':7:1: warning: mbarrier: '
grep -q '"warning":[[:blank:]]*true' "$dir/w.json" || fail 'no warning in --stats'
sim 0 "$dir/w.ptx" --entry w --grid 1 --block 1 --no-check mbarrier
[ -s "$dir/err" ] && fail "the warning is still told: $(cat "$dir/err")"
exit $bad
