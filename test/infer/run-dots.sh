#!/bin/sh
# One dot per pair of element types, target and tile shape. Every candidate equals the tile interpreter on the
# simulator. If the target has an instruction for the types, the first one uses it. By default two targets per
# pair of types; FULL=1: all.
set -u
. test/script.sh
. test/infer/values.sh
ran=0
p=$dir/p.hexc

# a b acc third bm bn bk: one tile, partial in m and n
program() {
	cat >"$p" <<E
kernel g(A: $1[M, K], B: $2[N, K], C: out $3[M, N])
    assume K % 16 == 0, N % 2 == 0
    const BM = $5, BN = $6, BK = $7
{
    grid(ceil(M, BM), ceil(N, BN));
    let m = block.x * BM, n = block.y * BN;
    var acc: register $3[BM, BN] = 0;
    pipeline k in 0..K step BK stages 2 {
        let a: shared = A[m :+ BM, k :+ BK];
        let b: shared = B[n :+ BN, k :+ BK];
        acc += dot(a, b.T$4);
    }
    C[m :+ BM, n :+ BN] = acc;
}
E
}

try() { # arch want a b acc third bm bn bk
	arch=$1 want=$2
	shift 2
	program "$@"
	what="$1 $2 $3 $4 ${5}x${6}x$7 $arch"
	"$HEXC" candidates "$p" --arch "$arch" -W no-fma -W no-idle >"$dir/c" 2>&1 || { echo "$what:"; cat "$dir/c"; bad=1; return; }
	head -n 1 "$dir/c" | grep -q "cycles  \(groups; \)\{0,1\}$want" ||
		{ echo "$what: not $want:"; head -n 1 "$dir/c"; bad=1; }
	n=$(grep -c cycles "$dir/c")
	[ "${FULL:-0}" = 1 ] || [ "$n" -le 3 ] || n=3
	k=$(($7 < 16 ? 32 : $7 + 16))
	i=0
	while [ $i -lt "$n" ]; do
		"$HEXC" run "$p" --arch "$arch" --exec="${EXEC:-sim}" --check --prove --candidate $i \
			--arg "A=$(values "$1" 1)[$(($5 + 5)),$k]" \
			--arg "B=$(values "$2" 2)[$(($6 + 6)),$k]" >"$dir/o" 2>&1 &&
			grep -q 'largest absolute error 0,' "$dir/o" ||
			{ echo "$what candidate $i:"; cat "$dir/o"; bad=1; }
		ran=$((ran + 1))
		i=$((i + 1))
	done
}

# The instruction by type and target; the columns are sm_75 sm_80 sm_86 sm_89 sm_90a.
row() { # a b acc third bk inst75 inst80 inst86 inst89 inst90
	a=$1 b=$2 acc=$3 third=$4 bk=$5
	[ "$third" = - ] && third=
	shift 5
	c=0
	for arch in sm_75 sm_80 sm_86 sm_89 sm_90a; do
		c=$((c + 1))
		# each pair: the oldest target, and one of the others by rotation
		[ "${FULL:-0}" = 1 ] || [ $c = 1 ] || [ $((rows % 4 + 2)) = $c ] || { shift; continue; }
		! runs_here $arch || try $arch "$1" "$a" "$b" "$acc" "$third" 32 32 "$bk"
		shift
	done
	rows=$((rows + 1))
}
rows=0
k16=mma_m16n8k16_f32
row f16 f16 f32 - 32 mma_m16n8k8_f32_f16 ${k16}_f16 ${k16}_f16 ${k16}_f16 ${k16}_f16
row f16 f16 f16 ',f16' 32 mma_m16n8k8_f16_f16 mma_m16n8k16_f16_f16 mma_m16n8k16_f16_f16 mma_m16n8k16_f16_f16 mma_m16n8k16_f16_f16
row f16 f16 f32 - 8 mma_m16n8k8_f32_f16 mma_m16n8k8_f32_f16 mma_m16n8k8_f32_f16 mma_m16n8k8_f32_f16 mma_m16n8k8_f32_f16
row bf16 bf16 f32 - 32 fma ${k16}_bf16 ${k16}_bf16 ${k16}_bf16 ${k16}_bf16
row bf16 bf16 f32 - 8 fma mma_m16n8k8_f32_bf16 mma_m16n8k8_f32_bf16 mma_m16n8k8_f32_bf16 mma_m16n8k8_f32_bf16
t=mma_m16n8k8_f32_tf32
row f32 f32 f32 ',tf32' 16 fma $t $t $t $t
row f32 f32 f32 ',tf32' 4 fma mma_m16n8k4_f32_tf32 mma_m16n8k4_f32_tf32 mma_m16n8k4_f32_tf32 mma_m16n8k4_f32_tf32
row f32 f32 f32 - 16 fma fma fma fma fma
row f64 f64 f64 - 16 fma mma_m8n8k4_f64 mma_m8n8k4_f64 mma_m8n8k4_f64 mma_m16n8k16_f64
row f64 f64 f64 - 4 fma mma_m8n8k4_f64 mma_m8n8k4_f64 mma_m8n8k4_f64 mma_m16n8k4_f64
row f32 f32 f64 ',f64' 16 fma fma fma fma fma
for x in 's8 i8 i8' 'u8 u8 u8' 's8_u8 i8 u8' 'u8_s8 u8 i8'; do
	set -- $x
	i=mma_m16n8k32_s32_$1
	row "$2" "$3" i32 - 32 mma_m8n8k16_s32_$1 $i $i $i $i
	i=mma_m16n8k16_s32_$1
	row "$2" "$3" i32 - 16 mma_m8n8k16_s32_$1 $i $i $i $i
done
for x in 's4 i4 i4' 'u4 u4 u4' 's4_u4 i4 u4' 'u4_s4 u4 i4'; do
	set -- $x
	i=mma_m16n8k64_s32_$1
	row "$2" "$3" i32 - 64 mma_m8n8k32_s32_$1 $i $i $i $i
	i=mma_m16n8k32_s32_$1
	row "$2" "$3" i32 - 32 mma_m8n8k32_s32_$1 $i $i $i $i
	i=mma_m16n8k16_s32_$(echo "$1" | sed 's/4/8/g')
	row "$2" "$3" i32 - 16 mma_m8n8k16_s32_$(echo "$1" | sed 's/4/8/g') $i $i $i $i
done
for x in 'e4m3 e4m3 e4m3' 'e5m2 e5m2 e5m2' 'e4m3_e5m2 e4m3 e5m2' 'e5m2_e4m3 e5m2 e4m3'; do
	set -- $x
	i=mma_m16n8k32_f32_$1
	row "$2" "$3" f32 - 32 mma_m16n8k8_f32_f16 ${k16}_f16 ${k16}_f16 $i ${k16}_f16
	row "$2" "$3" f32 - 16 mma_m16n8k8_f32_f16 ${k16}_f16 ${k16}_f16 ${k16}_f16 ${k16}_f16
done
row i16 i16 i32 - 16 fma fma fma fma fma
row u16 i16 i32 - 16 fma fma fma fma fma
row i32 i32 i32 - 16 fma fma fma fma fma
row u32 u32 u32 - 16 fma fma fma fma fma
row i64 i64 i64 - 8 fma fma fma fma fma
row u64 u64 u64 - 8 fma fma fma fma fma
row i8 i8 i64 ',i64' 16 fma fma fma fma fma
echo "$rows rows, $ran candidates run"
exit $bad
