#!/bin/sh
# The text tests of this directory: what inference and the passes after it choose, and make of a kernel.
. test/script.sh
python3 test/text.py "$here" || fail 'text tests'
exit $bad
