#!/bin/sh
# Compares documents with their sources: tables (*.def), the command line, and file names.
. test/script.sh

# Every op has an entry in hexc/IR.md: its name in backticks in a heading or the first column of a table.
if [ -f hexc/IR.md ]; then
	for op in $(sed -n "s/^\(OP\|ELT\)(\([a-z0-9_]*\),.*/\2/p" hexc/ir/ops.def); do
		grep -Eq "^#+ (.*[ ,\`])?${op}([\`, ].*)?\$|^\| *([^|]*\`)?${op}[\` (|]|^[-*] *\`${op}[\` (]" hexc/IR.md ||
			fail "hexc/IR.md: no entry for op $op of hexc/ir/ops.def"
	done
	for imm in $(sed -n 's/^OP_IMMS\{0,1\}(\([a-z_]*\),.*/\1/p' hexc/ir/ops.def); do
		grep -q "\`$imm\`" hexc/IR.md || fail "hexc/IR.md: nothing on immediate $imm of hexc/ir/ops.def"
	done
fi

# hexc/LANGUAGE.md and the manual page list exactly the warnings of hexc/ir/warnings.def, with the same text.
sed -n 's/^WARNING(\([a-z]*\), *[a-z]*, *"\(.*\)")$/\1\t\2/p' hexc/ir/warnings.def >"$dir/warnings"
[ -s "$dir/warnings" ] || fail "hexc/ir/warnings.def: no rows"
sed -n '/^| warning | of |$/,/^$/s/^| `\([a-z]*\)` | \(.*\) |$/\1\t\2/p' hexc/LANGUAGE.md | diff "$dir/warnings" - ||
	fail "hexc/ir/warnings.def (<) and hexc/LANGUAGE.md (>) differ"
sed -n '/^The warnings are:$\|The warnings are:$/,/^\.RE$/p' hexc/cli/hexc.1 |
	awk '/^\.B / { name = $2; getline; sub(/\.$/, ""); print name "\t" $0 }' | diff "$dir/warnings" - ||
	fail "hexc/ir/warnings.def (<) and hexc/cli/hexc.1 (>) differ"

# --help and the manual page list the same options.
if [ -x "$B/hexc" ]; then
	options() { grep -Eo -- '(^|[^A-Za-z0-9-])--?[A-Za-z][A-Za-z0-9-]*' | grep -Eo -- '--?[A-Za-z].*' | grep -Ex -- '-[A-Za-z]|--[a-z][a-z-]+' | LC_ALL=C sort -u; }
	{
		"$B/hexc" --help
		for c in run sim candidates explain weights pack unpack build bundle cache ops ir help; do "$B/hexc" $c --help; done
	} >"$dir/help" 2>&1
	options <"$dir/help" >"$dir/a"
	sed 's/\\-/-/g; s/\\f[A-Z]//g; /^\.\\"/d' hexc/cli/hexc.1 | options >"$dir/b"
	diff "$dir/a" "$dir/b" >"$dir/diff" || fail "hexc --help (<) and hexc/cli/hexc.1 (>) have different options:
$(grep '^[<>]' "$dir/diff")"
fi

# The README's program is part of an example.
if [ -f examples/gemm_w4a16.hexc ]; then
	sed -n '/^```hexc$/,/^```$/p' README.md | sed '1d;$d' >"$dir/readme"
	[ -s "$dir/readme" ] || fail "README.md: no program (between \`\`\`hexc and \`\`\`)"
	awk 'NR == FNR { want[++n] = $0; next }
		{ have[++m] = $0 }
		END {
			for (i = 0; i + n <= m; i++) {
				for (j = 1; j <= n && want[j] == have[i + j]; j++)
					;
				if (j > n) exit 0
			}
			exit 1
		}' "$dir/readme" examples/gemm_w4a16.hexc || fail "README.md: its program is not a part of examples/gemm_w4a16.hexc"
fi

