#!/bin/sh
# Files that the Python package gguf writes now, with another seed, load and agree with its own decoders.  The
# package comes with pip into a folder of the build; without pip or a network the committed files of
# test/weights/fixtures are all there is.  SEED=N, PYTHON=python3 of a place that has the packages.
B=${B:-build}
SEED=${SEED:-2}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
python=${PYTHON:-$B/reference/bin/python}
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
has() { "$1" -c 'import numpy, gguf' 2>/dev/null; }
if ! has "$python"; then
	python3 -m venv "$B/reference" >"$dir/log" 2>&1 &&
		timeout 100 "$B/reference/bin/pip" install -q --retries 0 --timeout 10 --disable-pip-version-check \
			numpy==2.4.6 gguf==0.19.0 >>"$dir/log" 2>&1
	python=$B/reference/bin/python
	has "$python" || { tail -3 "$dir/log"; echo "the Python packages numpy and gguf are not here and cannot be had"; exit 77; }
fi
"$python" test/weights/reference.py "$dir" "$SEED" || exit 1
REFERENCE=$dir "$B/test/weights/test_files" || exit 1
wc -l <"$dir/expected.tsv"
