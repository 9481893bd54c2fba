#!/bin/sh
# A kernel family of GEMMs (family.c), in a bundle of hexc build, launched by an engine on the runtime library, with
# a driver whose GPU is the simulator. Then each driver call fails, one at a time. The output of the driver's
# compiler is stored in a cache and loaded from there, unless the driver is another one or rejects it.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/gpu/fake.sh
make_driver "$dir" || exit 1
"${CC:-cc}" -std=c11 -O1 -I. test/gpu/family.c -o "$dir/family" -L"$B" -l:libhexc_rt.so.0 -L"$dir" -l:libcuda.so.1 || exit 1
says 0 '' build examples/split_k.hexc examples/gemm_f16.hexc --family examples/gemm.family -o "$dir/k.hxb"
says 0 'family gemm' bundle list "$dir/k.hxb"
says 0 '"family":	"gemm"' bundle list --json "$dir/k.hxb"
says 0 '' bundle verify "$dir/k.hxb"
says 0 '' bundle merge "$dir/k.hxb" "$dir/k.hxb" -o "$dir/again.hxb"
cmp "$dir/k.hxb" "$dir/again.hxb" || fail "merging a bundle with itself gives another"
printf 'hexc-family 1\nfamily f\ntake gemm_f16 BM=64 when L > 1\n' >"$dir/wrong.family"
says 1 'line 3 of the families: L is neither a size of the family nor a constant' build examples/gemm_f16.hexc --family "$dir/wrong.family" -o "$dir/x.hxb"
says 1 'no program has a kernel partial' build examples/gemm_f16.hexc --family examples/gemm.family -o "$dir/x.hxb"
says 1 'it does not start with hexc-family 1' build examples/gemm_f16.hexc --family README.md -o "$dir/x.hxb"
says 2 ': with --family a constant can only have one value' build examples/gemm_f16.hexc -D BN=64,128 --family examples/gemm.family -o "$dir/x.hxb"
[ ! -e "$dir/x.hxb" ] || fail "a bundle with a wrong family is written"

family() { # SETTINGS ARGUMENTS...
	settings=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	env LD_LIBRARY_PATH="$B:$dir" $settings timeout 100 "$dir/family" "$@" >"$dir/said" 2>&1
	status=$?
	[ $status = 0 ] && grep -q 'cuCtxPushCurrent_v2, fails' "$dir/said" || ! grep -q 'left behind' "$dir/said" ||
		fail "FAIL: $settings: $(cat "$dir/said")"
}
right() { # SETTINGS OUTPUT ARGUMENTS...
	settings=$1 word=$2
	shift 2
	family "$settings" "$@"
	[ $status = 0 ] || fail "FAIL: $settings: exit $status: $(cat "$dir/said")"
	grep -q "$word" "$dir/said" || [ -z "$word" ] || fail "FAIL: $settings: no '$word': $(cat "$dir/said")"
}
right '' '' "$dir/k.hxb"
right '' '0 hits, 6 stored' "$dir/k.hxb" "$dir/cache"
right '' '6 hits, 0 stored' "$dir/k.hxb" "$dir/cache"
says 0 'cubin sm_90' cache list "$dir/cache"
right FAKE_CUDA_SM=80 '0 hits, 6 stored' "$dir/k.hxb" "$dir/cache"
right FAKE_CUDA_VERSION=13010 '0 hits, 6 stored' "$dir/k.hxb" "$dir/cache"
right FAKE_CUDA_FAIL=cuLinkComplete '0 hits, 0 stored' "$dir/k.hxb" "$dir/other"
# Damaged entries are compiled again.
for f in "$dir"/cache/*.hxc; do sed -i 's/.version/.versiom/g' "$f"; done
right '' '0 hits, 6 stored' "$dir/k.hxb" "$dir/cache"
n=0
while n=$((n + 1)); do
	rm -rf "$dir/each"
	family "FAKE_CUDA_FAIL_AT=$n" "$dir/k.hxb" "$dir/each" few
	case $status in
	0) ;;
	1) grep -q '^failed: .*: .' "$dir/said" || fail "FAIL: call $n: no reason: $(cat "$dir/said")" ;;
	*) fail "FAIL: call $n: exit $status: $(cat "$dir/said")" ;;
	esac
	grep -q 'fake driver: call' "$dir/said" || break
	[ $n -lt 400 ] || { fail "FAIL: it never ends"; break; }
done
[ $n -gt 60 ] || fail "FAIL: only $n calls"
exit $bad
