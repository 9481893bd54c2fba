#!/bin/sh
# The README's host without a compiler: it compiles, links only the runtime, and computes the sum, with a driver
# whose GPU is the simulator. Without a driver it reports that. It has at most 40 lines.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
awk '/^```c$/ { on = 1; text = ""; next } /^```$/ { if (on && text ~ /hexc_bundle_open/) printf "%s", text; on = 0 }
	on { text = text $0 "\n" }' README.md >"$dir/host.c"
lines=$(wc -l <"$dir/host.c")
[ "$lines" -gt 20 ] && [ "$lines" -le 40 ] || fail "the host in README.md has $lines lines"
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I. "$dir/host.c" -o "$dir/host" -L"$B" -l:libhexc_rt.so.0 || exit 1
says 0 '' build examples/vector_add.hexc examples/gemm_w4a16.hexc --arch sm_80,sm_90a -D BN=128,256 -o "$dir/kernels.hxb"
for sm in 80 86 90; do
	FAKE_CUDA_SM=$sm LD_LIBRARY_PATH=$B:$dir "$dir/host" "$dir/kernels.hxb" >"$dir/out" 2>&1 || fail "on sm_$sm: status $?"
	[ "$(cat "$dir/out")" = 1000 ] || fail "on sm_$sm: $(cat "$dir/out")" # 999 + 1
done
FAKE_CUDA_SM=75 LD_LIBRARY_PATH=$B:$dir "$dir/host" "$dir/kernels.hxb" >"$dir/out" 2>&1 && fail "it runs on sm_75"
grep -q 'no module of the bundle runs on sm_75 (it has sm_80, sm_90a)' "$dir/out" || fail "of sm_75: $(cat "$dir/out")"
FAKE_CUDA_DEVICES=0 LD_LIBRARY_PATH=$B:$dir "$dir/host" "$dir/kernels.hxb" >"$dir/out" 2>&1 && fail "it runs without a GPU"
grep -q 'finds no GPU' "$dir/out" || fail "without a GPU: $(cat "$dir/out")"
exit $bad
