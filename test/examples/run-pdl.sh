#!/bin/sh
# Programmatic dependent launch: on sm_90a each warp role waits for the primary kernel before its first access to a
# tensor, and allows the dependent kernel to start after the last read. Without the wait the simulator reports the
# early access. The manifest has "pdl". Neither --no-pdl nor older GPUs have any of it.
. test/script.sh

lines() { # PATTERN: number of lines in the PTX
	grep -c "$1" "$dir/p"
}
emit() { # WAITS NEXTS PROGRAM OPTIONS
	waits=$1 nexts=$2
	shift 2
	"$HEXC" --emit-ptx "$@" -o "$dir/p" --manifest "$dir/m" || fail "$*: no PTX"
	got="$(lines griddepcontrol.wait) $(lines griddepcontrol.launch_dependents)"
	[ "$got" = "$waits $nexts" ] || fail "$*: waits and launches are $got, not $waits $nexts"
	grep -q '"pdl"' "$dir/m" && told=1 || told=0
	[ $told = $((waits > 0)) ] || fail "$*: the manifest does not say what the PTX does"
}
for old in sm_80 sm_89; do
	emit 0 0 examples/gemm_f16.hexc --arch $old
done
emit 0 0 examples/gemm_f16.hexc --arch sm_90a --no-pdl
emit 2 1 examples/gemm_f16.hexc --arch sm_90a
emit 2 1 examples/gemm_roles.hexc --arch sm_90a
emit 1 1 examples/gemm_f16.hexc --arch sm_90a --schedule groups
emit 1 2 examples/vector_add.hexc --arch sm_90a # two code versions: for sizes that are multiples of four, and for others

# The wait is before every access, the trigger after every read.
awk '/griddepcontrol.wait/ { waits = NR } /ld.global|st.global/ && !waits { exit 1 }' "$dir/p" ||
	fail "vector_add: an access in front of the wait"
awk '/ld.global/ && next_ && !stored { exit 1 } /st.global/ { stored = 1 } /ret;|bra/ { next_ = stored = 0 }
	/launch_dependents/ { next_ = 1 }' "$dir/p" || fail "vector_add: a read behind the start of the next grid"

sim() {
	"$HEXC" sim "$1" $2 --entry vector_add --grid 1 --block 128 --arg zeros:f32:512 --arg zeros:f32:512 \
		--arg zeros:f32:512 --arg u64:512 >"$dir/said" 2>&1
}
sim "$dir/p" --dependent || fail "vector_add, dependent: $(head -1 "$dir/said")"
grep -v griddepcontrol.wait "$dir/p" >"$dir/early"
sim "$dir/early" '' || fail "vector_add without its wait, launched as ever: $(head -1 "$dir/said")"
sim "$dir/early" --dependent && fail "vector_add without its wait: nothing is said"
grep -q 'dependent-grid: ld.global' "$dir/said" || fail "vector_add without its wait: $(head -1 "$dir/said")"

# Roles with a wait in one or neither of them, and loops over gathered rows: hexc run is a dependent launch.
run() { # PROGRAM OPTIONS
	"$HEXC" run "$@" --exec=sim --check >"$dir/said" 2>&1 || fail "$*: $(tail -1 "$dir/said")"
}
run examples/gemm_f16.hexc --arch sm_90a --arg 'A=random(1)[200,256]' --arg 'B=random(2)[136,256]'
run examples/softmax.hexc --arch sm_90a --arg 'X=random(1)[9,256]'
run examples/rms_norm.hexc --arch sm_90a --arg 'X=random(1)[9,256]' --arg 'gain=random(2)[256]' --arg eps=0.001
exit $bad
