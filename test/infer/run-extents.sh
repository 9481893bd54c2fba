#!/bin/sh
# Rows with odd factors in their length cost about as much as rows of the next power of two: executed PTX
# instructions per element, counted by the simulator over all threads. No kernel spills for either length.
#
# A line of the list: kernel; rows of a block of the shortest length; maximum instructions per element at 4096 and
# at 200; maximum shuffles of a block of 4096. For 4 elements a sum needs a load and four additions, and 5 shuffles
# for each of 4 warps. A scan passes over each element twice. It redistributes a lane's vector to other lanes and
# back through shared memory. It needs one more shuffle, for the prefix. A length may take 150 % of the instructions
# of the next power of two. Unused registers past the end of a row are not initialized, and loads fill in the value
# of a mask (pass oob_fill). Contiguous rows use 16-byte accesses, and each sector is requested and stored once. On
# sm_90a the rows have an odd pitch, and accesses are by element.
set -u
. test/script.sh
prog=$here/extents/rows.hexc
ran=0
# LLVM 19 emits a move for each operand of an access; ptxas removes it
moves=0
"$HEXC" --version | grep -q 'LLVM 19' && moves=4

count() { # NAME: the first number of that name in the statistics
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" "$dir/s" | head -n 1
}

shape() { # PITCH ROWS: sets $shape for kernels that have these constants
	shape="-D R=$2 -D PITCH=$1"
	case $prog in *parts*) shape= ;; esac
}

run() { # KERNEL N ROWS ARCH ODD: sets $each to instructions per element, in thousandths
	mask=
	[ "$1" = masked ] && mask="--arg K=randint(2,0,1)"
	# shellcheck disable=SC2086 # words
	shape $(($2 + $5)) "$3"
	# shellcheck disable=SC2086 # words
	if ! "$HEXC" run "$prog" --kernel "$1" -D N="$2" $shape --arch "$4" --exec=sim --check \
		--prove --stats "$dir/s" --arg "X=random(1)[$3,$2]" $mask >"$dir/o" 2>&1; then
		echo "$1 of $3 by $2, $4: $(cat "$dir/o")"
		bad=1
	fi
	each=$(($(count thread_instructions) * 1000 / ($3 * $2)))
	ran=$((ran + 1))
}

# Checks that no kernel spills for rows of this length.
spills() { # N ROWS ARCH ODD
	command -v ptxas >/dev/null || return 0
	shape $(($1 + $4)) "$2"
	# shellcheck disable=SC2086 # words
	"$HEXC" --emit-ptx "$prog" -D N="$1" $shape --arch "$3" -o "$dir/p" &&
		ptxas -arch="$3" -v "$dir/p" -o "$dir/c" >"$dir/v" 2>&1 || bad=1
	grep 'spill stores' "$dir/v" | grep -v ' 0 bytes spill stores, 0 bytes spill loads' >"$dir/w" &&
		fail "rows of $1, $3: $(cat "$dir/w")"
}

compare() { # KERNEL N NEXT ROWS ARCH ODD: instructions per element at N, compared with NEXT
	run "$1" "$3" "$4" "$5" "$6"
	whole=$each
	if [ "$3 $5" = '4096 sm_80' ]; then
		[ "$each" -le $(((most + moves) * 1000)) ] || fail "$1 of 4096: $each / 1000 instructions an element, not $most"
		[ "$(count shfl)" -le "$shuffles" ] || fail "$1 of 4096: $(count shfl) shuffles, not $shuffles"
	fi
	run "$1" "$2" "$4" "$5" "$6"
	[ $((100 * each)) -le $((150 * whole)) ] ||
		fail "$1 of $4 by $2, $5: $each / 1000 instructions an element, of $3 $whole: more than 150 % of that"
	[ -z "${PRINT-}" ] || echo "$1 $4 $2 $each $3 $whole $5 $6"
}

once() { # WHAT PERCENT: maximum requests per distinct sector, for loads and stores
	for way in read written; do
		asked=$(count global_sectors_$way) least=$(count grid_sectors_$way)
		[ $((100 * asked)) -le $(($2 * least)) ] || fail "$1: $asked sectors $way, of $least"
	done
}

for pitch in 'sm_80 0' 'sm_90a 1'; do
	for n in 200 1000 2880 4304 11008; do
		# shellcheck disable=SC2086 # words
		spills "$n" 1 $pitch
	done
done
while read -r kernel rows most short shuffles; do
	for pair in '200 256' '1000 1024' '2880 4096' '4304 8192' '11008 16384'; do
		# shellcheck disable=SC2086 # words
		compare "$kernel" $pair 1 sm_80 0
		once "$kernel of ${pair% *}" 105
	done
	for pair in '200 256' '4304 8192'; do
		# shellcheck disable=SC2086 # words
		compare "$kernel" $pair 1 sm_90a 1
	done
	compare "$kernel" 200 256 "$rows" sm_80 0
	case $kernel in
	total | largest) ;; # warps store one value for each row
	rms_norm | masked) once "$kernel of $rows by 200" 130 ;; # rows start in the middle of a sector
	*) once "$kernel of $rows by 200" 105 ;;
	esac
	[ "$each" -le $(((short + moves) * 1000)) ] ||
		fail "$kernel of $rows by 200: $each / 1000 instructions an element, not $short"
done <<END
rms_norm 16 10 12 20
softmax 16 10 14 40
total 16 3 6 20
largest 16 8 14 40
running 16 7 12 24
masked 16 11 18 24
folded 16 5 9 20
END
# Parts of a row, whose distribution over threads differs from the row's, go through shared memory once: no lane
# owns more than its share of the row. kernel; maximum instructions per element. Elementwise parts need two or three
# instructions each for the store and load in shared memory and for the masked final store; groups need twice that
# and a scan. At 200 each thread has one or two elements.
prog=$here/extents/parts.hexc
for n in 200 1000 2880 4304 11008; do
	spills "$n" 1 sm_80 0
	while read -r kernel most; do
		run "$kernel" "$n" 1 sm_80 0
		[ -z "${PRINT-}" ] || echo "$kernel $n $each"
		[ "$n" = 200 ] || [ "$each" -le $(((most + moves) * 1000)) ] ||
			fail "$kernel of $n: $each / 1000 instructions an element, not $most"
	done <<-END
		gated 8
		turned 12
		groups 26
	END
done
echo "$ran rows run"
exit $bad
