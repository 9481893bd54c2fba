#!/bin/sh
# The exports of the shared libraries are the API: test/libhexc.symbols, libhexc_sim.symbols, libhexc_rt.symbols.
# The last is a subset of the first. A change must be reviewed; UPDATE=1 rewrites the lists.
[ -z "$SAN" ] || { echo "sanitizers export symbols of their own"; exit 77; }
bad=0
for lib in libhexc:HEXC_0 libhexc_sim:HEXC_SIM_0 libhexc_rt:HEXC_RT_0; do
	version=${lib#*:} list=test/${lib%:*}.symbols
	set -- "${B:-build}/${lib%:*}".so.[0-9]*
	# The linker's own symbols are not part of the API.
	names=$(nm -D --defined-only "$1" | awk '{ print $NF }' | grep -vxE "__bss_start|_edata|_end|$version" | LC_ALL=C sort)
	unversioned=$(printf '%s\n' "$names" | grep -v "@@$version\$") && { echo "without a version: $unversioned"; bad=1; }
	names=$(printf '%s\n' "$names" | sed 's/@@.*//')
	[ -z "$UPDATE" ] || printf '%s\n' "$names" >"$list"
	printf '%s\n' "$names" | diff "$list" - || {
		echo "exported symbols differ from $list: < missing, > new"
		bad=1
	}
done
LC_ALL=C comm -13 test/libhexc.symbols test/libhexc_rt.symbols | grep . && { echo "libhexc_rt has what libhexc lacks"; bad=1; }
# The runtime is small, and needs only the C library.
set -- "${B:-build}"/libhexc_rt.so.[0-9]*
others=$(ldd "$1" | grep -vE 'linux-vdso|ld-linux|lib(c|m|dl|pthread)[.]so') && { echo "$1 needs $others"; bad=1; }
bytes=$(size "$1" | awk 'END { print $4 }')
[ "$bytes" -le 409600 ] || { echo "$1 takes $bytes bytes in memory; at most 400 KB"; bad=1; }
small=$(mktemp)
strip -o "$small" "$1"
bytes=$(wc -c <"$small")
rm -f "$small"
[ "$bytes" -le 409600 ] || { echo "$1 has $bytes bytes on disk, stripped; at most 400 KB"; bad=1; }
exit $bad
