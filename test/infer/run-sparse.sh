#!/bin/sh
# Dots with a structured-sparse operand, by pair of types, target and tile. Every candidate equals the tile
# interpreter on the simulator. On targets with sparse MMAs, some candidates use them. Others multiply the
# zeros, and may load with wider accesses. On other targets the named instruction is that of the best. FULL=1:
# all targets and candidates.
set -u
. test/script.sh
. test/infer/values.sh
ran=0 rows=0 first=0
p=$dir/p.hexc

# The tile of A is BM x BK/2, its metadata BM x BK/PER; `where` is their space, `side` the sparse operand.
program() { # a b acc third positions per where bm bn bk
	space=$7 let_e=$7
	[ "$7" = global ] && space=register let_e=register
	[ "$7" = mixed ] && space=shared let_e=register
	prod="dot(${cast}(sparse(a, ${ecast}(e))), b.T$4)" ta=$1 tc=$3 out='C: out '$tc'[M, N]' put='C[m :+ BM, n :+ BN] = acc;' shape='BM, BN'
	if [ "$side" = right ]; then # C' = B A'
		prod="dot(b, ${cast}(sparse(a, ${ecast}(e))).T$4)" out='C: out '$tc'[N, M]' put='C[n :+ BN, m :+ BM] = acc;' shape='BN, BM'
	fi
	cat >"$p" <<P
kernel g(A: $1[M, K / 2], E: $5[M, K / $6], B: $2[N, K], $out)
    assume K % $assume == 0, N % 2 == 0, M % 2 == 0
    const BM = $8, BN = $9, BK = ${10}
{
    grid(ceil(M, BM), ceil(N, BN));
    let m = block.x * BM, n = block.y * BN;
    var acc: register $3[$shape] = 0;
    $loop {
        let a: $space = A[m :+ BM, k / 2 :+ BK / 2];
        let e: $let_e = E[m :+ BM, k / $6 :+ BK / $6];
        let b: $space = B[n :+ BN, k :+ BK];
        acc += $prod;
    }
    $put
}
P
}

try() { # arch want a b acc third positions per where bm bn bk
	arch=$1 want=$2
	shift 2
	program "$@"
	what="$1 $2 $3 $4 $5/$6 $7 $8x${9}x${10} $side $arch"
	"$HEXC" candidates "$p" --arch "$arch" >"$dir/c" 2>&1 || { echo "$what:"; cat "$dir/c"; bad=1; return; }
	skips=$(grep "cycles  \(groups; \|roles[^;]*; \)\{0,1\}$want" "$dir/c" | awk 'NR == 1 { print $1 }')
	[ -n "$skips" ] || { echo "$what: no $want"; bad=1; return; }
	n=$(grep -c cycles "$dir/c")
	list=$(seq 0 $((n - 1)))
	[ "${FULL:-0}" = 1 ] || [ "$n" -le 2 ] || list='0 1'
	case $want in
	mma_sp*)
		other=$(grep cycles "$dir/c" | grep -v mma_sp | awk 'NR == 1 { print $1 }')
		[ -n "$other" ] || fail "$what: nothing but mma_sp"
		[ "${FULL:-0}" = 1 ] || list="$skips $other"
		[ "$skips" -lt "${other:-999}" ] && first=$((first + 1))
		;;
	*) [ "$skips" = 0 ] || { echo "$what: not $want:"; head -n 1 "$dir/c"; bad=1; } ;;
	esac
	for i in $list; do
		k=$(((${10} + 47) / assume * assume)) # partial in k too if the tile is larger
		"$HEXC" run "$p" --arch "$arch" --exec="${EXEC:-sim}" --check --prove --candidate $i \
			--arg "A=$(values "$1" 1)[$(($8 + 6)),$((k / 2))]" \
			--arg "E=$([ "$5" = u8 ] && echo 'random(3)' || echo 'positions(3)')[$(($8 + 6)),$((k / $6))]" \
			--arg "B=$(values "$2" 2)[$(($9 + 6)),$k]" >"$dir/o" 2>&1 &&
			grep -q 'largest absolute error 0,' "$dir/o" ||
			{ echo "$what candidate $i:"; cat "$dir/o"; bad=1; }
		ran=$((ran + 1))
	done
}

pipe='pipeline k in 0..K step BK stages 2' plain='for k in 0..K step BK'
cast= ecast= side=left loop=$pipe assume=32
# The instruction by type and target; the columns are sm_75 sm_80 sm_86 sm_89 sm_90a.
row() { # a b acc third positions per where bk inst75 inst80 inst86 inst89 inst90
	a=$1 b=$2 acc=$3 third=$4 pos=$5 per=$6 where=$7 bk=$8
	[ "$third" = - ] && third=
	shift 8
	c=0
	for arch in sm_75 sm_80 sm_86 sm_89 sm_90a; do
		c=$((c + 1))
		# each row: one of the targets by rotation, the oldest a fifth of the time
		[ "${FULL:-0}" = 1 ] || [ $((rows % 5 + 1)) = $c ] || { shift; continue; }
		! runs_here $arch || try $arch "$1" "$a" "$b" "$acc" "$third" "$pos" "$per" "$where" 32 32 "$bk"
		shift
	done
	rows=$((rows + 1))
}
all() { inst=$1; shift; row "$@" "$inst" "$inst" "$inst" "$inst"; }

