#!/bin/sh
# hexc sim: --seed selects an interleaving, reproducibly; --max-faults ends a launch.
. test/script.sh

# Block 1 reads what block 0 writes, without synchronization.
cat >"$dir/order.ptx" <<'END'
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p) {
	.reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d;
	ld.param.u64 %d, [p]; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p, %r0, 0;
	@%p bra W;
	ld.relaxed.gpu.global.u32 %r1, [%d]; st.global.u32 [%d+4], %r1; ret;
W:	mov.u32 %r2, 1; st.relaxed.gpu.global.u32 [%d], %r2; ret;
}
.visible .entry races(.param .u64 p) {
	.reg .b32 %r; .reg .b64 %d;
	ld.param.u64 %d, [p]; mov.u32 %r, %tid.x; shr.u32 %r, %r, 5;
	st.global.u32 [%d], %r;
	st.global.u32 [%d+4], %r;
	st.global.u32 [%d+8], %r;
	ret;
}
END
# seed N: prints what block 1 has read
seed() {
	"$HEXC" sim "$dir/order.ptx" --entry k --grid 2 --block 1 --arg zeros:u32:2 --seed "$1" \
		--save "0=$dir/$2.npy" >"$dir/log" 2>&1 || fail "--seed $1: $(cat "$dir/log")"
	od -An -tu4 -j 132 "$dir/$2.npy" | tr -d ' '
}
seen=
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	one=$(seed $n a)
	[ "$one" = "$(seed $n b)" ] || fail "--seed $n: two runs, two outcomes"
	seen="$seen $one"
done
case $seen in *0*) ;; *) fail "no seed shows the read first:$seen" ;; esac
case $seen in *1*) ;; *) fail "no seed shows the write first:$seen" ;; esac

faults() { "$HEXC" sim "$dir/order.ptx" --entry races --grid 1 --block 64 --arg zeros:u32:4 "$@" 2>&1 |
	grep -c 'race-global'; }
[ "$(faults)" = 3 ] || fail "$(faults) races, not 3"
[ "$(faults --max-faults 1)" = 1 ] || fail "--max-faults 1: $(faults --max-faults 1) races"

# Each location is reported with its source line of .loc: both accesses of a race, and a hang. A .loc of one
# function does not apply to the next; .file may follow; inlined code is reported by its own line.
cat >"$dir/loc.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry races(.param .u64 p) {
	.reg .b32 %r; .reg .b64 %d;
	.loc 1 7 3
	ld.param.u64 %d, [p]; mov.u32 %r, %tid.x; shr.u32 %r, %r, 5;
	st.global.u32 [%d], %r;
	.loc	2 40 9, function_name $L__info_string0, inlined_at 1 8 3
	st.global.u32 [%d], %r;
	ret;
}
.visible .entry plain(.param .u64 p) {
	.reg .b32 %r<2>; .reg .b64 %d;
	ld.param.u64 %d, [p]; mov.u32 %r0, %tid.x;
	st.global.u32 [%d], %r0;
	ret;
}
.visible .entry hang(.param .u64 p) {
	.reg .pred %q; .reg .b32 %r;
	.loc 1 90 1
	mov.u32 %r, %tid.x; setp.ge.u32 %q, %r, 32; @%q ret;
	bar.sync 1, 64;
	ret;
}
.file	1 "dir/kernel.cu"
.file	2 "inline.h", 1700000000, 99
.section .debug_str
{
$L__info_string0:
.b8 95,0
}
END
loc() { "$HEXC" sim "$dir/loc.ptx" --entry "$1" --grid 1 --block 64 --arg zeros:u32:4 "$2" "$3" >"$dir/log" 2>&1; }
told() { grep -qF -e "$1" "$dir/log" || fail "not told: $1, but: $(cat "$dir/log")"; }
loc races --stats "$dir/loc.json"
told 'loc.ptx:8:1: fault: race-global: '
grep -q ':8:1: fault.* \[dir/kernel.cu:7\]$' "$dir/log" || fail "no program line: $(cat "$dir/log")"
grep -q ':10:1: note.* \[inline.h:40\]$' "$dir/log" || fail "no program line of the note: $(cat "$dir/log")"
grep -q '"source":[[:blank:]]*"inline.h"' "$dir/loc.json" || fail "--stats: no source"
grep -q '"source_line":[[:blank:]]*40' "$dir/loc.json" || fail "--stats: no source_line"
loc plain --seed 0
told 'race-global'
grep -q 'kernel.cu\|inline.h' "$dir/log" && fail "a line of another function: $(cat "$dir/log")"
loc hang --seed 0
told '[dir/kernel.cu:90]'
told 'lanes 0xffffffff, line 23, [dir/kernel.cu:90] bar.sync: wait in barrier 1'
exit $bad
