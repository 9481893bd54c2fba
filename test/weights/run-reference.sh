#!/bin/sh
# Files that the Python package gguf writes now, with another seed, load and agree with its own decoders.  The
# package comes with pip into a folder of the build; without pip or a network the committed files of
# test/weights/fixtures are all there is.  SEED=N.
. test/script.sh
SEED=${SEED:-2}
. test/python.sh
need_python gguf
"$python" test/weights/reference.py "$dir" "$SEED" || exit 1
REFERENCE=$dir "$B/test/weights/test_files" || exit 1
wc -l <"$dir/expected.tsv"
