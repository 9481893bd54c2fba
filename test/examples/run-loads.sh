#!/bin/sh
# No kernel of the examples and operators with wgmma loads from global memory behind a wait for products that the load does
# not need.
. test/script.sh
for f in examples/*.hexc lib/ops/*.hexc; do
	name=$(basename "$f" .hexc)
	"$HEXC" --emit-ptx "$f" --arch sm_90a --dump insert_barriers -o /dev/null >"$dir/$name.ir" 2>&1 || fail "$f: $(head -n 1 "$dir/$name.ir")"
done
python3 "$here/loads_behind.py" "$dir"/*.ir >"$dir/found" || fail "$(cat "$dir/found")"
n=$(sed -n 's/ kernels with wgmma$//p' "$dir/found")
[ "${n:-0}" -ge 30 ] || fail "only $n kernels with wgmma"
exit $bad
