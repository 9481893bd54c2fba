#!/bin/sh
# All JSON output is UTF-8, for any names of files, programs and weights. Python decodes it strictly. U+FFFD
# replaces each invalid byte; all other text is unchanged.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >"$dir/strict.py" <<'END'
import json, sys

text = open(sys.argv[1], "rb").read()
want = sys.argv[2].encode().decode("unicode_escape")
lines = text.splitlines() if sys.argv[1].endswith("err") else [text]
for line in lines:
    json.loads(line.decode("utf-8", "strict"))
sys.exit(want not in "\n".join(json.dumps(json.loads(line), ensure_ascii=False) for line in lines))
END
strict() { # FILE TEXT: the file is JSON and contains the text
	python3 "$dir/strict.py" "$dir/$1" "$2" 2>"$dir/log" || fail "$1: $(tail -1 "$dir/log") $(od -c "$dir/$1" | head -5)"
}
odd=$(printf 'odd\377\300\200\355\240\200\364\220\200\200\303\251')  # only the last character is valid
want='odd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\u00e9'
printf 'kernel k(A: f32[N], C: out f32[N])\n{ // \377\n    grid(1);\n    C[0 :+ 64] = A[0 :+ 64] + nothing;\n}\n' >"$dir/$odd.hexc"
"$HEXC" --emit-ptx "$dir/$odd.hexc" --diag json >/dev/null 2>"$dir/diag.err"
strict diag.err "$want.hexc"
printf 'kernel k(A: f32[N], C: out f32[N])\n{ // \377\n    grid(1);\n    C[0 :+ 64] = A[0 :+ 64];\n}\n' >"$dir/$odd.hexc"
cd "$dir" || exit 1
case $HEXC in /*) ;; *) HEXC=$OLDPWD/$HEXC ;; esac
run() { "$HEXC" "$@" >out 2>err || fail "hexc $1: $(head -3 err)"; }
run --emit-ptx "$odd.hexc" --manifest manifest.json
strict manifest.json '"k"'
run explain "$odd.hexc" --json explain.json
strict explain.json '"k"'
run explain "$odd.hexc" --html page.html
python3 - <<'END' || fail 'the page is no UTF-8'
open("page.html", "rb").read().decode("utf-8", "strict")
END
run candidates "$odd.hexc" --json && cp out candidates.json && strict candidates.json cycles
run build "$odd.hexc" --arch sm_80 --cache=cache -o b.hxb
run bundle list b.hxb --json && cp out bundle.json && strict bundle.json "$want.hexc"
run cache list cache --json && cp out cache.json && strict cache.json label
run run "$odd.hexc" --exec=sim --arg 'A=1[64]' --stats stats.json && strict stats.json sectors
python3 - <<'END'
import struct

name = b"w\xff\xed\xa0\x80\xc3\xa9"
head = b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, len(name)) + name + struct.pack("<IQQIQ", 2, 32, 1, 2, 0)
open("odd.gguf", "wb").write(head + bytes(-len(head) % 32) + bytes(18))
END
run weights odd.gguf --json && cp out weights.json && strict weights.json 'w\ufffd\ufffd\ufffd\ufffd\u00e9'
exit $bad
