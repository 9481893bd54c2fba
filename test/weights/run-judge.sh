#!/bin/sh
# Unusual safetensors and GGUF files are accepted or rejected as by the containers' own Python packages, with the
# same tensors and bytes (judge.py).
. test/script.sh
. test/python.sh
need_python gguf safetensors
"$python" test/weights/judge.py "$dir" >"$dir/judged.tsv" || exit 1
JUDGED=$dir "$B/test/weights/test_files" || exit 1
wc -l <"$dir/judged.tsv"
