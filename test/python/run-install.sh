#!/bin/sh
# pip installs the package from the checkout into a new environment, without network and with pip only. The README's
# program runs there. pip lists the installed files, and uninstalls them.
. test/script.sh
. test/python/package.sh
command -v python3 >/dev/null && python3 -c 'import ensurepip' 2>/dev/null || { echo "no python3 with ensurepip"; exit 77; }
site=$("$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))')
python3 -m venv "$dir/venv" || exit 1
new=$dir/venv/bin
unset PYTHONPATH
"$new/pip" install -q --no-index --no-deps --disable-pip-version-check ./scripts/python >"$dir/log" 2>&1 || fail "pip: $(cat "$dir/log")"
[ -z "$(git status --porcelain scripts/python 2>/dev/null | grep -E 'build|egg|dist|__pycache__')" ] || fail "pip leaves files in the checkout"
"$new/pip" show -f hexc 2>/dev/null | grep -q 'hexc/py.typed' || fail "pip does not know what it installed"
sed -n '/^```python$/,/^```$/p' README.md | sed '1d;$d' >"$dir/readme.py"
[ -s "$dir/readme.py" ] || fail "README.md: no program in Python"
[ "$(grep -c . "$dir/readme.py")" -le 10 ] || fail "README.md: its program in Python is long"
PYTHONPATH=$site "$new/python" "$dir/readme.py" >"$dir/log" 2>&1 || fail "README.md: its program in Python: $(cat "$dir/log")"
# Without the variable and outside the checkout the system's loader searches; its error says what to do.
(cd "$dir" && HEXC_LIBRARY_DIR='' PYTHONPATH=$site "$new/python" -c 'import hexc; print(hexc.archs())') >"$dir/log" 2>&1 ||
	grep -q 'set HEXC_LIBRARY_DIR' "$dir/log" || fail "no library: $(cat "$dir/log")"
# A hexc installed anywhere by make install is found by its command line.
mkdir -p "$dir/prefix/bin" "$dir/prefix/lib"
cp "$HEXC" "$dir/prefix/bin/hexc"
cp "$B"/libhexc.so.0 "$B"/libhexc_sim.so.0 "$dir/prefix/lib"
(cd "$dir" && PATH=$dir/prefix/bin:$PATH HEXC_LIBRARY_DIR='' PYTHONPATH=$site "$new/python" - "$dir/prefix/lib/libhexc" <<'END') >"$dir/log" 2>&1 || fail "installed: $(cat "$dir/log")"
import sys, hexc, numpy as np
gemm = hexc.operator("gemm")
assert gemm.run(A=np.ones((2, 8), np.float16), B=np.ones((8, 8), np.float16))["C"].sum() == 128
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libhexc" in line}
assert loaded and all(path.startswith(sys.argv[1]) for path in loaded), loaded
END
"$new/pip" uninstall -q -y hexc && "$new/pip" install -q --no-index --no-deps -e ./scripts/python >"$dir/log" 2>&1 || fail "pip -e: $(cat "$dir/log")"
# An editable installation finds the checkout's directory build.
[ "$B" != build ] || (cd "$dir" && HEXC_LIBRARY_DIR='' PYTHONPATH=$site "$new/python" -c 'import hexc; print(hexc.archs())') >"$dir/log" 2>&1 || fail "editable: $(cat "$dir/log")"
exit $bad
