"""``python -m hexc_tune`` is ``scripts/tune``."""

from .cli import main

main()
