#!/bin/sh
# make check-DIR builds what the tests of test/DIR run and open: the libraries, the command line, and the other
# programs that they name. In a directory with only these files, each test program starts; QUICK=1: every fourth.
. test/script.sh
case $B in /*) root= ;; *) root=$PWD/ ;; esac
parts=$(printf '%s\n' test/*/run-*.sh test/*/*/run-*.sh test/*/test_*.c test/*/*/test_*.c | sed 's,^test/,,; s,/.*,,' | sort -u)
# shellcheck disable=SC2046,SC2086 # lists of words
make -s B="$B" LLVM_CONFIG="$LLVM_CONFIG" $(printf 'needs-%s\n' $parts) >"$dir/needs" || exit 1
for part in $parts; do
	needs=" $(sed -n "s/^check-$part: //p" "$dir/needs") "
	scripts=$(ls test/"$part"/run-*.sh test/"$part"/*/run-*.sh 2>/dev/null)
	case $scripts$needs in */run-*" all "*) ;; */run-*) fail "FAIL: make check-$part does not build all: $needs" ;; esac
	# Any mention counts here, wherever the path comes from.
	for name in demo engine llama; do
		# shellcheck disable=SC2086 # a list of words
		! cat $scripts /dev/null | grep -q "[\$]B\"*/$name\>" ||
			case $needs in *" $B/$name "*) ;; *) fail "FAIL: make check-$part does not build $name: $needs" ;; esac
	done
	mkdir "$dir/$part"
	for file in $needs; do
		case $file in
		all) ln -s "$root$B"/lib*.so.* "$root$B/hexc" "$dir/$part" ;;
		"$B"/test/*) ;;
		*) ln -sf "$root$file" "$dir/$part" ;;
		esac
	done
	# Programs open libraries before the first test; no test has this name.
	count=0
	for program in $needs; do
		case $program in "$B"/test/*) [ -x "$program" ] || continue ;; *) continue ;; esac
		count=$((count + 1))
		[ -z "${QUICK:-}" ] || [ $((count % 4)) = 1 ] || continue
		B=$dir/$part CK_RUN_CASE=none "$program" >"$dir/log" 2>&1 ||
			fail "FAIL: $program does not start after make check-$part: $(head -3 "$dir/log")"
	done
done
# Check that a missing file is noticed, and that nothing is built that is not used.
needs() { echo "$(sed -n "s/^check-$1: //p" "$dir/needs") "; }
case $(needs llama) in *" $B/llama "*) ;; *) fail "FAIL: $B/llama is not built for test/llama" ;; esac
case $(needs ops) in *" $B/libhexc_sim.so."*) ;; *) fail "FAIL: the simulator is not built for test/ops" ;; esac
case $(needs plan) in *" $B/llama "*) fail "FAIL: $B/llama is built for test/plan" ;; esac
case $(needs taskmap) in *.so.* | *" all "*) fail "FAIL: test/taskmap needs only the archive" ;; esac
exit $bad
