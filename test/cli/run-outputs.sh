#!/bin/sh
# hexc writes complete files or none. An output is never an input or another output, under any name. With a full
# disk the old file remains. Modes and links are preserved, and no temporary file remains.
. test/script.sh
cp examples/vector_add.hexc "$dir/p.hexc"
cp test/weights/fixtures/blocks.gguf "$dir/w.gguf"
p=$dir/p.hexc
# refused STATUS TEXT FILE ARGUMENTS...: and FILE is unchanged
refused() {
	want=$1 text=$2 file=$3
	shift 3
	cp "$file" "$dir/before"
	says "$want" "$text" "$@"
	cmp -s "$file" "$dir/before" || fail "hexc $* changed $file"
}

# An input, by its name, by another path, by a link; standard input too.
ln -s p.hexc "$dir/soft.hexc"
ln "$p" "$dir/hard.hexc"
for out in "$p" "$dir/../${dir##*/}/p.hexc" "$dir/soft.hexc" "$dir/hard.hexc"; do
	refused 2 'would overwrite an input; choose another name' "$p" --emit-ptx "$p" -o "$out"
	refused 2 'would overwrite an input; choose another name' "$p" --emit-ptx "$p" -o "$dir/x.ptx" --manifest "$out"
done
"$HEXC" --emit-ptx - -o "$p" <"$p" 2>/dev/null
[ $? = 2 ] && cmp -s "$p" examples/vector_add.hexc || fail 'standard input is overwritten'
[ ! -e "$dir/x.ptx" ] || fail 'something was written before the refusal'
refused 2 'would overwrite an input; choose another name' "$dir/w.gguf" pack examples/gemm_wNa16.hexc --kernel gemm_wNa16 \
	-D WEIGHT=u4 --arg W=@"$dir/w.gguf:blk.0.q4_0" -o "$dir/w.gguf"
refused 2 'would overwrite an input; choose another name' "$dir/w.gguf" weights "$dir/w.gguf" --save "blk.0.q4_0:scale=$dir/w.gguf"
"$HEXC" run "$p" --exec tile --arg 'A=random(1)[100]' --arg 'B=random(2)' --save A="$dir/a.npy" --save B="$dir/b.npy" || bad=1
run="run $p --exec sim --arg A=@$dir/a.npy --arg B=@$dir/b.npy"
# shellcheck disable=SC2086 # words
{
	refused 2 'would overwrite an input; choose another name' "$dir/a.npy" $run --save "C=$dir/a.npy"
	refused 2 'would overwrite an input; choose another name' "$dir/b.npy" $run --stats "$dir/b.npy"
}
says 0 '' --emit-ptx "$p" -o "$dir/p.ptx"
refused 2 'would overwrite an input; choose another name' "$dir/p.ptx" sim "$dir/p.ptx" --entry vector_add --grid 1 --block 128 --arg zeros:f32:1 \
	--arg zeros:f32:1 --arg zeros:f32:1 --arg s64:1 --save 0="$dir/p.ptx"

# Two outputs.
says 2 'is the output of two options' --emit-ptx "$p" -o "$dir/new" --manifest "$dir/./new"
[ ! -e "$dir/new" ] || fail 'one of two outputs was written'
ln "$dir/a.npy" "$dir/a2.npy"
refused 2 'is the output of two options' "$dir/a.npy" run "$p" --exec tile --arg A=arange[8] --arg B=zeros --save "A=$dir/a.npy" --save "C=$dir/a2.npy"
rm "$dir/a2.npy"
"$HEXC" explain examples/gemm_f16.hexc --svg "$dir/svg" >/dev/null || bad=1
svg=$(find "$dir/svg" -name '*.svg' | head -1)
says 2 'was already read or written; use another name for the output' explain examples/gemm_f16.hexc --svg "$dir/svg" --json "$svg"

# A simulated full disk.
head -c 5000 /dev/zero >"$dir/good"
cp "$dir/good" "$dir/out.ptx"
err=$(ulimit -f 1 && exec "$HEXC" --emit-ptx examples/gemm_w4a16.hexc -o "$dir/out.ptx" 2>&1 >/dev/null)
case "$? $err" in 4*'out.ptx: cannot write: File too large') ;; *) fail "a full disk: $err" ;; esac
cmp -s "$dir/out.ptx" "$dir/good" || fail 'a full disk spoils the old file'
says 4 'cannot write' --emit-ptx "$p" -o /dev/full

# Modes, links, devices, the directory.
chmod 640 "$dir/out.ptx"
ln -s out.ptx "$dir/link.ptx"
says 0 '' --emit-ptx "$p" -o "$dir/link.ptx"
cmp -s "$dir/out.ptx" "$dir/p.ptx" || fail 'what a link leads to is not written'
[ -h "$dir/link.ptx" ] || fail 'a link was replaced'
[ "$(stat -c %a "$dir/out.ptx")" = 640 ] || fail 'the mode is not kept'
(umask 027 && "$HEXC" --emit-ptx "$p" -o "$dir/fresh.ptx")
[ "$(stat -c %a "$dir/fresh.ptx")" = 640 ] || fail 'a new file does not heed umask'
says 0 '' --emit-ptx "$p" -o /dev/null --manifest /dev/null
for out in - /dev/stdout; do
	"$HEXC" --emit-ptx "$p" -o $out >"$dir/stdout.ptx"
	cmp -s "$dir/stdout.ptx" "$dir/p.ptx" || fail "-o $out is not standard output"
done
chmod 400 "$dir/out.ptx"
[ "$(id -u)" = 0 ] || refused 4 'Permission denied' "$dir/out.ptx" --emit-ptx "$p" -o "$dir/out.ptx"
left=$(find "$dir" -name '.hexc-*')
[ -z "$left" ] || fail "left behind: $left"
exit $bad
