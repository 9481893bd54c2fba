#!/bin/sh
# On targets with TMA and wgmma, the search tries pipeline loops with dots multistage (groups) and warp-specialized
# (roles, roles2). There is one ranked list. Every solution is correct, and --schedule selects a schedule.
. test/script.sh
gemm=examples/gemm_f16.hexc
hopper="--arch sm_90a"

# first SCHEDULE FILE OPTIONS: the index of the best candidate of that schedule
first() {
	schedule=$1
	shift
	# shellcheck disable=SC2086 # words
	"$HEXC" candidates "$@" $hopper | sed -n "s/^ *\([0-9]*\) .* cycles  $schedule[ ;].*/\1/p" | head -n 1
}
# refused REASON FILE OPTIONS: expects an error of the program with this reason
refused() {
	why=$1
	shift
	"$HEXC" --emit-ptx "$@" -o "$dir/p" 2>"$dir/err"
	[ $? = 1 ] || fail "$*: not an error of the program"
	grep -q "error: .*$why" "$dir/err" || fail "$*: $(cat "$dir/err")"
}

# Large tiles are best warp-specialized, the more the wider they are; for few rows all warps should load.
for tile in '-D BN=256 -D WARPS=8 -D BK=64' '-D WARPS=8 -D BK=64 -D STAGES=4'; do
	# shellcheck disable=SC2086 # words
	[ "$(first roles $gemm $tile)" = 0 ] || fail "$tile: not best in roles"
	# shellcheck disable=SC2086 # words
	[ "$(first groups $gemm $tile)" -gt 0 ] || fail "$tile: not tried in groups"
done
# With a single consumer warpgroup the tensor cores are idle during its stores, unless it alternates with another.
for tile in '-D BM=128' '-D BM=64 -D BN=256 -D BK=64'; do
	# shellcheck disable=SC2086 # words
	[ "$(first roles2 $gemm $tile)" = 0 ] && [ "$(first roles $gemm $tile)" -gt 0 ] || fail "$tile: not best in turns"
done
for tile in '-D BM=16 -D BN=64' '-D BM=16 -D BN=32'; do
	# shellcheck disable=SC2086 # words
	[ "$(first groups $gemm $tile)" = 0 ] || fail "$tile: best in roles"
done
cost() { # OPTIONS: predicted cycles
	# shellcheck disable=SC2086 # words
	"$HEXC" candidates $gemm $hopper "$@" | sed -n '1s/^ *0 *\([0-9]*\) cycles.*/\1/p'
}
for tile in '-D BK=64 -D WARPS=8' '-D BK=64 -D WARPS=8 -D BN=256'; do
	# shellcheck disable=SC2086 # words
	groups=$(cost $tile --schedule groups) roles=$(cost $tile --schedule roles)
	[ "$((groups * 10))" -gt "$((roles * 12))" ] || fail "$tile: roles $roles, groups $groups cycles"
done

# setmaxnreg allows as many blocks per SM as predicted, and all roles together use at most the registers of the
# launch: 4 + 4 warps, 4 of them with 40 registers per lane. ptxas stays within that, without spills.
share() { # BLOCKS OPTIONS
	blocks=$1
	shift
	"$HEXC" --emit-ptx $gemm $hopper --schedule roles "$@" -o "$dir/p"
	"$HEXC" candidates $gemm $hopper --schedule roles "$@" --json >"$dir/json"
	[ "$(sed -n 's/.*"blocks_together":[^0-9]*\([0-9]*\).*/\1/p' "$dir/json" | head -n 1)" = "$blocks" ] ||
		fail "$*: not $blocks blocks together"
	launch=$(sed -n 's/^\.maxnreg \([0-9]*\).*/\1/p' "$dir/p")
	more=$(sed -n 's/.*setmaxnreg\.inc.* \([0-9]*\);.*/\1/p' "$dir/p")
	[ "$((launch * 8 * 32 * blocks))" -le 65536 ] || fail "$*: $launch registers at the launch"
	[ "$((4 * 40 + 4 * ${more:-$launch}))" -le "$((8 * launch))" ] || fail "$*: $more registers handed on of $launch"
	command -v ptxas >/dev/null || return 0
	ptxas -arch=sm_90a -v "$dir/p" -o "$dir/c" >"$dir/v" 2>&1 || fail "ptxas: $(tail -3 "$dir/v")"
	grep -q " 0 bytes spill stores" "$dir/v" && grep -q "Used $launch registers" "$dir/v" && ! grep -q C75 "$dir/v" ||
		fail "$*: $(cat "$dir/v")"
}
share 2 -D BM=128
share 4 -D BM=64 -D BN=64
share 1 -D BM=64 -D BN=256 # wgmma with n = 256 needs more registers at launch than two blocks per SM allow

