#!/bin/sh
# The simulator library is found next to the library that opens it. A host finds libhexc or libhexc_rt by RUNPATH,
# in any directory, absolute or relative, or by a link, and opens HEXC_SIMULATOR without LD_LIBRARY_PATH. If it is
# not there, the loader's search paths apply, and a message says so.
[ -z "$SAN" ] || { echo "the libraries are instrumented"; exit 77; }
. test/script.sh
cat >"$dir/host.c" <<'END'
#include "lib/hexc_gpu.h"
#include <stdio.h>

int
main(void)
{
	char why[400] = "";
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	hexc_gpu *g;

	if (hexc_gpu_open(&g, HEXC_SIMULATOR(80), why, sizeof why))
		return puts(why), 1;
	hexc_gpu_describe(g, &info);
	puts(info.arch);
	hexc_gpu_close(g);
	return 0;
}
END
unset LD_LIBRARY_PATH
lib="$dir/a folder/lib"
mkdir -p "$lib" "$dir/bin" "$dir/elsewhere"
host() { # NAME LIBRARY RUNPATH
	"${CC:-cc}" -std=c11 -I. "$dir/host.c" "$B/lib$2.so.0" -Wl,--enable-new-dtags "-Wl,-rpath,$3" -o "$dir/bin/$1" || exit 1
}
works() { # WHAT COMMAND..
	what=$1
	shift
	[ "$("$@" 2>&1)" = sm_80 ] || fail "$what: $("$@" 2>&1)"
}
for name in hexc hexc_rt; do
	cp "$B/lib$name.so.0" "$lib"
	host "$name" $name "$lib"
	"$dir/bin/$name" >"$dir/said" 2>&1 && fail "$name: a simulator where there is none"
	grep -qF 'simulator not found (libhexc_sim.so.0); install it beside libhexc, or link it' "$dir/said" ||
		fail "$name: $(cat "$dir/said")"
done
cp "$B/libhexc_sim.so.0" "$dir/elsewhere"
works 'where the loader looks' env LD_LIBRARY_PATH="$dir/elsewhere" "$dir/bin/hexc_rt"
mv "$dir/elsewhere/libhexc_sim.so.0" "$lib"
for name in hexc hexc_rt; do
	works "$name by RUNPATH" "$dir/bin/$name"
	host "$name-origin" $name "\$ORIGIN/../a folder/lib"
	works "$name by \$ORIGIN" sh -c 'cd "$0/bin" && "./$1-origin"' "$dir" "$name"
	host "$name-relative" $name "a folder/lib"
	works "$name by a relative RUNPATH" sh -c 'cd "$0" && "bin/$1-relative"' "$dir" "$name"
done
# By links, as installed: the simulator is next to the link that the loader used.
mkdir "$dir/links"
ln -s "$lib"/* "$dir/links"
host links hexc_rt "$dir/links"
works 'by links' "$dir/bin/links"
exit $bad
