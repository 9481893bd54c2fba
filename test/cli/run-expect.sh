#!/bin/sh
# --check must not pass elements that the program does not write; --expect compares with a file.
. test/script.sh
cat >"$dir/part.hexc" <<'END2'
kernel part(A: f32[N], C: out f32[N]) { grid(N / 128); C[block.x * 128 :+ 128] = A[block.x * 128 :+ 128] + 1; }
END2
sums() { "$HEXC" run "$dir/part.hexc" -W no-narrow -W no-unwritten "$@"; }
# s STATUS TEXT ARGUMENTS...
s() {
	want=$1 text=$2
	shift 2
	sums "$@" >"$dir/out" 2>&1
	got=$?
	[ $got = "$want" ] || fail "$*: status $got, not $want"
	grep -qF -- "$text" "$dir/out" || fail "$*: no '$text' but $(cat "$dir/out")"
}

for exec in tile sim; do
	s 5 'NOT CHECKED: the program leaves 72 of 200 elements unwritten' --exec $exec --check --arg 'A=arange[200]'
	s 0 ': right' --exec $exec --check --arg 'A=arange[256]'
	sums --exec tile --arg 'A=arange[256]' --save C="$dir/c.npy"
	s 0 ': right' --exec $exec --arg 'A=arange[256]' --expect C=@"$dir/c.npy"
	s 0 ': right' --exec $exec --arg 'A=arange[256]' --expect C=@"$dir/c.npy:0"
	s 3 'WRONG, 254 of 256 elements' --exec $exec --arg 'A=zeros[256]' --expect C=@"$dir/c.npy:0.4" --expect A=@"$dir/c.npy:9"
	s 1 'dimension 0 of C is N = 128, but @' --exec $exec --arg 'A=zeros[128]' --expect C=@"$dir/c.npy"
done
s 2 '--expect requires a file, as in C=@FILE.npy:1e-3' --exec tile --arg 'A=zeros[128]' --expect C=zeros
s 2 "--expect: expected NAME=@FILE[:TOLERANCE] with the name of a tensor, got 'X=@c.npy'" --exec tile --arg 'A=zeros[128]' --expect X=@c.npy
s 1 'none.npy:x' --exec tile --arg 'A=zeros[128]' --expect C=@"$dir/none.npy:x"
exit $bad
