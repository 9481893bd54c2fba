#!/bin/sh
# examples/llama: small random models in GGUF files on the simulator as a device. Logits of prompts, in chunks, and
# of 8 steps of two concurrent sequences are within derived bounds of the formulas in double (reference.py), with
# the same tokens; also with an 8-bit cache. Steps as CUDA graphs equal those without. Sampled tokens follow the
# logits. Text uses the file's vocabulary. Errors are reported. LONG=1: bf16, a cache of e4m3 and sm_90a as well.
. test/script.sh
[ -z "$SAN" ] || { echo "two copies of a sanitizer in one process"; exit 77; }
. test/python.sh
need_python
llama=$B/llama
reference() { "$python" "$here/reference.py" "$@"; }
a=5,17,100,3,9,88,41,130,7,7,19,156,33,2,1,64,99,150,151,12,30
b=11,30,42,8,77
run() { # MODEL OPTIONS...
	model=$1
	shift
	"$llama" "$dir/$model" --simulator 80 --cache "$dir/cache" "$@" >"$dir/out" 2>"$dir/err" || fail "$*: $(cat "$dir/err")"
}
holds() { # WHAT COMMAND...
	what=$1
	shift
	reference "$@" >"$dir/log" 2>&1 || fail "$what: $(tail -1 "$dir/log")"
	[ -z "${SHOW:-}" ] || echo "$what: $(cat "$dir/log")"
}
formats=${QUICK:+Q4_K}
formats=${formats:-F16 Q8_0 Q4_K Q6_K}
# shellcheck disable=SC2086 # a list of words
reference make "$dir" F16 $formats || exit 1
for f in $formats; do
	run $f --tokens $a --tokens $b --chunk 16 --generate 9 --logits "$dir/logits"
	holds $f logits "$dir/$f" "$dir/logits" "$dir/out" $a $b
done
grep -q "^prompts: 26 tokens, .* a second (the simulator's time, no GPU's)" "$dir/err" || fail "prompts: $(cat "$dir/err")"
grep -q "^steps: 16 tokens, .* a second (the simulator's time, no GPU's)" "$dir/err" || fail "steps: $(cat "$dir/err")"
# (29 + 13) / 2 tokens of 2 layers, keys and values of 2 heads of 64 values of 2 bytes
grep -q '^bytes a token: .* shared by 2 sequences, of keys and values 21504$' "$dir/err" || fail "bytes: $(cat "$dir/err")"
# shellcheck disable=SC2086 # a list of words
! "$python" -c 'import gguf' 2>/dev/null || holds 'the package gguf' same $(for f in $formats; do echo "$dir/$f"; done)

# an 8-bit cache: 21 tokens of 2 layers, keys and values of 2 heads of 64 bytes and a scale
run Q4_K --tokens $a --tokens $b --chunk 16 --generate 9 --logits "$dir/logits" --kv i8
holds 'cache of i8' logits_i8 "$dir/Q4_K" "$dir/logits" "$dir/out" $a $b
grep -q ' of keys and values 11424$' "$dir/err" || fail "bytes of i8: $(cat "$dir/err")"

# Steps as graphs: for two sequences a graph is captured at the second step, and launched from then on; pages are
# added in between. Of three sequences that end one after the other, each count has its own graph.
run Q4_K --tokens $a --tokens $b --generate 9 --logits "$dir/logits"
cp "$dir/out" "$dir/plain"
run Q4_K --tokens $a --tokens $b --generate 9 --logits "$dir/again" --graphs 1
cmp "$dir/plain" "$dir/out" || fail "graphs make other tokens"
cmp "$dir/logits" "$dir/again" || fail "graphs make other logits"
grep -q '^graphs: 1 captured, launched 7 times$' "$dir/err" || fail "graphs: $(cat "$dir/err")"
run Q4_K --tokens $a --tokens $b --tokens 3 --generate 20 --temperature 2 --top-k 0 --graphs 1
cp "$dir/out" "$dir/drawn"
run Q4_K --tokens $a --tokens $b --tokens 3 --generate 20 --temperature 2 --top-k 0
cmp "$dir/drawn" "$dir/out" || fail "graphs draw other tokens"

