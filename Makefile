# make              build/libhexc.a, build/libhexc.so.N, build/libhexc_rt.so.N, build/hexc
# make demo         print a table of checked kernels (scripts/demo: on a machine without make)
# make check        every test that needs no GPU; check-unit, check-scripts, check-DIR for a part
#                   (check-sim: test/sim/)
# make check-gpu    the tests that need a GPU
# make static       build-static/hexc: needs no LLVM on the machine where it runs
# make gpu-kit      build-static/hexc-gpu-kit.tar.xz: what scripts/gpu-day needs on a machine that has only a GPU and
#                   Python; compiles the kernels into build/gpu-kernels, each again only if necessary; ONLY=A,B:
#                   only items with these texts in their names
# make install      PREFIX=/usr/local DESTDIR=; make uninstall removes the installed files
# make SAN=1 ...    the same targets with ASan and UBSan, in build-san/
# make syntax       only check the sources of the library and the command line: CC=clang WERROR=1 for clang's warnings
# make fmt          report what clang-format would change; scripts/fmt changes it
#
# Variables: CC, CFLAGS, DEBUGINFO (-g), LLVM_CONFIG (llvm-config-19 ... -22), B (build directory), WERROR=1, SHARED=1
# (LLVM's shared library for build/hexc too), TIMEOUT (seconds for one test), TESTS (test sources or scripts, for
# `make check`), TEST_CFLAGS (-O1) and TEST_LDFLAGS, V=1 (show commands).
# There is no configure step: a change of compiler, flags or LLVM rebuilds what depends on it.

# The newest supported LLVM; one without a version in its name only if its version is supported.
ifndef LLVM_CONFIG
LLVM_CONFIG := $(firstword $(foreach v,22 21 20 19,$(shell command -v llvm-config-$v)))
ifeq ($(LLVM_CONFIG),)
LLVM_CONFIG := $(if $(filter 19.% 20.% 21.% 22.%,$(shell llvm-config --version 2>/dev/null)),llvm-config)
endif
endif
llvm = $(shell $(LLVM_CONFIG) $1 2>/dev/null)
LLVM_VERSION := $(if $(LLVM_CONFIG),$(call llvm,--version))

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-print-directory

