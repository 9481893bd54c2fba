#!/bin/sh
# hexc sim --trace, --break, --show and --roofline: the output, its selection, and rejected options.
. test/script.sh
cat >"$dir/k.ptx" <<'END'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
	.reg .b32 %r<8>;
	.reg .f32 %f<4>;
	.reg .s32 %s<2>;
	.reg .b64 %rd<4>;
	.reg .pred %p;
	ld.param.u64 %rd1, [a];
	mov.u32 %r1, %tid.x;
	cvt.rn.f32.u32 %f1, %r1;
	setp.lt.u32 %p, %r1, 5;
	neg.s32 %s1, %r1;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd1, %rd1, %rd2;
	{ .reg .b32 %r1; mov.u32 %r1, 7; add.u32 %r2, %r1, %r1; }
	@!%p bra DONE;
	st.global.f32 [%rd1], %f1;
DONE:
	mov.u32 %r3, 1;
	ret;
}
END
sim() # STATUS OPTIONS...: standard error is in $dir/err
{
	want=$1
	shift
	"$HEXC" sim "$dir/k.ptx" --entry k --grid 3 --block 48 --arg zeros:f32:64 "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got = "$want" ] || { echo "sim $*: status $got, not $want"; sed 5q "$dir/err"; bad=1; }
	[ ! -s "$dir/out" ] || fail "sim $*: writes to standard output"
}
has() # TEXT: a line of standard error contains it
{
	grep -qF -- "$1" "$dir/err" || { echo "no '$1' in:"; sed 10q "$dir/err"; bad=1; }
}
lines() # N TEXT: N lines contain it
{
	n=$(grep -cF -- "$2" "$dir/err")
	[ "$n" = "$1" ] || fail "$n lines with '$2', not $1"
}

# Every instruction of one warp, in order: 13 statements; only lanes 0 to 4 of warp 0 execute the store.
sim 0 --trace=2,0
lines 13 'trace: block (2,0,0), warp 0'
lines 13 trace
has 'k.ptx:11:1: trace: block (2,0,0), warp 0, lanes 0xffffffff: ld.param.u64 %rd1, [a];'
has 'k.ptx:19:1: trace: block (2,0,0), warp 0, lanes 0xffffffe0 of 0xffffffff: @!%p bra DONE;'
has 'k.ptx:20:1: trace: block (2,0,0), warp 0, lanes 0x0000001f: st.global.f32 [%rd1], %f1;'
sim 0 --trace=1 # both warps
lines 13 'block (1,0,0), warp 0'
lines 12 'block (1,0,0), warp 1'
sim 0 --trace # the whole grid
lines 75 'trace: block'

# The operands of an instruction, once per warp: -(16..31) are lanes that do not exist.
sim 0 --break 14:0,1
lines 1 break
has 'k.ptx:14:1: break: block (0,0,0), warp 1, lanes 0x0000ffff: setp.lt.u32 %p, %r1, 5;'
has '%r1 .b32 ='
has '0: 0x00000020 0x00000021 0x00000022'
has '16: - - - - - - - -'
sim 0 --break 20
lines 3 break
has '%f1 .f32 ='
has '0: 0 1 2 3 4 - - -'
sim 0 --break=14:0,0 --break=16:2,1 --show %s1,%rd2 --show %p
lines 2 break
has '%s1 .s32 = ? in all lanes'
has '0: -32 -33 -34'
has '%rd2 .b64 = ? in all lanes'
has '%p .pred = 0 in all lanes'
sim 0 --break 18:0,0 --show %r1 # the %r1 of the inner braces
lines 2 break
has '%r1 .b32 = ? in all lanes'
has '%r1 .b32 = 0x00000007 in all lanes'
sim 0 --trace=0,0 --break 20:1
lines 1 'break: block (1,0,0), warp 0'
lines 13 trace
sim 0 --break 20:0,1 # no thread of warp 1 stores
has 'k.ptx:20:1: note: no warp reached this line'
sim 0 --break 14:0,0 --show %nosuch
has '%nosuch: no such register here'
sim 2 --break 0
sim 2 --break 99
has 'the file has 24 lines'
sim 2 --break 14:x
sim 2 --trace=-1
sim 2 --show %r1

# The roofline is printed and is in the counts; three blocks store 5 words of one sector, one block after another.
sim 2 --roofline Z80
has 'H200'
"$HEXC" sim "$dir/k.ptx" --entry k --grid 3 --block 48 --arg zeros:f32:64 --roofline h200 --stats "$dir/s.json" >"$dir/err" || bad=1
has 'k on H200: at least 0.0'
has ' issue '
grep -q '"limiter":.*"[a-z]*"' "$dir/s.json" || fail 'no roofline in the counts'
exit $bad
