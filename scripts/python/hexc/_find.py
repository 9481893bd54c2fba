"""Finds the shared libraries: libhexc, libhexc_rt and libhexc_sim."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ._errors import LibraryError

ABI = 0  # the version number in their names


def places() -> Iterator[Path]:
    """Directories to search, in this order; if none has a library, the system's loader searches.

    Only ``$HEXC_LIBRARY_DIR``, if it is set. Otherwise the package's directory, ``build`` of the checkout that
    contains it, and the directories of the hexc installation whose command line is on ``$PATH``.
    """
    named = os.environ.get("HEXC_LIBRARY_DIR")
    if named:
        yield Path(named)
        return
    here = Path(__file__).resolve().parent
    yield here
    if len(here.parents) > 2 and (here.parents[2] / "lib" / "hexc.h").is_file():
        yield here.parents[2] / "build"
    installed = shutil.which("hexc")
    if installed:
        prefix = Path(installed).resolve().parents[1]
        yield from (prefix / "lib", prefix / "lib64")


def load(name: str) -> ctypes.CDLL:
    """The library ``lib{name}``; :class:`LibraryError` if it is not found or cannot be loaded."""
    file = f"lib{name}.so.{ABI}"
    for place in places():
        if (place / file).is_file():
            return _open(str(place / file))
    if os.environ.get("HEXC_LIBRARY_DIR"):
        raise LibraryError(f"there is no {file} in HEXC_LIBRARY_DIR={os.environ['HEXC_LIBRARY_DIR']}")
    return _open(file)


def _open(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as e:
        raise LibraryError(
            f"{path} cannot be loaded ({e}): run make in hexc's checkout, and set HEXC_LIBRARY_DIR to its folder build"
        ) from None
