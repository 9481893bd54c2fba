#!/bin/sh
# examples/llama: byte-level BPE vocabularies, with the pre-tokenizers of GPT-2, Llama 3 and Qwen2. The tokens equal
# those of words.py, and of the package tokenizers if installed. Decoding gives the text, for any bytes.
. test/script.sh
. test/python.sh
need_python
words() { PYTHONDONTWRITEBYTECODE=1 "$python" "$here/words.py" "$@" || fail "words.py $*"; }
CC=${CC:-cc}
# shellcheck disable=SC2086 # a list of words
$CC -std=c11 -O1 ${SAN:+-fsanitize=address,undefined} -I. "$here/words.c" examples/llama/vocab.c examples/llama/pieces.c \
	examples/llama/bytes.c examples/llama/join.c examples/llama/split.c examples/host/options.c examples/host/text.c \
	-Wl,--wrap=join_best -lm -o "$dir/words" || exit 1
words letters examples/llama/letters.def
words make "$dir"
words texts >"$dir/texts"
for pre in gpt-2 llama-bpe qwen2; do
	"$dir/words" "$dir/$pre" <"$dir/texts" >"$dir/have" || fail "$pre: status $?"
	words expect "$dir/$pre" >"$dir/want"
	cmp -s "$dir/want" "$dir/have" || fail "$pre: $(diff "$dir/want" "$dir/have" | grep -c '^>') texts have other tokens:
$(diff "$dir/want" "$dir/have" | head -8)"
	! "$python" -c 'import tokenizers' 2>/dev/null && continue
	words same "$dir/$pre" >"$dir/want"
	cmp -s "$dir/want" "$dir/have" || fail "$pre: of the package tokenizers $(diff "$dir/want" "$dir/have" | grep -c '^>') are others:
$(diff "$dir/want" "$dir/have" | head -8)"
done
# SentencePiece pieces, by merging adjacent pairs; compared with that package too
"$dir/words" "$dir/pieces" <"$dir/texts" >"$dir/have" || fail "pieces: status $?"
words expect_pieces >"$dir/want"
cmp -s "$dir/want" "$dir/have" || fail "pieces: $(diff "$dir/want" "$dir/have" | grep -c '^>') texts have other tokens:
$(diff "$dir/want" "$dir/have" | head -8)"
if "$python" -c 'import sentencepiece' 2>/dev/null; then
	words same_pieces >"$dir/want"
	cmp -s "$dir/want" "$dir/have" || fail "pieces: of the package sentencepiece $(diff "$dir/want" "$dir/have" | grep -c '^>') are others:
$(diff "$dir/want" "$dir/have" | head -8)"
fi
# n log n: for n characters at most 3 n pairs are pushed to the heap, each with log2(3 n) comparisons, and popped
# with twice as many; their ranks are looked up once. Merging one pair at a time by scanning all pairs would take n
# * n / 2. Also for one word (Chinese letters are one).
for of in "pieces $(printf 'the tiles compile in a cafe, and then ' | od -An -v -tx1 | tr -d ' \n')" \
	"pieces $(printf 'aaaaaaaa' | od -An -v -tx1 | tr -d ' \n')" "qwen2 $(printf '東京中文the' | od -An -v -tx1 | tr -d ' \n')"; do
	text=${of#* }
	for bytes in 4096 65536; do
		printf '%s\n=%d\n' "$text" $((2 * bytes / ${#text})) | "$dir/words" "$dir/${of% *}" | tail -1 >"$dir/work"
		awk -v n=$bytes '{ exit !($2 > n / 8 && $2 <= 3 * n * (3 * log(3 * n) / log(2) + 1)) }' "$dir/work" ||
			fail "$bytes bytes of $of: tokens and work are $(cat "$dir/work")"
	done
done
# Invalid UTF-8 survives the round trip too: truncated, too many bytes, single, too large.
for text in e4b8 c3 80 ff 61f0 6180bf20fe ed a0 f8888080 20c320; do
	echo "$text" | "$dir/words" "$dir/qwen2" >"$dir/have"
	[ "$(cut -d' ' -f2 "$dir/have")" = "$text" ] || fail "bytes $text come back as $(cat "$dir/have")"
done
# Added tokens are literal text: the last but one of 256 bytes, 700 merges, and 4; after it a control token.
[ "$(printf '#958\n#959\n' | "$dir/words" "$dir/qwen2" | tr '\n' .)" = "$(printf 'café crème' | od -An -tx1 | tr -d ' \n').." ] ||
	fail "an added token is $(echo '#958' | "$dir/words" "$dir/qwen2")"
broken() { # TEXT FROM TO: with the same number of bytes
	LC_ALL=C sed "s/$2/$3/" "$dir/qwen2" >"$dir/broken"
	"$dir/words" "$dir/broken" </dev/null 2>"$dir/err" && fail "$2 for $3: it passes"
	grep -qF -- "$1" "$dir/err" || fail "$2 for $3: no '$1' in $(cat "$dir/err")"
}
broken 'one of gpt7 (tokenizer.ggml.model)' gpt2 gpt7
broken 'cut into words as qwen9 does' qwen2 qwen9
broken 'no merges' ggml.merges ggml.mergez
broken 'no vocabulary' ggml.tokens ggml.tokenz
head -c 3000 "$dir/qwen2" >"$dir/broken"
"$dir/words" "$dir/broken" </dev/null 2>"$dir/err" && fail "half of a file: it passes"
grep -qF damaged "$dir/err" || fail "half of a file: $(cat "$dir/err")"
exit $bad
