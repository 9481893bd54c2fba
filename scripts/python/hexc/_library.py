"""Information about the library."""

from __future__ import annotations

from ._abi import function
from ._module import text


def archs() -> tuple[str, ...]:
    """The supported targets.

    >>> "sm_80" in archs()
    True
    """
    found: list[str] = []
    while name := function("hexc_arch")(len(found)):
        found.append(text(name))
    return tuple(found)


def build_info() -> str:
    """Versions of hexc and of its LLVM."""
    return text(function("hexc_build_info")())
