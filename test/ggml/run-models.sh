#!/bin/sh
# Whole models on examples/ggml, through libllama: small random models of several architectures (models.py), whose
# logits on simulated devices are compared with those of ggml's CPU backend (models.c).
# LLAMA=DIR: a build of llama.cpp, with shared libraries and loadable backends, whose source is still there.
# QUICK=1: three models. LONG=1: all types, settings and devices. ONLY=TEXT: models with this text in their names.
# SHOW=1: prints all errors. BACKEND=DIR: the backend in this directory instead of that of the build.
. test/script.sh
. test/python.sh
[ -n "${LLAMA:-}" ] || { echo "LLAMA names no build of llama.cpp"; exit 77; }
[ -z "$SAN" ] || { echo "llama.cpp is built without sanitizers"; exit 77; }
need_python gguf # whose requirements the one of llama.cpp has, too
bin=$LLAMA/bin
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$LLAMA/CMakeCache.txt")
[ -e "$bin/libllama.so" ] && [ -d "$source/gguf-py" ] || { echo "$LLAMA is no build of llama.cpp with its source"; exit 1; }
log() { "$@" >>"$dir/log" 2>&1 || { tail -n 20 "$dir/log"; exit 1; }; }
[ -n "${BACKEND:-}" ] || log make ggml GGML="$source" B="$B"
log "${CC:-cc}" -O1 -isystem "$source/include" -isystem "$source/ggml/include" "$here/models.c" -o "$dir/models" \
	-L"$bin" -lllama -lggml -lggml-base -Wl,-rpath,"$bin" -lm
library=${BACKEND:-$(pwd)/$B}/libggml-hexc.so

# model NAME-TYPE..: writes these
model() { log env PYTHONPATH="$source/gguf-py" "$python" "$here/models.py" "$dir" "$bin/libggml-base.so" "$@"; }
# models DEVICES ARGUMENTS..: models.c, whose results are $dir/out and statistics $dir/err
models() {
	simulated=$1
	shift
	(cd "$bin" && GGML_SCHED_DEBUG=2 GGML_HEXC_STATS=1 GGML_HEXC_SIMULATOR=$simulated GGML_BACKEND_PATH=$library \
		XDG_CACHE_HOME=$dir/cache "$dir/models" "$@" >"$dir/out" 2>"$dir/err")
}
# logits DEVICES NAME-TYPE SETTING..
logits() {
	simulated=$1 name=$2
	shift 2
	case $name in *"${ONLY:-}"*) ;; *) return ;; esac
	model "$name"
	models "$simulated" "$dir/$name.gguf" "$dir/$name.exact.gguf" "$@" ||
		fail "$simulated $name: $(grep WRONG "$dir/out" || grep -v '^HEXC[0-9]: [kg]' "$dir/err" | tail -n 3)"
	[ -z "${SHOW:-}" ] || sed "s/^/$simulated	/" "$dir/out"
	rm -f "$dir/$name".*
}
# launches FILE TOKENS: sets $launches and $replayed
launches() {
	models 80 "$dir/$1.gguf" "tokens=$2" || fail "$1, $2 tokens: $(tail -n 3 "$dir/err")"
	launches=$(sed -n 's/^HEXC0: graphs.* launches \([0-9]*\),.*/\1/p' "$dir/err")
	replayed=$(sed -n 's/^HEXC0: graphs.* replayed \([0-9]*\)$/\1/p' "$dir/err")
}

# Launches of a decoded token: at most 9 for each block, also where keys and values have weights of two types.
# The third token and those after it are replayed.
for kind in Q8_0 Q4_K_M; do
	model llama4-$kind llama8-$kind
	for blocks in 4 8; do
		launches llama$blocks-$kind 0
		before=$launches
		launches llama$blocks-$kind 1
		eval "of_$blocks=$((launches - before))"
	done
	launches llama8-$kind 2
	before=$launches
	launches llama8-$kind 4
	# shellcheck disable=SC2154 # set by eval
	echo "launches of a token of $kind: $of_4 with 4 blocks, $of_8 with 8"
	[ "$((of_8 - of_4))" -le 36 ] || fail "$kind: more than 9 launches a block"
	[ "$launches $replayed" = "$before 3" ] || fail "4 tokens of $kind: $launches launches, 2: $before, replayed: $replayed"
