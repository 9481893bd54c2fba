#!/bin/sh
# Tiles with an unspecified memory space (spaces/*.hexc). Every searched choice is correct on the simulator, on all
# targets. The list is deterministic, and unchanged by the text form of the IR. The best choice is the one in `//
# spaces:`. A GEMM and GEMMs with packed weights execute the same instructions as the examples if their spaces are
# removed. By default a sample of the candidates of each target; FULL=1: all.
set -u
. test/script.sh
step=37
[ -z "${QUICK:-}" ] || step=101
[ "${FULL:-0}" = 1 ] && step=1
ran=0

# ---- every choice is correct ----------------------------------------------------------------------------------

for f in "$here"/spaces/*.hexc; do
	args=
	for a in $(sed -n '1s|^// run: ||p' "$f"); do
		args="$args --arg $a"
	done
	want=$(sed -n 's|^// spaces: ||p' "$f")
	"$HEXC" --emit-ptx "$f" --candidate 1 -o "$dir/ptx" && "$HEXC" --emit-ptx "$f" --candidate 1 --paranoid -o "$dir/again" &&
		cmp -s "$dir/ptx" "$dir/again" || fail "$f: other PTX by way of the IR's text"
	for arch in sm_75 sm_80 sm_86 sm_89 sm_90a; do
		"$HEXC" candidates "$f" --arch $arch >"$dir/list" 2>"$dir/err"
		rc=$?
		# b alone exceeds the capacity
		case $f:$arch in */large.hexc:sm_75 | */large.hexc:sm_8[69])
			grep -q 'needs 163840 bytes of shared memory, a block has' "$dir/err" ||
				fail "$f $arch: $(head -2 "$dir/err")"
			continue ;;
		esac
		[ $rc = 0 ] ||
			fail "$f $arch: $(head -2 "$dir/err")"
		"$HEXC" candidates "$f" --arch $arch >"$dir/again" 2>"$dir/err"
		cmp -s "$dir/list" "$dir/again" || fail "$f $arch: another list the second time"
		if [ $arch = sm_80 ] && [ -n "$want" ] && ! head -1 "$dir/list" | grep -qF "cycles  $want; "; then
			fail "$f: expected $want, not $(head -1 "$dir/list")"
		fi
		n=$(grep -c cycles "$dir/list")
		[ "$n" -gt 1 ] || fail "$f $arch: $n candidates"
		i=0
		case $arch in sm_80 | sm_90a) each=1 ;; *) each=0 ;; esac
		# the best, the best of each choice, and a sample
		awk -v s=$step -v each=$each '{ key = $0; sub(/.*cycles  /, "", key); sub(/;.*/, "", key)
			if (NR % s == 1 % s || each && !(key in seen)) print $1; seen[key] = 1 }' "$dir/list" >"$dir/which"
		while read -r i; do
			# shellcheck disable=SC2086
			"$HEXC" run "$f" --arch $arch --exec=sim --check --prove --candidate "$i" $args >"$dir/out" 2>&1 ||
				fail "$f $arch candidate $i: $(tail -3 "$dir/out")"
			ran=$((ran + 1))
		done <"$dir/which"
	done
done

# ---- declared spaces ----------------------------------------------------------------------------------------

# The space of a var or a let with a declared space is not searched.
for said in 'let sb: register = bf16(s), turned: register = sb.T' 'var sb: register = bf16(s), turned: register = sb.T' \
	'var sb: register = bf16(s * 2); sb = bf16(s); let turned: register = sb.T'; do
	sed "s/let sb = bf16(s), turned = sb.T/$said/" "$here/spaces/named.hexc" >"$dir/said.hexc"
	grep -qF "$said" "$dir/said.hexc" || fail "named.hexc has changed"
	"$HEXC" candidates "$dir/said.hexc" >"$dir/list" 2>&1 || fail "$said: $(head -2 "$dir/list")"
	grep -Eq 'sb (shared|registers)[,;]' "$dir/list" && fail "$said: $(head -1 "$dir/list")"
	"$HEXC" --emit-ptx "$dir/said.hexc" -o "$dir/ptx" && "$HEXC" --emit-ptx "$dir/said.hexc" --paranoid -o "$dir/again" &&
		cmp -s "$dir/ptx" "$dir/again" || fail "$said: other PTX by way of the IR's text"
done

# The other operand is loaded after the barrier of the stored tile: before it, all of it would be in registers.
"$HEXC" --emit-ptx "$here/programs/packed_fma.hexc" -o "$dir/ptx" 2>"$dir/err"
"$HEXC" candidates "$here/programs/packed_fma.hexc" 2>/dev/null | head -1 | grep -qF 'tile shared;' || fail "packed_fma: not shared"
grep -q 'no-spill' "$dir/err" && fail "packed_fma: $(head -1 "$dir/err")"

# ---- as good as with spaces ---------------------------------------------------------------------------------

counts() { # arguments of hexc run: prints executed instructions by class
	"$HEXC" run "$@" --exec=sim --check --stats "$dir/stats" >"$dir/out" 2>&1 || fail "$*: $(tail -2 "$dir/out")"
	sed -n '/"instructions"/,/"blocks"/p' "$dir/stats" | tr -d ' \t\n'
}

# example, then arguments: without its spaces it executes the same number of each class
same() {
	example=$1
	shift
	sed -e 's/: shared = \([A-Z]\)/ = \1/g' -e 's/: register = \([A-Z]*\[\)/ = \1/g' "examples/$example.hexc" >"$dir/free.hexc"
	grep -Eq ': (shared|register) = [A-Z]+\[' "$dir/free.hexc" && fail "$example: spaces are left"
	[ "$(counts "examples/$example.hexc" "$@")" = "$(counts "$dir/free.hexc" "$@")" ] ||
		fail "$example $*: not as with spaces: $("$HEXC" candidates "$dir/free.hexc" 2>&1 | head -1)"
}

# the manifest for a host: packs, shared memory, grid
told() {
	"$HEXC" --emit-ptx "$@" --manifest "$dir/manifest" -o "$dir/ptx" || fail "$*: no manifest"
	grep -v '"text"\|"cycles"\|"source"\|"candidates"' "$dir/manifest"
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
sed 's/: register = W/ = W/' examples/decode_wNa16.hexc >"$dir/decode_wNa16.hexc"
[ "$(told examples/decode_wNa16.hexc)" = "$(told "$dir/decode_wNa16.hexc")" ] || fail "decode_wNa16: another manifest"
echo "$ran candidates run"
exit $bad
