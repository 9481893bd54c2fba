#!/bin/sh
# If a program leaves WARPS unspecified, long rows are tried with more than 4 warps and short ones with fewer. There
# is one ranked list, every candidate is correct, and the manifest has the chosen block size. Short tiles without
# reductions, GEMMs that fit into the registers of 4 warps, and programs that specify WARPS have no choice.
. test/script.sh
prog=$here/warps.hexc
row="--arg X=random(1)[3,11000] --arg G=random(2) --arg eps=1e-5"

# warps KERNEL DEFINES: warp counts of its candidates, the best first
warps() {
	# shellcheck disable=SC2086 # words
	"$HEXC" candidates "$prog" --kernel "$1" $2 | sed -n 's/.*cycles  \([0-9]*\) warps;.*/\1/p' | awk '!seen[$1]++' | tr '\n' ' '
}
block() { # KERNEL OPTIONS: threads
	# shellcheck disable=SC2086 # words
	"$HEXC" --emit-ptx "$prog" --kernel "$1" $2 -o "$dir/p" --manifest "$dir/m" 2>"$dir/err" || cat "$dir/err"
	sed -n 's/.*"block":[^0-9]*\([0-9]*\).*/\1/p' "$dir/m"
}

set -- $(warps row '')
[ "$1" -ge 8 ] || fail "a row of 12288 is best on $1 warps, not on 8 or 16"
# CuTe DSL's kernel for such rows, 320 threads with 72 registers, has 20 warps per SM on sm_80:
# expects at least as many.
together=$("$HEXC" candidates --json "$prog" --kernel row | sed -n 's/.*"blocks_together":[^0-9]*\([0-9]*\).*/\1/p' | head -n 1)
[ "$(($1 * together))" -ge 20 ] || fail "$together blocks of $1 warps on an SM, fewer than 20 warps"
if command -v ptxas >/dev/null; then
	block row '' >/dev/null
	ptxas -arch=sm_80 -v "$dir/p" -o "$dir/c" >"$dir/v" 2>&1 || fail "ptxas: $(tail -3 "$dir/v")"
	regs=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$dir/v")
	[ "$((65536 / (regs * 32)))" -ge 20 ] || fail "$regs registers leave fewer than 20 warps on an SM"
fi
[ "$(printf '%s\n' "$@" | sort -n | tr '\n' ' ')" = "4 8 16 " ] || fail "a row of 12288 is tried on $*"
set -- $(warps row '-D BN=11264')
[ "$(printf '%s\n' "$@" | sort -n | tr '\n' ' ')" = "4 11 " ] || fail "a row of 11264 is tried on $*"
set -- $(warps odd '')
[ "$(printf '%s\n' "$@" | sort -n | tr '\n' ' ')" = "4 11 " ] || fail "a row of 11008 is tried on $*"
set -- $(warps row '-D BN=1024')
[ "$1" -lt 4 ] || fail "a row of 1024 is best on $1 warps, which meet for less than they do alone"
[ "$(printf '%s\n' "$@" | sort -n | tr '\n' ' ')" = "1 2 4 " ] || fail "a row of 1024 is tried on $*"
# A loop-carried tile stays in registers, at most 32 of 4096 elements per lane.
for k in state halved; do
	set -- $(warps $k '')
	[ $# = 0 ] || fail "a carried tile of 64 x 64 is tried on $*"
	[ "$(block $k '')" = 128 ] || fail "$k: $(block $k '') threads"
done
"$HEXC" run "$prog" --kernel state --prove --exec=sim --check --arg 'K=random(1)[7,64]' --arg 'V=random(2)' >"$dir/out" 2>&1 ||
	fail "state: $(tail -3 "$dir/out")"
set -- $(warps wide '')
[ "$(printf '%s\n' "$@" | sort -n | tr '\n' ' ')" = "4 8 16 " ] || fail "a carried tile of 128 x 128 is tried on $*"
"$HEXC" run "$prog" --kernel wide --prove --exec=sim --check --arg 'K=random(1)[7,128]' --arg 'V=random(2)' >"$dir/out" 2>&1 ||
	fail "wide: $(tail -3 "$dir/out")"
for k in plain told pinned product; do
	# shellcheck disable=SC2086 # words
	[ -z "$(warps ${k%% *} "${k#"${k%% *}"}")" ] || fail "$k has a choice of warps"
done
[ "$(block plain '')" = 128 ] || fail "what reduces nothing: $(block plain '') threads"
[ "$(block told '')" = 64 ] || fail "told: $(block told '') threads"
block odd '' >/dev/null
grep idle "$dir/err" && fail "odd: warps that repeat what others do"

# If registers do not suffice for 4 warps, 8 are tried, or it is an error.
set -- $(warps attention '')
[ "$*" = "8 4" ] || fail "products beside a carried tile of 128 x 128 are best on $*"
[ "$(block attention '')" = 256 ] || fail "attention: $(block attention '') threads"
"$HEXC" run "$prog" --kernel attention --prove --exec=sim --check --arg 'Q=random(1)[70,128]' --arg 'K=random(2)' \
	--arg 'V=random(3)' >"$dir/out" 2>&1 || fail "attention: $(tail -3 "$dir/out")"
set -- $(warps sums '')
[ "$*" = 8 ] || fail "a sum of 128 x 256 is tried on $*"
"$HEXC" run "$prog" --kernel sums --prove --exec=sim --check --arg 'A=random(1)[130,40]' --arg 'B=random(2)[257,40]' \
	>"$dir/out" 2>&1 || fail "sums: $(tail -3 "$dir/out")"
"$HEXC" --emit-ptx "$prog" --kernel sums -D BM=256 -o "$dir/p" 2>"$dir/err" && fail "a sum of 256 x 256 fits"
grep -q 'use more WARPS (now 4)' "$dir/err" || fail "a sum of 256 x 256: $(head -1 "$dir/err")"

n=0
each() { # DEFINES: all candidates of the row are correct
	# shellcheck disable=SC2086 # words
	for line in $("$HEXC" candidates "$prog" --kernel row $1 | sed -n 's/^ *\([0-9]*\) .*cycles  \([0-9]*\) warps;.*/\1:\2/p'); do
		c=${line%:*} w=${line#*:} n=$((n + 1))
		[ "$(block row "$1 --candidate $c")" = $((w * 32)) ] ||
			fail "$1 candidate $c of $w warps: $(block row "$1 --candidate $c") threads"
		# shellcheck disable=SC2086 # words
		"$HEXC" run "$prog" --kernel row $1 --candidate "$c" --prove --exec=sim --check $row >"$dir/out" 2>&1 ||
			fail "$1 candidate $c: $(tail -3 "$dir/out")"
	done
}
each ''
row="--arg X=random(1)[3,1000] --arg G=random(2) --arg eps=1e-5"
each '-D BN=1024'
"$HEXC" --emit-ptx "$prog" --kernel row -o "$dir/p" && "$HEXC" --emit-ptx "$prog" --kernel row --paranoid -o "$dir/q" &&
	cmp -s "$dir/p" "$dir/q" || fail "other PTX by way of the IR's text"
"$HEXC" explain "$prog" --kernel row >"$dir/out" && grep -q '^  chosen [0-9]*; alternative [0-9]* (candidate ' "$dir/out" ||
	fail "not explained: $(head -1 "$dir/out")"
"$HEXC" explain "$prog" --kernel row --json "$dir/out" >"$dir/text" && grep -q '"open_warps"' "$dir/out" || fail "not in JSON"
echo "$n candidates"
exit $bad