comma := ,
Q := $(if $V,,@)
say = $(if $V,@:,@echo '  $1')
B := build$(if $(SAN),-san)
DEBUGINFO ?= -g
CFLAGS := $(if $(SAN),-O1,-O2) $(DEBUGINFO)
TEST_CFLAGS ?= -O1
SIM_CFLAGS := $(if $(SAN),,-O3)
SANF := $(if $(SAN),-DHEXC_CHECKED -fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wvla -Wundef -Wcast-qual -Wwrite-strings \
	-Wpointer-arith -Wformat=2 -Wimplicit-fallthrough -Wswitch $(if $(WERROR),-Werror)
# File names in debug information are relative, so that builds in different directories are identical.
HEXC_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -fPIC -fvisibility=hidden -pthread -MMD -MP -I. \
	-ffile-prefix-map='$(CURDIR)'=. \
	$(WARN) $(CFLAGS) $(SANF)
LLVM_CFLAGS := $(if $(LLVM_VERSION),-isystem $(call llvm,--includedir))
LLVM_LIBS := $(if $(LLVM_VERSION),$(call llvm,--ldflags --libs nvptx passes irreader))
LLVM_ARCHIVES = $(call llvm,--link-static --ldflags --libs nvptx passes irreader) -l:libstdc++.a -static-libgcc
LIBS := -Wl,--as-needed $(LLVM_LIBS) -lm -ldl
# for the command line and the tests
CLI_LIBS := $(LIBS) -lcjson

# Only the header has the version.
version = $(or $(shell sed -n 's/^.define HEXC_VERSION_$1 *//p' lib/hexc.h 2>/dev/null),0)
MAJOR := $(call version,MAJOR)
VERSION := $(MAJOR).$(call version,MINOR).$(call version,PATCH)

CLI_SRC := $(wildcard hexc/cli/*.c hexc/cli/*/*.c)
# Directories of the library, two or three levels deep.
LIB_DIRS := taskmap hexc infer ptxgen lib
LIB_SRC := $(filter-out $(CLI_SRC),$(wildcard $(foreach d,$(LIB_DIRS),$d/*.c $d/*/*.c $d/*/*/*.c)))
# Every test_*.c is one Check program; each util*.c in its directory is linked into all.
TEST_SRC := $(wildcard test/test_*.c test/*/test_*.c test/*/*/test_*.c)
TEST_UTIL := $(wildcard test/util*.c test/*/util*.c test/*/*/util*.c)
TEST_SH := $(wildcard test/run-*.sh test/*/run-*.sh test/*/*/run-*.sh)
HOST_SRC := $(wildcard examples/*.c)
DEMO_SRC := $(wildcard examples/demo/*.c)
ENGINE_SRC := $(wildcard examples/engine/*.c examples/host/*.c)
LLAMA_SRC := $(wildcard examples/llama/*.c examples/host/*.c)

LIB_OBJ := $(LIB_SRC:%.c=$B/obj/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$B/obj/%.o)
DEMO_OBJ := $(DEMO_SRC:%.c=$B/obj/%.o)
ENGINE_OBJ := $(ENGINE_SRC:%.c=$B/obj/%.o)
LLAMA_OBJ := $(LLAMA_SRC:%.c=$B/obj/%.o)
UTIL_OBJ := $(TEST_UTIL:%.c=$B/obj/%.o)
TEST_BIN := $(TEST_SRC:%.c=$B/%)
HOST_BIN := $(HOST_SRC:%.c=$B/%)
LIBA := $B/libhexc.a
LIBSO := $B/libhexc.so.$(MAJOR)
# The simulator is a separate library: its hosts need none of libhexc.
SIM_OBJ := $(filter $B/obj/lib/sim/%,$(LIB_OBJ))
HEXC_OBJ := $(filter-out $(SIM_OBJ),$(LIB_OBJ))
SIMSO := $B/libhexc_sim.so.$(MAJOR)
# The runtime too; libhexc contains its objects as well.
RT_OBJ := $(filter $(foreach d,rt base cache pack gpu weights plan,$B/obj/lib/$d/%),$(LIB_OBJ))
RTSO := $B/libhexc_rt.so.$(MAJOR)
UTIL := $(if $(TEST_UTIL),$B/libutil.a)

all: $(LIBA) $(LIBSO) $(SIMSO) $(RTSO) $(if $(CLI_SRC),$B/hexc) $(HOST_BIN)

# Archives and programs are replaced atomically.
define archive
	@rm -f $@.tmp
	$(call say,ar    $@)
	$Qar rcs $@.tmp $(filter %.o,$^)
	@mv $@.tmp $@
endef

$(LIBA): $(LIB_OBJ) $B/sources
	$(archive)

$(LIBSO): $(HEXC_OBJ) $B/llvm lib/libhexc.map
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) $(SANF) -shared -pthread -Wl,-soname,libhexc.so.$(MAJOR) $(if $(SAN),,-Wl$(comma)--no-undefined) \
		-Wl,--exclude-libs,ALL -Wl,--version-script=lib/libhexc.map $(LDFLAGS) $(filter %.o,$^) $(LIBS) -o $@.tmp
	@mv $@.tmp $@

# A library without LLVM: links the objects $1, and from the archive only the objects that they use.
define small_library
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) $(SANF) -shared -pthread -Wl,-soname,$(@F) $(if $(SAN),,-Wl$(comma)--no-undefined) \
		-Wl,--exclude-libs,ALL -Wl,--version-script=$(filter %.map,$^) $(LDFLAGS) $1 $(LIBA) -Wl,--as-needed -lm -ldl -o $@.tmp
	@mv $@.tmp $@
endef

$(SIMSO): $(SIM_OBJ) $(LIBA) lib/sim/libhexc_sim.map
	$(call small_library,$(SIM_OBJ))

$(RTSO): $(RT_OBJ) $(LIBA) lib/rt/libhexc_rt.map
	$(call small_library,$(RT_OBJ) -Wl$(comma)--gc-sections)

# Links LLVM statically if its archives are installed: relocating the shared library takes longer than compiling a
# small kernel. SHARED=1: never.
$B/hexc: $(CLI_OBJ) $(LIBA) $B/llvm
	$(call say,link  $@)
	$Q$(if $(SHARED)$(SAN),false,$(CC) $(CFLAGS) -no-pie -pthread -Wl,--gc-sections $(LDFLAGS) $(CLI_OBJ) $(LIBA) \
		$(LLVM_ARCHIVES) -Wl,--as-needed -l:libzstd.so.1 -l:libz.so.1 -lcjson -lm -ldl -o $@.tmp 2>/dev/null) || \
		$(CC) $(CFLAGS) $(SANF) -pthread $(LDFLAGS) $(CLI_OBJ) $(LIBA) $(CLI_LIBS) -o $@.tmp
	@mv $@.tmp $@

$(UTIL): $(UTIL_OBJ)
	$(archive)

# Tests are linked with the archive, so that they can use hidden symbols.
$(TEST_BIN): $B/%: $B/obj/%.o $(UTIL) $(LIBA) $B/llvm
	@mkdir -p $(@D)
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) $(SANF) -pthread $(LDFLAGS) $(TEST_LDFLAGS) $< $(UTIL) $(LIBA) -lcheck -lsubunit $(CLI_LIBS) -lrt -o $@.tmp
	@mv $@.tmp $@

# Small hosts, such as an inference engine.
$(HOST_BIN): $B/%: $B/obj/%.o $(LIBA) $B/llvm
	@mkdir -p $(@D)
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) $(SANF) -pthread $(LDFLAGS) $< $(LIBA) $(LIBS) -o $@.tmp
	@mv $@.tmp $@

$B/demo: $(DEMO_OBJ) $(LIBA) $B/llvm
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) $(SANF) -pthread $(LDFLAGS) $(DEMO_OBJ) $(LIBA) $(LIBS) -o $@.tmp
	@mv $@.tmp $@

# They open the simulator library in their own directory.
$B/engine: $(ENGINE_OBJ)
$B/llama: $(LLAMA_OBJ)
$B/engine $B/llama: $(LIBA) $B/llvm
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) $(SANF) -pthread -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) $(filter %.o,$^) $(LIBA) $(LIBS) -o $@.tmp
	@mv $@.tmp $@

# A backend of ggml, which is compiled with ggml's headers: make ggml GGML=DIR, of ggml or of llama.cpp. ggml opens it
# with its own library loaded, so that it is linked with an empty library of that name.
GGML_DIR = $(or $(wildcard $(GGML)/ggml),$(GGML))
GGML_SRC := $(wildcard examples/ggml/*.c)
GGML_OBJ := $(GGML_SRC:%.c=$B/obj/%.o)
GGML_VERSION = $(shell sed -n 's/^set(GGML_VERSION_M[AI][JN]OR *\([0-9]*\))/\1/p; s/^set(GGML_VERSION_PATCH *\([0-9]*\))/\1/p' $(GGML_DIR)/CMakeLists.txt | paste -sd.)
GGML_CFLAGS = -isystem $(GGML_DIR)/include -isystem $(GGML_DIR)/src -DGGML_BACKEND_DL -DGGML_BACKEND_SHARED \
	-DGGML_BACKEND_BUILD -DGGML_SHARED '-DGGML_HEXC_VERSION="$(GGML_VERSION)"' \
	-DGGML_HEXC_NUMBER=$(shell echo $(GGML_VERSION) | awk -F. '{ print $$1 * 10000 + $$2 * 100 + $$3 }') \
	$(if $(shell grep -s 'graph_optimize_params' $(GGML_DIR)/src/ggml-backend-impl.h),-DGGML_HEXC_ALLOC_DEPS)
$(GGML_OBJ): MORE = $(GGML_CFLAGS)
$(GGML_OBJ): $B/ggml-flags
$B/ggml-flags: FORCE
	$(call stamp,$(GGML_CFLAGS))
ggml: $B/libggml-hexc.so
$B/libggml-hexc.so: $(GGML_OBJ) $(LIBSO) $(SIMSO)
	$(if $(wildcard $(GGML_DIR)/src/ggml-backend-impl.h),,$(error make ggml GGML=DIR: DIR is the source of ggml or of llama.cpp))
	$(call say,link  $@)
	@mkdir -p $B/gen/ggml
	$Q$(CC) -shared -nostdlib -x c /dev/null -Wl,-soname,libggml-base.so.0 -o $B/gen/ggml/libggml-base.so
	$Q$(CC) $(CFLAGS) $(SANF) -shared -pthread -Wl,-soname,libggml-hexc.so -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) \
		$(GGML_OBJ) $(LIBSO) -Wl,--no-as-needed $B/gen/ggml/libggml-base.so -Wl,--as-needed -lm -o $@.tmp
	@mv $@.tmp $@

$B/obj/ptxgen/%.o: MORE = $(LLVM_CFLAGS)
# Tests run once after they are built: most of their time is compilation.
$B/obj/test/%.o: MORE = $(LLVM_CFLAGS) $(if $(filter file,$(origin CFLAGS)),$(TEST_CFLAGS))
$B/obj/lib/sim/%.o: MORE = $(SIM_CFLAGS)
# The runtime library leaves out the functions of hexc/ir that it does not use: 20 KB.
IR_OBJ := $(filter $B/obj/hexc/ir/%,$(LIB_OBJ))
IR_CFLAGS := -ffunction-sections -fdata-sections
$(IR_OBJ): MORE = $(IR_CFLAGS)
$(IR_OBJ): $B/ir-flags
$B/ir-flags: FORCE
	$(call stamp,$(IR_CFLAGS))
# Its products are exact: the sums are the same with or without fusion. Floating-point flags are never read.
$B/obj/lib/sim/exec/mma_arith.o: MORE = $(SIM_CFLAGS) -ffp-contract=fast -fno-trapping-math
$B/obj/ptxgen/%.o: ptxgen/%.c $B/flags $B/llvm
	@mkdir -p $(@D)
	$(call say,cc    $<)
	$Q$(CC) $(HEXC_CFLAGS) $(MORE) -c $< -o $@
$B/obj/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call say,cc    $<)
	$Q$(CC) $(HEXC_CFLAGS) $(MORE) -c $< -o $@

# Files embedded verbatim in the command line: arrays of lines, file_html, file_css, file_js.
PAGE := $(addprefix hexc/cli/page/page.,html css js)
$B/gen/hexc/cli/page.inc: $(PAGE)
	@mkdir -p $(@D)
	@for f in $(PAGE); do \
		echo "static const char *const file_$${f##*.}[] = {" && \
		sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n",/' $$f && echo 'NULL };' || exit 1; done >$@
$B/obj/hexc/cli/html_report.o: MORE = -I$B/gen
$B/obj/hexc/cli/html_report.o: $B/gen/hexc/cli/page.inc

# The operators: a row for each file with its name, its line "//: op", and its text.
OPS := $(sort $(wildcard lib/ops/*.hexc))
$B/gen/lib/ops/texts.inc: $(OPS) $B/sources
	@mkdir -p $(@D)
	@for f in $(OPS); do \
		printf 'static const char text_%s[] = {\n' $$(basename $$f .hexc) && od -An -v -tu1 $$f | sed 's/[0-9][0-9]*/&,/g' && \
		echo '0 };' || exit 1; done >$@
	@echo 'static const hexc_op_info texts[] = {' >>$@
	@for f in $(OPS); do n=$$(basename $$f .hexc); \
		printf '{ "%s", "%s", text_%s },\n' $$n "$$(sed -n 's,^//: op ,,p' $$f)" $$n; done >>$@
	@echo '};' >>$@
$B/obj/lib/ops/builtin_ops.o: MORE = -I$B/gen
$B/obj/lib/ops/builtin_ops.o: $B/gen/lib/ops/texts.inc

# Distinguishes builds that may compile differently: a digest of the library's sources, updated with any object.
$B/gen/lib/build_id.inc: $(filter-out $B/obj/lib/ctx.o,$(LIB_OBJ))
	@mkdir -p $(@D)
	@find $(LIB_DIRS) -path hexc/cli -prune -o -name '*.[ch]' -print -o -name '*.def' -print | LC_ALL=C sort | \
		xargs cat | sha256sum | sed 's/\(.\{16\}\).*/"\1"/' >$@
$B/obj/lib/ctx.o: MORE = -I$B/gen
$B/obj/lib/ctx.o: $B/gen/lib/build_id.inc

# Stamp files that change exactly when the flags, LLVM or the list of sources change.
define stamp
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$1)' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$1)' > $@
endef
$B/flags: FORCE
	$(call stamp,$(CC) $(HEXC_CFLAGS) $(SIM_CFLAGS) $(LDFLAGS))
