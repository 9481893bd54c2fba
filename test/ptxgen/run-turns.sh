#!/bin/sh
# Division and modulo of loop counters (turns.hexc): all candidates, at sizes around those at which a counter wraps.
# The simulated PTX equals the tile interpreter. FULL=1: all targets.
. test/script.sh
n=0
archs=sm_80
[ -z "${FULL-}" ] || archs=$(archs)

right() { # KERNEL ARG...
	kernel=$1
	shift
	for arch in $archs; do
		last=$("$HEXC" candidates "$here/turns.hexc" --kernel "$kernel" --arch "$arch" | wc -l)
		[ "$last" -gt 0 ] || fail "$kernel: no candidates for $arch"
		c=0
		while [ $c -lt "$last" ]; do
			n=$((n + 1))
			"$HEXC" run "$here/turns.hexc" --kernel "$kernel" --arch "$arch" --candidate $c --prove --exec=sim --check "$@" \
				>"$dir/out" 2>&1 || fail "$kernel $* $arch candidate $c: $(tail -3 "$dir/out")"
			c=$((c + 1))
		done
	done
}

for columns in 192 2000 383; do
	right groups --arg "X=random(1)[5,$columns]" --arg 'S=random(2)'
done
for k in 31 97 64; do
	right pairs --arg "A=random(1)[33,$k]" --arg "B=random(2)[30,$k]"
done
for c in 31 64 100; do
	right taps --arg "X=random(1)[9,$c]" --arg 'W=random(2)' --arg 'Z=zeros[10,32]'
done
for c in 4 32 36 100; do
	right rows_of_taps --arg "X=random(1)[9,$c]" --arg 'W=random(2)' --arg 'Z=zeros[10,32]'
done
for c in 5 6 46 800; do
	right leaps --arg "X=random(1)[40,$c]" --arg 'Z=zeros[10,32]'
done
right staged --arg 'A=random(1)[33,97]' --arg 'W=randint(2,0,15)[40,97]'
echo "$n runs"
exit $bad