done

# A model that is loaded again and again takes no more memory: less than 1 MB a time, where its weights are 3 MB.
models 80 "$dir/llama4-Q8_0.gguf" repeat=6
pages=$(sed -n 's/ more pages$//p' "$dir/out")
[ "${pages:-9999}" -lt 1000 ] || fail "after four more loads: ${pages:-unknown} more pages"
rm -f "$dir"/llama[48]-*

every="llama llama4 qwen2 qwen3 qwen3moe gemma3 phi3 mixtral gpt_oss deepseek2 mamba2 granite bert"
if [ -n "${LONG:-}" ]; then
	for simulated in 80 90 80,90; do
		for name in $every; do
			for type in F16 Q4_K_M Q8_0 Q4_0 MXFP4; do
				# libllama cannot shift these caches, and an encoder takes a batch at once.
				shift=1 ubatch=16 part="layers=2 layers=1,flash=0"
				case $name in deepseek2 | phi3) shift=0 ;; bert) ubatch=512 ;; esac
				# The error of the CPU's layers may choose other experts.
				case $name-$type in *-F16) ;; qwen3moe* | mixtral* | gpt_oss* | deepseek2*) part= ;; esac
				case $name-$type in gpt_oss-Q4*) continue ;; gpt_oss-*) ;; *-MXFP4) continue ;; esac
				# shellcheck disable=SC2086 # a list of words
				logits "$simulated" "$name-$type" layers=99 layers=99,flash=0 $part \
					layers=99,unified=1,ubatch=$ubatch "layers=99,cache=q8_0,shift=$shift"
			done
		done
	done
	exit $bad
fi

while read -r simulated name settings; do
	case ${QUICK:-},$name in 1,llama-F16 | 1,deepseek2-F16 | 1,gpt_oss-MXFP4 | ,*) ;; *) continue ;; esac
	# shellcheck disable=SC2086 # a list of words
	logits "$simulated" "$name" $settings </dev/null
done <<'END'
80 llama-F16 layers=99 layers=99,flash=0,unified=1,ubatch=16 layers=99,cache=q8_0 layers=2
80 llama-Q4_K_M layers=99 layers=2,flash=0
80 qwen2-F16 layers=99
80 qwen2-Q4_0 layers=99
80 qwen3-F16 layers=99,flash=0
80 qwen3-Q4_K_M layers=99
80 qwen3moe-F16 layers=2
80 qwen3moe-Q4_K_M layers=99
80 gemma3-F16 layers=99 layers=2
80 gemma3-Q4_0 layers=99,cache=q8_0
80 phi3-F16 layers=99
80 phi3-Q4_K_M layers=99
80 mixtral-F16 layers=99
80 mixtral-Q4_0 layers=99
80 gpt_oss-F16 layers=99
80 gpt_oss-MXFP4 layers=99
80 deepseek2-F16 layers=99 layers=2
80 deepseek2-Q8_0 layers=99,flash=0
80 mamba2-F16 layers=99
80 mamba2-Q8_0 layers=2
80 granite-F16 layers=99
80 granite-Q4_K_M layers=99
80 bert-F16 layers=99 layers=99,flash=0
80 bert-Q8_0 layers=99
90 llama-Q4_K_M layers=99
90 gpt_oss-MXFP4 layers=99
90 deepseek2-F16 layers=99
80,90 llama4-Q8_0 layers=99
80,90 granite4-F16 layers=99,flash=0
80,90 gemma3-F16 layers=99
END
exit $bad