if [ -n "${LONG:-}" ]; then
	run Q4_K --tokens $a --tokens $b --generate 9 --logits "$dir/logits" --kv e4m3 --simulator 90
	holds 'cache of e4m3' logits_e4m3 "$dir/Q4_K" "$dir/logits" "$dir/out" $a $b
	run F16 --tokens $a --tokens $b --generate 9 --logits "$dir/logits" --act bf16
	holds bf16 logits_bf16 "$dir/F16" "$dir/logits" "$dir/out" $a $b
	run F16 --tokens $a --tokens $b --generate 9 --logits "$dir/logits" --page 64 --simulator 90
	holds sm_90a logits "$dir/F16" "$dir/logits" "$dir/out" $a $b
fi

# T K P SEED: temperature T; of the K most likely those with P of the probability; of all.
for draw in '0.8 20 0.9 7' '2 0 1 8'; do
	# shellcheck disable=SC2086 # a list of words
	set -- $draw
	run F16 --tokens $b --tokens 3 --generate 5 --logits "$dir/logits" --temperature "$1" --top-k "$2" --top-p "$3" --seed "$4"
	holds "draws of $draw" draws "$dir/logits" "$dir/out" "$1" "$2" "$3" "$4" $b 3
done

# A text is encoded to tokens, and tokens are decoded to the text.
words='the tiles compile, in a café'
run F16 --tokens "$(reference tokens "$words")" --generate 3 --logits "$dir/logits"
reference text "$(cat "$dir/out")" >"$dir/text"
run F16 --text "$words" --generate 3 --logits "$dir/again"
cmp "$dir/logits" "$dir/again" || fail "other tokens of '$words'"
cmp "$dir/text" "$dir/out" || fail "other text: $(cat "$dir/out")"

# "the tiles, compared" by joined bytes: of Ġ the Ġtile s , Ġcomp a r e d the token ids, from
# ! = 0 on, Ġ, Ċ and merges
if [ -e "$dir/Q8_0" ]; then
	run Q8_0 --tokens 191,97,102,82,11,106,64,81,68,67 --generate 3 --logits "$dir/logits"
	run Q8_0 --text 'the tiles, compared' --generate 3 --logits "$dir/again"
	cmp "$dir/logits" "$dir/again" || fail "other tokens by joined bytes"
fi

