"""Exceptions that end a sweep."""

from __future__ import annotations


class TuneError(Exception):
    """The text states the error and the fix."""


class Ended(Exception):
    """Ended by a signal, whose number is the argument."""
