#!/bin/sh
# `make install` installs all that a host needs: headers, hexc.pc, the shared and the static library. The installed
# files do not depend on the build directory. DESTDIR may be any directory, and `make uninstall` removes all of it.
[ -z "$SAN" ] || { echo "an installed library has no sanitizers"; exit 77; }
command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
MAKEFLAGS='' make -s install B="${B:-build}" LLVM_CONFIG="$LLVM_CONFIG" PREFIX="$dir" >/dev/null
for f in bin/hexc include/hexc.h include/hexc_bundle.h include/hexc_weights.h include/hexc_gpu.h include/hexc_plan.h include/hexc_cache.h include/hexc_family.h \
	share/man/man3/hexc_gpu.h.3 share/man/man3/hexc_gpu_open.3 share/man/man3/sim_open.3 lib/libhexc.a lib/libhexc.so include/hexc_sim.h lib/libhexc_sim.a \
	lib/libhexc_sim.so lib/libhexc_rt.a lib/libhexc_rt.so share/man/man5/hexc-module.5 share/man/man5/hexc-bundle.5 share/man/man5/hexc-family.5 share/man/man5/hexc-cache.5 share/man/man5/hexc-manifest.5 share/man/man7/hexc-op-gemm.7 share/man/man1/hexc.1 share/bash-completion/completions/hexc \
	share/vim/vimfiles/syntax/hexc.vim share/vim/vimfiles/ftdetect/hexc.vim share/hexc/vscode/package.json; do
	[ -e "$dir/$f" ] || { echo "not installed: $f"; exit 1; }
done
! grep -lF "$PWD/" "$dir/bin/hexc" "$dir"/lib/libhexc.* || { echo "these name the folder of the build"; exit 1; }
! grep -i cjson "$dir/lib/pkgconfig/hexc.pc" || { echo "the library needs no cJSON"; exit 1; }
# Uninstall removes only the files that install created. Next to them are files of other software, with
# names that start like hexc's.
blank="$dir/a blank/usr"
mkdir -p "$blank/include" "$blank/share/man/man3" "$blank/lib/pkgconfig" "$blank/bin" "$blank/share/hexc"
for f in include/hexc_other.h share/man/man3/hexc_other.3 lib/libhexc_other.so lib/pkgconfig/hexc_other.pc bin/hexc-other share/hexc/other; do
	echo mine >"$blank/$f"
done
(cd "$blank" && find . ! -type d | LC_ALL=C sort) >"$dir/before"
for make in install uninstall; do
	MAKEFLAGS='' make -s $make B="${B:-build}" LLVM_CONFIG="$LLVM_CONFIG" PREFIX=/usr DESTDIR="$dir/a blank" >/dev/null
	(cd "$blank" && find . ! -type d | LC_ALL=C sort) >"$dir/$make.files"
done
cmp "$dir/before" "$dir/uninstall.files" || { echo "make uninstall: < before, > after"; diff "$dir/before" "$dir/uninstall.files"; exit 1; }
[ "$(wc -l <"$dir/install.files")" -gt 200 ] || { echo "make install: $(wc -l <"$dir/install.files") files"; exit 1; }
# Each function of the API has a manual page, which the formatter shows without warnings.
for f in $(cat test/libhexc.symbols test/libhexc_sim.symbols); do
	[ -e "$dir/share/man/man3/$f.3" ] || { echo "no manual page of $f"; exit 1; }
done
for f in $("$dir/bin/hexc" ops | cut -d ' ' -f 1); do
	[ -e "$dir/share/man/man7/hexc-op-$f.7" ] || { echo "no manual page of operator $f"; exit 1; }
done
if command -v groff >/dev/null; then
	for f in "$dir"/share/man/man[1357]/*.[1357]; do
		case $(head -1 "$f") in .so*) continue ;; esac
		[ -z "$(groff -man -ww -z "$f" 2>&1)" ] || { echo "${f##*/}: $(groff -man -ww -z "$f" 2>&1 | head -3)"; exit 1; }
	done
fi
if command -v man >/dev/null && command -v groff >/dev/null; then
	MANPATH="$dir/share/man" man -P cat 3 hexc_plan_solve 2>/dev/null | tr -s ' \n' ' ' | grep -q 'Schedules all nodes, assigns streams and places all buffers' ||
		{ echo "man hexc_plan_solve does not show it"; exit 1; }
