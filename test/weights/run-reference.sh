#!/bin/sh
# Files that the Python package gguf writes with another seed load and agree with its decoders. pip installs the
# package into a directory of the build; without pip or a network only the committed files of
# test/weights/fixtures are tested. SEED=N.
. test/script.sh
SEED=${SEED:-2}
. test/python.sh
need_python gguf
"$python" test/weights/reference.py "$dir" "$SEED" || exit 1
REFERENCE=$dir "$B/test/weights/test_files" || exit 1
wc -l <"$dir/expected.tsv"
