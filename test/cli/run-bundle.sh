#!/bin/sh
# hexc build and hexc bundle: contents and integrity of a bundle, merging, bundles as C arrays;
# rejected input and the reasons.
. test/script.sh
k=$dir/k.hxb
two="examples/gemm_f16.hexc examples/vector_add.hexc"
# shellcheck disable=SC2086 # a list of words
{
	says 0 '' build $two --arch sm_80,sm_90a -D BM=64,128 -D BN=128 -o "$k"
	says 0 '6 modules, 6 kernels' bundle list "$k"
	for line in '0  gemm_f16  sm_80  BM=64 BN=128' '1  gemm_f16  sm_80  BM=128 BN=128' '2  gemm_f16  sm_90a  BM=64' \
		'4  vector_add  sm_80  BN=128 WARPS=4' '5  vector_add  sm_90a  BN=128'; do
		grep -qF "  $line" "$dir/out" || fail "bundle list has no '$line': $(cat "$dir/out")"
	done
	says 0 '"entry":	"vector_add"' bundle list --json "$k" --kernel vector_add
	! grep -q gemm "$dir/out" || fail "--kernel does not choose"
	says 0 '' bundle verify "$k"
	# Each module's manifest equals that of --manifest.
	"$HEXC" --emit-ptx examples/vector_add.hexc --arch sm_80 -D BN=128 -o /dev/null --manifest "$dir/m.json"
	says 0 '' bundle show "$k" --kernel vector_add
	tr -d '\t\n' <"$dir/m.json" >"$dir/one"
	tr -d '\t\n' <"$dir/out" | grep -qF "$(cat "$dir/one")" || fail "bundle show has not the manifest"
	# Reproducible output; duplicate modules once; several bundles merged.
	says 0 '' build $two --arch sm_80,sm_90a -D BM=64,128 -D BN=128 -o "$dir/again.hxb"
	cmp "$k" "$dir/again.hxb" || fail "building twice gives two bundles"
	says 0 '' build examples/gemm_f16.hexc --arch sm_80,sm_90a -D BM=64,128 -D BN=128 -o "$dir/a.hxb"
	says 0 '' build examples/vector_add.hexc --arch sm_80,sm_90a -D BN=128 -o "$dir/b.hxb"
	says 0 '' bundle merge "$dir/a.hxb" "$dir/b.hxb" "$k" -o "$dir/merged.hxb"
	cmp "$k" "$dir/merged.hxb" || fail "what is merged is another bundle"
	says 0 '' build examples/vector_add.hexc --lineinfo -D BN=128 -o "$dir/other.hxb"
	says 1 'duplicate kernel vector_add for sm_80 with BN=128, WARPS=4' bundle merge "$k" "$dir/other.hxb" -o "$dir/x.hxb"
	[ ! -e "$dir/x.hxb" ] || fail "a bundle with twins is written"

	# Rejected input.
	says 2 'no input files' build -o "$dir/x.hxb"
	says 2 'missing -o FILE.hxb' build examples/vector_add.hexc
	says 2 "unknown arch 'sm_1'" build examples/vector_add.hexc --arch sm_80,sm_1 -o "$dir/x.hxb"
	says 2 'twice' build examples/vector_add.hexc --arch sm_80,sm_80 -o "$dir/x.hxb"
	says 2 '-D BN given twice; list all values in one option' build examples/vector_add.hexc -D BN=128 -D BN=256 -o "$dir/x.hxb"
	says 2 "'x' is neither" build examples/vector_add.hexc -D BN=128,x -o "$dir/x.hxb"
	says 2 '-D: expected NAME=VALUE' build examples/vector_add.hexc -D BN -o "$dir/x.hxb"
	says 1 ': no program has this constant' build examples/vector_add.hexc -D BK=128 -o "$dir/x.hxb"
	says 1 'BN=7 is not a value of tunable `BN`' build examples/vector_add.hexc -D BN=128,7 -o "$dir/x.hxb"
	says 1 'duplicate kernel vector_add for sm_80 with BN=1024, WARPS=4, from examples/vector_add.hexc and examples/vector_add.hexc' build examples/vector_add.hexc examples/vector_add.hexc -o "$dir/x.hxb"
	says 2 ': no PTX of --arch runs on it' build examples/vector_add.hexc --cubin sm_75 -o "$dir/x.hxb"
	[ ! -e "$dir/x.hxb" ] || fail "a bundle of nothing is written"
	says 2 'list, show, verify or merge' bundle
	says 2 "unknown command hexc bundle 'lost'" bundle lost "$k"
	says 2 'no input bundle' bundle list
	says 2 '-o has no effect with hexc bundle list' bundle list "$k" -o "$dir/x.hxb"
	says 2 'missing -o FILE.hxb' bundle merge "$k"
	says 1 'not a hexc bundle: it does not start with HEXCBUN; create one with hexc build' bundle list README.md
	says 1 'cannot be read' bundle list "$dir/nothing"
	says 1 'has no kernel lost' bundle show "$k" --kernel lost
	head -c 5000 "$k" >"$dir/cut.hxb"
	says 1 'its size differs from the size in its header; copy it again, or build it again' bundle verify "$dir/cut.hxb"
	{ head -c 30000 "$k"; printf x; tail -c +30002 "$k"; } >"$dir/bent.hxb"
	says 1 'checksum' bundle verify "$dir/bent.hxb"
	says 0 '6 kernels' bundle list "$dir/bent.hxb" # the index is intact
}
# Cubins, if ptxas is available; otherwise a message.
unset PTXAS
if command -v ptxas >/dev/null; then
	says 0 '' build examples/vector_add.hexc --arch sm_80,sm_90a --candidate 0 --cubin sm_86,sm_90a -o "$dir/c.hxb"
	says 0 'sm_80  BN=1024 WARPS=4  cubins: sm_86' bundle list "$dir/c.hxb"
	grep -q 'sm_90a  BN=1024 WARPS=4  cubins: sm_90a' "$dir/out" || fail "no cubin for sm_90a: $(cat "$dir/out")"
	says 0 '' bundle verify "$dir/c.hxb"
	[ "$(grep -c "$(printf '\177ELF')" "$dir/c.hxb")" -gt 0 ] || fail "there is no cubin in it"