fi
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
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
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
# A host with a decimal comma in its locale gets the same output.
cat >"$dir/comma.c" <<'END'
#include <hexc.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	static const char src[] = "kernel k(A: f32[N], C: out f32[N]) {\n"
				  "    grid(ceil(N, 128));\n"
				  "    C[block.x * 128 :+ 128] = A[block.x * 128 :+ 128] * 0.75 + 1.5e-3;\n"
				  "}\n";
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_ctx *ctx;
	hexc_module *m;
	if (!setlocale(LC_ALL, ""))
		return 77;
	o.flags = HEXC_EXPLAIN | HEXC_DRAW | HEXC_PARANOID;
	if (hexc_open(&ctx, &o) != HEXC_OK || hexc_compile(&m, ctx, "k", src, strlen(src)) != HEXC_OK)
		return 1;
	printf("%s%s%s", hexc_ptx(m, NULL), hexc_explain(m, 0), hexc_explain_json(m, 0));
	fprintf(stderr, "%g\n", 0.5);
	hexc_module_free(m);
	hexc_close(ctx);
	return 0;
}
END
if command -v localedef >/dev/null && mkdir "$dir/locale" &&
	localedef -i de_DE -f UTF-8 "$dir/locale/de_DE.UTF-8" 2>/dev/null; then
	# shellcheck disable=SC2046
	"${CC:-cc}" "$dir/comma.c" $(pkg-config --cflags --libs hexc) -Wl,-rpath,"$dir/lib" -o "$dir/comma"
	LC_ALL=C "$dir/comma" >"$dir/point.txt" 2>"$dir/point.err"
	LOCPATH="$dir/locale" LC_ALL=de_DE.UTF-8 "$dir/comma" >"$dir/comma.txt" 2>"$dir/comma.err"
	grep -qx '0,5' "$dir/comma.err" || { echo "no decimal comma in de_DE"; exit 1; }
	cmp "$dir/point.txt" "$dir/comma.txt"
else
	echo "no localedef with de_DE: locales are not tried"
