#!/bin/sh
# Every scheme of scales with every type of weights, activations and scales (examples/gemm_schemes.hexc,
# gemm_wNa8.hexc) equals the tile interpreter, for partial tiles and for groups that do not divide the loop step. By
# default some types of each width with f16; FULL=1: all types, f16 and bf16, on all targets.
set -u
. test/script.sh
all=$(sed -n '/tune WEIGHT/,/ACT/p' "examples/gemm_wNa16.hexc" | tr -d '\n ' | sed 's/.*WEIGHT=//; s/,.*//; s/|/ /g')
some='u1 i2 u3 u4 i5 u6 i7 u8 nf4 e2m1 e3m2'
acts=f16 archs=sm_80
[ "${FULL:-0}" = 1 ] && some=$all acts='f16 bf16' archs='sm_75 sm_80 sm_86 sm_89 sm_90a'
ran=0
case $all in u4*e2m1*) ;; *) echo "no list of types in examples/gemm_wNa16.hexc"; exit 1 ;; esac

try() { # file, kernel, arguments...
	file=$1 kernel=$2
	shift 2
	for arch in $(only_here $archs); do
		# without bf16 tensor cores a lane multiplies all of k: gathered scales would exceed its registers
		case "$arch $*" in "sm_75 "*ACT=bf16*BN=64*) continue ;; esac
		out=$("$HEXC" run "examples/$file" --kernel "$kernel" --arch "$arch" --exec="${EXEC:-sim}" --check --prove \
			-D BM=32 -D BK=64 "$@" 2>&1) || fail "$kernel on $arch, $*: $out"
		ran=$((ran + 1))
	done
}

for w in $some; do
	for act in $acts; do
		set -- -D "WEIGHT=$w" -D "ACT=$act" --arg 'A=random(1)[20,200]' --arg 'W=random(2)[144,200]'
		for scale in f16 bf16 f32 e4m3; do
			try gemm_schemes.hexc gemm_scale "$@" -D "SCALE=$scale" --arg 'S=random(3)' --arg factor=0.5
		done
		try gemm_schemes.hexc gemm_scale "$@" -D SCALE=e8m0 -D G=128 --arg 'S=randint(3,1,2)' --arg factor=2
		for g in 16 48 100; do
			try gemm_schemes.hexc gemm_any_group "$@" -D BN=64 -D "G=$g" --arg 'S=random(3)'
		done
		set -- -D "WEIGHT=$w" -D "ACT=$act" --arg 'A=random(1)[20,200]' --arg 'W=random(2)[160,200]'
		for zero in u4 f16; do
			try gemm_schemes.hexc gemm_zero "$@" -D "ZEROS=$zero" --arg 'S=random(3)' --arg 'Z=random(4)'
			try gemm_schemes.hexc gemm_ordered "$@" -D BN=64 -D "ZEROS=$zero" --arg 'S=random(3)[4,160]' \
				--arg 'Z=random(4)' --arg 'I=randint(5,0,3)'
		done
		try gemm_schemes.hexc gemm_offset "$@" --arg 'S=random(3)' --arg 'O=random(4)'
		try gemm_schemes.hexc gemm_two_level "$@" --arg 'S=random(3)' --arg 'S2=random(4)'
		try gemm_schemes.hexc gemm_two_level_offset "$@" --arg 'S=random(3)' --arg 'S2=random(4)' \
			--arg 'O=random(5)' --arg 'O2=random(6)'
		case $w in # tables of values for codes of up to 4 bits
		u[1-4])
			for kernel in 'gemm_table --arg S=random(3)' 'gemm_table_two_level --arg S=random(3) --arg S2=random(4)'; do
				# shellcheck disable=SC2086 # words
				try gemm_schemes.hexc $kernel "$@" -D "TABLE=$((1 << ${w#u}))" --arg 'T=random(5)'
			done
			;;
		esac
	done
done
for pair in i2:i8 i3:i8 i4:i8 i5:i8 i6:i8 i8:i8 e2m1:e4m3 e2m3:e4m3 e3m2:e4m3 e4m3:e4m3; do
	try gemm_wNa8.hexc gemm_wNa8 -D "WEIGHT=${pair%:*}" -D "ACT=${pair#*:}" --arg 'A=random(1)[20,208]' \
		--arg 'SA=random(2)' --arg 'W=random(3)[144,208]' --arg 'S=random(4)'
done
echo "$ran kernels run"
exit $bad
