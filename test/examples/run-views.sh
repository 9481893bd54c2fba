#!/bin/sh
# Views keep what they view: the PTX of an example whose loads and operands of dots are wrapped in views that change nothing
# (reshapes to an extent of 1 more and back, transposes, slices) is that of the example but for names. A round trip around each
# cast loses no pairing of registers and no instruction. views.py has the views.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
kinds=reshape,transpose,extent1,slice,cast
archs="sm_80 sm_90a"
[ -z "${QUICK-}" ] || archs=sm_80

# program, kind, GPUs, why it differs
cat >"$dir/known" <<'END'
max_pool reshape sm_80,sm_90a conditions of an extent of 1, that a reshape adds, are numbers: 4 instructions fewer
max_pool extent1 sm_80,sm_90a likewise
conv2d slice sm_80 x[:, :, :] of a shared tile is loaded, so that its reshape is one of registers, whose fragments are not prefetched
END
for arch in $archs; do
	python3 "$here/views.py" $kinds "$arch" examples/*.hexc >"$dir/$arch" || fail "views.py failed: $(tail -n 1 "$dir/$arch")"
	n=$(sed -n 's/ programs, [0-9]* views$//p' "$dir/$arch")
	[ "${n:-0}" -ge 200 ] || fail "$arch: only ${n:-0} programs"
	sed -n 's|^examples/\([a-z0-9_A-Z]*\).hexc \([a-z0-9_]*\) \([a-z0-9]*\): .*|\1 \3|p' "$dir/$arch" | sort >"$dir/differs"
	awk -v arch="$arch" 'index("," $3 ",", "," arch ",") { print $1, $2 }' "$dir/known" | sort >"$dir/expected"
	for one in $(comm -23 "$dir/differs" "$dir/expected" | tr ' ' /); do
		fail "$(grep "examples/${one%/*}.hexc $arch ${one#*/}:" "$dir/$arch")"
	done
	for one in $(comm -13 "$dir/differs" "$dir/expected" | tr ' ' /); do
		fail "${one%/*} $arch ${one#*/}: no longer differs; take it from the list in $0"
	done
done
exit $bad
