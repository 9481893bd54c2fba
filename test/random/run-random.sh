#!/bin/sh
# Random programs: each candidate of each gives on the simulator what the tile interpreter gives, or
# the program is refused with a reason that says what to do about it.  Programs are those of seeds
# FIRST (1) and up, 140 of them (QUICK=1: 20) or as many as NIGHTLY says; of each at most CANDIDATES (6) are run,
# the first ones.  Then those of loops of products behind each other, half as many, with candidates from all of the
# list, whose first ones are much alike, and in front of them some that found mistakes.  KIND=any, KIND=loops: only
# these, NIGHTLY of them.
# With EXEC=gpu programs for another GPU than the one here are left out, and counted.
# Those that fail are kept in the directory KEEP, if that is set: `gen SEED`, `gen SEED loops` write the same
# program everywhere.
set -u
. test/script.sh
first=${FIRST:-1}
count=${NIGHTLY:-$([ -z "${QUICK:-}" ] && echo 140 || echo 20)}
most=${CANDIDATES:-6}
trap 'exit 130' INT TERM
${CC:-cc} -std=c11 -O1 "$here"/gen*.c -lm -o "$dir/gen" || exit 1
p=$dir/p.hexc
# Good reasons: the program asks for more than there is, and the message says what to do.
good='registers of a lane|shared memory|one at a time: .*assume|in whole bytes: .*(assume|must be multiples)'
good=$good'|cast to f32 first|tensors would take more than 4096 MiB'
right=0 refused=0 failed=0 ran=0 elsewhere=0

bad() { # what
	echo "seed $seed${kind:+ $kind}: $1"
	head -n 20 "$dir/out"
	failed=$((failed + 1))
	[ -z "${KEEP:-}" ] || cp "$p" "$KEEP/$seed${kind:+-$kind}.hexc"
}

refuse() {
	refused=$((refused + 1))
	sed -n 's/.*error: //p' "$dir/out" | head -n 1 >>"$dir/reasons"
}

one() {
	# shellcheck disable=SC2086
	"$dir/gen" "$seed" $kind >"$p" || { : >"$dir/out"; bad "the generator failed"; return; }
	arch=$(sed -n 's|^// arch: ||p' "$p")
	runs_here "$arch" || { elsewhere=$((elsewhere + 1)); return; }
	args=
	for a in $(sed -n '1s|^// run: ||p' "$p"); do
		args="$args --arg $a"
	done
	timeout 60 "$HEXC" candidates "$p" --arch "$arch" >"$dir/out" 2>&1
	rc=$?
	n=$(grep -c 'cycles' "$dir/out")
	if [ $rc = 1 ] && grep -Eq "error: .*($good)" "$dir/out"; then
		refuse
		return
	elif [ $rc != 0 ]; then
		bad "candidates, status $rc"
		return
	fi
	# of loops as far apart as they can be, the last one too
	by=1
	[ -z "$kind" ] || [ "$n" -le "$most" ] || by=$(((n - 1) / (most > 1 ? most - 1 : 1)))
	[ "$n" -le "$most" ] || n=$most
	j=0
	while [ $j -lt "$n" ]; do
		i=$((j * by))
		timeout 60 "$HEXC" run "$p" --arch "$arch" --exec="${EXEC:-sim}" --check --prove \
			--candidate $i $args >"$dir/out" 2>&1
		rc=$?
		if [ $rc = 2 ] && grep -q 'error: sm_.* needs LLVM' "$dir/out"; then # an older one
			refuse
			return
		fi
		if [ $rc = 1 -o $rc = 4 ] && grep -Eq "error: .*($good)" "$dir/out"; then
			refuse
			return
		fi
		# these programs write parts of their outputs: what is written was judged
		[ $rc != 3 -a $rc != 5 ] || grep -Ev ': right$|: NOT JUDGED, the program leaves [0-9]* of' "$dir/out" |
			grep -Eq 'largest absolute error|fault: ' || rc=0
		[ $rc = 0 ] || { bad "candidate $i, status $rc"; return; }
		ran=$((ran + 1))
		j=$((j + 1))
	done
	right=$((right + 1))
}

all() { # as many as
	seed=$first
	while [ "$seed" -lt $((first + $1)) ]; do
		one
		seed=$((seed + 1))
	done
}

# 183: versions of an arrival without end;  439: a refusal of roles without loops of products
found='183 439'

case ${KIND:-} in
any) kind= && all "$count" ;;
loops) kind=loops && all "$count" ;;
*)
	kind= && all "$count"
	kind=loops
	for seed in $found; do
		one
	done
	all $((count / 2))
	;;
esac
[ ! -s "$dir/reasons" ] || sed 's/[0-9][0-9]*/N/g' "$dir/reasons" | sort | uniq -c
echo "$right programs right with $ran candidates, $refused refused with a reason, $failed wrong$([ $elsewhere = 0 ] || echo ", $elsewhere for other GPUs")"
[ $failed = 0 ]