# A candidate index selects the same solution with and without --schedule.
same() { # SCHEDULE
	"$HEXC" --emit-ptx $gemm $hopper --candidate "$(first "$1" $gemm)" -o "$dir/p" &&
		"$HEXC" --emit-ptx $gemm $hopper --schedule "$1" -o "$dir/q" && cmp -s "$dir/p" "$dir/q" ||
		fail "--schedule $1 is not the best candidate with $1"
	"$HEXC" --emit-ptx $gemm $hopper --schedule "$1" --paranoid -o "$dir/p" && cmp -s "$dir/p" "$dir/q" ||
		fail "--schedule $1: other PTX by way of the IR's text"
	[ "$(grep -c wgmma.mma_async "$dir/q")" -gt 0 ] && found=roles || found=groups
	[ "$found" = "${1%2}" ] || fail "--schedule $1 gives $found"
	"$HEXC" candidates $gemm $hopper --schedule "$1" | grep -q 'groups;\|roles2* ' && fail "--schedule $1 leaves a choice"
}
same groups
same roles
same roles2
"$HEXC" candidates $gemm | grep -q groups && fail "sm_80 has a choice"
"$HEXC" --emit-ptx $gemm -o "$dir/p" && "$HEXC" --emit-ptx $gemm --schedule groups -o "$dir/q" && cmp -s "$dir/p" "$dir/q" ||
	fail "sm_80: --schedule groups is another"

# The chosen schedule, the cost of the other, or the reason why there is none.
"$HEXC" explain $gemm $hopper --json "$dir/json" >"$dir/out" || fail "explain"
grep -A 1 '^schedule$' "$dir/out" | grep -q "^  roles2; alternative roles (candidate $(first roles $gemm), +[0-9.]* %)" ||
	fail "explain: $(grep -A 1 '^schedule$' "$dir/out")"
json() {
	tr -d '\n\t' <"$dir/json"
}
json | grep -q '"schedule":{"taken":"roles2","runner_up":{"candidate":[0-9]*,"cycles":' || fail "not in JSON"
# rows from a table that the loop writes
cat >"$dir/at.hexc" <<'EOF'
kernel at(A: f16[M, K], B: f16[N, K], I: inout i32[M], C: out f16[M, N])
    assume K % 8 == 0, N % 8 == 0
{
    grid(ceil(M, 64), ceil(N, 64));
    let m = block.x * 64, n = block.y * 64;
    var acc: register f32[64, 64] = 0;
    pipeline k in 0..K step 64 stages 3 {
        let row: register = I[m :+ 64];
        let a: shared = A[row, k :+ 64], b: shared = B[n :+ 64, k :+ 64];
        acc += dot(a, b.T);
        I[m :+ 64] = row + 1;
    }
    C[m :+ 64, n :+ 64] = f16(acc);
}
EOF
"$HEXC" explain "$dir/at.hexc" $hopper --json "$dir/json" >"$dir/out" || fail "explain at"
grep -A 1 '^schedule$' "$dir/out" | grep -q "^  groups; no roles: a copy's address depends on the loop's computation, or the copy is conditional" ||
	fail "explain: $(grep -A 1 '^schedule$' "$dir/out")"
json | grep -q '"schedule":{"taken":"groups","no_roles":"a copy.s address depends on the loop.s computation' || fail "no reason in JSON"
"$HEXC" --emit-ptx $gemm $hopper --remarks -o "$dir/p" -D BM=16 -D BN=64 2>"$dir/err"
grep -q 'remark: loop is not warp-specialized: candidate [0-9]* does; .*\[-W no-roles\]' "$dir/err" || fail "no remark: $(cat "$dir/err")"
"$HEXC" --emit-ptx "$dir/at.hexc" $hopper --remarks -o "$dir/p" 2>"$dir/err"
grep -q "remark: loop is not warp-specialized: a copy's address depends" "$dir/err" || fail "no remark: $(cat "$dir/err")"
"$HEXC" --emit-ptx $gemm --remarks -o "$dir/p" 2>&1 | grep -q '\[-W no-roles\]' && fail "sm_80 has a remark on roles"

