#!/bin/sh
# sort, argsort and topk compared with NumPy (test/lang/sorting.py).
. test/script.sh
. test/python/package.sh
"$python" test/lang/sorting.py >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
# Instructions of a thread for a row of floats, against a network by hand in CUDA for the same threads.
disassemble=${NVDISASM:-nvdisasm}
if command -v nvcc >/dev/null && command -v "$disassemble" >/dev/null && command -v ptxas >/dev/null; then
	count() { "$disassemble" -c "$1" | grep -cE '^[[:space:]]+/\*[0-9a-f]{4,}\*/'; }
	nvcc -arch=sm_80 -cubin -DPER=2 -o "$dir/256" test/lang/bitonic.cu && nvcc -arch=sm_80 -cubin -DPER=8 -o "$dir/1024" \
		test/lang/bitonic.cu && nvcc -arch=sm_80 -cubin -DPER=32 -o "$dir/4096" test/lang/bitonic.cu || fail "nvcc"
	cat >"$dir/sort.hexc" <<-'END'
		kernel row(X: f32[M, N], Y: out f32[M, N])
		    const N = 256, WARPS = 4
		{
		    grid(M);
		    let x: register = X[block.x :+ 1, :];
		    Y[block.x :+ 1, :] = sort(x, 1);
		}
	END
	for n in 256 1024 4096; do
		"$HEXC" --emit-ptx "$dir/sort.hexc" -D N=$n --arch sm_80 -o "$dir/ptx" && ptxas -arch=sm_80 -o "$dir/ours" "$dir/ptx"
		ours=$(count "$dir/ours") theirs=$(count "$dir/$n")
		echo "sort of $n: $ours instructions, by hand $theirs"
		[ "$((ours * 2))" -le "$((theirs * 3))" ] || fail "sort of $n takes $ours instructions, by hand $theirs"
	done
else
	echo "the instructions are not compared: nvcc, ptxas or nvdisasm is not here"
fi
exit $bad
