# package.sh - sourced after test/script.sh: $python has numpy, and finds the package of the checkout and the libraries
# of the build.
[ -z "$SAN" ] || { echo "Python has no sanitizers"; exit 77; }
. test/python.sh
need_python
new_python
PYTHONPATH=$PWD/scripts/python
PYTHONDONTWRITEBYTECODE=1 # nothing is left in the checkout
HEXC_LIBRARY_DIR=$(cd "$B" && pwd)
export PYTHONPATH PYTHONDONTWRITEBYTECODE HEXC_LIBRARY_DIR
