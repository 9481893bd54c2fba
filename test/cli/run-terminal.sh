#!/bin/sh
# The output at a terminal: colours and progress, which appear nowhere else; help from the table of options;
# suggestions for misspelled words; completion. A closed pipe is no error.
. test/script.sh

# Each option of the table is in the help of the commands that accept it; other commands reject it.
rows() { sed -n 's/^OPT(\([a-zA-Z_0-9]*\), *"\(-[-A-Za-z0-9]*\)", *\(NULL\|"[^"]*"\), *[01], *\([a-z]*\), *"\([A-Za-z]*\)", *"\(.*\)")$/\1\t\2\t\5\t\6/p' hexc/cli/base/options.def; }
[ "$(rows | wc -l)" = "$(grep -c '^OPT(' hexc/cli/base/options.def)" ] || fail "rows of options.def that this test cannot read"
for c in E: R:run S:sim C:candidates X:explain W:weights P:pack U:unpack; do
	letter=${c%%:*} name=${c#*:}
	"$HEXC" ${name:---emit-ptx} --help >"$dir/help" || fail "${name:---emit-ptx} --help"
	rows | awk -F '\t' -v l="$letter" 'index($3, l) { print $2 "\t" $4 }' >"$dir/want"
	sed -n 's/^  \(-[-A-Za-z0-9]*\)/\1\t/p' "$dir/help" | sed 's/\t\([^ ]* \)\{0,1\} */\t/' | cut -f 1 | sort >"$dir/a"
	cut -f 1 "$dir/want" | sort | diff "$dir/a" - >"$dir/diff" || fail "hexc $name --help (<) and options.def (>) differ: $(cat "$dir/diff")"
	while IFS="$(printf '\t')" read -r opt help; do
		grep -F -- "  $opt" "$dir/help" | grep -qF -- " $help" || fail "hexc $name --help: no '$help' with $opt"
	done <"$dir/want"
	for opt in $(rows | awk -F '\t' -v l="$letter" '!index(tolower($3), tolower(l)) { print $2 }' | sort -u); do
		cut -f 1 "$dir/want" | grep -qxF -- "$opt" || [ "$opt" = --emit-ptx ] ||
			"$HEXC" ${name:---emit-ptx} "$opt" 2>&1 | grep -q 'is not an option of this command' || fail "hexc $name takes $opt"
	done
done
for c in run sim candidates explain weights pack unpack; do
	"$HEXC" --help | grep -q "^ *hexc $c " || fail "hexc --help: no $c"
done

# Suggestions for similar words; GPU names by prefix.
says 2 "no command 'expalin', did you mean explain?" expalin
says 2 "no command 'frob'; see hexc --help" frob
says 2 'missing command for examples/sort.hexc; use hexc compile' examples/sort.hexc
says 2 'unknown option --chek, did you mean --check?' run --chek
says 2 'unknown option --emti-ptx, did you mean --emit-ptx?' --emti-ptx
says 2 '--nosuch; see --help' run --nosuch
vec="run examples/vector_add.hexc --exec sim --arg A=zeros[64] --arg B=zeros[64]"
# shellcheck disable=SC2086 # a list of words
"$HEXC" $vec --roofline A100 2>"$dir/err"
[ $? = 2 ] || fail "--roofline A100: another status"
[ "$(sed 1d "$dir/err" | cut -c 3-18 | tr -s ' \n' ' ')" = 'A100-40GB A100-80GB A100-80GB-PCIe ' ] || fail "--roofline A100: $(cat "$dir/err")"

# head
"$HEXC" explain examples/attention.hexc 2>"$dir/err" | head -n 1 >"$dir/out"
[ -s "$dir/out" ] && [ ! -s "$dir/err" ] || fail "explain | head: $(cat "$dir/err")"
( "$HEXC" --emit-ptx examples/attention.hexc; echo $? >"$dir/rc" ) | :
[ "$(cat "$dir/rc")" = 0 ] || fail "--emit-ptx to nobody: status $(cat "$dir/rc")"
if [ -e /dev/full ] && "$HEXC" --emit-ptx examples/sort.hexc >/dev/full 2>"$dir/err"; then fail "a full disk is no error"; fi

# Completion.
complete() { # words...: the last is incomplete
	bash -c '. scripts/editors/hexc.bash; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hexc; echo "${COMPREPLY[*]}"' - "$HEXC" "$@"
}
if command -v bash >/dev/null; then
	[ "$(complete ex)" = explain ] || fail "ex: $(complete ex)"
	[ "$(complete run x.hexc --ch)" = --check ] || fail "run --ch: $(complete run x.hexc --ch)"
	[ "$(complete run x.hexc --exec s)" = sim ] || fail "run --exec s: $(complete run x.hexc --exec s)"
	[ "$(complete --emit-ptx --arch = sm_9)" = sm_90a ] || fail "--arch=sm_9: $(complete --emit-ptx --arch = sm_9)"
	[ "$(complete explain --sv)" = --svg ] || fail "explain --sv: $(complete explain --sv)"
fi

# A terminal: colours unless NO_COLOR, and progress of work that takes over a second.
command -v python3 >/dev/null || exit $bad
cat >"$dir/term.py" <<'END'
import os, pty, sys
said = b""
def read(fd):
    global said
    data = os.read(fd, 4096)
    said += data
    return data
out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
status = pty.spawn(sys.argv[1:], read, lambda fd: b"")
os.write(out, said)
sys.exit(os.waitstatus_to_exitcode(status))
END
terminal() { TERM=xterm python3 "$dir/term.py" "$@" </dev/null >"$dir/out"; }
esc=$(printf '\033')
printf 'kernel k(C: out f32[N]) { grid(1); C[0 :+ 8] = nosuch; }' >"$dir/e.hexc"
terminal "$HEXC" --emit-ptx "$dir/e.hexc"
grep -qF "$esc[1;31merror$esc[0m: unknown name" "$dir/out" || fail "no colours on a terminal: $(cat "$dir/out")"
NO_COLOR=1 terminal "$HEXC" --emit-ptx "$dir/e.hexc"
grep -qF "error: unknown name" "$dir/out" || fail "NO_COLOR: $(cat "$dir/out")"
"$HEXC" --emit-ptx "$dir/e.hexc" 2>&1 | grep -qF "$esc" && fail "colours in a file"
cat >"$dir/long.hexc" <<'END'
kernel long(C: inout f32[N])
{
    grid(1);
    for i in 0..N step 1 { C[0 :+ 128] = C[0 :+ 128] + 1; }
}
END
long="run $dir/long.hexc -W no-unwritten -W no-idle --exec sim --arg C=zeros[128]"
# shellcheck disable=SC2086 # a list of words
terminal "$HEXC" $long
grep -q simulating "$dir/out" && fail "progress of what is quick"
sed -i 's/0..N step 1/0..4000 * N step 1/' "$dir/long.hexc" # takes seconds on any machine
# shellcheck disable=SC2086 # a list of words
terminal "$HEXC" $long
grep -qF "simulating: 1 s" "$dir/out" || fail "no progress: $(cat "$dir/out")"
# shellcheck disable=SC2086 # a list of words
"$HEXC" $long >"$dir/out" 2>&1
[ ! -s "$dir/out" ] || fail "progress in a file: $(cat "$dir/out")"
exit $bad
