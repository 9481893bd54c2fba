#!/bin/sh
# ptxas accepts the PTX of every example for every arch that it knows, without spills and without warnings
# about tensor cores (C75xx). That includes attention backward, which needs almost all registers. Prints the
# registers of each kernel. scripts/survey checks every solution in the same way. QUICK=1 selects every third
# pair of example and arch.
. test/script.sh
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
all=$(archs)
turn=0
for src in examples/*.hexc test/infer/programs/attention_backward.hexc; do
	# A program for one GPU is compiled only for that GPU.
	case $(sed -n 1p "$src") in *'(sm_'*) its=$(only_arch "$src") ;; *) its=$all ;; esac
	for arch in $its; do
		turn=$((turn + 1))
		[ -z "${QUICK:-}" ] || [ $((turn % 3)) = 0 ] || case $its in "$arch") ;; *) continue ;; esac
		"$HEXC" --emit-ptx "$src" --arch "$arch" -o "$dir/k.ptx" || { bad=1; continue; }
		if ! ptxas -arch="$arch" -v "$dir/k.ptx" -o /dev/null >"$dir/log" 2>&1; then
			grep -q 'not defined for option\|Unsupported .version' "$dir/log" && continue # this ptxas does not support the arch or the PTX version
			echo "$src $arch: ptxas refuses it"
			sed -n 1,5p "$dir/log"
			bad=1
			continue
		fi
		bad_words='C75[0-9][0-9]|[1-9][0-9]* bytes spill'
		case "$src $arch" in
		# ptxas 13.0 spills 8 registers of it on sm_120a only; the same code fits on sm_89 and sm_100a.
		*attention_backward.hexc\ sm_120a) bad_words='C75[0-9][0-9]|[1-9][0-9][0-9] bytes spill' ;;
		# It keeps to 128 registers, and stores one before the loops that only the masked remainder loop reads.
		examples/attention.hexc\ sm_100a) bad_words='C75[0-9][0-9]|([5-9]|[1-9][0-9]+) bytes spill' ;;
		# It keeps gemm_two_level to 168 registers, three blocks, and stores one or two of them before the loops,
		# which are read behind them.
		examples/gemm_schemes.hexc\ sm_89 | examples/gemm_schemes.hexc\ sm_120a)
			bad_words='C75[0-9][0-9]|(9|[1-9][0-9]+) bytes spill' ;;
		esac
		if grep -E "$bad_words" "$dir/log"; then
			echo "$src $arch: spills or a warning"
			bad=1
		fi
		printf '%-28s %-7s %s\n' "$(basename "$src")" "$arch" "$(sed -n 's/.*Used \([0-9]* registers\).*/\1/p' "$dir/log" | tr '\n' ' ')"
	done
done
# For some programs, every warp-specialized solution; the registers in use must match those of the launch too.
survey() {
	scripts/survey "$@" >"$dir/said" 2>"$dir/err" && return
	# LLVM 19's code: ptxas 13.0 spills one register of the last of eight solutions.
	[ "$("$HEXC" --version | sed -n 's/.*LLVM \([0-9]*\).*/\1/p')" = 19 ] && grep -q 'solutions, 1 with' "$dir/err" &&
		! grep -v '^examples/gemm_f16.hexc	gemm_f16	15	roles	128	spills 4 and 4 bytes$' "$dir/said" ||
		fail "$(cat "$dir/said" "$dir/err")"
}
if command -v python3 >/dev/null && echo "$all" | grep -q sm_90a; then
	survey examples/gemm_roles.hexc examples/gemm_w4_roles.hexc
	for schedule in roles roles2; do
		survey -s $schedule examples/gemm_f16.hexc 'examples/gemm_f16.hexc -D BN=256 -D BK=64 -D STAGES=4 -D WARPS=8' \
			examples/gemm_fp8.hexc examples/gemm_wNa16.hexc examples/attention.hexc examples/conv.hexc
	done
fi
# Instructions that the GEMMs must contain. With 4-bit weights, k follows the order of a lane's weights, so that
# wide plain loads fetch both operands.
made_of() { # example what...
	src=examples/$1.hexc
	"$HEXC" --emit-ptx $src --arch sm_80 >"$dir/k.ptx" || bad=1
	shift
	for want in "$@" 'mma.sync.aligned.m16n8k16' 'cp.async.cg.shared.global .*, 16'; do
		grep -q "$want" "$dir/k.ptx" || fail "$src: no $want in its PTX"
	done
}
made_of gemm_f16 'ldmatrix.sync.aligned.m8n8.x4'
made_of gemm_w4a16 'ld.shared.v4.b32' 'ld.shared\(.v2\)\{0,1\}.b32'
exit $bad
