#!/bin/sh
# The binary interface of libhexc (libhexc_rt's functions are among its) and libhexc_sim is that of test/abi: functions,
# their types, the places of members, as abidw (Debian's abigail-tools) reads them from debugging information.  New
# functions may come; what hosts were compiled with changes in review only.  UPDATE=1 writes the dumps anew.
[ -z "$SAN" ] || { echo "sanitizers export symbols of their own"; exit 77; }
command -v abidiff >/dev/null && command -v abidw >/dev/null || {
	echo "no abidiff here: scripts/bootstrap check installs it (abigail-tools)"
	exit 77
}
. test/script.sh
mkdir "$dir/public"
cp lib/hexc*.h lib/sim/sim.h "$dir/public"
for lib in libhexc libhexc_sim; do
	so=$(echo "$B"/$lib.so.[0-9]*)
	readelf -S "$so" | grep -q '[.]debug_info' || { echo "$so has no debugging information (-g)"; exit 77; }
	dump=test/abi/$lib.abi
	abidw --headers-dir "$dir/public" --exported-interfaces-only --drop-private-types --no-show-locs --no-corpus-path \
		--no-comp-dir-path --no-elf-needed "$so" >"$dir/$lib.abi" || exit 1
	[ -z "$UPDATE" ] || cp "$dir/$lib.abi" $dump
	same() { # DUMP: 0, nothing that hosts know is another
		abidiff --no-added-syms "$1" "$dir/$lib.abi" >"$dir/said" 2>&1
	}
	same $dump || fail "FAIL: $lib is another than $dump: $(head -40 "$dir/said")"
	# Would it notice?
	for wrong in "s/name='hexc_arg' size-in-bits='[0-9]*'/name='hexc_arg' size-in-bits='448'/" \
		"s/name='sim_place' size-in-bits='[0-9]*'/name='sim_place' size-in-bits='64'/" \
		"s/hexc_grid/hexc_grids/" "s/sim_fill/sim_filled/"; do
		sed "$wrong" $dump >"$dir/wrong.abi"
		cmp -s $dump "$dir/wrong.abi" || ! same "$dir/wrong.abi" || fail "FAIL: not noticed in $lib: $wrong"
	done
done
exit $bad