refused 'mbarriers and bulk copies, which sm_90a, sm_100a and sm_120a have, but not sm_80' $gemm --schedule roles
refused 'cannot have the schedule roles: a pipeline loop has one stage' $gemm $hopper --schedule roles -D STAGES=1
refused "cannot have the schedule roles: a copy's address depends" "$dir/at.hexc" $hopper --schedule roles
refused 'has explicit roles and cannot have the schedule' examples/gemm_roles.hexc $hopper --schedule groups
"$HEXC" --emit-ptx examples/gemm_roles.hexc $hopper --schedule roles -o "$dir/p" || fail "roles that are written are none"
refused 'cannot have the schedule roles2: pingpong consumers of more than one warpgroup' $gemm $hopper --schedule roles2 -D WARPS=8
"$HEXC" --emit-ptx $gemm $hopper --schedule roles3 2>"$dir/err"
[ $? = 2 ] || fail "a schedule that is none"

# All of them are bit-exact.
n=0
for tile in '' '-D BN=256 -D WARPS=8' '-D BM=16' '-D BM=64 -D BN=64'; do
	# shellcheck disable=SC2086 # words
	count=$("$HEXC" candidates $gemm $hopper $tile | grep -c cycles)
	i=0
	while [ "$i" -lt "$count" ]; do
		# shellcheck disable=SC2086 # words
		"$HEXC" run $gemm $hopper $tile --candidate "$i" --prove --exec=sim --check \
			--arg 'A=randint(1,-3,3)[140,200]' --arg 'B=randint(2,-3,3)[136,200]' >"$dir/out" 2>&1 &&
			grep -q 'largest absolute error 0,' "$dir/out" || fail "$tile candidate $i: $(tail -3 "$dir/out")"
		i=$((i + 1)) n=$((n + 1))
	done
done
# A loop of one iteration is removed with warp roles: its loads precede the next loop, each
# with its own code versions.
cat >"$dir/two.hexc" <<'END'
kernel two(A: f16[M, K], B: f16[N, K], S: f16[16, K], Y: out f32[M, N])
    const WARPS = 4
{
    grid(ceil(M, 64), ceil(N, 64));
    var s: register f16[16, 64] = 0;
    pipeline k in 0..64 step 64 stages 2 {
        let t: shared = S[0 :+ 16, k :+ 64];
        s += t;
    }
    var c: register f32[64, 64] = 0;
    pipeline k in 0..K step 64 stages 2 {
        let a: shared = A[block.x * 64 :+ 64, k :+ 64];
        let b: shared = B[block.y * 64 :+ 64, k :+ 64];
        c += dot(a, b.T);
    }
    Y[block.x * 64 :+ 64, block.y * 64 :+ 64] = c + sum(sum(f32(s), 1), 0);
}
END
(ulimit -v 4000000 && exec timeout 60 "$HEXC" candidates "$dir/two.hexc" $hopper) >"$dir/ranked" 2>&1
in_roles=$(sed -n 's/^ *\([0-9]*\) .* cycles  roles .*/\1/p' "$dir/ranked" | head -n 1)
[ "$in_roles" ] || fail "two loops: $(tail -3 "$dir/ranked")"
for i in ${in_roles:+0 $in_roles}; do
	for k in 128 100; do # rows of full chunks, and others
		"$HEXC" run "$dir/two.hexc" $hopper --candidate "$i" --prove --exec=sim --check --arg "A=randint(1,-3,3)[100,$k]" \
			--arg "B=randint(2,-3,3)[72,$k]" --arg "S=randint(3,-3,3)[16,$k]" >"$dir/out" 2>&1 &&
			grep -q 'largest absolute error 0,' "$dir/out" || fail "two loops, $k, candidate $i: $(tail -3 "$dir/out")"
		n=$((n + 1))
	done
done
# Two dots with the same register operand; an iteration leaves the second MMA in flight. After the loop its result
# must not be accessed before the wait.
cat >"$dir/twice.hexc" <<'END'
kernel twice(A: f16[M, K], B: i2[K, 64], Y: out f32[M, 64])
    const WARPS = 4
    assume K % 16 == 0
{
    grid(ceil(M, 32));
    var c: register f32[32, 64] = 0;
    pipeline k in 0..K step 32 stages 3 {
        let a: shared = A[block.x * 32 :+ 32, k :+ 32];
        let b: register = B[k :+ 32, 0 :+ 64];
        let w = f16(b) * 2;
        c += dot(a, w);
        c += dot(a, w);
    }
    Y[block.x * 32 :+ 32, 0 :+ 64] = c;
}
END
count=$("$HEXC" candidates "$dir/twice.hexc" $hopper | grep -c cycles) i=0
[ "$count" -gt 30 ] || fail "two products of a factor: $count candidates"
while [ "$i" -lt "$count" ]; do
	"$HEXC" run "$dir/twice.hexc" $hopper --candidate "$i" --prove --exec=sim --check --arg 'A=randint(1,-3,3)[33,48]' \
		--arg 'B=randint(2,-2,2)[48,64]' >"$dir/out" 2>&1 &&
		grep -q 'largest absolute error 0,' "$dir/out" || fail "two products of a factor, candidate $i: $(tail -3 "$dir/out")"
	i=$((i + 1)) n=$((n + 1))