fi
mkdir "$dir/bin"
PATH=$dir/bin "$HEXC" build examples/vector_add.hexc --cubin sm_86 -o "$dir/x.hxb" >"$dir/out" 2>&1
[ $? = 4 ] && grep -q 'requires ptxas' "$dir/out" || fail "without ptxas: $(cat "$dir/out")"

# As an array in a program without files.
says 0 '' bundle merge "$k" --c-array "$dir/my-kernels.c"
cat >"$dir/main.c" <<'END'
#include "lib/hexc_bundle.h"
#include <stdio.h>
extern const unsigned char my_kernels[];
extern const size_t my_kernels_bytes;
int main(void)
{
	hexc_bundle_info info = HEXC_BUNDLE_INFO_INIT;
	hexc_bundle *b;
	char why[300];
	if (hexc_bundle_memory(&b, my_kernels, my_kernels_bytes, why, sizeof why) || hexc_bundle_verify(b, why, sizeof why))
		return puts(why), 1;
	hexc_bundle_describe(b, &info);
	printf("%u\n", info.nkernel);
	hexc_bundle_close(b);
	return 0;
}
END
[ -n "$SAN" ] || {
	"${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror -I. "$dir/main.c" "$dir/my-kernels.c" -o "$dir/main" -L"$B" \
		-l:libhexc_rt.so.0 || fail "the array does not compile"
	[ "$(LD_LIBRARY_PATH=$B "$dir/main")" = 6 ] || fail "the array is no bundle of 6 kernels"
}
exit $bad
