#!/bin/sh
# The C declarations of scripts/python/hexc/_abi.py are those of the headers: prototypes are declared again beside them,
# and structs have the same members of the same types at the same places; so have those of ctypes.  A wrong prototype,
# a wrong type and a missing member are noticed.
. test/script.sh
. test/python/package.sh
same() { # FILE: does the compiler find that it says what the headers do?
	"${CC:-cc}" -std=c11 -Wall -Werror -I. -fsyntax-only -x c "$1" 2>"$dir/log"
}
program() { # SED: of the declarations, changed so
	mkdir -p "$dir/other"
	cp -r scripts/python/hexc "$dir/other"
	sed -i "$1" "$dir/other/hexc/_abi.py"
	PYTHONPATH=$dir/other "$python" -c 'from hexc import _abi; print(_abi.check_program())' >"$dir/abi.c" || fail "no program: $1"
}
program ''
same "$dir/abi.c" || fail "scripts/python/hexc/_abi.py and the headers differ: $(head -5 "$dir/log")"
for wrong in 's/^int hexc_tensor(const hexc_module \*m, size_t k, size_t i/int hexc_tensor(const hexc_module *m, size_t k, int i/' \
	's/uint32_t smem; uint32_t nparam/uint32_t nparam; uint32_t smem/' 's/uint64_t bytes; int64_t i;/uint64_t bytes; uint64_t i;/' \
	's/ uint64_t l2_bytes;//' 's/int64_t bias; uint64_t bytes;/uint64_t bytes; int64_t bias;/' \
	's/py_each_want each/void *each/' 's/"HEXC_LINEINFO": 64/"HEXC_LINEINFO": 32/'; do
	program "$wrong"
	same "$dir/abi.c" && fail "not noticed: $wrong"
done
exit $bad
