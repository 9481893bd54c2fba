#!/bin/sh
# Random programs: each candidate equals the tile interpreter on the simulator, or the program is rejected with a
# reason and a fix. The seeds are FIRST (1) and up: 140 programs (QUICK=1: 10), or NIGHTLY. For each, the first
# CANDIDATES (6) candidates run. Then come programs with consecutive loops of dots, half as many, preceded by some
# that found bugs. Their candidates are spread over the whole list, because the first ones are similar. KIND=any,
# KIND=loops: only these, NIGHTLY of them. With EXEC=gpu, programs for another GPU are skipped and counted. KEEP is
# a directory for failing programs: `gen SEED`, `gen SEED loops` write the same program on every machine.
set -u
. test/script.sh
first=${FIRST:-1}
count=${NIGHTLY:-$([ -z "${QUICK:-}" ] && echo 140 || echo 10)}
most=${CANDIDATES:-6}
trap 'exit 130' INT TERM
${CC:-cc} -std=c11 -O1 "$here"/gen*.c -lm -o "$dir/gen" || exit 1
p=$dir/p.hexc
# Good reasons: the program exceeds a capacity, and the message has a fix.
good='registers/thread|shared memory|one at a time: .*assume|in whole bytes: .*(assume|multiples of)'
good=$good'|cast to f32 first|the tensors need more than 4096 MiB'
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
	# for loops, as distant as possible, including the last one
	by=1
	[ -z "$kind" ] || [ "$n" -le "$most" ] || by=$(((n - 1) / (most > 1 ? most - 1 : 1)))
	[ "$n" -le "$most" ] || n=$most
	j=0
	while [ $j -lt "$n" ]; do
		i=$((j * by))
		timeout 60 "$HEXC" run "$p" --arch "$arch" --exec="${EXEC:-sim}" --check --prove \
			--candidate $i $args >"$dir/out" 2>&1
		rc=$?
		if [ $rc = 2 ] && grep -q 'error: sm_.* needs LLVM' "$dir/out"; then # an older LLVM
			refuse
			return
		fi
		if [ $rc = 1 -o $rc = 4 ] && grep -Eq "error: .*($good)" "$dir/out"; then
			refuse
			return
		fi
		# these programs write parts of their outputs: the written elements were checked
		[ $rc != 3 -a $rc != 5 ] || grep -Ev ': right$|: NOT CHECKED: the program leaves [0-9]* of' "$dir/out" |
			grep -Eq 'largest absolute error|fault: ' || rc=0
		[ $rc = 0 ] || { bad "candidate $i, status $rc"; return; }
		ran=$((ran + 1))
		j=$((j + 1))
	done
	right=$((right + 1))
}

all() { # number of programs
	seed=$first
	while [ "$seed" -lt $((first + $1)) ]; do
		one
		seed=$((seed + 1))
	done
}

# 183: unbounded versions of an arrival; 439: rejected roles without loops of dots
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
