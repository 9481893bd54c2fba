#!/bin/sh
# The ABI of libhexc (which includes that of libhexc_rt) and of libhexc_sim is that of test/abi: functions, their
# types and member offsets, as abidw (Debian's abigail-tools) reads them from debug information. New functions are
# allowed. Any other change must be reviewed. UPDATE=1 rewrites the dumps.
#
# test/abi/released has the dumps and the version of the last release; RELEASE=1 writes them. The library is
# compared with these dumps (test/abi/changes.py). An ABI that hosts of that release cannot use needs another
# soname, HEXC_VERSION_MAJOR. One with larger structs needs another HEXC_VERSION.
[ -z "$SAN" ] || { echo "sanitizers export symbols of their own"; exit 77; }
command -v abidiff >/dev/null && command -v abidw >/dev/null || {
	echo "no abidiff here: scripts/bootstrap check installs it (abigail-tools)"
	exit 77
}
. test/script.sh
mkdir "$dir/public"
version() { sed -n "s/^.define HEXC_VERSION_$1 *//p" lib/hexc.h; }
now=$(version MAJOR).$(version MINOR).$(version PATCH)
released=$(cat test/abi/released/VERSION)
check_version() { # OLD NEW RELEASED NOW: prints a message if the version does not reflect the change
	python3 test/abi/changes.py "$1" "$2" >"$dir/changes" || { echo "changes.py failed"; return; }
	[ "${3%%.*}" != "${4%%.*}" ] || ! grep '^broken' "$dir/changes" ||
		echo "hosts of $3 cannot use this $4: raise HEXC_VERSION_MAJOR, which is the soname's"
	[ "$3" != "$4" ] || ! grep '^grown' "$dir/changes" || echo "version $3 had other structs: raise HEXC_VERSION"
}
cp lib/hexc*.h lib/sim/sim.h "$dir/public"
for lib in libhexc libhexc_sim; do
	so=$(echo "$B"/$lib.so.[0-9]*)
	readelf -S "$so" | grep -q '[.]debug_info' || { echo "$so has no debugging information (-g)"; exit 77; }
	dump=test/abi/$lib.abi
	abidw --headers-dir "$dir/public" --exported-interfaces-only --drop-private-types --no-show-locs --no-corpus-path \
		--no-comp-dir-path --no-elf-needed "$so" >"$dir/$lib.abi" || exit 1
	[ -z "$UPDATE" ] || cp "$dir/$lib.abi" $dump
	[ -z "$RELEASE" ] || { cp "$dir/$lib.abi" test/abi/released && echo "$now" >test/abi/released/VERSION; }
	same() { # DUMP: succeeds if nothing that hosts use has changed
		abidiff --no-added-syms "$1" "$dir/$lib.abi" >"$dir/said" 2>&1
	}
	same $dump || fail "FAIL: $lib is another than $dump: $(head -40 "$dir/said")"
	said=$(check_version test/abi/released/$lib.abi "$dir/$lib.abi" "$released" "$now")
	[ -z "$said" ] || fail "FAIL: $lib: $said"
	# Check that planted changes are noticed.
	for wrong in "s/name='hexc_arg' size-in-bits='[0-9]*'/name='hexc_arg' size-in-bits='448'/" \
		"s/name='sim_place' size-in-bits='[0-9]*'/name='sim_place' size-in-bits='64'/" \
		"s/hexc_grid/hexc_grids/" "s/sim_fill/sim_filled/"; do
		sed "$wrong" $dump >"$dir/wrong.abi"
		cmp -s $dump "$dir/wrong.abi" || ! same "$dir/wrong.abi" || fail "FAIL: not noticed in $lib: $wrong"
	done
done
# Check that planted changes are noticed, and accepted with another version or soname.
old=test/abi/released/libhexc.abi
wrong() { # SED VERSION WORD: with this change, from 0.1.0 to VERSION, the message has WORD; "": no message
	sed "$1" $old >"$dir/wrong.abi"
	! cmp -s $old "$dir/wrong.abi" || fail "FAIL: changes nothing: $1"
	said=$(check_version $old "$dir/wrong.abi" 0.1.0 "$2")
	case $said in *"$3"*) [ -n "$3" ] || [ -z "$said" ] || fail "FAIL: $1 as $2: $said" ;; *) fail "FAIL: $1 as $2: $said" ;; esac
}
fixed="s/name='hexc_arg' size-in-bits='[0-9]*'/name='hexc_arg' size-in-bits='640'/"
sized="s/name='hexc_plan_work' size-in-bits='[0-9]*'/name='hexc_plan_work' size-in-bits='640'/"
wrong "$fixed" 0.1.0 'raise HEXC_VERSION_MAJOR'
wrong "$fixed" 0.2.0 'raise HEXC_VERSION_MAJOR'
wrong "$fixed" 1.0.0 ''
wrong "$sized" 0.1.0 'raise HEXC_VERSION'
wrong "$sized" 0.1.1 ''
wrong "s/name='hexc_grid'/name='hexc_grids'/" 0.1.1 'raise HEXC_VERSION_MAJOR'
wrong "0,/layout-offset-in-bits='64'/s//layout-offset-in-bits='128'/" 0.1.1 'raise HEXC_VERSION_MAJOR'
exit $bad
