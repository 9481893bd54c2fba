#!/bin/sh
# The text tests of this directory: validators accept the IR of passes, and reject edited copies of it.
. test/script.sh
python3 test/text.py "$here" || fail 'text tests'
exit $bad