$B/sources: FORCE
	$(call stamp,$(LIB_SRC))
$B/llvm: FORCE
	$(if $(LLVM_VERSION),,$(error no LLVM 19 to 22 found$(if $(LLVM_CONFIG), as $(LLVM_CONFIG)): run scripts/bootstrap, or set LLVM_CONFIG))
	$(call stamp,$(LLVM_VERSION) $(LLVM_CFLAGS) $(LLVM_LIBS))

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(UTIL_OBJ:.o=.d) $(TEST_SRC:%.c=$B/obj/%.d) $(HOST_SRC:%.c=$B/obj/%.d) $(DEMO_OBJ:.o=.d) $(ENGINE_OBJ:.o=.d) $(LLAMA_OBJ:.o=.d) $(GGML_OBJ:.o=.d)

# A bare machine has no LLVM when make reads this file, so the targets below restart make after bootstrap.
BOOTSTRAP := LLVM_CONFIG='$(if $(filter environment% command%,$(origin LLVM_CONFIG)),$(LLVM_CONFIG))' scripts/bootstrap
RUNTESTS := B='$B' CC='$(CC)' LLVM_CONFIG='$(LLVM_CONFIG)' SAN='$(SAN)' scripts/runtests
TESTS ?= $(TEST_SRC) $(TEST_SH)
# What tests run or open, besides their own programs.
RUN_FILES := $B/hexc $(LIBSO) $(SIMSO) $(RTSO) $B/demo $B/engine $B/llama

