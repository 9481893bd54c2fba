"""What ends a sweep."""

from __future__ import annotations


class TuneError(Exception):
    """The text names the thing and the mend."""


class Ended(Exception):
    """By a signal, whose number is the argument."""
