#!/bin/sh
# Code quality without timing. Measures for each example the instructions that one simulated launch executes. With
# ptxas it also measures registers, spills, the instructions of the main loop, and the longest run of them without a
# tensor-core instruction (scripts/loops). The numbers are compared with test/quality-llvmN.tsv for this LLVM. Bank
# conflicts, sectors and spills must not increase; instructions, registers and loops by at most 3 %, runs by at most
# 10 %. `off` is the predicted minus the actual number of registers; its distance from 0 may increase by at most 8.
# For an LLVM without a table the numbers are only printed.
#
# An iteration of conv2d has the same MMAs as one of gemm_f16, and at most 1.2 times as many instructions. UPDATE=1
# rewrites the table, so that a change is visible in review.
set -u
. test/script.sh
llvm=$("$HEXC" --version | sed -n 's/.*LLVM \([0-9]*\).*/\1/p')
table=test/quality-llvm$llvm.tsv

count() { # NAME FILE: the first number of that name in the statistics
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" "$2" | head -n 1
}

measure() { # example[:type of weights] arguments...
	name=$1
	shift
	example=${name%:*} each=-
	def=
	[ "$name" = "$example" ] || def="-D WEIGHT=${name#*:}"
	# shellcheck disable=SC2086 # two words or none
	if ! "$HEXC" run "examples/$example.hexc" $def --arch sm_80 --exec=sim --check --stats "$dir/s" "$@" >"$dir/o" 2>&1; then
		cat "$dir/o"
		bad=1
		return
	fi
	regs=- spills=- loop=- gap=- off=-
	if command -v ptxas >/dev/null; then
		# shellcheck disable=SC2086
		"$HEXC" --emit-ptx "examples/$example.hexc" $def --arch sm_80 -o "$dir/p" &&
			ptxas -arch=sm_80 -v "$dir/p" -o "$dir/c" >"$dir/v" 2>&1 || bad=1
		regs=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$dir/v")
		spills=$(sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p' "$dir/v")
		# shellcheck disable=SC2086
		"$HEXC" candidates --json "examples/$example.hexc" $def --arch sm_80 >"$dir/k" || bad=1
		off=$(($(count registers "$dir/k") - regs))
		if command -v python3 >/dev/null; then
			scripts/loops "$dir/c" >"$dir/l" || bad=1
			loop=$(cut -d ' ' -f 2 "$dir/l") gap=$(cut -d ' ' -f 3 "$dir/l")
		fi
		if grep -q 'C75[0-9][0-9]' "$dir/v"; then
			cat "$dir/v"
			bad=1
		fi
	fi
	[ -z "$def" ] || each=$(awk -F '[":,\t]+' -v n="$(count warp_instructions "$dir/s")" -v w="$weights" '
		$2 == "opcode" { move = $3 ~ /mov/ }
		$2 == "warps" && move { n -= $3 }
		END { printf "%.2f", n * 32 / w }' "$dir/s")
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$(count warp_instructions "$dir/s")" \
		"$(count mma "$dir/s")" "$(count bank_conflicts "$dir/s")" "$(count global_sectors_read "$dir/s")" \
		"$(count global_sectors_written "$dir/s")" "$(count barriers "$dir/s")" "$regs" "$spills" "$each" \
		"$loop" "$gap" "$off" >>"$dir/new"
}

head='example	instructions	mma	conflicts	read	written	barriers	registers	spills	each	loop	gap	off'
printf '%s\n' "$head" >"$dir/new"
measure vector_add --arg "A=random(1)[5000]" --arg "B=random(2)"
measure softmax --arg 'X=random(1)[64,512]'
measure layer_norm --arg 'X=random(1)[64,768]' --arg 'gamma=random(2)' --arg 'beta=random(3)' --arg eps=1e-5
measure gemm_f16 --arg 'A=random(1)[256,512]' --arg 'B=random(2)[256,512]'
measure gemm_w4a16 --arg 'A=random(1)[128,512]' --arg 'W=randint(2,0,15)[256,512]' --arg 'S=random(3)' \
	--arg 'Z=randint(4,0,15)'
measure gemm_w4a16_sym --arg 'A=random(1)[128,512]' --arg 'W=randint(2,0,15)[256,512]' --arg 'S=random(3)'
measure gemm_epilogue --arg 'A=random(1)[256,512]' --arg 'B=random(2)[256,512]' --arg 'BIAS=random(3)' \
	--arg 'R=random(4)'
measure gemm_sparse --arg 'A=random(1)[256,256]' --arg 'P=positions(2)' --arg 'B=random(3)[256,512]'
measure gemm_int8 --arg 'A=randint(1,-128,127)[256,512]' --arg 'B=randint(2,-128,127)[256,512]' \
	--arg 'SA=random(3)' --arg 'SB=random(4)'
measure lora --arg 'X=random(1)[256,512]' --arg 'W=random(2)[256,512]' --arg 'U=random(3)' --arg 'V=random(4)' \
	--arg scale=0.5
measure conv --arg 'X=random(1)[2,16,16,64]' --arg 'F=random(2)[64,3,3,64]' --arg 'Y=zeros[2,8,8,64]'
measure conv2d --arg 'X=random(1)[1,16,16,64]' --arg 'F=random(2)[128,9,64]' --arg 'Y=zeros[1,16,16,128]'
measure moe --arg 'A=random(1)[64,256]' --arg 'W=randint(2,0,15)[4,128,256]' --arg 'S=random(3)' \
	--arg 'TOK=randint(4,0,63)[128]' --arg 'EX=randint(5,0,3)[8]'
measure attention --arg 'Q=random(1)[1,128,2,64]' --arg 'K=random(2)[1,256,1,64]' --arg 'V=random(3)' --arg scale=0.125
measure selective_scan --arg 'X=random(1)[1,64,64]' --arg 'DT=random(2)' --arg 'A=randint(3,-2,-1)[64,16]' \
	--arg 'BM=random(4)' --arg 'CM=random(5)' --arg 'SKIP=random(6)' --arg 'Z=random(7)' --arg 'BIAS=random(8)'
measure softmax_long --arg 'X=random(1)[4,20000]'
# 64 rows of activations: each weight is used by one tile. `each` is the number of instructions per weight and lane,
# of the whole kernel, without moves, which ptxas removes.
weights=$((256 * 512))
for t in u1 i1 u2 i2 u3 i3 u4 i4 u5 i5 u6 i6 u7 i7 u8 i8; do
	b=${t#?} lo=0
	hi=$(((1 << b) - 1))
	[ "$t" = "u$b" ] || lo=$((-(1 << (b - 1)))) hi=$(((1 << (b - 1)) - 1))
	measure "gemm_wNa16:$t" --arg 'A=random(1)[64,512]' --arg "W=randint(2,$lo,$hi)[256,512]" --arg 'S=random(3)'
done
for t in e2m1 e2m3 e3m2 e4m3 e5m2; do
	measure "gemm_wNa16:$t" --arg 'A=random(1)[64,512]' --arg 'W=random(2)[256,512]' --arg 'S=random(3)'
done
cat "$dir/new"
awk -F '\t' '
	$11 ~ /^[0-9]+$/ { loop[$1] = $11 }
	END { if (loop["conv2d"] > 1.2 * loop["gemm_f16"]) {
		print "conv2d: " loop["conv2d"] " instructions a turn, gemm_f16 " loop["gemm_f16"]; exit 1 } }' "$dir/new" || bad=1
if [ "${UPDATE:-0}" = 1 ]; then
	cp "$dir/new" "$table"
	exit $bad
fi
[ -e "$table" ] || exit $bad
awk -F '\t' -v fail=$bad '
	NR == 1 { n = split($0, col); next }
	FNR == NR { for (i = 2; i <= NF; i++) old[$1, i] = $i; next }
	FNR > 1 { for (i = 2; i <= NF; i++) {
		was = old[$1, i]
		if (was == "-" || $i == "-") continue
		if (col[i] == "off") {
			if ($i * $i > was * was && ($i < 0 ? -$i : $i) - (was < 0 ? -was : was) > 8) {
				printf "%s: registers were predicted %+d off, now %+d\n", $1, was, $i; fail = 1
			}
			continue
		}
		room = col[i] == "gap" ? 1.1 : col[i] ~ /^(instructions|registers|each|loop)$/ ? 1.03 : 1
		if ($i > was * room) { printf "%s: %s grew from %s to %s\n", $1, col[i], was, $i; fail = 1 }
		else if ($i < was * 0.97) printf "%s: %s fell from %s to %s: UPDATE=1 keeps it\n", $1, col[i], was, $i
	} }
	END { exit fail }' "$table" "$dir/new"
