#!/bin/sh
# Rows whose lengths have odd factors cost about what the next power of two costs: instructions of PTX that threads
# execute, by the simulator's count, an element.  What is taken does not spill.
#
# A line: kernel; instructions an element at 4096 at most; shuffles of a block there at most.  For 4 elements a sum takes
# a load and four additions, and 5 shuffles for each of 4 warps; a scan passes each element twice, and has one shuffle
# more, as what comes before is handed on.  With a mask of bytes a lane has 8 neighbours, and groups change lanes.  Of
# what the next power of two takes a length may take 150 %: nothing is put into registers behind the end of a row that
# nobody looks at, and what a mask would put there the load does (pass outside).
set -u
. test/script.sh
prog=$here/extents/rows.hexc
ran=0
# LLVM 19 writes a move for each operand of an access, which ptxas takes away
moves=0
"$HEXC" --version | grep -q 'LLVM 19' && moves=3

count() { # NAME: the first number of that name in the statistics
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" "$dir/s" | head -n 1
}

run() { # KERNEL N: instructions in thousandths an element, in $each
	mask=
	[ "$1" = masked ] && mask="--arg K=randint(2,0,1)"
	# shellcheck disable=SC2086 # words
	if ! "$HEXC" run "$prog" --kernel "$1" -D N="$2" --exec=sim --check --prove --stats "$dir/s" --ptx "$dir/p" \
		--arg "X=random(1)[2,$2]" $mask >"$dir/o" 2>&1; then
		echo "$1 of $2: $(cat "$dir/o")"
		bad=1
	fi
	each=$(($(count thread_instructions) * 1000 / (2 * $2)))
	ran=$((ran + 1))
	command -v ptxas >/dev/null || return 0
	ptxas -arch=sm_80 -v "$dir/p" -o "$dir/c" >"$dir/v" 2>&1
	grep -q ' 0 bytes spill stores, 0 bytes spill loads' "$dir/v" || fail "$1 of $2: $(grep spill "$dir/v")"
}

while read -r kernel most shuffles; do
	for pair in '200 256' '1000 1024' '2880 4096' '11008 16384'; do
		# shellcheck disable=SC2086 # words
		set -- $pair
		run "$kernel" "$2"
		whole=$each
		if [ "$2" = 4096 ]; then
			[ "$each" -le $(((most + moves) * 1000)) ] || fail "$kernel of 4096: $each / 1000 instructions an element, not $most"
			[ "$(count shfl)" -le $((2 * shuffles)) ] || fail "$kernel of 4096: $(count shfl) shuffles, not 2 * $shuffles"
		fi
		run "$kernel" "$1"
		[ $((100 * each)) -le $((150 * whole)) ] ||
			fail "$kernel of $1: $each / 1000 instructions an element, of $2 $whole: more than 150 % of that"
		[ -z "${PRINT-}" ] || echo "$kernel $1 $each $2 $whole"
	done
done <<END
rms_norm 10 20
softmax 10 40
total 3 20
largest 8 40
running 6 24
masked 13 304
folded 4 20
END
echo "$ran rows run"
exit $bad
