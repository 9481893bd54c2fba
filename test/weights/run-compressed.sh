#!/bin/sh
# Weights that the package compressed-tensors quantizes and packs with another seed load, and equal NumPy's numbers
# by the format's description (compressed.py) and the package's own. Without the package only the committed files
# of test/weights/fixtures/compressed are compared with NumPy's numbers. PYTHON: an interpreter that has it; SEED=N.
. test/script.sh
SEED=${SEED:-2}
. test/python.sh
need_python
[ "$SEED" != 1 ] || fail "seed 1 is that of the fixtures"
fixtures=test/weights/fixtures/compressed
"$python" test/weights/compressed.py expect $fixtures/in_place.safetensors $fixtures/ordered.safetensors >"$dir/expected.tsv" || exit 1
cmp "$dir/expected.tsv" $fixtures/expected.tsv || fail "NumPy makes other numbers of the fixtures"
[ $bad = 0 ] || exit 1
"$python" -c 'import torch, compressed_tensors, safetensors' 2>/dev/null ||
	{ echo "the packages torch and compressed_tensors are not here: set PYTHON to an interpreter that has them"; exit 77; }
"$python" test/weights/compressed.py make "$dir" "$SEED" 2>"$dir/log" || { tail -5 "$dir/log"; exit 1; }
"$python" test/weights/compressed.py expect "$dir"/*.safetensors >"$dir/expected.tsv" || exit 1
[ "$(wc -l <"$dir/expected.tsv")" -ge 11 ] || fail "only $(wc -l <"$dir/expected.tsv") weights"
COMPRESSED=$dir "$B/test/weights/test_files" || exit 1
wc -l <"$dir/expected.tsv"
exit $bad
