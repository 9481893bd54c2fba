#!/bin/sh
# The examples on regular shapes and with partial tiles, and every candidate of the GEMMs on small integers. The
# simulated PTX equals the tile interpreter, bit for bit where the order of additions cannot matter.
. test/script.sh
n=0
# right ARGUMENTS...: the run is correct;  exact ...: and equal
right() {
	n=$((n + 1))
	"$HEXC" run "$@" --check >"$dir/out" 2>&1 || {
		echo "hexc run $* --check: status $?"
		cat "$dir/out"
		bad=1
	}
}
exact() {
	right "$@"
	grep -q 'largest absolute error 0,' "$dir/out" || {
		echo "hexc run $*: not equal"
		cat "$dir/out"
		bad=1
	}
}
candidates() { "$HEXC" candidates "$@" 2>/dev/null | wc -l; }

for s in 128,128,128 64,256,512 100,136,200 1,64,64 257,129,72; do
	m=${s%%,*} k=${s##*,} nn=${s#*,} nn=${nn%,*}
	right examples/gemm_f16.hexc --arg "A=random(1)[$m,$k]" --arg "B=random(2)[$nn,$k]"
done
for s in 128,128,128 64,256,512 100,160,256 1,64,128 257,288,384; do
	m=${s%%,*} k=${s##*,} nn=${s#*,} nn=${nn%,*}
	for p in gemm_w4a16 gemm_w4a16_sym; do
		set -- examples/$p.hexc --arg "A=random(1)[$m,$k]" --arg "W=random(2)[$nn,$k]" --arg "S=random(3)[$((k / 128)),$nn]"
		[ $p = gemm_w4a16 ] && set -- "$@" --arg "Z=random(4)[$((k / 128)),$nn]"
		right "$@"
	done
done
for s in 1,1 3,5 33,500 8,1024; do
	right examples/softmax.hexc --arg "X=random(1)[$s]"
	right examples/layer_norm.hexc --arg "X=random(1)[$s]" --arg gamma="random(2)[${s#*,}]" --arg beta='random(3)' --arg eps=1e-5
done
for s in 1 127 1000 100003; do
	exact examples/vector_add.hexc --arg "A=random(1)[$s]" --arg 'B=random(2)'
done

# Every candidate, on integers with sums exact in f16.
c=0 last=$(candidates examples/gemm_f16.hexc -D BM=64 -D BN=64)
while [ $c -lt "$last" ]; do
	exact examples/gemm_f16.hexc -D BM=64 -D BN=64 --candidate $c --arg 'A=randint(1,-3,4)[70,136]' --arg 'B=randint(2,-3,4)[72,136]'
	c=$((c + 1))
done
c=0 last=$(candidates examples/gemm_w4a16.hexc)
while [ $c -lt "$last" ]; do
	exact examples/gemm_w4a16.hexc --candidate $c --arg 'A=randint(1,-1,2)[70,256]' --arg 'W=randint(2,0,5)[96,256]' \
		--arg 'S=randint(3,1,3)[2,96]' --arg 'Z=randint(4,0,5)[2,96]'
	c=$((c + 1))
done
echo "$n runs"
exit $bad
