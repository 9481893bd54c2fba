#!/bin/sh
# The C declarations of scripts/python/hexc/_abi.py match the headers: prototypes are declared a second time, and
# structs and their ctypes have the same members with the same types and offsets. Wrong prototypes, wrong types and
# missing members are noticed.
. test/script.sh
. test/python/package.sh
same() { # FILE: does the compiler find it consistent with the headers?
	"${CC:-cc}" -std=c11 -Wall -Werror -I. -fsyntax-only -x c "$1" 2>"$dir/log"
}
program() { # SED: a program from the declarations, edited with SED
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
