#!/bin/sh
# The text tests of this directory: the IR of a pass, its second run, its messages.
. test/script.sh
python3 test/text.py "$here" || fail 'text tests'
exit $bad
