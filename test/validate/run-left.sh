#!/bin/sh
# Loops and branches that exit before any work (left.hexc): the simulator reports no race, and
# validate_barriers no missing barrier.
. test/script.sh
ran=0
for arch in sm_75 sm_80 sm_86 sm_90a sm_120a; do
	for kernel in found_then_tile tile_then_staging carried nested branches; do
		for n in 0 2; do
			case $kernel in
			carried | nested | branches) size="--arg N=$n" ;;
			*) size= && [ $n = 0 ] || continue ;;
			esac
			# shellcheck disable=SC2086 # words
			"$HEXC" run "$here/left.hexc" --kernel $kernel --arch $arch --exec=sim --prove \
				--arg 'X=randint(1,-9,9)' --arg 'FLAG=zeros' $size >"$dir/said" 2>&1
			rc=$?
			[ $rc = 0 ] || fail "$kernel on $arch, N = $n: status $rc: $(cat "$dir/said")"
			ran=$((ran + 1))
		done
	done
done
echo "$ran launches"
exit $bad