for where in shared mixed global; do
	for s in left right; do
		side=$s loop=$pipe
		[ $where = global ] && loop=$plain
		f=mma_sp_m16n8k32_f32_f16
		all $f f16 f16 f32 - u2 2 $where 64 mma_m16n8k8_f32_f16
		all $f f16 f16 f32 - u2 2 $where 32 mma_m16n8k8_f32_f16
		f=mma_sp_m16n8k64_s32_s8_u8
		all $f i8 u8 i32 - u2 2 $where 128 mma_m8n8k16_s32
	done
done
loop=$pipe where=shared
all mma_sp_m16n8k16_f32_f16 f16 f16 f32 - u2 2 $where 16 mma_m16n8k8_f32_f16
all mma_sp_m16n8k32_f32_f16 f16 f16 f32 - u2 2 $where 96 mma_m16n8k8_f32_f16
side=left
for x in 'f16_f16 f16 f16 ,f16' 'f32_bf16 bf16 f32 -'; do
	set -- $x
	old=fma
	[ "$2" = f16 ] && old=mma_m16n8k8_f16_f16
	all mma_sp_m16n8k32_$1 "$2" "$2" "$3" "$4" u2 2 $where 64 $old
	all mma_sp_m16n8k16_$1 "$2" "$2" "$3" "$4" u2 2 $where 16 $old
done
f=mma_sp_m16n8k16_f32_tf32
all $f f32 f32 f32 ,tf32 u1 2 $where 16 fma
all $f f32 f32 f32 ,tf32 u1 2 $where 32 fma
all $f f32 f32 f32 ,tf32 u1 2 $where 48 fma
# metadata may be computed: bits of bytes, for a tile too short for u1 in memory
ecast=u1
all mma_sp_m16n8k8_f32_tf32 f32 f32 f32 ,tf32 u8 2 $where 8 fma
ecast=
for x in 's8 i8 i8' 'u8 u8 u8' 's8_u8 i8 u8' 'u8_s8 u8 i8'; do
	set -- $x
	all mma_sp_m16n8k64_s32_$1 "$2" "$3" i32 - u2 2 $where 64 mma_m8n8k16_s32_$1
	all mma_sp_m16n8k32_s32_$1 "$2" "$3" i32 - u2 2 $where 32 mma_m8n8k16_s32_$1
done
for x in 's4 i4 i4' 'u4 u4 u4' 's4_u4 i4 u4' 'u4_s4 u4 i4'; do
	set -- $x
	all mma_sp_m16n8k128_s32_$1 "$2" "$3" i32 - u2 4 $where 128 mma_m8n8k32_s32_$1
	all mma_sp_m16n8k64_s32_$1 "$2" "$3" i32 - u2 4 $where 64 mma_m8n8k32_s32_$1
done
for x in 'e4m3 e4m3 e4m3' 'e5m2 e5m2 e5m2' 'e4m3_e5m2 e4m3 e5m2' 'e5m2_e4m3 e5m2 e4m3'; do
	set -- $x
	f=mma_sp_m16n8k32_f32_f16 new=mma_sp_m16n8k64_f32_$1
	row "$2" "$3" f32 - u2 2 $where 64 mma_m16n8k8_f32_f16 $f $f $new $f
done
# no instruction has these: the zeros are expanded
f=mma_m16n8k16_f32_f16
row f16 f16 f32 - u1 2 $where 32 mma_m16n8k8_f32_f16 $f $f $f $f
row f16 f16 f32 - u2 4 $where 32 mma_m16n8k8_f32_f16 $f $f $f $f
row f32 f32 f32 ,tf32 u2 2 $where 32 fma mma_m16n8k8_f32_tf32 mma_m16n8k8_f32_tf32 mma_m16n8k8_f32_tf32 mma_m16n8k8_f32_tf32
row f32 f32 f32 - u2 2 $where 16 fma fma fma fma fma
row f64 f64 f64 - u2 2 $where 16 fma mma_m8n8k4_f64 mma_m8n8k4_f64 mma_m8n8k4_f64 mma_m16n8k16_f64
# casts apply to the values
cast=f16
all mma_sp_m16n8k32_f32_f16 i4 f16 f32 - u2 2 shared 64 mma_m16n8k8_f32_f16
# large tiles in shared memory: half the MMAs are worth it
"$HEXC" explain examples/gemm_sparse.hexc >"$dir/e"
grep -q '^  zeros skipped; alternative multiplied (candidate' "$dir/e" || fail "gemm_sparse multiplies zeros"
echo "$rows rows, $ran candidates run; zeros are skipped by the best of $first"
exit $bad
