#!/bin/sh
# Accesses to memory that need no barrier in between (apart.hexc): validate_barriers reports none missing, and
# the simulator no race. Candidates differ in the layouts and in the loops.
. test/script.sh
ran=0
candidates="0 1 2 3"

try() { # kernel argument...
	kernel=$1
	shift
	for arch in sm_80 sm_90a; do
		for candidate in $candidates; do
			"$HEXC" run "$here/apart.hexc" --kernel "$kernel" --arch $arch --exec=sim --check --prove \
				-W no-unwritten --candidate $candidate "$@" >"$dir/said" 2>&1
			rc=$?
			[ $rc = 0 ] || fail "$kernel on $arch, candidate $candidate, $*: status $rc: $(cat "$dir/said")"
			ran=$((ran + 1))
		done
	done
}

for n in 16 40 64; do
	try rest --arg "X=randint($n,-3,4)" --arg 'V=random(1)' --arg S=$n --arg M=32 --arg N=32
done
try halves --arg 'X=randint(1,-8,8)' --arg S=32
candidates="0 1" try outside --arg 'X=random(1)' --arg 'Y=random(2)' --arg m=20 --arg n=5
try never --arg 'X=random(1)' --arg 'Z=random(2)' --arg 'W=randint(1,0,9)' --arg Y=zeros --arg O=zeros --arg A=1 --arg B=40 --arg R=33 --arg C=2 --arg S=8
for candidate in 0 1 2 3; do
	"$HEXC" --emit-ptx "$here/apart.hexc" --kernel rings --arch sm_90a --prove -W unjudged --candidate $candidate \
		-o /dev/null >"$dir/said" 2>&1 && ! grep -q 'could not check' "$dir/said" ||
		fail "rings, candidate $candidate: $(cat "$dir/said")"
done
echo "$ran launches"
exit $bad