done
# One accumulator of mma.sync and wgmma dots, in the same layout: each warpgroup computes its rows.
cat >"$dir/both.hexc" <<'END'
kernel both(A: f16[M, 64], B: u8[N, 64], C: f16[M, K], D: f16[N, K], Y: out f32[M, N])
    const WARPS = 8
{
    grid(ceil(M, 128), ceil(N, 16));
    var x: register f32[128, 16] = 0;
    pipeline k in 0..64 step 64 stages 3 {
        let b: shared = B[block.y * 16 :+ 16, k :+ 64];
        x += dot(A[block.x * 128 :+ 128, k :+ 64], (f16(b) - 4).T);
    }
    var y: register f32[128, 16] = 0;
    pipeline k in 0..K step 64 stages 3 {
        let c: shared = C[block.x * 128 :+ 128, k :+ 64], d: shared = D[block.y * 16 :+ 16, k :+ 64];
        y += dot(c, d.T);
    }
    Y[block.x * 128 :+ 128, block.y * 16 :+ 16] = x + y;
}
END
mixed=$("$HEXC" candidates "$dir/both.hexc" $hopper |
	sed -n 's/^ *\([0-9]*\) .* mma_m16n8k16[a-z0-9_]* warps 8x1.* wgmma[a-z0-9_]* n 16 warpgroups 2x1.*/\1/p' | head -n 3)
[ "$mixed" ] || fail "both kinds of products: no such candidate"
for i in $mixed; do
	"$HEXC" run "$dir/both.hexc" $hopper --candidate "$i" --prove --exec=sim --check --arg 'A=randint(1,-3,3)[128,64]' \
		--arg 'B=randint(2,0,9)[32,64]' --arg 'C=randint(3,-3,3)[128,128]' --arg 'D=randint(4,-3,3)[32,128]' >"$dir/out" 2>&1 &&
		grep -q 'largest absolute error 0,' "$dir/out" || fail "both kinds of products, candidate $i: $(tail -3 "$dir/out")"
	n=$((n + 1))
done
# Without wgmma: consumer warps read the tiles of TMA by ldmatrix, multiply by mma.sync, and release a stage after
# their last read, before the MMAs that use it.
for arch in $(archs | grep 'sm_1[0-9][0-9]'); do
	"$HEXC" candidates $gemm --arch "$arch" -D BM=64 -D BN=64 -D STAGES=4 >"$dir/out"
	grep -q ' cycles  roles ' "$dir/out" && grep -q ' cycles  groups;' "$dir/out" || fail "$arch: $(head -3 "$dir/out")"
	"$HEXC" explain $gemm --arch "$arch" >"$dir/says" || fail "$arch: explain"
	[ "$(grep -c 'does not yet generate tcgen05' "$dir/says")" = "$([ "$arch" = sm_100a ] && echo 1 || echo 0)" ] ||
		fail "$arch: $(grep tcgen05 "$dir/says")"
	count=$(grep -c cycles "$dir/out")
	for i in $([ "${FULL:-0}" = 1 ] && seq 0 $((count - 1)) || seq 0 3 $((count - 1))); do
		"$HEXC" run $gemm --arch "$arch" -D BM=64 -D BN=64 -D STAGES=4 --candidate "$i" --prove --exec=sim --check \
			--arg 'A=randint(1,-3,3)[140,200]' --arg 'B=randint(2,-3,3)[136,200]' >"$dir/out" 2>&1 &&
			grep -q 'largest absolute error 0,' "$dir/out" || fail "$arch candidate $i: $(tail -3 "$dir/out")"
		n=$((n + 1))
	done
	"$HEXC" --emit-ptx $gemm --arch "$arch" --schedule roles --cluster 1x1 -D BM=64 -D BN=64 -D STAGES=4 -o "$dir/p" ||
		fail "$arch: no roles"
	grep -E 'ldmatrix|mma\.sync|mbarrier\.arrive\.shared' "$dir/p" | sed 's/.*\(ldm\|mma\.s\|arrive\).*/\1/' | uniq | tr '\n' ' ' |
		grep -q 'ldm mma.s arrive mma.s' || fail "$arch: the arrival is not behind the last read, in front of products"
	! grep -q 'wgmma\|shared::cluster.global' "$dir/p" || fail "$arch: what it has not, or a call"
done
echo "$n candidates run"
exit $bad
