# python.sh - sourced by tests whose oracles are Python packages. `need_python MODULE...` sets $python, which has
# numpy and these modules. pip installs them into a directory of the build; if that fails, the test is skipped.
# PYTHON=python3 selects an interpreter that has them. Reads $B and $dir. `new_python` skips the test if Python is
# older than the package requires.
version_of() {
	case $1 in
	numpy) echo 2.4.6 ;;
	gguf) echo 0.19.0 ;;
	safetensors) echo 0.8.0 ;;
	ml_dtypes) echo 0.6.0 ;;
	mypy) echo 2.4.1 ;;
	textmate_grammar) echo 0.6.1 ;;
	esac
}
# Prints pip's name of a module.
package_of() { case $1 in textmate_grammar) echo textmate-grammar-python ;; *) echo "$1" ;; esac; }

need_python() {
	python=${PYTHON:-$B/reference/bin/python}
	command -v python3 >/dev/null || { echo "no python3"; exit 77; }
	modules=numpy want=numpy==$(version_of numpy)
	for m; do
		modules="$modules, $m" want="$want $(package_of "$m")==$(version_of "$m")"
	done
	has_modules() { "$python" -c "import $modules" 2>/dev/null; }
	has_modules && return
	python=$B/reference/bin/python
	( # one at a time: tests run concurrently
		flock 9
		has_modules && exit
		[ -x "$B/reference/bin/pip" ] || python3 -m venv "$B/reference" || exit
		# shellcheck disable=SC2086 # a list of words
		timeout 100 "$B/reference/bin/pip" install -q --retries 0 --timeout 10 --disable-pip-version-check $want
	) 9>"$B/reference.lock" >"$dir/log" 2>&1
	has_modules || { tail -3 "$dir/log"; echo "the Python packages $modules are not here and cannot be had"; exit 77; }
}

new_python() {
	"${python:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python is older than 3.11"; exit 77; }
}