demo:
	@$(BOOTSTRAP) demo
	@$(MAKE) all $B/demo
	@B='$B' scripts/table

check:
	@$(BOOTSTRAP) check
	@$(MAKE) check-built

check-built: all $(RUN_FILES) $(filter $(TEST_BIN),$(TESTS:%.c=$B/%))
	@$(RUNTESTS) $(TESTS)

syntax: $(addprefix syntax/,$(LIB_SRC) $(CLI_SRC))
syntax/%: $B/gen/hexc/cli/page.inc $B/gen/lib/ops/texts.inc $B/syntax/lib/build_id.inc
	$Q$(CC) $(filter-out -MMD -MP,$(HEXC_CFLAGS)) -I$B/syntax -I$B/gen $(LLVM_CFLAGS) -fsyntax-only $*

# Instead of the digest, which needs objects: another compiler need not build them.
$B/syntax/lib/build_id.inc:
	@mkdir -p $(@D)
	@echo '"0"' >$@

check-unit: $(LIBA) $(SIMSO) $(TEST_BIN)
	@$(RUNTESTS) $(TEST_SRC)

check-scripts: all $(RUN_FILES)
	@$(RUNTESTS) $(TEST_SH)

# The tests that `make check` runs on the simulator through EXEC=sim, on the GPU. HEXC: an existing command line,
# such as that of `make static`.
GPU_TESTS = $(shell grep -lE 'EXEC(:-|.,.)' $(TEST_SH))
check-gpu: $(if $(HEXC),,all)
	@$(or $(HEXC),$B/hexc) run examples/vector_add.hexc --exec=gpu --check --arg 'A=random(1)[1000]' --arg 'B=random(2)'
	@EXEC=gpu HEXC='$(or $(HEXC),$B/hexc)' $(RUNTESTS) $(GPU_TESTS)

