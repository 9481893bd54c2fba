# package.sh - sourced after test/script.sh: $python has numpy, and finds the checkout's package
# and the build's libraries.
[ -z "$SAN" ] || { echo "Python has no sanitizers"; exit 77; }
. test/python.sh
need_python
new_python
PYTHONPATH=$PWD/scripts/python
PYTHONDONTWRITEBYTECODE=1 # leaves nothing in the checkout
HEXC_LIBRARY_DIR=$(cd "$B" && pwd)
export PYTHONPATH PYTHONDONTWRITEBYTECODE HEXC_LIBRARY_DIR
