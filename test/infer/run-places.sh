#!/bin/sh
# Tiles of which the program does not say where they live (places/*.hexc): every choice that was searched is right on
# the simulator, on all targets; the list is the same from run to run, and through the text form of the IR; the best
# choice is the one that `// places:` names.  Without their spaces, a GEMM and products with packed weights execute what
# the examples do.  By default every 13th candidate of each target; FULL=1 tries them all.
set -u
hexc=${HEXC:-build/hexc}
here=$(dirname "$0")
step=13
[ "${FULL:-0}" = 1 ] && step=1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail=0 ran=0

bad() {
	echo "$*"
	fail=1
}

# ---- every choice is right ----------------------------------------------------------------------------------

for f in "$here"/places/*.hexc; do
	args=
	for a in $(sed -n '1s|^// run: ||p' "$f"); do
		args="$args --arg $a"
	done
	want=$(sed -n 's|^// places: ||p' "$f")
	"$hexc" --emit-ptx "$f" --candidate 1 -o "$tmp/ptx" && "$hexc" --emit-ptx "$f" --candidate 1 --paranoid -o "$tmp/again" &&
		cmp -s "$tmp/ptx" "$tmp/again" || bad "$f: other PTX by way of the IR's text"
	for arch in sm_75 sm_80 sm_86 sm_89 sm_90a; do
		"$hexc" candidates "$f" --arch $arch >"$tmp/list" 2>"$tmp/err" ||
			bad "$f $arch: $(head -2 "$tmp/err")"
		"$hexc" candidates "$f" --arch $arch >"$tmp/again" 2>&1
		cmp -s "$tmp/list" "$tmp/again" || bad "$f $arch: another list the second time"
		if [ $arch = sm_80 ] && [ -n "$want" ] && ! head -1 "$tmp/list" | grep -q "cycles  $want; "; then
			bad "$f: expected $want, not $(head -1 "$tmp/list")"
		fi
		n=$(grep -c cycles "$tmp/list")
		[ "$n" -gt 1 ] || bad "$f $arch: $n candidates"
		i=0
		# the best, the best of each choice, and a sample
		awk -v s=$step '{ key = $0; sub(/.*cycles  /, "", key); sub(/;.*/, "", key)
			if (NR % s == 1 % s || !(key in seen)) print $1; seen[key] = 1 }' "$tmp/list" >"$tmp/which"
		while read -r i; do
			# shellcheck disable=SC2086
			"$hexc" run "$f" --arch $arch --exec=sim --check --prove --candidate "$i" $args >"$tmp/out" 2>&1 ||
				grep -q 'bytes of shared memory, a block has' "$tmp/out" ||
				bad "$f $arch candidate $i: $(tail -3 "$tmp/out")"
			ran=$((ran + 1))
		done <"$tmp/which"
	done
done

# ---- as good as with spaces ---------------------------------------------------------------------------------

counts() { # arguments of hexc run: what was executed, by class
	"$hexc" run "$@" --exec=sim --check --stats "$tmp/stats" >"$tmp/out" 2>&1 || bad "$*: $(tail -2 "$tmp/out")"
	sed -n '/"instructions"/,/"blocks"/p' "$tmp/stats" | tr -d ' \t\n'
}

# example, then arguments: without its spaces it executes as much of everything
same() {
	example=$1
	shift
	sed -e 's/: shared = \([A-Z]\)/ = \1/g' -e 's/: register = \([A-Z]*\[\)/ = \1/g' "examples/$example.hexc" >"$tmp/free.hexc"
	grep -Eq ': (shared|register) = [A-Z]+\[' "$tmp/free.hexc" && bad "$example: spaces are left"
	[ "$(counts "examples/$example.hexc" "$@")" = "$(counts "$tmp/free.hexc" "$@")" ] ||
		bad "$example $*: not as with spaces: $("$hexc" candidates "$tmp/free.hexc" 2>&1 | head -1)"
}

# what a host is told: packs, shared memory, grid
told() {
	"$hexc" --emit-ptx "$@" --manifest "$tmp/manifest" -o "$tmp/ptx" || bad "$*: no manifest"
	grep -v '"text"\|"cycles"\|"source"\|"candidates"' "$tmp/manifest"
}

for arch in sm_80 sm_86 sm_89 sm_90a; do
	same gemm_f16 --arch $arch --arg 'A=random(1)[130,128]' --arg 'B=random(2)[130,128]'
done
for w in u1 u2 i3 u4 u5 i6 u8 e2m1 e3m2 e4m3; do
	for bm in 8 16; do
		same decode_wNa16 --kernel decode -D WEIGHT=$w -D BM=$bm --arg PARTS=1 --arg 'A=random(1)[5,128]' \
			--arg 'W=randint(2,0,1)[256,128]' --arg 'S=random(3)[1,256]'
	done
done
sed 's/: register = W/ = W/' examples/decode_wNa16.hexc >"$tmp/decode_wNa16.hexc"
[ "$(told examples/decode_wNa16.hexc)" = "$(told "$tmp/decode_wNa16.hexc")" ] || bad "decode_wNa16: another manifest"
echo "$ran candidates run"
exit $fail
