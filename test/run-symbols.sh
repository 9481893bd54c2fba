#!/bin/sh
# What libhexc.so exports is the API and changes in review only: test/libhexc.symbols.
# UPDATE=1 writes the list anew.
list=test/libhexc.symbols
[ -z "$SAN" ] || { echo "sanitizers export symbols of their own"; exit 77; }
set -- "${B:-build}"/libhexc.so.[0-9]*
# what the linker adds by itself is no API
names=$(nm -D --defined-only "$1" | awk '{ print $NF }' | grep -vxE '__bss_start|_edata|_end|HEXC_0' | LC_ALL=C sort)
unversioned=$(printf '%s\n' "$names" | grep -v '@@HEXC_0$') && { echo "without a version: $unversioned"; exit 1; }
names=$(printf '%s\n' "$names" | sed 's/@@.*//')
[ -z "$UPDATE" ] || printf '%s\n' "$names" >$list
[ -f $list ] || { echo "no $list yet"; exit 77; }
printf '%s\n' "$names" | diff $list - || {
	echo "exported symbols differ from $list: < missing, > new"
	exit 1
}
