#!/bin/sh
# The files of scripts/editors: their words are the compiler's. Vim and a TextMate engine classify every token of
# all examples, and of programs with contextual keywords, as the grammar of hexc/LANGUAGE.md does.
# test/cli/run-terminal.sh tests bash completion.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
scripts/words --check || bad=1
grep -vE '^syn keyword hexcType' scripts/editors/hexc.vim >"$dir/hexc.vim"
mkdir -p "$dir/copy/scripts/editors" "$dir/copy/hexc/ir" && cp -r hexc/lang hexc/prelude "$dir/copy/hexc" && cp hexc/ir/dtypes.def "$dir/copy/hexc/ir" &&
	cp scripts/editors/* "$dir/copy/scripts/editors" && cp "$dir/hexc.vim" "$dir/copy/scripts/editors"
(cd "$dir/copy" && python3 "$OLDPWD/scripts/words" --check >/dev/null) && fail "scripts/words finds nothing wrong with hexc.vim without types"

# SHOWN in scripts/words lists the compiler's reserved words; words of patterns are not reserved.
program() { printf 'kernel k(C: out f32[N]) { grid(1); let %s = 1.5; C[0 :+ 8] = %s; }\n' "$1" "$1" >"$dir/name.hexc"; }
reserved=$(sed -n "/^SHOWN/,/^}/s/.*: '\(.*\)',/\1/p" scripts/words)
for w in $reserved; do
	case $w in in | step | stages | default | out | inout | strides) continue ;; esac # names in positions where these words cannot occur
	program "$w"
	"$HEXC" --emit-ptx "$dir/name.hexc" -o "$dir/ptx" 2>/dev/null && fail "$w is a name, and shown as a reserved word"
done
for w in roles producer consumer warps teams registers await arrive packed layout copy store dots stores mbarrier; do
	program "$w"
	"$HEXC" --emit-ptx "$dir/name.hexc" -o "$dir/ptx" 2>"$dir/err" || fail "$w is reserved everywhere: $(head -1 "$dir/err")"
	grep -q "\\b$w\\b" scripts/editors/hexc.vim || fail "hexc.vim does not know $w"
done

programs="$(git ls-files 'examples/*.hexc') $(git ls-files 'test/*.hexc' |
	xargs grep -lE 'roles *\{|await |layout "|async (copy|store)|wait (dots|stores)|mbarrier\[')"
# shellcheck disable=SC2086 # lists of files
python3 test/editors/tokens.py $programs >"$dir/want" || fail "tokens.py"
for kind in Control Declaration Modifier Constant Type Function Name Member Number Operator String Comment; do
	grep -q "	$kind\$" "$dir/want" || fail "no $kind among the tokens"
done
same() { diff "$dir/want" "$2" >"$dir/diff" || { fail "$1: what tokens are (<), and how they are shown (>)" && head -20 "$dir/diff"; }; }

if command -v vim >/dev/null; then
	mkdir -p "$dir/runtime/syntax" "$dir/runtime/ftdetect"
	cp scripts/editors/hexc.vim "$dir/runtime/syntax/hexc.vim"
	cp scripts/editors/ftdetect.vim "$dir/runtime/ftdetect/hexc.vim"
	RUNTIME=$dir/runtime TOKENS=$dir/want KINDS=$dir/vim timeout 100 vim -es -u NONE -i NONE -n -S test/editors/kinds.vim </dev/null ||
		fail "vim: status $?"
	same vim "$dir/vim"
else
	echo "no vim here"
fi

# A file that names another file, such as the grammar's, names one that exists.
python3 - <<'END' || bad=1
import json, os, sys
at = 'scripts/editors/'
for f in ('hexc.tmLanguage.json', 'package.json', 'language-configuration.json'):
    with open(at + f) as file:
        known = json.load(file)
    for part in known.get('contributes', {}).values():
        for path in [x for entry in part for x in entry.values() if str(x).startswith('./')]:
            if not os.path.exists(at + path):
                sys.exit('%s names %s, which is not there' % (f, path))
END
[ $bad = 0 ] || exit 1
. test/python.sh
need_python textmate_grammar
# shellcheck disable=SC2086
"$python" test/editors/tokens.py --textmate $programs >"$dir/textmate" 2>"$dir/err" || { fail "TextMate: $(tail -1 "$dir/err")"; }
same TextMate "$dir/textmate"
wc -l <"$dir/want"
exit $bad
