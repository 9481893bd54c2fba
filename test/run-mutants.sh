#!/bin/sh
# test/mutants.tsv matches the code: each text occurs once in its file, and each named test exists. In a tree of one
# file, scripts/mutate distinguishes noticed from unnoticed mutants. The table itself runs by hand, with
# scripts/mutate, in an hour.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v git >/dev/null || { echo "no git"; exit 77; }
scripts/mutate --texts >"$dir/out" || fail "test/mutants.tsv does not fit the code: $(cat "$dir/out")"

tree=$dir/tree
mkdir -p "$tree/scripts" "$tree/room" "$tree/test/room"
cp scripts/mutate "$tree/scripts/"
cp -r scripts/python "$tree/scripts/"
cat >"$tree/room/sum.c" <<'END'
int sum(int n) { int s = 0; for (int i = 1; i <= n; i++) s += i; return s; }
int zero(void) { return 0; }
END
cat >"$tree/test/room/test_sum.c" <<'END'
int sum(int n);
int main(void) { return sum(3) != 6; }
END
cat >"$tree/Makefile" <<'END'
B/test/room/test_sum: B/libhexc.a test/room/test_sum.c
	mkdir -p B/test/room && cc -o $@ test/room/test_sum.c B/libhexc.a
B/libhexc.a: room/sum.c
	mkdir -p B/obj && cc -c -o B/obj/sum.o room/sum.c && rm -f $@ && ar rc $@ B/obj/sum.o
	touch B/flags B/sources B/llvm
END
(cd "$tree" && git init -q . && echo B >.gitignore)

# try STATUS LINE...: runs with these lines as the table; the following calls check the output.
try() {
	want=$1
	shift
	printf '%b\n' "$@" >"$tree/test/mutants.tsv"
	(cd "$tree" && MAKEFLAGS='' B=B scripts/mutate --timeout 20) >"$dir/out" 2>&1
	got=$?
	[ $got = "$want" ] || fail "$*: status $got, not $want: $(cat "$dir/out")"
}
told() {
	for text; do
		grep -q -- "$text" "$dir/out" || fail "no '$text' in $(cat "$dir/out")"
	done
}
try 0 'room/sum.c\ti <= n\ti < n\t-\t-' 'room/sum.c\ts += i\ts += i--\ttest/room/test_sum\t-' \
	'room/sum.c\tint s = 0\tint s = +0\t-\tthe same number'
told '^killed  *1 ' '^killed  *2 ' '^equivalent  *3 ' '^1 equivalent, 2 killed: 100.0 %'
try 1 'room/sum.c\treturn 0\treturn 1\t-\t-' 'room/sum.c\tint s = 0\tint s = none\t-\t-' \
	'room/sum.c\ti <= n\ti < n\t-\tsaid to change nothing'
told '^survived  *1 ' '^does not build  *2 ' '^1 does not build, 1 killed, 1 survived: 33.3 %'
try 1 'room/sum.c\ti <= n\ti < n\t-\tsaid to change nothing'
try 2 'room/sum.c\treturn\tbreak\t-\t-' 'room/sum.c\ti <= n\ti < n\ttest/room/test_other\t-'
told ":1: room/sum.c has 'return' 2 times" ":2: no test 'test/room/test_other'"

# --auto: all mutants of a file in one program. Those of seven, which no test calls, are not reached.
command -v clang >/dev/null || exit $bad
cat >"$tree/room/sum.c" <<'END'
#define TWICE(x) ((x) + (x))
static int some(int n) { return n > 2 && n < 9; }
int sum(int n) { int s = 0; for (int i = 1; i <= n; i++) s += TWICE(i); if (some(n)) s++; return s; }
int seven(void) { return 7; }
END
sed -i 's/!= 6/!= 13 || sum(2) != 6 || sum(9) != 90/' "$tree/test/room/test_sum.c"
(cd "$tree" && MAKEFLAGS='' B=B scripts/mutate --auto room) >"$dir/out" 2>&1 && fail "seven() is not tested: $(cat "$dir/out")"
told '^not reached .*: seven: 7  ->  7 + 1$' '^not reached .*: seven: {  ->  return 0$' \
	'^survived .*: some: 9  ->  9 - 1$' '^room: 18 killed, 3 not reached, 2 survived: 78.3 %'
# with the missing tests, and the reason of the one that changes nothing, all are noticed
sed -i 's/int sum(int n);/& int seven(void);/; s/sum(2) != 6/sum(8) != 73 || seven() != 7 || &/' "$tree/test/room/test_sum.c"
printf 'room/sum.c\tsum\t1\t1 - 1\t0\tadds 0\n' >"$tree/test/mutants-equivalent.tsv"
(cd "$tree" && MAKEFLAGS='' B=B scripts/mutate --auto --again room) >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
told '^room: 1 equivalent, 22 killed: 100.0 %'
exit $bad
