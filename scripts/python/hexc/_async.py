"""Compilation in the background (hexc_compile_async)."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ._abi import function
from ._module import Job, Module, _diagnostics, job, refused, same_arguments


class Compilation(Future[Module]):
    """A :class:`concurrent.futures.Future` of a :class:`Module`; ``cancel()`` also stops a
    compilation that has started."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._job: int | None = None  # during the compilation

    def cancel(self) -> bool:
        done = super().cancel()
        if done:
            with self._lock:
                if self._job is not None:
                    function("hexc_job_cancel")(self._job)
        return done

    def _work(self, what: Job) -> None:
        """Runs in a thread of the pool. The future stays pending until it is done, so that it can be cancelled."""
        if self.cancelled():
            self.set_running_or_notify_cancel()
            return
        result: Module | BaseException
        try:
            result = self._compile(what)
        except BaseException as e:
            result = e
        if not self.set_running_or_notify_cancel():
            return
        if isinstance(result, BaseException):
            self.set_exception(result)
        else:
            self.set_result(result)

    def _compile(self, what: Job) -> Module:
        out = ctypes.c_void_p()
        code = function("hexc_compile_async")(
            ctypes.byref(out), ctypes.byref(what.options), what.file, what.data, len(what.data), None
        )
        if code:
            raise refused(code, what.options.arch)
        with self._lock:
            self._job = out.value
        if self.cancelled():
            function("hexc_job_cancel")(out)
        try:
            code = function("hexc_job_wait")(out)
            said = _diagnostics(lambda i, d: function("hexc_job_diag")(out, i, d))
            return what.result(code, function("hexc_job_take")(out), said)
        finally:
            with self._lock:
                self._job = None
            function("hexc_job_free")(out)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "hexc")


_pool_lock = threading.Lock()


@same_arguments(job)
def compile_async(*args: Any, **named: Any) -> Compilation:
    """:func:`compile` in the background, one per processor concurrently. The future's ``result()``
    raises the program's errors.

    >>> program = "kernel k(A: f32[N], C: out f32[N]) { grid(1); C[0 :+ 64] = A[0 :+ 64]; }"
    >>> list(compile_async(program).result())
    ['k']
    """
    what = job(*args, **named)
    future = Compilation()
    with _pool_lock:
        pool = _pool()
    pool.submit(future._work, what)
    return future
