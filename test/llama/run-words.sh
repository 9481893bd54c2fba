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
# Keys of the tokenizer: each is applied, has no effect on tokens, or is rejected by name; unknown ones are rejected.
keyed() { # TEXT NAME KEY VALUE: TEXT is the message, or the tokens of "a b"
	words keyed "$dir" "$2" "$3" "$4"
	echo 612062 | "$dir/words" "$dir/keyed" >"$dir/have" 2>"$dir/err"
	grep -qF -- "$1" "$dir/have" "$dir/err" || fail "$2 $3 $4: no '$1' in $(cat "$dir/have" "$dir/err")"
}
g=tokenizer.ggml
plain=$(echo 612062 | "$dir/words" "$dir/qwen2")
spm=$(echo 612062 | "$dir/words" "$dir/pieces")
[ "${spm%%,*}" = 1 ] || fail "pieces: the first token is no beginning: $spm"
for key in eos_token_id eot_token_id padding_token_id mask_token_id fim_pre_token_id; do
	keyed "$plain" qwen2 $g.$key 7
	keyed "$spm" pieces $g.$key 7
done
keyed "$plain" qwen2 tokenizer.chat_template '"{{ messages }}"'
keyed "$plain" qwen2 tokenizer.chat_template.tools '"{{ tools }}"'
keyed "$plain" qwen2 tokenizer.chat_templates '["tools"]'
keyed "$plain" qwen2 tokenizer.huggingface.json '"{}"'
keyed "$plain" qwen2 somebody.else 1
keyed "$plain" qwen2 $g.remove_extra_whitespaces False
keyed "$g.remove_extra_whitespaces: true asks for what is not done here: give --tokens" pieces $g.remove_extra_whitespaces True
keyed damaged pieces $g.remove_extra_whitespaces 1
keyed "$spm" pieces $g.precompiled_charsmap '[]'
keyed "$g.precompiled_charsmap: its list asks for what is not done here: give --tokens" pieces $g.precompiled_charsmap '[1, 2]'
keyed "$g.new_thing: this key is not known here, and may change the tokens of a text: give --tokens" qwen2 $g.new_thing 1
keyed 'tokenizer.rwkv.world: this key is not known here' qwen2 tokenizer.rwkv.world '"x"'
keyed "959,$plain" qwen2 $g.add_bos_token True
keyed "$plain" qwen2 $g.add_bos_token False
keyed damaged qwen2 $g.add_bos_token 1
keyed "${spm#1,}" pieces $g.add_bos_token False
keyed "$g.add_eos_token), which is not put here" pieces $g.add_eos_token True
keyed "$spm" pieces $g.add_eos_token False
keyed "$g.add_sep_token), which is not put here" qwen2 $g.add_sep_token True
keyed "5,$(echo "${spm#1,}" | cut -d' ' -f1) " pieces $g.bos_token_id 5
keyed "$spm" pieces $g.bos_token_id None # of SentencePiece: 1
keyed "$plain" qwen2 $g.bos_token_id None
keyed "$g.bos_token_id: the file lacks it, and its texts begin with that token" llama-bpe $g.bos_token_id None
keyed 'its first or unknown token is none' qwen2 $g.bos_token_id 960
keyed 'its first or unknown token is none' pieces $g.unknown_token_id 100000
keyed damaged pieces $g.bos_token_id '"1"'
keyed "$plain" qwen2 $g.add_space_prefix False
keyed "$g.add_space_prefix: no blank is put before joined bytes here" qwen2 $g.add_space_prefix True
keyed "$spm" pieces $g.add_space_prefix True
keyed ' 612062' pieces $g.add_space_prefix False
keyed "$g.token_type: 7, of token 0, is not 1 to 6" qwen2 $g.token_type '[7] * 960'
keyed 'no vocabulary' qwen2 $g.token_type '[1] * 959'
keyed "$g.scores: that of token 1 is no number" pieces $g.scores "[0.0, float('nan')] + [0.0] * (len(locals()['$g.tokens']) - 2)"
keyed 'no scores' pieces $g.scores None
keyed 'no merges' qwen2 $g.merges None
keyed 'cut into words as default does' qwen2 $g.pre '"default"'
keyed 'cut into words as nothing does' qwen2 $g.pre None
keyed 'one of t5 (tokenizer.ggml.model)' pieces $g.model '"t5"'
# A text with an added token of SentencePiece
words keyed "$dir" pieces $g.token_type "[4 if t == 'aa' else k for t, k in zip(locals()['$g.tokens'], locals()['$g.token_type'])]"
printf '61\n626161\n' | "$dir/words" "$dir/keyed" >"$dir/have"
grep -qF -- '--text: aa is a token by itself (tokenizer.ggml.token_type), and how texts go on after it' "$dir/have" ||
	fail "an added token of SentencePiece: $(cat "$dir/have")"
[ "$(head -1 "$dir/have" | cut -d' ' -f2)" = 2061 ] || fail "a text without it: $(head -1 "$dir/have")"
if "$python" -c 'import gguf' 2>/dev/null; then # each key of the table is one of GGUF's, and each of GGUF's is known, but for that of RWKV
	"$python" -c '
from gguf import constants
print(*(v for k, v in vars(constants.Keys.Tokenizer).items() if k[0] != "_" and "{" not in v), sep="\n")' | LC_ALL=C sort >"$dir/names"
	sed -n 's/^\(READ\|ANY\|OFF\|EMPTY\)("\([^"]*\)".*/tokenizer.\2/p' examples/llama/tokenizer.def | LC_ALL=C sort >"$dir/known"
	[ "$(LC_ALL=C comm -3 "$dir/names" "$dir/known" | tr -d '\t')" = tokenizer.rwkv.world ] ||
		fail "keys of GGUF and of tokenizer.def differ: $(LC_ALL=C comm -3 "$dir/names" "$dir/known")"
fi
head -c 3000 "$dir/qwen2" >"$dir/broken"
"$dir/words" "$dir/broken" </dev/null 2>"$dir/err" && fail "half of a file: it passes"
grep -qF damaged "$dir/err" || fail "half of a file: $(cat "$dir/err")"
exit $bad
