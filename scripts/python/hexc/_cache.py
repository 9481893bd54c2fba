"""Compiled modules cached in a directory (hexc_cache.h)."""

from __future__ import annotations

import ctypes
import os
import warnings
from dataclasses import dataclass
from typing import Any

from ._abi import STRUCT, function, new
from ._module import WHY, Owned, fail, text


@dataclass(frozen=True)
class CacheEntry:
    """``label`` is a description; ``bytes`` the file's size; ``used`` the last use, in seconds since 1970."""

    name: str
    label: str
    bytes: int
    used: int


@dataclass(frozen=True)
class CacheInfo:
    """Counters of one :class:`Cache`: hits, misses, writes, damaged entries, and failed writes; ``error`` is the
    errno of the last failed write."""

    hits: int
    misses: int
    stored: int
    damaged: int
    failed: int
    error: int


class Cache:
    """A directory of modules, for ``compile(cache=..)`` and others, and of the cubins that the driver compiles
    from PTX (:meth:`Device.keep_in`).

    ``path`` is created if missing; None: the user's, $XDG_CACHE_HOME/hexc or ~/.cache/hexc. A directory
    that belongs to another user, or that others may write, is not used (RuntimeWarning), and everything is
    compiled. The entries take at most ``max_bytes`` together (0: 1 GiB). Any number of processes and
    threads may share a directory.

    >>> import hexc, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(folder)
    ...     program = "kernel k(A: f32[N], C: out f32[N]) { grid(1); C[0 :+ 64] = A[0 :+ 64]; }"
    ...     first, second = (hexc.compile(program, cache=cache).ptx for _ in range(2))
    ...     first == second, cache.info().hits, len(cache.entries()), cache.clear()
    (True, 1, 1, 1)
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, max_bytes: int = 0, read_only: bool = False
    ) -> None:
        out, why = ctypes.c_void_p(), ctypes.create_string_buffer(WHY)
        folder = None if path is None else os.fsencode(path)
        options = new("hexc_cache_opts", path=folder, max_bytes=max_bytes, read_only=read_only)
        code = function("hexc_cache_open")(ctypes.byref(out), ctypes.byref(options), why, WHY)
        if code:
            raise fail(code, text(why.value))
        assert out.value
        self._owned = Owned(out.value, "hexc_cache_close")
        if why.value:
            warnings.warn(text(why.value), RuntimeWarning, stacklevel=2)
        self.path = text(self._describe().path)

    def _describe(self) -> Any:
        info = new("hexc_cache_info")
        function("hexc_cache_describe")(self._owned.pointer, ctypes.byref(info))
        return info

    def info(self) -> CacheInfo:
        """The counters so far."""
        info = self._describe()
        return CacheInfo(info.hits, info.misses, info.stored, info.damaged, info.failed, info.error)

    def entries(self) -> list[CacheEntry]:
        """All present entries, in no order."""
        found: list[CacheEntry] = []

        def each(user: object, entry: Any) -> int:
            e = entry.contents
            found.append(CacheEntry(text(e.name), text(e.label), e.bytes, e.used))
            return 0

        called = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(STRUCT["hexc_cache_entry"]))(each)
        code = function("hexc_cache_each")(self._owned.pointer, ctypes.cast(called, ctypes.c_void_p), None)
        if code:
            raise fail(code)
        return found

    def clear(self) -> int:
        """Removes all entries; returns their number."""
        removed = ctypes.c_uint64()
        code = function("hexc_cache_clear")(self._owned.pointer, ctypes.byref(removed))
        if code:
            raise fail(code)
        return removed.value
