#!/bin/sh
# A forged cache entry with correct checksums is served only from a directory that only its owner may write. It is
# not served if others may write the directory or the entry, or if another user owns one of them. The command line
# reports that once and compiles.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
umask 022
cat >"$dir/forge.py" <<'END'
import struct, sys

M, PRIME = 2**64 - 1, 0x100000001B3
BASIS = 0xCBF29CE484222325


def digest(h, p):
    """hexc-cache(5)'s checksum: FNV-1a of words of 8 bytes, in four lanes."""
    lane, i = [(h + k) & M for k in range(4)], 0
    words = [int.from_bytes(p[k : k + 8], "little") for k in range(0, len(p) - len(p) % 8, 8)]
    whole = len(words) // 4 * 4
    for k, w in enumerate(words):
        lane[k % 4] = ((lane[k % 4] ^ w) * PRIME) & M
    last = int.from_bytes(p[len(words) * 8 :], "little")
    for x in lane:
        last = ((last ^ x) * PRIME) & M
    return last ^ last >> 32


path = sys.argv[1]
e = bytearray(open(path, "rb").read())
at = e.rindex(b".version")  # of the PTX, after the program's text
e[at : at + 8] = b".forged!"
h = digest(BASIS, bytes(e[:24])) ^ len(e)
e[24:32] = struct.pack("<Q", digest(h, bytes(e[32:])))
open(path, "wb").write(e)
END
d=$dir/cache
emit() { "$HEXC" --emit-ptx examples/vector_add.hexc --cache="$d" -o "$dir/$1.ptx" 2>"$dir/$1.said" || fail "$1: fails"; }
emit first
python3 "$dir/forge.py" "$d"/*.hxc || exit 1
emit control
grep -q '^.forged!' "$dir/control.ptx" || fail 'the forged entry of the own folder is not served: this test shows nothing'
# NAME TEXT: expects the correct PTX and one message
refused() {
	emit "$1"
	cmp -s "$dir/$1.ptx" "$dir/first.ptx" || fail "$1: the forged entry is served"
	[ "$(grep -c 'is not used' "$dir/$1.said")" = 1 ] && grep -qF "$2" "$dir/$1.said" ||
		fail "$1: said is $(cat "$dir/$1.said")"
}
chmod 777 "$d"
refused world 'warning: --cache: '"$d"' is not used: it is writable by others than its owner (mode 777)'
says 1 'is not used: it is writable by others than its owner (mode' cache list "$d"
chmod 755 "$d"
chmod 666 "$d"/*.hxc
cp -p "$d"/*.hxc "$dir/kept"
emit entry
cmp -s "$dir/entry.ptx" "$dir/first.ptx" || fail 'an entry that others may write is served'
emit again # the correct entry has replaced it
[ -z "$(find "$d" -name '*.hxc' -perm /022)" ] || fail 'the entry that others may write is still there'
if [ "$(id -u)" = 0 ]; then
	cp "$dir/kept" "$(echo "$d"/*.hxc)"
	chmod 644 "$d"/*.hxc
	chown -R 12345 "$d"
	refused foreign "$d"' is not used: it is owned by user 12345'
	chmod 777 "$d"
	refused both 'it is owned by user 12345'
	chown 0 "$d"
	chmod 700 "$d"
	emit foreign-entry
	cmp -s "$dir/foreign-entry.ptx" "$dir/first.ptx" || fail "another user's entry is served"
fi
# For several programs the message appears once.
chmod 777 "$d"
"$HEXC" build examples/vector_add.hexc examples/softmax.hexc --arch sm_80,sm_90a --cache="$d" -o "$dir/b.hxb" 2>"$dir/said" ||
	fail 'hexc build fails'
[ "$(grep -c 'is not used' "$dir/said")" = 1 ] || fail "hexc build: said is $(cat "$dir/said")"
exit $bad
