#!/bin/sh
# make check-DIR builds what the scripts of test/DIR use: the libraries, the command line, and the
# other programs that they run.
. test/script.sh
parts=$(printf '%s\n' test/*/run-*.sh test/*/*/run-*.sh | sed 's,^test/,,; s,/.*,,' | sort -u)
# shellcheck disable=SC2046,SC2086 # lists of words
make -s B="$B" LLVM_CONFIG="$LLVM_CONFIG" $(printf 'needs-%s\n' $parts) >"$dir/needs" || exit 1
for part in $parts; do
	needs=$(sed -n "s/^check-$part: //p" "$dir/needs")
	# shellcheck disable=SC2046
	named=$(cat $(ls test/"$part"/run-*.sh test/"$part"/*/run-*.sh 2>/dev/null) | grep -o '[$]B"*/[a-z_]*' | sed 's,.*/,,' | sort -u)
	for name in all $named; do
		case $name in
		all) want=all ;;
		demo | engine | llama) want=$B/$name ;;
		*) continue ;; # part of `all`, a directory, or created by the script
		esac
		case " $needs " in *" $want "*) ;; *) fail "FAIL: make check-$part does not build $name: $needs" ;; esac
	done
done
# Check that a missing program is noticed.
case "$(grep '^check-llama:' "$dir/needs") " in *" $B/llama "*) ;; *) fail "FAIL: $B/llama is not built for test/llama" ;; esac
case "$(grep '^check-plan:' "$dir/needs") " in *" $B/llama "*) fail "FAIL: $B/llama is built for test/plan" ;; esac
exit $bad