fi
# The simulator is a separate library: its host needs no libhexc, LLVM or C++, shared or static.
cat >"$dir/sim.c" <<'END'
#define X 17
#include <hexc_sim.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
		".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d;\nld.param.u64 %d, [p];\n"
		"st.global.u32 [%d], 17;\nst.global.u32 [%d+4], 1;\nret;\n}\n";
	sim *s = sim_open();
	sim_module *m;
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	sim_fault f;
	unsigned v = 0;
	uint64_t p = sim_alloc(s, 4, "p");
	const void *args[] = { &p };
	if (sim_load(s, ptx, strlen(ptx), &m) != SIM_OK)
		return 1;
	l.args = args;
	if (sim_run(s, m, "k", &l, &r) != SIM_E_FAULT || !sim_fault_at(r, 0, &f) || f.kind != SIM_FAULT_BOUNDS)
		return 2;
	if (sim_read(s, p, &v, 4) != SIM_OK || v != X)
		return 3;
	puts(f.text);
	sim_result_free(r);
	sim_close(s);
	return 0;
}
END
alone() { # PROGRAM ARG..: runs, and links only the C library and the simulator or the runtime
	program=$1
	shift
	"$dir/$program" "$@" >/dev/null || { echo "$program: status $?"; exit 1; }
	others=$(ldd "$dir/$program" | grep -vE 'linux-vdso|ld-linux|lib(c|m|dl|pthread|hexc_sim|hexc_rt)[.]so') || return 0
	echo "$program needs $others"
	exit 1
}
# shellcheck disable=SC2046
"${CC:-cc}" "$dir/sim.c" $(pkg-config --cflags --libs hexc_sim) -Wl,-rpath,"$dir/lib" -o "$dir/sim-shared"
alone sim-shared
mkdir "$dir/both"
mv "$dir"/lib/libhexc_sim.so* "$dir/both"
# shellcheck disable=SC2046
"${CC:-cc}" "$dir/sim.c" $(pkg-config --static --cflags --libs hexc_sim) -o "$dir/sim-static"
alone sim-static
mv "$dir/both"/* "$dir/lib"
# The runtime is separate too: one host compiles, another without a compiler launches.
cat >"$dir/save.c" <<'END'
#include <hexc.h>
#include <string.h>
int main(int argc, char **argv)
{
	static const char src[] = "kernel k(A: f32[N], C: out f32[N]) {\n"
				  "    grid(ceil(N, 128));\n"
				  "    C[block.x * 128 :+ 128] = A[block.x * 128 :+ 128];\n"
				  "}\n";
	hexc_ctx *ctx;
	hexc_module *m;
	if (argc != 2 || hexc_open(&ctx, NULL) || hexc_compile(&m, ctx, "k", src, strlen(src)))
		return 1;
	return hexc_module_save_file(m, NULL, 0, argv[1], NULL, 0) != HEXC_OK;
}
END
cat >"$dir/rt.c" <<'END'
#include <hexc_bundle.h>
#include <hexc_gpu.h>
#include <hexc_plan.h>
#include <hexc_weights.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	hexc_arg arg[3] = { HEXC_ARG_INIT, HEXC_ARG_INIT, HEXC_ARG_INIT };
	hexc_module *m;
	hexc_bundle *b;
	hexc_file *f;
	hexc_plan *plan;
	hexc_gpu *g;
	uint32_t grid[3];
	char why[200];
	if (argc != 2 || hexc_module_load_file(&m, argv[1], why, sizeof why) != HEXC_OK)
		return puts(why), 1;
	arg[2].i = 1000;
	if (hexc_check_sizes(m, 0, arg, why, sizeof why) || hexc_grid(m, 0, arg, grid) || grid[0] != 8)
		return puts(why), 2;
	if (hexc_bundle_open(&b, argv[1], why, sizeof why) != HEXC_E_FILE || hexc_file_open(&f, argv[1], why, sizeof why) != HEXC_E_FILE)
		return 3;
	if (hexc_gpu_open(&g, 0, why, sizeof why) == HEXC_OK)
		hexc_gpu_close(g);
	if (hexc_plan_new(&plan, NULL) || hexc_plan_solve(plan))
		return 4;
	hexc_plan_free(plan);
	hexc_module_free(m);
	return 0;
}
END
# shellcheck disable=SC2046
"${CC:-cc}" "$dir/save.c" $(pkg-config --cflags --libs hexc) -Wl,-rpath,"$dir/lib" -o "$dir/save"
"$dir/save" "$dir/k.module"
# shellcheck disable=SC2046
"${CC:-cc}" "$dir/rt.c" $(pkg-config --cflags --libs hexc_rt) -Wl,-rpath,"$dir/lib" -o "$dir/rt-shared"
alone rt-shared "$dir/k.module"
# An engine in three languages, with weights in GGUF and safetensors files: it runs each kernel of
# examples/gemm_schemes.hexc, on the simulator as two GPUs and through a driver. QUICK=1: those of three files.
weights=$(echo test/weights/fixtures/*.gguf test/weights/fixtures/*.safetensors)
[ -z "$QUICK" ] || weights=$(cd test/weights/fixtures && realpath tables.gguf gptq4-order.safetensors awq.safetensors)
. test/gpu/fake.sh
B=${B:-build} make_driver "$dir"
engine() { # NAME COMPILER..: test/gpu/schemes.c, with the runtime only
	name=$1
	shift
	# shellcheck disable=SC2046
	"$@" -Wall -Wextra -Wpedantic -Werror test/gpu/schemes.c $(pkg-config --cflags --libs hexc_rt) -Wl,-rpath,"$dir/lib" -lm \
		-o "$dir/$name"
}
engine scheme80 "${CC:-cc}" -std=c99
engine scheme90 "${CC:-cc}" -std=c11
if command -v c++ >/dev/null; then engine scheme0 c++ -x c++ -std=c++17; else cp "$dir/scheme90" "$dir/scheme0"; fi
# shellcheck disable=SC2086 # a list of files
"$dir/scheme80" want $weights >"$dir/weights"
LC_ALL=C sort -u "$dir/weights" >"$dir/want"
mkdir "$dir/parts"
while read -r constants; do
	# shellcheck disable=SC2086 # a list of options
	"$dir/bin/hexc" build examples/gemm_schemes.hexc $constants --arch sm_80,sm_90a -o "$dir/parts/$(printf %s "$constants" | tr -d ' ').hxb"
done <"$dir/want"
"$dir/bin/hexc" bundle merge "$dir"/parts/*.hxb -o "$dir/schemes.hxb"
sed 's/^--kernel //; s/ .*//' "$dir/want" | LC_ALL=C sort -u >"$dir/kernels"
[ -n "$QUICK" ] || sed -n 's/^kernel \([a-z_]*\).*/\1/p' examples/gemm_schemes.hexc | LC_ALL=C sort | diff - "$dir/kernels" ||
	{ echo "no weight for a kernel of examples/gemm_schemes.hexc"; exit 1; }