# make check-sim runs test/sim/ and builds only what that needs; the rest need not compile. Scripts get the
# libraries and the command line. Scripts and test programs get those of RUN_FILES that the directory names, or that
# a helper of another directory names, if it is included: "$B/llama" in a script, "%s/libhexc_sim.so" in C.
part_src = $(wildcard test/$*/test_*.c test/$*/*/test_*.c)
part_sh = $(wildcard test/$*/run-*.sh test/$*/*/run-*.sh)
part_text = $(wildcard test/$*/*.[ch] test/$*/*/*.[ch] test/$*/*.sh test/$*/*/*.sh)
included = $(wildcard $(patsubst %.h,%.c,$(shell sed -n 's,^.include "\(test/.*/util_.*\)",\1,p' $1)))
with_helpers = $(if $1,$(call with_helpers,$(filter-out $1 $2,$(call included,$1)),$1 $2),$2)
naming = $(shell grep -El '([$$]B"?|%s)/$(basename $(notdir $1))([^a-z_]|$$)' /dev/null $2)
part_named = $(foreach f,$(RUN_FILES),$(if $(call naming,$f,$1),$f))
part_needs = $(LIBA) $(part_src:%.c=$B/%) $(if $(part_sh),all) $(call part_named,$(call with_helpers,$(part_text)))
needs-%:
	@echo 'check-$*: $(part_needs)'
check-%:
	@$(MAKE) $(part_needs)
	@$(RUNTESTS) $(part_src) $(part_sh)

