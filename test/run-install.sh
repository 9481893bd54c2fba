#!/bin/sh
# What `make install` leaves is enough for a host: headers, hexc.pc, the shared and the static library.
[ -z "$SAN" ] || { echo "an installed library has no sanitizers"; exit 77; }
command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
MAKEFLAGS='' make -s install B="${B:-build}" LLVM_CONFIG="$LLVM_CONFIG" PREFIX="$dir" >/dev/null
for f in bin/hexc include/hexc.h include/hexc_weights.h include/hexc_gpu.h lib/libhexc.a lib/libhexc.so share/man/man1/hexc.1; do
	[ -e "$dir/$f" ] || { echo "not installed: $f"; exit 1; }
done
cat >"$dir/host.c" <<'END'
#include <hexc.h>
#include <hexc_weights.h>
#include <hexc_gpu.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	static const char src[] = "kernel k(";
	hexc_ctx *ctx;
	hexc_module *m;
	hexc_diag_info d;
	if (hexc_version() != HEXC_VERSION || hexc_open(&ctx, NULL) != HEXC_OK)
		return 1;
	if (hexc_compile(&m, ctx, "k", src, strlen(src)) != HEXC_E_SOURCE || !hexc_diag(ctx, 0, &d))
		return 2;
	printf("%s: %s\n", hexc_build_info(), d.text);
	hexc_close(ctx);
	return 0;
}
END
export PKG_CONFIG_PATH="$dir/lib/pkgconfig"
# shellcheck disable=SC2046 # lists of flags
"${CC:-cc}" "$dir/host.c" $(pkg-config --cflags --libs hexc) -Wl,-rpath,"$dir/lib" -o "$dir/shared"
"$dir/shared"
rm "$dir"/lib/libhexc.so* # so that -lhexc is the static one
# shellcheck disable=SC2046
"${CC:-cc}" "$dir/host.c" $(pkg-config --static --cflags --libs hexc) -o "$dir/static"
"$dir/static"
"$dir/bin/hexc" --version