for on in 80 90 0; do
	# shellcheck disable=SC2086
	LD_LIBRARY_PATH="$dir/lib:$dir" "$dir/scheme$on" $on "$dir/schemes.hxb" $weights >"$dir/products" ||
		{ echo "scheme$on: $(tail -1 "$dir/products")"; exit 1; }
	cut -d' ' -f1 "$dir/products" | LC_ALL=C sort -u | diff "$dir/kernels" - || { echo "on $on not all schemes"; exit 1; }
	[ "$(wc -l <"$dir/products")" = "$(wc -l <"$dir/weights")" ] || { echo "on $on $(wc -l <"$dir/products") products"; exit 1; }
done
others=$(ldd "$dir/scheme90" | grep -vE 'linux-vdso|ld-linux|lib(c|m|dl|pthread|hexc_rt)[.]so') && { echo "scheme90 needs $others"; exit 1; }
mv "$dir"/lib/libhexc_rt.so* "$dir/both"
# shellcheck disable=SC2046
"${CC:-cc}" "$dir/rt.c" $(pkg-config --static --cflags --libs hexc_rt) -o "$dir/rt-static"
alone rt-static "$dir/k.module"
mv "$dir/both"/libhexc_rt* "$dir/lib"
# shellcheck disable=SC2046 # and in a host of both
"${CC:-cc}" "$dir/host.c" $(pkg-config --cflags --libs hexc hexc_sim) -Wl,-rpath,"$dir/lib" -o "$dir/both/shared"
"$dir/both/shared"
rm "$dir"/lib/libhexc.so* # -lhexc selects the static library
# shellcheck disable=SC2046
"${CC:-cc}" "$dir/host.c" $(pkg-config --static --cflags --libs hexc) -o "$dir/static"
"$dir/static"
"$dir/bin/hexc" --version
# An LLVM other than the one of the build is reported, and not used.
cat >"$dir/llvm.c" <<'END'
void LLVMGetVersion(unsigned *major, unsigned *minor, unsigned *patch)
{
	*major = 19, *minor = *patch = 1;
}
END
case $("$dir/bin/hexc" --version) in *'LLVM 19'*) other=20 ;; *) other=19 ;; esac
sed -i "s/= 19/= $other/" "$dir/llvm.c"
"${CC:-cc}" -shared -fPIC "$dir/llvm.c" -o "$dir/llvm.so"
cat >"$dir/other.c" <<'END'
#include <hexc.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	static const char src[] = "kernel k(A: out f32[N]) { grid(1); A[0 :+ 32] = 0; }";
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_ctx *ctx;
	hexc_module *m;
	int code;
	printf("%s\n", hexc_build_info());
	if (hexc_open(&ctx, NULL) != HEXC_OK)
		return 2;
	code = hexc_compile(&m, ctx, "k", src, strlen(src));
	for (size_t i = 0; code != HEXC_OK && hexc_diag(ctx, i, &d); i++)
		printf("%s\n", d.text);
	hexc_close(ctx);
	return code != HEXC_OK;
}
END
# shellcheck disable=SC2046 # lists of flags
"${CC:-cc}" "$dir/other.c" $(pkg-config --static --cflags --libs hexc) -o "$dir/other"
"$dir/other" >/dev/null
! LD_PRELOAD="$dir/llvm.so" "$dir/other" >"$dir/said"
[ "$(grep -c "built with LLVM .* runs with LLVM $other" "$dir/said")" = 2 ] ||
	{ echo "no word on another LLVM: $(cat "$dir/said")"; exit 1; }