# `hexc explain` prints the texts that the README quotes for that program and for attention.
if [ -x "$B/hexc" ]; then
	for f in gemm_w4a16 attention; do
		"$B/hexc" explain "examples/$f.hexc" --arch sm_80
	done | tr -s ' ' >"$dir/explain"
	sed -n '/^| in the program |/,/^$/p' README.md | sed 1,2d | cut -d '|' -f 4 | grep -o '`[^`]*`' | tr -d '`' |
		grep -v '^[a-z]*/' >"$dir/said"
	[ -s "$dir/said" ] || fail "README.md: no table of what explain says"
	while read -r phrase; do
		grep -qF -e "$phrase" "$dir/explain" || fail "README.md: explain does not say \`$phrase\`"
	done <"$dir/said"
fi

# The README's C programs compile, and the files that it names exist.
awk -v dir="$dir" '/^```c$/ { file = dir "/readme" ++n ".c"; next } /^```$/ { file = "" } file { print >file }' README.md
[ -s "$dir/readme2.c" ] || fail "README.md: no two programs in C"
for f in "$dir"/readme*.c; do
	"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I. -fsyntax-only "$f" || fail "README.md: $f does not compile"
done
for f in $(grep -oE '\b(taskmap|hexc|infer|ptxgen|lib|examples|test|scripts)/[A-Za-z0-9_./-]*[A-Za-z0-9_]' README.md CONTRIBUTING.md -h | grep -v '^hexc/PROG' | LC_ALL=C sort -u); do
	case $f in test/DIR/* | test/gpu/NAME.json) continue ;; esac
	[ -e "$f" ] || ls "$f"* >/dev/null 2>&1 || fail "README.md or CONTRIBUTING.md: there is no $f"
done

# Files that comments and documents name exist, except in the history and in examples of names.
git ls-files '*.c' '*.h' '*.def' '*.md' '*.sh' '*.py' '*.hexc' '*.5' '*.1' scripts | grep -v '^CHANGES' |
	xargs grep -ohE '(^|[ "(`])(taskmap|hexc|infer|ptxgen|lib|examples|test|scripts)/[A-Za-z0-9_./*-]*[A-Za-z0-9_*]\.(c|h|def|hexc|py|sh|md|5|1|tsv)\b' |
	sed 's/^[ "(`]*//' | LC_ALL=C sort -u >"$dir/named"
while read -r f; do
	case $f in *\** | */NAME* | */FILE.* | */X.* | */a.hexc | */my-* | *N.tsv | test/DIR/* | test/room/* | hexc/_*) continue ;; esac
	[ -e "$f" ] || fail "$f is named, and not there: $(git grep -lF "$f" | head -2)"
done <"$dir/named"

# hexc/IR.md quotes the constants of the cost model's table.
tr '\n' ' ' <hexc/IR.md | grep -oE '[0-9]+ +\(`[A-Z_]+` of infer/core/cost_constants.def' | tr -d '(`' | while read -r n name _; do
	grep -Eq "^[A-Z]+\($name, $n," infer/core/cost_constants.def || echo "hexc/IR.md: $name is $n, and not in infer/core/cost_constants.def"
done >"$dir/numbers"
[ ! -s "$dir/numbers" ] || fail "$(cat "$dir/numbers")"

# Prose is at most 118 columns wide; tables, programs and commands may be wider.
for md in $(git ls-files '*.md'); do
	awk '/^```/ { code = !code } !code && !/^\|/ && !/^    / { print FNR ": " $0 }' "$md" | LC_ALL=C.UTF-8 grep -E '^[0-9]+: .{119}' >"$dir/wide" &&
		fail "$md: over 118 columns: $(cut -c 1-60 "$dir/wide")"
done

# Links to files lead somewhere.
# shellcheck disable=SC2044 # no blanks in our names
for md in $(find . -name '*.md' ! -path './build*' ! -path './.git/*'); do
	for to in $(grep -o '](\([^)#:]*\)[)#]' "$md" | sed 's/^](//; s/[)#]$//'); do
		[ -e "$(dirname "$md")/$to" ] || fail "$md: link to $to, which is not there"
	done
done
exit $bad
