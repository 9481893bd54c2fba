#!/bin/sh
# The text tests of this directory: the verifier accepts IR, or names what is wrong with it.
. test/script.sh
python3 test/text.py "$here" || fail 'text tests'
exit $bad