# Links LLVM, the C++ library, cJSON and LLVM's dependencies statically. libc stays dynamic, because hexc opens the
# CUDA driver at run time. The linker drops unused libraries.
S := build-static
STATIC_LIBS = $(LLVM_ARCHIVES) -l:libzstd.a -l:libz.a $S/libcjson.a -Wl,--as-needed -lm -ldl -lrt

static:
	@$(BOOTSTRAP) static
	@$(MAKE) $S/hexc

$S/libcjson.a:
	@CC="$(CC)" scripts/static-cjson $S

$S/hexc: $(CLI_OBJ) $(LIBA) $S/libcjson.a $B/llvm
	@mkdir -p $(@D)
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) -s -pthread -Wl,--gc-sections -Wl,--exclude-libs,ALL $(LDFLAGS) $(CLI_OBJ) $(LIBA) \
		$(STATIC_LIBS) -o $@.tmp
	@mv $@.tmp $@
	@ls -l $@
	@ldd $@

# The libraries and examples/llama as hosts install them, and the driver whose GPU is the simulator.
$S/libhexc.so.$(MAJOR): $(HEXC_OBJ) $B/llvm lib/libhexc.map
	@mkdir -p $(@D)
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) -s -shared -pthread -Wl,-soname,$(@F) -Wl,--no-undefined -Wl,--gc-sections -Wl,--exclude-libs,ALL \
		-Wl,--version-script=lib/libhexc.map $(LDFLAGS) $(filter %.o,$^) $(LLVM_ARCHIVES) -l:libzstd.a -l:libz.a \
		-Wl,--as-needed -lm -ldl -lrt -o $@.tmp
	@mv $@.tmp $@
$S/llama: $(LLAMA_OBJ) $S/libhexc.so.$(MAJOR)
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) -s -pthread -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) $^ -lm -ldl -o $@.tmp
	@mv $@.tmp $@
$S/rehearsal/libcuda.so.1: test/gpu/driver.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,link  $@)
	$Q$(CC) $(CFLAGS) -s -shared -fPIC -I. -fvisibility=hidden $< -Wl,--exclude-libs,ALL $(LIBA) -lm -pthread -o $@.tmp
	@mv $@.tmp $@

gpu-kit:
	@$(BOOTSTRAP) static
	@$(MAKE) all $S/hexc $S/llama $S/rehearsal/libcuda.so.1
	@B='$B' S='$S' PYTHONPATH=scripts/python python3 -B -m hexc_bench.kit --only '$(ONLY)' $S/hexc-gpu-kit.tar.xz

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
D = $(DESTDIR)$(PREFIX)

# Tests and the CLI see all of build/libhexc.a. A host that links the installed archive sees only the API, so that
# its own names cannot conflict.
$B/install/libhexc.a: $(HEXC_OBJ)
$B/install/libhexc_sim.a: $(SIM_OBJ) $(LIBA)
$B/install/libhexc_rt.a: $(RT_OBJ) $(LIBA)
$B/install/%.a: $B/sources
	@mkdir -p $(@D)
	$(LD) -r $(filter %.o,$^) $(filter %.a,$^) -o $(@D)/$*.o
	$(OBJCOPY) --localize-hidden $(@D)/$*.o
	@rm -f $@
	ar rcs $@ $(@D)/$*.o

# pkg-config file of library $1, described by $2: flags to link it; $3 for static linking.
define pc
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)%=$${prefix}%)' 'includedir=$${prefix}/include' '' \
		'Name: $1' 'Description: $2' 'Version: $(VERSION)' \
		'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -l$1' 'Libs.private: $3' \
		> "$(DESTDIR)$(LIBDIR)/pkgconfig/$1.pc"
endef