says_llama() { # TEXT ARGUMENTS...
	text=$1
	shift
	"$llama" "$@" </dev/null >"$dir/out" 2>&1 && fail "llama $*: it passes"
	grep -qF -- "$text" "$dir/out" || fail "llama $*: no '$text' in $(head -2 "$dir/out")"
}
small="$dir/F16 --simulator 80 --cache $dir/cache"
# shellcheck disable=SC2086 # a list of words
{
	says_llama 'usage:'
	says_llama 'a prompt are wanted' $small
	says_llama '--chnk: there is no such option' $small --chnk 1
	says_llama '--generate: its value is missing' $small --tokens 1 --generate
	says_llama '--generate: x is no whole number of 0 to' $small --tokens 1 --generate x
	says_llama '--top-p: 1.5 is no number of 0 to 1' $small --tokens 1 --top-p 1.5
	says_llama '--page: it is no power of two' $small --tokens 1 --page 48
	says_llama '--act: f32 is not f16 or bf16' $small --tokens 1 --act f32
	says_llama '--kv: f16 is not i8 or e4m3' $small --tokens 1 --kv f16
	says_llama '--simulator: eighty is no compute capability' "$dir/F16" --simulator eighty --tokens 1
	says_llama 'give numbers with commas' $small --tokens 1,,2
	says_llama 'token: 192 is not in the vocabulary, which has 0 to 191' $small --tokens 192
	says_llama 'its context has 128: give a shorter prompt' $small --tokens 1 --generate 128
	says_llama "$dir/none" "$dir/none" --simulator 80 --tokens 1
}
edit() { # FROM TO: replaces bytes by the same number of bytes
	LC_ALL=C sed "s/$1/$2/" "$dir/F16" >"$dir/broken"
}
says_broken() { # TEXT: the message for the edited model
	says_llama "$1" "$dir/broken" --simulator 80 --cache "$dir/cache" --tokens 1
}
edit 'architecture\(............\)llama' 'architecture\1llamb'
says_broken 'general.architecture: llamb is not llama: take'
edit llama.block_count llama.block_cound
says_broken 'llama.block_count: the file lacks it'
edit blk.1.ffn_up.weight blk.1.ffn_up.weighs
says_broken 'blk.1.ffn_up.weighs: the layers here have no place for this tensor'
edit blk.1.ffn_up.weight blk.2.ffn_up.weight
says_broken 'blk.1.ffn_up.weight: the file has no such tensor'
edit blk.1.ffn_up.weight blk.1.attn_v.weight
says_broken 'blk.1.attn_v.weight'
head -c 100000 "$dir/F16" >"$dir/broken"
says_broken 'truncated'
# Metadata keys of the architecture: an unknown key, or one that requests something
# unsupported, is rejected by name.
keyed() { # TEXT KEY VALUE..
	text=$1
	shift
	reference keyed "$dir/keyed" "$@" || exit 1
	says_llama "$text" "$dir/keyed" --simulator 80 --tokens 1
}
passes='token_embd.weight: the file has no such matrix' # this check follows those of the keys
keyed "$passes"
keyed 'llama.attention.sliding_window: the layers here do not compute what 4096 asks for' llama.attention.sliding_window 4096
keyed "$passes" llama.attention.sliding_window 0
keyed 'llama.attention.causal: the layers here do not compute what false' llama.attention.causal false
keyed "$passes" llama.attention.causal true llama.rope.scaling.finetuned false llama.vocab_size 192 llama.logit_scale 1.0
keyed 'llama.logit_scale: the layers here do not compute what 0.5' llama.logit_scale 0.5
keyed 'llama.final_logit_softcapping: the layers' llama.final_logit_softcapping 30.0
keyed 'llama.tensor_data_layout: the layers' llama.tensor_data_layout else
keyed 'llama.new_thing: this key is not known here, and may change what the model computes (1)' llama.new_thing 1
keyed 'general.type: adapter: that is no model by itself' general.type adapter
keyed "$passes" general.type model general.new_thing 1 tokenizer.ggml.new_thing 1 somebody.new_thing 1
keyed 'llama.rope.scaling.type: yarn is not known' llama.rope.scaling.type yarn
keyed 'llama.rope.scaling.factor: the file lacks it' llama.rope.scaling.type linear
keyed 'llama.rope.scaling.factor: 0 is not in' llama.rope.scaling.factor 0
keyed 'llama.rope.scale_linear: 0 is not in' llama.rope.scale_linear 0
keyed "$passes" llama.rope.scaling.type none llama.rope.scaling.factor 0
keyed 'split.count: this is file 2 of 3 of a model: join them before' split.no 1 split.count 3
if "$python" -c 'import gguf' 2>/dev/null; then # all fields that its converters may write
	"$python" -c '
from gguf import constants
names = [getattr(k, a) for k in vars(constants.Keys).values() if isinstance(k, type) for a in vars(k) if a[0] != "_"]
print(*{n.replace("{arch}", "llama") for n in names if isinstance(n, str) and n.startswith("{arch}.") and "{dense}" not in n}, sep="\n")' \
		>"$dir/names"
	sed -n 's/^\(READ\|ANY\|ONLY\)("\([^"]*\)".*/llama.\2/p' examples/llama/keys.def | LC_ALL=C sort >"$dir/known"
	LC_ALL=C sort "$dir/names" | LC_ALL=C comm -13 - "$dir/known" | grep -v '^llama.rope.scale_linear$' |
		while read -r key; do fail "$key is no key of GGUF"; done
	mkdir "$dir/each"
	LC_ALL=C sort "$dir/names" | LC_ALL=C comm -23 - "$dir/known" | xargs "$python" "$here/reference.py" keyed_each "$dir/each"
	for file in "$dir"/each/*; do
		says_llama "${file##*/}: this key is not known here" "$file" --simulator 80 --tokens 1
	done
fi
edit tokenizer.ggml.model tokenizer.ggml.modem
says_llama 'its vocabulary is one of nothing' "$dir/broken" --simulator 80 --text the
exit $bad