MAN5 := $(sort $(wildcard lib/*/hexc-*.5))
# Manual pages of the public headers: one per header, and one line per function.
MAN_HEADERS := $(sort $(wildcard lib/hexc*.h)) lib/sim/sim.h
$B/man3/made: scripts/man $(MAN_HEADERS)
	@rm -rf $(@D)
	scripts/man $(@D) $(VERSION) $(MAN_HEADERS)
	@touch $@

# Manual pages of the operators, from the output of the command line; HEXC: one that runs here, if $B's does not.
$B/man7/made: scripts/man-ops $(OPS) $(if $(HEXC),,$B/hexc)
	@rm -rf $(@D)
	scripts/man-ops $(@D) $(VERSION) $(or $(HEXC),$B/hexc)
	@touch $@

OBJCOPY ?= objcopy
install: all $B/man3/made $B/man7/made $B/install/libhexc.a $B/install/libhexc_sim.a $B/install/libhexc_rt.a
	install -d "$D/bin" "$D/include" "$D/share/man/man1" "$D/share/man/man3" "$D/share/man/man5" "$D/share/man/man7" "$D/share/bash-completion/completions" "$(DESTDIR)$(LIBDIR)/pkgconfig"
	install -m 755 $B/hexc "$D/bin/hexc"
	for h in $(notdir $(wildcard lib/hexc*.h)); do sed 's|"lib/hexc|"hexc|' lib/$$h > "$D/include/$$h" || exit 1; done
	install -m 644 hexc/cli/hexc.1 "$D/share/man/man1/hexc.1"
	install -m 644 $B/man3/*.3 "$D/share/man/man3"
	install -m 644 $(MAN5) "$D/share/man/man5"
	install -m 644 $B/man7/*.7 "$D/share/man/man7"
	install -m 644 scripts/editors/hexc.bash "$D/share/bash-completion/completions/hexc"
	install -d "$D/share/vim/vimfiles/syntax" "$D/share/vim/vimfiles/ftdetect" "$D/share/hexc/vscode"
	install -m 644 scripts/editors/hexc.vim "$D/share/vim/vimfiles/syntax/hexc.vim"
	install -m 644 scripts/editors/ftdetect.vim "$D/share/vim/vimfiles/ftdetect/hexc.vim"
	install -m 644 scripts/editors/*.json "$D/share/hexc/vscode"
	install -m 644 lib/sim/sim.h "$D/include/hexc_sim.h"
	for l in hexc hexc_sim hexc_rt; do \
		install -m 644 $B/install/lib$$l.a "$(DESTDIR)$(LIBDIR)/lib$$l.a" && \
		install -m 755 $B/lib$$l.so.$(MAJOR) "$(DESTDIR)$(LIBDIR)/lib$$l.so.$(VERSION)" && \
		ln -sf lib$$l.so.$(VERSION) "$(DESTDIR)$(LIBDIR)/lib$$l.so.$(MAJOR)" && \
		ln -sf lib$$l.so.$(MAJOR) "$(DESTDIR)$(LIBDIR)/lib$$l.so" || exit 1; done
	[ ! -e $B/libggml-hexc.so ] || install -m 755 $B/libggml-hexc.so "$(DESTDIR)$(LIBDIR)/libggml-hexc.so"
	$(call pc,hexc,tile programs to PTX,$(strip $(LLVM_LIBS)) -lm -ldl -pthread)
	$(call pc,hexc_sim,PTX on the host: executed$(comma) checked and counted,-lm -pthread)
	$(call pc,hexc_rt,compiled kernels of hexc: loaded$(comma) checked$(comma) launched,-lm -ldl -pthread)
	@echo 'installed $(VERSION) under $D'

# The files that install creates; directories stay, since other packages may use them.
uninstall: $B/man3/made $B/man7/made
	cd $B && for f in man3/*.3 man7/*.7; do rm -f "$(if $(filter /%,$D),,$(CURDIR)/)$D/share/man/$$f" || exit 1; done
	cd "$D" && rm -f bin/hexc include/hexc_sim.h $(patsubst lib/%,include/%,$(wildcard lib/hexc*.h)) \
		share/man/man1/hexc.1 $(addprefix share/man/man5/,$(notdir $(MAN5))) \
		share/bash-completion/completions/hexc share/vim/vimfiles/syntax/hexc.vim share/vim/vimfiles/ftdetect/hexc.vim \
		$(patsubst scripts/editors/%,share/hexc/vscode/%,$(wildcard scripts/editors/*.json))
	cd "$(DESTDIR)$(LIBDIR)" && rm -f libggml-hexc.so && for l in hexc hexc_sim hexc_rt; do \
		rm -f lib$$l.a lib$$l.so lib$$l.so.$(MAJOR) lib$$l.so.$(VERSION) pkgconfig/$$l.pc; done

fmt:
	@scripts/fmt --check

clean:
	rm -rf build build-san $S $B

FORCE:
.PHONY: all demo ggml check check-built syntax check-unit check-scripts check-gpu static gpu-kit install uninstall fmt clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
